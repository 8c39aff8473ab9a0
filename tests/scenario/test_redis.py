"""Redis between the memory and the store: it saves reads, and nothing hangs on it."""

import json
from collections import Counter

import pytest

from geonce_fixtures import (
    Redis,
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    read_rows,
    statuses,
    us_addresses,
    write_csv,
)


@pytest.fixture
def redis(tmp_path):
    with Redis(tmp_path / "redis") as running:
        yield running


@pytest.fixture
def geonce(make_geonce, provider, redis):
    return make_geonce(provider, extra=redis.config)


def batch(geonce, source, output, *more):
    return geonce.run(
        "batch", source, "-o", output, "--address", "address", "--default-country", "US", *more
    )


def caches(rows):
    return Counter(row["geo_cache"] for row in rows)


def test_what_one_run_bought_the_next_reads_from_redis(tmp_path, provider, geonce, redis):
    addresses = us_addresses(2_000)
    first = batch(geonce, write_csv(tmp_path / "a.csv", addresses), tmp_path / "a.out")
    assert first.rc == 0, first.err
    assert redis.keys() == 2_000
    source = write_csv(tmp_path / "b.csv", addresses[::-1])
    second = batch(geonce, source, tmp_path / "b.out")
    assert second.rc == 0, second.err
    rows = read_rows(tmp_path / "b.out")
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert caches(rows) == {"redis": 2_000}
    assert len(provider.bill()) == 2_000
    check_the_ledger_against_the_bill(geonce, provider)


def test_an_emptied_redis_is_filled_from_the_store(tmp_path, provider, geonce, redis):
    *addresses, one_more, another = us_addresses(302)
    assert batch(geonce, write_csv(tmp_path / "a.csv", addresses), tmp_path / "a.out").rc == 0
    redis.command("FLUSHALL")
    for name, new, expected in (("b", one_more, "db"), ("c", another, "redis")):
        source = write_csv(tmp_path / f"{name}.csv", [*addresses, new])
        assert batch(geonce, source, tmp_path / f"{name}.out").rc == 0
        found = caches(read_rows(tmp_path / f"{name}.out"))
        assert found == {expected: 300, "paid": 1}, name
    assert len(provider.bill()) == 302


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_redis_goes_away_in_the_middle_of_a_batch(tmp_path, provider, geonce, redis, how):
    addresses = us_addresses(3_000)
    warm = batch(geonce, write_csv(tmp_path / "a.csv", addresses[:1_000]), tmp_path / "a.out")
    assert warm.rc == 0, warm.err
    provider.script({"latency_ms": [5, 20]})
    source = write_csv(tmp_path / "b.csv", addresses)
    run = geonce.start(
        "batch", source, "-o", tmp_path / "b.out", "--address", "address", "--default-country",
        "US", "--set", "redis.timeout=50ms",
    )  # fmt: skip
    provider.wait(items=1_300)
    getattr(redis, how)()
    _, err = run.communicate(timeout=120)
    if how == "pause":
        redis.resume()
    assert run.returncode == 0, err.decode()
    rows = read_rows(tmp_path / "b.out")
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": 3_000}
    assert set(provider.calls().values()) == {1}
    assert len(provider.bill()) == 3_000
    assert err.decode().count("left alone until it works again") == 1, err.decode()
    check_the_ledger_against_the_bill(geonce, provider)


def test_a_redis_that_was_never_there_is_one_line(provider, make_geonce, tmp_path):
    gone = Redis(tmp_path / "redis")
    geonce = make_geonce(provider, extra=gone.config)
    got = geonce.run("get", "1100 Congress Ave, Austin, TX 78701", "--country", "US", "--json")
    assert got.rc == 0, got.err
    assert json.loads(got.out)["cache"] == "paid"
    assert got.err.count("redis") == 1, got.err
    doctor = geonce.run("doctor")
    assert "warn  redis" in doctor.out and doctor.rc == 0, doctor.out


def get(geonce, address):
    done = geonce.run("get", address, "--country", "US", "--json")
    assert done.rc == 0, done.err
    return json.loads(done.out)


def test_what_was_dropped_is_not_given_out_by_redis(provider, geonce, redis):
    address = "1100 Congress Ave, Austin, TX 78701"
    get(geonce, address)
    assert get(geonce, address)["cache"] == "redis"
    assert geonce.run("entry", "drop", address, "--country", "US").rc == 0
    assert get(geonce, address)["cache"] == "paid"
    assert get(geonce, address)["cache"] == "redis"
    assert len(provider.bill()) == 2


def test_a_drop_that_redis_does_not_hear_of_counts_and_redis_is_told_by_who_comes_next(
    provider, geonce, redis
):
    address = "1100 Congress Ave, Austin, TX 78701"
    get(geonce, address)
    held = redis.dump()
    redis.pause()
    dropped = geonce.run(
        "entry", "drop", address, "--country", "US", "--set", "redis.timeout=100ms"
    )
    redis.resume()
    assert dropped.rc == 0, dropped.err
    assert "tells Redis" in dropped.err
    assert redis.dump() == held, "it still holds the old answer"
    asked = geonce.run("get", address, "--country", "US", "--json", "--cache-only")
    assert json.loads(asked.out)["status"] == "error", "which nobody believes"
    assert redis.dump() != held, "and that process has told it"
    assert get(geonce, address)["cache"] == "paid"


def test_the_next_command_tells_redis_what_it_was_not_told(provider, geonce, redis):
    addresses = ["1100 Congress Ave, Austin, TX 78701", "1102 Congress Ave, Austin, TX 78701"]
    for address in addresses:
        get(geonce, address)
    held = redis.dump()
    without = ("--set", "redis.url=")
    assert geonce.run("entry", "drop", addresses[0], "--country", "US", *without).rc == 0
    assert redis.dump() == held
    assert geonce.run("entry", "drop", addresses[1], "--country", "US").rc == 0
    assert len(held) == 2 and not redis.dump() & held


def test_answers_that_must_not_be_kept_are_not_in_redis(provider, make_geonce, redis):
    terms = '\n[providers.google.terms]\npersist_days = 0\nreason = "test"\n'
    geonce = make_geonce(provider, extra=redis.config + terms)
    address = "1100 Congress Ave, Austin, TX 78701"
    for _ in range(2):
        assert get(geonce, address)["cache"] == "paid"
    assert redis.keys() == 0


def test_no_password_is_ever_shown(provider, make_geonce, tmp_path):
    with Redis(tmp_path / "redis", "--requirepass", "right-word") as redis:
        for word, works in (("right-word", True), ("wrong-word", False)):
            url = redis.url.replace("//", f"//:{word}@")
            geonce = make_geonce(
                provider, name=f"works-{works}", extra=f'\n[redis]\nurl = "{url}"\ntimeout = "5s"\n'
            )
            said = [
                geonce.run("config"),
                geonce.run("doctor"),
                geonce.run("get", "1100 Congress Ave, Austin, TX 78701", "--country", "US"),
            ]
            for one in said:
                assert one.rc == 0, one.err
                assert word not in one.out + one.err
            assert ("WRONGPASS" in said[1].out) != works, said[1].out
            file = tmp_path / "redis.password"
            file.write_text("right-word\n")
            by_file = geonce.run("doctor", "--set", f"redis.password_file={file}")
            assert "ok    redis" in by_file.out, by_file.out
