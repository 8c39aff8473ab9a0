"""An address is erased wherever it was held."""

import json

import pytest
from geonce_fixtures import Postgres, Redis, check_the_ledger_against_the_bill

ADDRESS = "1100 Congress Ave, Austin, TX 78701"
OTHER = "1102 Congress Ave, Austin, TX 78701"
US = ("--country", "US")


@pytest.fixture
def redis(tmp_path):
    with Redis(tmp_path / "redis") as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def geonce(request, provider, make_geonce, redis):
    if request.param == "sqlite":
        yield make_geonce(provider, extra=redis.config)
        return
    with Postgres() as server:
        yield make_geonce(provider, store=server.uri(), extra=redis.config)


def test_a_forgotten_address_is_nowhere_and_the_sums_stay(provider, geonce, redis, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text(f'id,address\n1,"{ADDRESS}"\n2,"{OTHER}"\n')
    batch = ("batch", source, "-o", tmp_path / "out.csv", "--address", "address",
             "--default-country", "US")  # fmt: skip
    assert geonce.run(*batch).rc == 0
    held = redis.dump()
    done = geonce.run("forget", ADDRESS, *US)
    assert done.rc == 0, done.err
    assert "1 answer" in done.out and "1 part of a batch" in done.out and "rows of the ledger" in done.out
    assert len(redis.dump() & held) == 1, "that of the other address"
    exported = tmp_path / "all.ndjson"
    assert geonce.run("export", exported).rc == 0
    assert "1102 " in exported.read_text() and "1100 " not in exported.read_text()
    shown = geonce.run("entry", "show", ADDRESS, *US)
    assert json.loads(shown.out)["kind"] == "dropped"
    sums = check_the_ledger_against_the_bill(geonce, provider)
    assert sums.answered == 2
    assert geonce.run(*batch).rc == 0, "the batch asks for the one anew"
    assert len(provider.bill()) == 3


def test_what_a_killed_run_has_left_is_not_filed_behind_it(provider, geonce):
    provider.script({"latency_ms": [60_000, 60_000]})
    run = geonce.start("get", ADDRESS, *US)
    provider.wait(in_flight=1)
    run.kill()
    run.wait()
    provider.script({})
    done = geonce.run("forget", ADDRESS, *US)
    assert done.rc == 0, done.err
    got = geonce.run("get", ADDRESS, *US, "--json", "--cache-only")
    assert json.loads(got.out)["status"] == "error"
    assert geonce.run("get", ADDRESS, *US).rc == 0
