"""GEONCE_SCENARIO=full: the numbers of a release instead of those of every commit."""

import os

import pytest


@pytest.fixture
def full():
    return os.environ.get("GEONCE_SCENARIO") == "full"
