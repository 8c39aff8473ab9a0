import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from geonce_fixtures import Fakegeo  # noqa: E402


@pytest.fixture
def provider(tmp_path):
    with Fakegeo(tmp_path) as running:
        yield running
