"""A cache that somebody's own code has filled is taken over, and its addresses are not bought again."""

import json
import os

import pytest
from geonce_fixtures import Geonce, Postgres, point_of, read_rows, statuses, us_addresses, write_csv

TABLE = """CREATE TABLE geocode_cache (cache_key text PRIMARY KEY, raw_input text NOT NULL, country_code text,
  result jsonb, expires_at timestamptz NOT NULL, updated_at timestamptz NOT NULL DEFAULT now())"""


@pytest.fixture
def server():
    with Postgres() as running:
        running.sql(TABLE)
        yield running


def put(server, raw, result, country="US", expires="now() + interval '20 days'", updated="now() - interval '2 days'"):
    """As the code that keeps such a table writes it."""
    country = "NULL" if country is None else f"'{country}'"
    server.sql(
        f"INSERT INTO geocode_cache VALUES (encode(sha256(('{raw}' || ({updated})::text)::bytea), 'hex'), '{raw}', {country}, "
        f"'{json.dumps(result)}', {expires}, {updated})"
    )


def line(row):
    street, city, state, zip_code = row
    return f"{street}, {city}, {state} {zip_code}"


def answer(text, **more):
    lat, lng = point_of(text)
    return {"lat": lat, "lng": lng, "precision": "rooftop", **more}


def adopt(geonce, server, *more):
    return geonce.run("adopt", "--postgres", server.uri(), *more)


def batch(geonce, source):
    done = geonce.run("batch", source, "-o", "out.csv", "--address", "address", "--default-country", "US")
    assert done.rc in (0, 1), done.err
    return read_rows(geonce.directory / "out.csv")


def test_a_batch_over_the_addresses_of_an_adopted_cache_makes_no_call(tmp_path, provider, server):
    rows = us_addresses(2_500)
    values = ",".join(
        f"(encode(sha256('{n}'), 'hex'), '{line(row).upper()}', 'US', '{json.dumps(answer(line(row)))}',"
        " now() + interval '20 days', now())"
        for n, row in enumerate(rows)
    )
    server.sql(f"INSERT INTO geocode_cache VALUES {values}")
    geonce = Geonce(tmp_path / "g", provider.url)
    planned = adopt(geonce, server, "--provider", "google", "--plan")
    assert planned.rc == 0 and planned.out.startswith("2500 rows: 2500 matches, 0 no-matches, 0 that"), planned.out + planned.err
    assert "stored" not in planned.out
    done = adopt(geonce, server, "--provider", "google")
    assert done.rc == 0 and "2500 stored, 0 not younger" in done.out, done.out + done.err
    again = adopt(geonce, server, "--provider", "google")
    assert again.rc == 0 and "0 stored, 2500 not younger" in again.out, again.out
    out = batch(geonce, write_csv(tmp_path / "in.csv", rows))
    assert statuses(out) == {"match": 2_500}
    assert provider.bill() == []
    for row in out[:50]:
        assert (float(row["geo_lat"]), float(row["geo_lng"])) == point_of(row["address"])


def test_terms_hold_for_what_is_adopted(tmp_path, provider, server):
    put(server, "1 Old Street, Austin, TX 78701", answer("x"), updated="now() - interval '31 days'")
    put(server, "2 Young Street, Austin, TX 78701", answer("x", formatted_address="2 Young St"),
        expires="now() + interval '5 years'", updated="now() - interval '29 days'")  # fmt: skip
    put(server, "3 Strange Street, Austin, TX 78701", answer("x", provider="somebody"))
    geonce = Geonce(tmp_path / "g", provider.url)
    done = adopt(geonce, server, "--provider", "google")
    assert done.rc == 6, done.err
    assert "1 that the terms do not allow" in done.out and "1 stored, 0 not younger than what is here, 1 whose" in done.out
    shown = geonce.run("entry", "show", "2 Young Street, Austin, TX 78701", "--country", "US").out
    assert "2 Young St" not in shown.replace("2 Young Street", ""), "Google's terms keep no such text"
    unknown = Geonce(tmp_path / "h", provider.url)
    assert "3 that the terms do not allow" in adopt(unknown, server).out, "nobody has said who gave them"


