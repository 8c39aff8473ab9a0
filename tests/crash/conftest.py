"""Crash tests stand on tests/support/geonce_fixtures; what a trial is stands in trial.py."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from geonce_fixtures import Postgres  # noqa: E402
from trial import KILLS, RESULTS, Trial, again  # noqa: E402


@pytest.fixture
def kills():
    return KILLS


@pytest.fixture
def results():
    return RESULTS


@pytest.fixture(scope="session")
def postgres():
    with Postgres(["max_connections=50"]) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def store(request):
    return request.param


@pytest.fixture
def seed(request):
    return int(os.environ.get("GEONCE_SEED") or int.from_bytes(os.urandom(4), "big"))


@pytest.fixture
def trial_of(request, tmp_path, store, seed):
    def make(**settings):
        place = store if store == "sqlite" else request.getfixturevalue("postgres")
        return Trial(
            tmp_path / "trial", place, seed=seed, again=again(request.node.nodeid, seed), **settings
        )

    return make
