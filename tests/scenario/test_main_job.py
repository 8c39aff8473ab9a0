"""The first thing a user does: points of their own, a CSV in, the same CSV with coordinates out."""

import csv
import io
import json

import pytest
from geonce_fixtures import Geonce, us_addresses, write_csv

POINTS = """LON,LAT,NUMBER,STREET,UNIT,CITY,DISTRICT,REGION,POSTCODE,ID
-119.81,39.52,12,Oak Street,,Reno,,NV,89501,a
-119.82,39.53,14,Oak Street,,Reno,,NV,89501,b
-119.83,39.54,14,Oak Street,,Sparks,,NV,89431,c
"""


@pytest.fixture
def program(tmp_path):
    running = Geonce(tmp_path / "geonce", "", chain=("places",))
    points = running.directory / "points.csv"
    points.write_text(POINTS)
    loaded = running.run("places", "load", points, "--country", "US")
    assert loaded.rc == 0, loaded.err
    return running


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_come_back_in_order_with_coordinates_behind_their_own_bytes(program):
    source = (
        'id,"address",note\r\n'
        '1,"12 OAK ST., Reno, Nevada 89501","said ""hi"""\r\n'
        '2,"99 Nowhere Ln, Reno, NV 89501",\r\n'
        "3,,blank\r\n"
        "4\r\n"
        '5,"14 Oak St, Sparks, NV","two\nlines"\r\n'
    )
    done = program.run("batch", "-", "--default-country", "US", input=source)
    assert done.rc == 6, done.err  # row 4 is short
    rows = rows_of(done.out)
    assert [r["id"] for r in rows] == ["1", "2", "3", "4", "5"]
    assert [r["geo_status"] for r in rows] == ["match", "no_match", "empty", "bad_row", "match"]
    assert (rows[0]["geo_lat"], rows[0]["geo_lng"]) == ("39.5200000", "-119.8100000")
    assert rows[1]["geo_lat"] == rows[1]["geo_lng"] == ""
    assert rows[4]["note"] == "two\nlines"
    for line, before in zip(done.out.split("\r\n")[1:3], source.split("\r\n")[1:3]):
        assert line.startswith(before)


def test_a_second_run_is_free_and_byte_for_byte_the_same(program):
    source = program.directory / "in.csv"
    source.write_text('id,address\n1,"12 Oak St, Reno, NV"\n2,"14 Oak Street, Sparks, NV 89431"\n')
    first, second = program.directory / "one.csv", program.directory / "two.csv"
    for target in (first, second):
        done = program.run("batch", source, "-o", target, "--default-country", "US", "--summary", "s.json")
        assert done.rc == 0, done.err
    assert first.read_bytes() == second.read_bytes()
    summary = json.loads((program.directory / "s.json").read_text())
    assert summary["calls"] == 0
    assert summary["resumed"] is True


def test_points_loaded_later_are_found_by_the_next_run(program):
    source = program.directory / "in.csv"
    source.write_text('id,address\n1,"16 Oak St, Reno, NV"\n')
    assert "no_match" in program.run("batch", source, "--default-country", "US").out
    more = "LON,LAT,NUMBER,STREET,CITY,REGION\n-119.9,39.6,16,Oak St,Reno,NV\n"
    assert program.run("places", "load", "-", "--source", "more", "--country", "US", input=more).rc == 0
    assert "39.6000000" in program.run("batch", source, "--default-country", "US").out


def test_a_paid_batch_is_replayed_from_its_own_rows(geonce, provider):
    write_csv(geonce.directory / "in.csv", us_addresses(30))
    command = ("batch", "in.csv", "--address", "address", "--default-country", "US", "--summary", "s.json")
    first = geonce.run(*command, "-o", "one.csv")
    assert first.rc == 0, first.err
    assert geonce.run("entry", "drop", "nowhere", "--country", "US").rc == 0
    second = geonce.run(*command, "-o", "two.csv")
    assert second.rc == 0, second.err
    assert (geonce.directory / "one.csv").read_bytes() == (geonce.directory / "two.csv").read_bytes()
    summary = json.loads((geonce.directory / "s.json").read_text())
    assert (summary["calls"], summary["replayed"]) == (0, 30)
    assert len(provider.bill()) == 30


def test_a_dry_run_counts_and_prices_and_writes_nothing(program):
    source = program.directory / "in.csv"
    source.write_text('address\n"12 Oak St, Reno, NV"\n"12 OAK STREET, RENO, NV"\n"1 Elm St, Reno, NV"\n\n')
    done = program.run("batch", source, "-o", "out.csv", "--default-country", "US", "--dry-run", "--summary", "s.json")
    assert done.rc == 0, done.err
    assert not (program.directory / "out.csv").exists()
    plan = json.loads((program.directory / "s.json").read_text())
    assert plan["distinct"] == 2
    assert plan["rows"] == 4
    assert plan["empty"] == 1


def test_formats_out(program):
    source = program.directory / "in.csv"
    source.write_text('id,address\n1,"12 Oak St, Reno, NV"\n2,"1 Elm St, Reno, NV"\n')
    done = program.run("batch", source, "--default-country", "US", "--format", "geojson", "--quiet")
    features = json.loads(done.out)["features"]
    assert features[0]["geometry"] == {"type": "Point", "coordinates": [-119.81, 39.52]}
    assert features[1]["geometry"] is None
    assert features[1]["properties"]["id"] == "2"
    done = program.run("batch", source, "--default-country", "US", "--format", "ndjson", "--quiet")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines[0]["geo_lat"] == 39.52
    assert lines[1]["geo_status"] == "no_match"
    assert done.err == ""


def test_points_have_no_times_and_no_cost(program):
    source = program.directory / "in.csv"
    source.write_text('id,address\n1,"12 Oak St, Reno, NV"\n')
    done = program.run("batch", source, "--default-country", "US", "--columns", "full", "--quiet")
    row = rows_of(done.out)[0]
    assert row["geo_cache"] == "places"
    assert (row["geo_fetched_at"], row["geo_expires_at"]) == ("", "")
    assert float(row["geo_cost"]) == 0


def test_get_answers_one_address_and_tells_where_from(program):
    done = program.run("get", "12 Oak Street, Reno, NV 89501", "--country", "US", "--json")
    assert done.rc == 0, done.err
    answer = json.loads(done.out)
    assert (answer["lat"], answer["lng"], answer["provider"]) == (39.52, -119.81, "places")


def test_an_address_that_fits_two_points_has_no_answer(program):
    done = program.run("get", "14 Oak Street, NV", "--country", "US", "--json")
    assert done.rc == 6
    assert "lat" not in json.loads(done.out)


def test_two_addresses_in_a_row_get_columns_of_their_own_in_two_passes(program):
    source = program.directory / "moves.csv"
    source.write_text('id,from,to\n1,"12 Oak St, Reno, NV","14 Oak St, Sparks, NV"\n2,"1 Elm St, Reno, NV","12 Oak St, Reno, NV"\n')
    first = program.run("batch", source, "--address", "from", "--prefix", "from_", "--default-country", "US")
    assert first.rc == 0, first.err
    both = program.run("batch", "--address", "to", "--prefix", "to_", "--default-country", "US", input=first.out)
    assert both.rc == 0, both.err
    rows = rows_of(both.out)
    assert [(r["from_lat"], r["to_lat"]) for r in rows] == [("39.5200000", "39.5400000"), ("", "39.5200000")]
    assert [r["from"] for r in rows] == ["12 Oak St, Reno, NV", "1 Elm St, Reno, NV"]