def test_no_matches_duplicates_and_rows_that_cannot_be_read(tmp_path, provider, server):
    put(server, "1 Some Street, Austin, TX 78701", {"lat": 30.1, "lng": -97.1, "location_type": "APPROXIMATE"})
    put(server, "1 some st., AUSTIN TX 78701", {"latitude": 30.2, "lon": -97.2}, updated="now() - interval '1 day'")
    put(server, "2 Some Street, Austin, TX 78701", None, updated="now() - interval '1 minute'")
    put(server, "3 Some Street, Austin, TX 78701", {"lat": "30.1", "lng": -97.1})
    put(server, "4 Some Street, Austin, TX 78701", {"lat": 130.1, "lng": -97.1})
    put(server, "5 Some Street, Austin, TX 78701", {"lat": 0, "lng": 0})
    put(server, "6 Some Street, Austin, TX 78701", {"lat": 30, "lng": -97}, country="XQ")
    put(server, "", {"lat": 30, "lng": -97})
    geonce = Geonce(tmp_path / "g", provider.url)
    done = adopt(geonce, server, "--provider", "google")
    assert done.rc == 6
    assert done.out.startswith("8 rows: 2 matches, 1 no-matches, 0 that the terms do not allow to keep, 5 that"), done.out
    assert "2 stored, 1 not younger" in done.out
    named = [text for text in done.err.splitlines() if text.startswith("row ")]
    keys = set(server.sql("SELECT cache_key FROM geocode_cache"))
    assert len(named) == 5 and {text.split()[1].rstrip(":") for text in named} <= keys, done.err
    assert "Some Street" not in done.err
    out = batch(geonce, write_csv(tmp_path / "in.csv", [("1 Some Street", "Austin", "TX", "78701"),
                                                        ("2 Some Street", "Austin", "TX", "78701")]))  # fmt: skip
    assert [(row["geo_status"], row["geo_lat"]) for row in out] == [("match", "30.2000000"), ("no_match", "")]
    assert provider.bill() == []


def test_a_table_that_is_none(tmp_path, provider, server):
    geonce = Geonce(tmp_path / "g", provider.url)
    assert "has no table nothing" in adopt(geonce, server, "--table", "nothing").err
    server.sql("CREATE TABLE other (cache_key text)")
    assert "has not the columns" in adopt(geonce, server, "--table", "other").err
    assert "password on the command line" in geonce.run("adopt", "--postgres", "postgres://me:secret@host/db").err


def fill(server, rows):
    server.sql(
        "INSERT INTO geocode_cache SELECT encode(sha256(n::text::bytea), 'hex'), n || ' Main St, Austin, TX 78701', 'US', "
        "jsonb_build_object('lat', 30.0, 'lng', -97.0 - n / 1e6, 'precision', 'rooftop', 'provider', 'opencage'), "
        f"now() + interval '20 days', now() FROM generate_series(1, {rows}) AS n; ANALYZE geocode_cache"
    )


def test_an_adoption_that_is_killed_goes_on_where_it_is_run_again(tmp_path, provider, server, full):
    rows, kills = 8_000, 50 if full else 5
    fill(server, rows)
    geonce = Geonce(tmp_path / "g", provider.url, store=server.uri("mine"))
    server.sql("CREATE DATABASE mine")
    assert geonce.run("migrate").rc == 0

    def held():
        return int(server.sql("SELECT count(*) FROM geonce.entry", "mine")[0])

    for n in range(kills):
        before, running = held(), geonce.start("adopt", "--postgres", server.uri())
        # A page more each time, so that each is killed further on, until there is nothing more to file.
        while held() < min(before + 1_000, rows) and running.poll() is None:
            pass
        running.kill()
        assert running.wait() in (-9, 0), n
    done = adopt(geonce, server)
    assert done.rc == 0, done.err
    said = {word: int(count) for count, word in (part.split()[:2] for part in done.out.splitlines()[-1].split(", "))}
    assert said["stored"] + said["not"] == rows and said["not"] >= 5_000, done.out
    assert held() == rows
    source = geonce.directory / "in.csv"
    source.write_text("address\n" + "".join(f'"{n} Main St, Austin, TX 78701"\n' for n in range(1, rows + 1)))
    assert statuses(batch(geonce, source)) == {"match": rows}
    assert provider.bill() == []


def test_a_big_table_is_read_in_little_memory(tmp_path, provider, server, full):
    """Twice the rows and no more of it: what is held is a page, not the table."""
    rows = 1_000_000 if full else 40_000
    peaks = []
    for count in (rows // 2, rows):
        server.sql("TRUNCATE geocode_cache")
        fill(server, count)
        geonce = Geonce(tmp_path / str(count), provider.url)
        running = geonce.start("adopt", "--postgres", server.uri())
        assert f"{count} stored" in running.stdout.read().decode()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] < peaks[0] + 16 and peaks[1] < 150, peaks
