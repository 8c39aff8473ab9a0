"""Address points of the user's own: what a file leaves out can be said once for all its rows."""

import json

import pytest
from geonce_fixtures import Geonce

# The file of one town: it never says which, nor in which state; one row lies beyond the town line.
TOWN = """LON,LAT,NUMBER,STREET,UNIT,CITY,DISTRICT,REGION,POSTCODE,ID
-119.81,39.52,12,Oak Street,,,,,89501,a
-119.82,39.53,14,Oak Street,, ,,,,b
-119.83,39.54,16,Oak Street,,Sparks,,,89431,c
"""


@pytest.fixture
def program(tmp_path):
    return Geonce(tmp_path / "geonce", "", chain=("places",))


def load(program, text, *flags):
    done = program.run("places", "load", "-", "--country", "US", *flags, input=text)
    assert done.rc == 0, done.err


def point(program, address):
    done = program.run("get", address, "--country", "US", "--json")
    answer = json.loads(done.out)
    return (answer["lat"], answer["lng"]) if done.rc == 0 else None


def test_a_file_without_a_town_answers_a_question_that_names_one_by_its_postcode_alone(program):
    load(program, TOWN)
    assert point(program, "12 Oak St, Reno, NV 89501") == (39.52, -119.81)
    assert point(program, "12 Oak St, Reno, NV") is None
    assert point(program, "14 Oak St, Reno, NV 89502") is None


def test_what_rows_leave_out_is_what_was_said_for_the_file(program):
    load(program, TOWN, "--city", "Reno", "--region", "NV", "--postcode", "89502")
    assert point(program, "12 Oak St, Reno, NV 89501") == (39.52, -119.81)
    assert point(program, "12 Oak St, Reno, NV") == (39.52, -119.81)
    assert point(program, "14 Oak St, Reno, NV 89502") == (39.53, -119.82)
    # A row's own town and postcode stand.
    assert point(program, "16 Oak St, Sparks, NV 89431") == (39.54, -119.83)
    assert point(program, "16 Oak St, Reno, NV") is None
    assert point(program, "12 Oak St, Reno, NV 89502") is None


def test_a_file_that_has_no_such_columns_is_completed_as_well(program):
    load(program, "LON,LAT,NUMBER,STREET\n-119.81,39.52,12,Oak St\n", "--city", "Reno", "--region", "NV", "--postcode", "89501")
    assert point(program, "12 Oak St, Reno, NV 89501") == (39.52, -119.81)
    answer = json.loads(program.run("get", "12 Oak St, Reno, NV 89501", "--country", "US", "--json").out)
    assert "Reno" in answer["formatted"] and "89501" in answer["formatted"]
