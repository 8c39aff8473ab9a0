"""Fixtures of the tests that see the gateway from outside; what they do stands in tests/support/geonce_fixtures."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from geonce_fixtures import Fakegeo, Gateway, Geonce  # noqa: E402


@pytest.fixture
def provider(tmp_path):
    """A running fakegeo without script and latency."""
    directory = tmp_path / "provider"
    directory.mkdir()
    with Fakegeo(directory) as running:
        yield running


@pytest.fixture
def gateway(tmp_path, provider):
    with Gateway(Geonce(tmp_path / "g", provider.url, chain=("opencage",))) as running:
        yield running
