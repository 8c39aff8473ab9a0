"""The store is where the promise sits: while it is away nothing is bought, and what others hold is still served."""

import pathlib
import sys
import time
from contextlib import contextmanager

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import told  # noqa: E402
from geonce_fixtures import Fakegeo, Gate, Postgres, Redis, check_the_ledger_against_the_bill  # noqa: E402
from many_callers import Load, print_waits  # noqa: E402

# A call whose claim is in doubt when the store vanishes may become unknown; that blocks no key here.
PATIENT = "\n[resolver]\nmax_unknown_retries = 10\n"
SECOND = 1_000_000_000


@pytest.fixture
def provider(tmp_path, full):
    (tmp_path / "provider").mkdir()
    with Fakegeo(tmp_path / "provider", latency_ms=(5, 3_000 if full else 300)) as running:
        yield running


@contextmanager
def loaded(tmp_path, provider, store, redis, full):
    keys = 100_000 if full else 5_000  # of few keys most are held soon
    with Load(tmp_path, provider, store, keys=keys, extra=redis.config + PATIENT, hasty=True) as load:
        provider.wait(requests=500)
        yield load


def comes_back(load, provider, server, seconds):
    """The store is there again: without a word from anybody what was begun comes to its end, and somebody buys."""
    start = time.monotonic()
    with load.phase("back"):
        last = server.sql("SELECT coalesce(max(seq), 0) FROM geonce.ledger")[0]
        begun = f"SELECT count(*) FROM geonce.ledger b WHERE event = 1 AND seq <= {last}"
        open_ = f"{begun} AND NOT EXISTS (SELECT FROM geonce.ledger e WHERE e.intent = b.intent AND event > 1)"
        while int(server.sql(open_)[0]) > 0:
            assert time.monotonic() < start + 60, "what was under way is not in the ledger"
            time.sleep(0.1)
        print(f"all that had begun is in the ledger after {time.monotonic() - start:.1f} s")
        provider.wait(requests=provider.stats()["requests"] + 100)
        time.sleep(seconds)


def drain(load, seconds=60):
    """Until no intent is open: what waited in the spools is in the ledger."""
    load.finish()
    end = time.monotonic() + seconds
    while (sums := load.sums()).open > 0:
        assert time.monotonic() < end, sums
        time.sleep(0.2)
    return sums


def check(load, provider):
    history, bill, sums = load.history(), provider.bill(), load.sums()
    print(f"{len(history):,} questions, {len(bill):,} calls, {sums}")
    print_waits(load)
    check_the_ledger_against_the_bill(load.machines[0], provider)
    again = sum(calls - 1 for calls in told.calls_by_key(bill).values())
    assert again <= sums.unknown + sums.refused, (again, sums)
    assert told.changed_points(history) == {}
    return history, bill, sums


def calls_between(bill, start, end):
    return [line for line in bill if start <= line.ns < end]


def refused_although_held(history, phase):
    """Errors of the phase on keys that Redis had before it, because somebody was told them from there."""
    known = {one.key for one in history if one.source == "redis" and one.ended < phase.start}
    return [one for one in history if one.is_error and one.key in known and phase.start <= one.begun < phase.end]


def told_although_away(history, phase):
    return sum(not one.is_error and phase.start <= one.begun < phase.end for one in history)


def check_the_outage(history, bill, phase, full):
    assert refused_although_held(history, phase) == []
    # In a short outage nobody knows of it yet, and who has met an unknown key waits to its end.
    assert told_although_away(history, phase) > (1_000 if phase.end - phase.start > 15 * SECOND else 0)
    # Whoever had a claim when it went away may still send; then nobody. On a machine that is slow the bill may
    # be written later than that, so every commit is judged by the ledger alone: it has all that is on the bill.
    if full:
        assert calls_between(bill, phase.start + 2 * SECOND, phase.end) == []


