"""Redis is a cache that may vanish: whatever happens to it, no key is bought twice, and no key that the
store holds is refused."""

import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import told  # noqa: E402
from geonce_fixtures import Cluster, Fakegeo, Postgres, Redis, Sentinel  # noqa: E402
from many_callers import Load, print_waits  # noqa: E402

POLICIES = ("noeviction", "allkeys-lfu", "allkeys-lru", "allkeys-random", "volatile-lfu", "volatile-lru",
            "volatile-random", "volatile-ttl")  # fmt: skip


def alone(redis, load, seconds, full):
    def breaks(name, begin, end=lambda: None):
        with load.phase("healthy"):
            time.sleep(seconds)
        with load.phase(name):
            begin()
            time.sleep(seconds)
            end()

    breaks("killed", redis.kill)
    redis.start()
    breaks("flushed", lambda: redis.command("FLUSHALL"))
    breaks("paused", redis.pause, redis.resume)
    for policy in POLICIES if full else POLICIES[::3]:
        redis.command("CONFIG", "SET", "maxmemory-policy", policy)
        breaks(f"full, {policy}", lambda: redis.command("CONFIG", "SET", "maxmemory", "3mb"))
        redis.command("CONFIG", "SET", "maxmemory", "0")


def many(servers, load, seconds, full):
    for _ in range(2 if full else 1):
        with load.phase("healthy"):
            time.sleep(seconds)
        with load.phase("failed over"):
            servers.fail_over()
            time.sleep(seconds)
    with load.phase("healthy"):
        time.sleep(seconds)
    with load.phase("a node paused"):
        node = servers.masters()[0] if isinstance(servers, Cluster) else servers.master()
        node.pause()
        time.sleep(seconds)
        node.resume()


@pytest.mark.parametrize(
    ("make", "faults"), [(Redis, alone), (Sentinel, many), (Cluster, many)], ids=["alone", "sentinel", "cluster"]
)
def test_whatever_happens_to_redis_no_key_is_bought_twice_or_refused(tmp_path, full, make, faults):
    seconds = 10 if full else 0.4
    (tmp_path / "provider").mkdir()
    with (
        Fakegeo(tmp_path / "provider", latency_ms=(5, 3_000 if full else 300)) as provider,
        Postgres() as store,
        make(tmp_path / "redis") as redis,
        Load(
            tmp_path, provider, store.uri(), extra=redis.config.replace('timeout = "5s"\n', "") + SMALL
        ) as load,
    ):
        # What is asked most is bought first; until then nearly nothing is held.
        provider.wait(requests=10_000 if full else 500)
        faults(redis, load, seconds, full)
        with load.phase("healthy again"):
            time.sleep(seconds)
        load.finish()
        history, bill, sums = load.history(), provider.bill(), load.sums()

    print(f"{len(history):,} questions, {len(bill):,} calls, {sums}")
    print_waits(load)
    bought = told.calls_by_key(bill)
    assert {key: calls for key, calls in bought.items() if calls > 1} == {}
    assert told.errors_of_held_keys(history) == []
    assert told.changed_points(history) == {}
    assert {one.outcome for one in history} == {"match"}
    assert (sums.open, sums.unknown, sums.redundant) == (0, 0, 0), sums
    assert sums.answered == len(bill)
    # And it was worth having: most of what was held came from a cache, a part of it from Redis.
    sources = {one.source for one in history}
    assert {"l1", "redis", "db", "paid"} <= sources


# A memory that holds a few hundred answers, so that Redis and the store are asked at all.
SMALL = "\n[memory]\nmax_mib = 1\n"
