"""Real files, messy and large. They lie outside the repository; without them the tests say so."""

import csv
import json
import os
import pathlib
import unicodedata

import pytest
from geonce_fixtures import Geonce, read_rows

SHARED = pathlib.Path(os.environ.get("GEONCE_SHARED") or pathlib.Path(__file__).parents[3] / "shared")
REAL = SHARED / "cases" / "real"


@pytest.fixture(autouse=True)
def the_files():
    if not REAL.exists():
        reason = f"{REAL} is not there: set GEONCE_SHARED to the folder that holds cases/"
        if os.environ.get("GEONCE_REQUIRE_SHARED"):
            pytest.fail(reason)
        pytest.skip(reason)


def the_input_and_nothing_else(source, output):
    """Every row once, in order, its own cells untouched; returns the output's rows."""
    with open(source, newline="", encoding="utf-8") as file:
        before = list(csv.DictReader(file))
    after = read_rows(output)
    assert len(after) == len(before)
    for old, new in zip(before, after):
        assert {name: new[name] for name in old} == old
    return after


@pytest.mark.parametrize("chain", ["places", "google"])
def test_the_sites_of_chicago_come_back_without_a_lost_or_doubled_row(tmp_path, provider, chain):
    program = Geonce(tmp_path / "geonce", provider.url, chain=(chain,))
    source = REAL / "chicago-sites.csv"
    done = program.run(
        "batch", source, "-o", "out.csv", "--address", "address", "--map", "postcode=zip",
        "--default-city", "Chicago", "--default-state", "IL", "--default-country", "US",
        "--rate", 100_000, "--summary", "s.json",
    )  # fmt: skip
    assert done.rc in (0, 6), done.err
    rows = the_input_and_nothing_else(source, program.directory / "out.csv")
    summary = json.loads((program.directory / "s.json").read_text())
    assert summary["rows"] == len(rows)
    assert all(row["geo_status"] for row in rows)
    if chain == "google":
        assert 0 < len(provider.bill()) == summary["calls"] <= summary["distinct"] < len(rows)
        matches = [row for row in rows if row["geo_status"] == "match"]
        assert len(matches) > 0.95 * len(rows)


def respelled(row, nth):
    """A row of points as somebody else would write it: one line, or fields, capitals, blanks, NFD."""
    street, number, postcode, city = row["STREET"], row["NUMBER"], row["POSTCODE"], row["CITY"]
    text = {"street": street, "number": number, "postcode": postcode, "city": city}
    if nth % 4 == 0:
        text = {name: value.upper() for name, value in text.items()}
    elif nth % 4 == 1:
        text = {name: f"  {value.replace(' ', '   ')} " for name, value in text.items()}
    elif nth % 4 == 2:
        text = {name: unicodedata.normalize("NFD", value) for name, value in text.items()}
    else:
        text["city"] = ""
    return text


def test_the_points_of_elverum_answer_however_they_are_spelt(tmp_path):
    program = Geonce(tmp_path / "geonce", "", chain=("places",))
    loaded = program.run("places", "load", REAL / "elverum-points.csv", "--country", "NO")
    assert loaded.rc == 0, loaded.err
    with open(REAL / "elverum-points.csv", newline="", encoding="utf-8") as file:
        points = list(csv.DictReader(file))
    assert f"{len(points)} of {len(points)} rows" in loaded.out
    source = program.directory / "in.csv"
    with open(source, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["street", "number", "postcode", "city"])
        writer.writeheader()
        writer.writerows(respelled(row, nth) for nth, row in enumerate(points))
    done = program.run(
        "batch", source, "-o", "out.csv", "--default-country", "NO",
        "--map", "house_number=number,street=street,postcode=postcode,city=city",
    )  # fmt: skip
    assert done.rc in (0, 6), done.err
    rows = the_input_and_nothing_else(source, program.directory / "out.csv")
    wrong = ambiguous = 0
    for point, row in zip(points, rows):
        if row["geo_status"] != "match":
            ambiguous += 1
            continue
        here = abs(float(row["geo_lat"]) - float(point["LAT"])) < 1e-6 and (
            abs(float(row["geo_lng"]) - float(point["LON"])) < 1e-6
        )
        wrong += not here
    assert wrong == 0
    assert ambiguous < 0.01 * len(points)