@pytest.mark.parametrize("how", ["stopped", "crashed"])
def test_restarts_cost_no_call_too_many_and_lose_none(tmp_path, provider, full, how):
    with Postgres() as server, Redis(tmp_path / "redis") as redis:
        with loaded(tmp_path, provider, server.uri(), redis, full) as load:
            with load.phase("healthy"):
                time.sleep(10 if full else 1)
            for n in range(10 if full else 1):
                getattr(server, "stop" if how == "stopped" else "crash")()
                with load.phase("away"):
                    time.sleep(1 + n % 4)
                server.start()
                comes_back(load, provider, server, 5 + 7 * (n % 6) if full else 0)
            drain(load)
            history, bill, _ = check(load, provider)
    for phase in load.phases:
        if phase.name == "away":
            check_the_outage(history, bill, phase, full)


def test_a_store_that_gives_no_sign_any_more(tmp_path, provider, full):
    with Postgres() as server, Gate(server.port) as gate, Redis(tmp_path / "redis") as redis:
        store = f"postgres://postgres@127.0.0.1:{gate.port}/postgres"
        with loaded(tmp_path, provider, store, redis, full) as load:
            with load.phase("healthy"):
                time.sleep(10 if full else 1)
            for way in ("", "up", "down"):
                gate("stall", *way.split())
                with load.phase(f"away {way}".strip()):
                    time.sleep(40 if full else 1)
                gate("pass")
                comes_back(load, provider, server, 20 if full else 0)
            drain(load)
            history, bill, _ = check(load, provider)
    for phase in load.phases:
        if phase.name.startswith("away"):
            check_the_outage(history, bill, phase, full)


def test_a_failover_under_load(tmp_path, provider, full):
    # Shorter than a claim lives: who is cut off for longer with an answer to file may find its key bought again.
    seconds = 10 if full else 1
    with Postgres() as primary:
        with primary.standby() as standby, Redis(tmp_path / "redis") as redis:
            primary.wait_for_the_standby()
            store = f"postgres://postgres@127.0.0.1:{standby.port},127.0.0.1:{primary.port}/postgres"
            with loaded(tmp_path, provider, store, redis, full) as load:
                with load.phase("healthy"):
                    time.sleep(seconds)
                primary.crash()
                with load.phase("away"):
                    time.sleep(seconds)
                standby.promote()
                comes_back(load, provider, standby, seconds if full else 0)
                drain(load)
                history, bill, _ = check(load, provider)
    check_the_outage(history, bill, load.phases[1], full)


def test_without_redis_memory_goes_on_and_says_that_it_is_stale(tmp_path, provider, full):
    quick = '\n[memory]\nlook_every = "200ms"\nmax_age_cut_off = "1500ms"\n'
    with Postgres() as server:
        with Load(tmp_path, provider, server.uri(), keys=300, extra=PATIENT + quick, hasty=True) as load:
            provider.wait(requests=200)
            with load.phase("healthy"):
                time.sleep(10 if full else 1)
            server.stop()
            with load.phase("away"):
                wait_until(lambda: sum(one.source == "stale" for one in load.history()) > 500)
                time.sleep(60 if full else 0)
            server.start()
            with load.phase("back"):
                start = time.monotonic_ns()
                wait_until(lambda: any(one.source == "l1" and one.begun > start for one in load.history()))
            drain(load)
            _, bill, _ = check(load, provider)
            histories = load.histories()
    away = load.phases[1]
    for history in histories:
        held = {one.key for one in history if one.source in ("l1", "db") and one.ended < away.start}
        assert len(held) > 20
        meanwhile = [one for one in history if away.start <= one.begun and one.ended < away.end]
        assert [one for one in meanwhile if one.is_error and one.key in held] == []
        assert not any(one.source == "stale" and one.ended < away.start for one in history)
    if full:
        assert calls_between(bill, away.start + 2 * SECOND, away.end) == []


def wait_until(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)
