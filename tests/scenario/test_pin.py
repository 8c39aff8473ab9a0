"""A person knows better: corrections, and what must not win over them."""

import json

import pytest
from geonce_fixtures import Postgres, read_rows

ADDRESS = "1100 Congress Ave, Austin, TX 78701"
US = ("--country", "US")


@pytest.fixture(params=["sqlite", "postgres"])
def geonce(request, provider, make_geonce):
    if request.param == "sqlite":
        yield make_geonce(provider)
        return
    with Postgres() as server:
        yield make_geonce(provider, store=server.uri())


def get(geonce, *more):
    done = geonce.run("get", ADDRESS, *US, "--json", *more)
    assert done.rc == 0, done.err
    return json.loads(done.out)


def pin(geonce, lat, lng, *more):
    done = geonce.run("pin", ADDRESS, *US, "--lat", lat, "--lng", lng, *more)
    assert done.rc == 0, done.err


def test_a_correction_wins_over_what_was_bought_and_no_refresh_replaces_it(provider, geonce):
    get(geonce)
    pin(geonce, 30.5, -97.5, "--note", "side door")
    for more in ((), ("--refresh",)):
        answer = get(geonce, *more)
        assert (answer["lat"], answer["lng"]) == (30.5, -97.5)
        assert answer["provider"] == "pinned"
        assert answer["reason"] == "side door"
    assert len(provider.bill()) == 1


def test_a_correction_needs_no_answer_before_it_and_is_in_the_rows_of_a_batch(
    provider, geonce, tmp_path
):
    pin(geonce, -30.5, 97.5)
    source = tmp_path / "in.csv"
    source.write_text(f'id,address\n1,"{ADDRESS}"\n')
    out = tmp_path / "out.csv"
    done = geonce.run(
        "batch", source, "-o", out, "--address", "address", "--default-country", "US", "--refresh"
    )
    assert done.rc == 0, done.err
    (row,) = read_rows(out)
    assert (float(row["geo_lat"]), float(row["geo_lng"])) == (-30.5, 97.5)
    assert row["geo_provider"] == "pinned"
    assert provider.bill() == []


def test_corrections_are_listed_replaced_and_taken_back(provider, geonce):
    get(geonce)
    assert geonce.run("entry", "list", "--pinned").out == ""
    assert geonce.run("unpin", ADDRESS, *US).rc == 1, "a bought answer is left alone"
    assert get(geonce)["cache"] != "paid"
    pin(geonce, 30.5, -97.5)
    pin(geonce, 30.6, -97.6)
    (line,) = geonce.run("entry", "list", "--pinned").out.splitlines()
    entry = json.loads(line)
    assert (entry["lat"], entry["pinned"]) == (30.6, True)
    assert geonce.run("unpin", entry["key"]).rc == 0
    assert geonce.run("entry", "list", "--pinned").out == ""
    assert get(geonce)["cache"] == "paid"


def test_corrections_go_from_one_store_to_another(provider, geonce, make_geonce, tmp_path):
    pin(geonce, 30.5, -97.5)
    file = tmp_path / "answers.ndjson"
    assert geonce.run("export", file).rc == 0
    other = make_geonce(provider, name="other")
    done = other.run("import", file)
    assert done.rc == 0, done.err
    assert get(other)["provider"] == "pinned"
    assert provider.bill() == []


def test_a_point_that_is_none_is_refused(geonce):
    done = geonce.run("pin", ADDRESS, *US, "--lat", "91", "--lng", "0")
    assert done.rc == 2 and "--lat" in done.err
