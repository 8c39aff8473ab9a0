"""What is no longer fresh stands in for what cannot be had, marked, and never becomes fresh by that."""

import json
from datetime import datetime, timedelta, timezone

import pytest

from geonce_fixtures import Geonce, read_rows, statuses, us_addresses, write_csv

COMMAND = ("batch", "in.csv", "--address", "address", "--default-country", "US", "--max-retries", 0)


def utc(days):
    return (datetime.now(timezone.utc) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def running(tmp_path, provider):
    """A program whose store knows 20 addresses, none of them fresh, and nobody has been asked for them since."""
    first = Geonce(tmp_path / "first", provider.url)
    rows = us_addresses(20)
    write_csv(first.directory / "in.csv", rows)
    assert first.run(*COMMAND, "-o", "out.csv").rc == 0
    assert first.run("export", "answers.ndjson").rc == 0
    lines = [json.loads(line) for line in (first.directory / "answers.ndjson").read_text().splitlines()]
    for line in lines:
        line |= {"answered_at": utc(-20), "fresh_until": utc(-1), "stale_until": utc(5), "erase_after": utc(9)}
    second = Geonce(tmp_path / "second", provider.url)
    (second.directory / "old.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = second.run("import", "old.ndjson")
    assert done.rc == 0 and "20 stored" in done.out, done.err
    write_csv(second.directory / "in.csv", rows)
    second.rows = [f"{street}, {city}, {state} {code}" for street, city, state, code in rows]
    return second


def lives(running):
    assert running.run("export", "lives.ndjson").rc == 0
    lines = [json.loads(line) for line in (running.directory / "lives.ndjson").read_text().splitlines()]
    return {line["query"]["text"]: (line["fresh_until"], line["stale_until"]) for line in lines}


def test_while_the_provider_is_down_every_address_is_served_stale_and_stays_so(running, provider):
    before = lives(running)
    assert len(before) == 20
    running.environment["GEONCE_RESOLVER_COOL_DOWN"] = "1ms"
    provider.rules({"do": "status", "status": 503})
    for out in ("one.csv", "two.csv"):
        done = running.run(*COMMAND, "-o", out)
        assert done.rc == 0, done.err
        rows = read_rows(running.directory / out)
        assert statuses(rows) == {"match": 20}
        assert {row["geo_cache"] for row in rows} == {"stale"}
    assert lives(running) == before

    provider.rules()
    done = running.run(*COMMAND, "-o", "three.csv")
    assert done.rc == 0, done.err
    assert {row["geo_cache"] for row in read_rows(running.directory / "three.csv")} == {"paid"}
    assert all(fresh > before[text][0] for text, (fresh, _) in lives(running).items())


def test_one_address_is_told_with_what_came_in_the_way(running, provider):
    provider.rules({"do": "status", "status": 503})
    address = running.rows[0]
    done = running.run("get", address, "--country", "US", "--json")
    assert done.rc == 0, done.err
    told = json.loads(done.out)
    assert (told["status"], told["cache"], told["error"]) == ("match", "stale", "provider_retry")
    done = running.run("get", address, "--country", "US")
    assert done.rc == 0 and "stale" in done.err and "an old answer of " in done.err


def test_beyond_the_soft_limit_an_old_answer_is_given_and_the_new_one_is_there_next_time(running, provider):
    provider.script({"latency_ms": 1500})
    running.environment["GEONCE_RESOLVER_SOFT_LIMIT"] = "200ms"
    ask = ("get", running.rows[0], "--country", "US", "--json")
    bill = len(provider.bill())
    assert json.loads(running.run(*ask).out)["cache"] == "stale"
    assert json.loads(running.run(*ask).out)["cache"] == "db"
    assert len(provider.bill()) == bill + 1
