"""Crash tests stand on tests/support/geonce_fixtures; what a trial is stands in trial.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
