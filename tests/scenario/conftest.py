"""Fixtures of the scenario tests; what they do stands in tests/support/geonce_fixtures."""

import os
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from geonce_fixtures import Fakegeo, Geonce  # noqa: E402


@pytest.fixture
def provider(tmp_path):
    """A running fakegeo without script and latency."""
    directory = tmp_path / "provider"
    directory.mkdir()
    with Fakegeo(directory) as running:
        yield running


@pytest.fixture
def geonce(tmp_path, provider):
    """The program, set up to ask `provider` as google."""
    return Geonce(tmp_path / "geonce", provider.url)


@pytest.fixture
def make_geonce(tmp_path):
    """`make_geonce(provider, chain=("census",), extra="…")`: other set-ups of the program."""

    def make(provider, *, name="geonce", **config):
        return Geonce(tmp_path / name, provider.url, **config)

    return make


@pytest.fixture
def dice():
    """Random moments. GEONCE_SEED repeats a run; pytest prints the seed of a failed one."""
    seed = int(os.environ.get("GEONCE_SEED") or random.SystemRandom().getrandbits(32))
    print(f"GEONCE_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def full():
    """True under GEONCE_SCENARIO=full: the numbers of a release instead of those of every commit."""
    return os.environ.get("GEONCE_SCENARIO") == "full"
