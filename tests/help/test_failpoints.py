"""The page on failpoints and the program name the same points, and a wrong setting stops it."""

import os
import pathlib
import re
import subprocess

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs/reference/failpoints.md"


def geonce(*words, **environment):
    return subprocess.run(
        [os.environ["GEONCE_BIN"], *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def listed():
    rows = [line.split() for line in geonce("failpoints").stdout.splitlines()]
    return {row[0]: row[1] for row in rows}


def test_the_page_has_every_moment_and_its_point():
    moments = dict(re.findall(r"^\| (CP\d\d) \| `([a-z.-]+)`", PAGE.read_text(), re.MULTILINE))
    assert moments == {moment: name for name, moment in listed().items() if moment != "-"}


def test_the_page_says_of_every_other_moment_why_it_does_not_exist():
    missing = re.findall(r"CP\d\d", PAGE.read_text().split("Not here")[1].split("Rows of")[0])
    here = {moment for moment in listed().values() if moment != "-"}
    assert here | set(missing) == {f"CP{number:02}" for number in range(1, 27)}
    assert not here & set(missing)


def test_the_page_names_every_other_point():
    beside = PAGE.read_text().split("# Beside these")[1]
    named = set(re.findall(r"`([a-z.-]+)`", beside)) - {"output.write"}
    assert named == {name for name, moment in listed().items() if moment == "-"}


@pytest.mark.parametrize("setting", ["CP99=kill", "CP07=boom", "CP07", "CP07=short"])
@pytest.mark.parametrize("command", [("version",), ("batch", "in.csv")])
def test_a_setting_that_is_not_understood_ends_any_command_with_status_2(command, setting):
    done = geonce(*command, GEONCE_FAILPOINTS=setting)
    assert done.returncode == 2
    assert "GEONCE_FAILPOINTS" in done.stderr and setting in done.stderr
