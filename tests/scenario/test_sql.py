"""What people with SQL see of a store on Postgres: views, counts, points; and what they do not."""

import pathlib

import pytest
from geonce_fixtures import Geonce, Postgres, read_rows, us_addresses, write_csv

ROLES = (pathlib.Path(__file__).parents[2] / "sql/roles/postgres.sql").read_text()


@pytest.fixture(scope="module")
def server():
    with Postgres() as running:
        yield running


@pytest.fixture
def filled(tmp_path, provider, server):
    """A store in which a batch of 200 addresses has run, 20 of them without a match."""
    server.sql("DROP SCHEMA IF EXISTS geonce CASCADE; DROP EXTENSION IF EXISTS postgis")
    server.sql(ROLES)
    geonce = Geonce(tmp_path / "machine", provider.url, store=server.uri())
    owner = Geonce(tmp_path / "owner", provider.url, store=server.uri(user="geonce_owner"))
    assert owner.run("migrate").rc == 0
    addresses = us_addresses(180)
    nowhere = [(f"{n} Nowhere Lane", "Austin", "TX", "78701") for n in range(20)]
    source = write_csv(tmp_path / "in.csv", addresses + nowhere)
    done = geonce.run("batch", source, "-o", tmp_path / "out.csv", "--address", "address", "--default-country", "US",
                      "--columns", "full", "--quiet")  # fmt: skip
    assert done.rc in (0, 1), done.err
    return geonce, owner, tmp_path / "out.csv"


def reader(server, sql):
    """As the role of people who only read."""
    return server.sql(f"SET ROLE geonce_reader;{sql}")


def test_the_cache_as_a_view_says_what_the_batch_said(server, filled):
    _, _, out = filled
    rows = {row["address"]: row for row in read_rows(out)}
    seen = reader(server, "SELECT raw_input, status, lat, lng, result->>'lat', country_code, length(cache_key),"
                          " expires_at > now(), provider FROM geonce.geocode_cache")  # fmt: skip
    assert len(seen) == len(rows)
    for line in seen:
        raw, status, lat, lng, in_result, country, size, is_fresh, who = line.split("|")
        row = rows[raw]
        assert (status, country, size, is_fresh, who) == (row["geo_status"], "US", "64", "t", "google")
        assert (lat, lng) == (row["geo_lat"], row["geo_lng"]) or (float(lat), float(lng)) == (
            float(row["geo_lat"]), float(row["geo_lng"]))  # fmt: skip
        assert in_result == lat


def test_the_rows_of_a_batch_as_a_view(server, filled):
    _, _, out = filled
    matches = {row["address"]: row for row in read_rows(out) if row["geo_status"] == "match"}
    seen = reader(server, "SELECT addr_raw, lat, lng, count(*) OVER (PARTITION BY batch_id), length(idempotency_key)"
                          " FROM geonce.geocoded_rows")  # fmt: skip
    assert {line.split("|")[0] for line in seen} == set(matches)
    for line in seen:
        raw, lat, lng, count, size = line.split("|")
        assert (float(lat), float(lng)) == (float(matches[raw]["geo_lat"]), float(matches[raw]["geo_lng"]))
        assert (int(count), size) == (len(matches), "64")


def test_nothing_past_its_terms_is_shown(server, filled):
    server.sql("UPDATE geonce.entry SET fresh_until = 1, stale_until = 1, erase_after = 1")
    server.sql("UPDATE geonce.chunk SET erase_after = 1")
    for view in ("geocode_cache", "geocoded_rows"):
        assert reader(server, f"SELECT count(*) FROM geonce.{view}") == ["0"]


def test_a_damaged_answer_stops_no_query(server, filled):
    server.sql("UPDATE geonce.entry SET payload = substr(payload, 1, 40)")
    assert reader(server, "SELECT count(*) FROM geonce.geocode_cache WHERE lat IS NOT NULL") == ["0"]


@pytest.mark.parametrize("forbidden", [
    "SELECT 1 FROM geonce.entry",
    "SELECT 1 FROM geonce.ledger",
    "SELECT geonce.sweep(10)",
    "SELECT geonce.invalidate(ARRAY[1::bigint], ARRAY[''::bytea])",
    "SELECT geonce.lease('sweep', gen_random_uuid(), 1)",
    "DELETE FROM geonce.geocode_cache",
    "CREATE TABLE geonce.mine ()",
])  # fmt: skip
def test_a_reader_may_nothing_else(server, filled, forbidden):
    with pytest.raises(Exception, match="permission denied|cannot delete"):
        reader(server, forbidden)


def test_counts_for_dashboards_are_renewed_by_a_sweep(server, filled):
    _, _, out = filled
    matches = sum(row["geo_status"] == "match" for row in read_rows(out))
    count = "SELECT coalesce(sum(answers), 0) FROM geonce.answers_by_day WHERE status = 'match'"
    assert reader(server, count) == ["0"]
    app = Geonce(out.parent / "app", "http://127.0.0.1:1",
                 store=server.uri(user="geonce_app"))  # fmt: skip
    for _ in range(2):  # the second is CONCURRENTLY over the first
        done = app.run("sweep")
        assert done.rc == 0, done.err
        assert reader(server, count) == [str(matches)]
    billed = reader(server, "SELECT sum(billed_units), sum(billed_micro_usd) FROM geonce.calls_by_day")
    assert billed == ["200|1000000"]


def test_with_postgis_points_can_be_asked_for_by_distance(server, filled):
    _, owner, out = filled
    assert server.sql("SELECT to_regclass('geonce.geocode_points')") == [""]
    server.sql("CREATE EXTENSION postgis")
    done = owner.run("migrate")
    assert done.rc == 0 and "geocode_points" in done.out, done.out + done.err
    assert owner.run("migrate").out == "the schema is up to date\n"
    row = next(row for row in read_rows(out) if row["geo_status"] == "match")
    near = (
        "SELECT raw_input FROM geonce.geocode_points WHERE ST_DWithin(at, ST_SetSRID(ST_MakePoint("
        f"{row['geo_lng']}, {row['geo_lat']}), 4326)::geography, 1)"
    )
    server.sql("ANALYZE geonce.entry")
    assert row["address"] in reader(server, near)
    plan = server.sql(f"SET enable_seqscan = off; EXPLAIN {near}")
    assert any("entry_point" in line for line in plan), plan
    # What was there before goes on as it did.
    again = owner.run("get", "1 Quite New Street, Austin, TX 78701", "--country", "US", "--json")
    assert again.rc == 0, again.err
    server.sql("UPDATE geonce.entry SET erase_after = 1")
    assert reader(server, "SELECT count(*) FROM geonce.geocode_points") == ["0"]
