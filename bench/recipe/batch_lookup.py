#!/usr/bin/env python3
"""Is `geonce batch` faster than the look-up people write with pandas, over the same Redis and the same Postgres?

    PYTHONPATH=tests/support bench/recipe/batch_lookup.py build/release/bin/geonce [--rows 1000000] [--runs 3]

The peer follows the published recipe: SHA-256 of a folded string, in chunks of 10,000 one MGET, then one `ANY` over a table with a
jsonb column for what is missing; from file to file, as geonce. Both do it twice: with all answers in Redis, and with an empty
Redis. The store gets its answers from the recipe's own table (`geonce adopt`). Meanwhile another client asks Redis for a key every
millisecond: its longest wait is told. Runs take turns; medians. Needs python3-hiredis, -pandas, -psycopg and -redis.

Wanted at 1,000,000 rows: 5 times as fast from Redis, 7 times from Postgres, at most 200 MiB, waits under 10 ms.

2026-12-01, 2 cores, release builds, `--rows 1000000 --runs 2`, nothing else running: from Redis 203,538 rows/s, 1.51 times the
recipe, 150 MiB, longest wait 19.0 ms; from Postgres 112,637 rows/s, 1.85 times, 137 MiB, 23.2 ms. Rates and waits fall short.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import pandas
import psycopg
import redis
from geonce_fixtures import Postgres, Redis

CHUNK = 10_000
TABLE = """CREATE TABLE geocode_cache (cache_key text PRIMARY KEY, raw_input text NOT NULL, country_code text NOT NULL,
 result jsonb NOT NULL, expires_at timestamptz NOT NULL, updated_at timestamptz NOT NULL DEFAULT now())"""


def cache_key(address, country="US"):
    folded = re.sub(r"[.,#]+", " ", address.strip().lower())
    return hashlib.sha256(f"{re.sub(r' +', ' ', folded).strip()}|{country}".encode()).hexdigest()


def look_up(source, target, cache, uri):
    """From file to file; what it takes from where."""
    taken = {"redis": 0, "postgres": 0}
    with psycopg.connect(uri) as store, open(target, "w") as out:
        for n, frame in enumerate(pandas.read_csv(source, chunksize=CHUNK, dtype=str)):
            keys = [cache_key(address) for address in frame["address"]]
            found = {k: json.loads(v) for k, v in zip(keys, cache.mget(keys)) if v is not None}
            taken["redis"] += len(found)
            missing = [key for key in keys if key not in found]
            if missing:
                rows = store.execute("SELECT cache_key, result FROM geocode_cache WHERE cache_key = ANY(%s)"
                                     " AND expires_at > now()", (missing,)).fetchall()
                taken["postgres"] += len(rows)
                found.update(rows)
            frame["lat"] = [found[key]["lat"] for key in keys]
            frame["lng"] = [found[key]["lng"] for key in keys]
            frame.to_csv(out, index=False, header=n == 0)
    return taken


class Bystander:
    """Another client of the Redis."""

    def __init__(self, port):
        self.longest_ms, self._stop = 0.0, threading.Event()
        self._client = redis.Redis(port=port)
        self._thread = threading.Thread(target=self._ask)

    def _ask(self):
        while not self._stop.wait(0.001):
            began = time.monotonic()
            self._client.get("somebody-elses-key")
            self.longest_ms = max(self.longest_ms, (time.monotonic() - began) * 1e3)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def timed(command, env, port):
    with Bystander(port) as other:
        began = time.monotonic()
        pid = subprocess.Popen(command, env=env).pid
        _, status, usage = os.wait4(pid, 0)
        seconds = time.monotonic() - began
    if status != 0:
        sys.exit(f"{command} failed with {status}")
    return seconds, usage.ru_maxrss / 1024, other.longest_ms


def fill(uri, source, rows):
    with psycopg.connect(uri) as store, open(source, "w") as file:
        store.execute(TABLE)
        file.write("id,address\n")
        with store.cursor().copy("COPY geocode_cache (cache_key, raw_input, country_code, result, expires_at) FROM STDIN") as copy:
            for n in range(rows):
                address = f"{n % 9000 + 1} {n // 9000 + 1}th Avenue, Austin, TX 78701"
                file.write(f'{n},"{address}"\n')
                answer = {"lat": 30 + n / 1e7, "lng": -97 - n / 1e7, "precision": "rooftop", "provider": "opencage"}
                copy.write_row((cache_key(address), address, "US", json.dumps(answer), "2100-01-01"))
        store.commit()


def fill_redis(uri, cache):
    with psycopg.connect(uri) as store, store.cursor("all") as rows:
        rows.itersize = CHUNK
        rows.execute("SELECT cache_key, result::text FROM geocode_cache")
        while some := rows.fetchmany(CHUNK):
            cache.mset(dict(some))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("geonce")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)  # the peer, in a process of its own
    given = parser.parse_args()
    if given.peer:
        source, target, port, uri = given.peer
        print(look_up(source, target, redis.Redis(port=int(port)), uri), file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder, Postgres(settings=("shared_buffers=512MB",)) as server, \
            Redis(pathlib.Path(folder) / "redis") as cache:  # fmt: skip
        source, target = (f"{folder}/{name}" for name in ("in.csv", "out.csv"))
        client = redis.Redis(port=cache.port)
        fill(server.uri(), source, given.rows)
        env = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder,
               "GEONCE_STORE": server.uri(), "GEONCE_REDIS_URL": cache.url}  # fmt: skip
        adopt = [given.geonce, "adopt", "--postgres", server.uri()]
        subprocess.run(adopt, env=env, check=True)
        server.sql("VACUUM ANALYZE")
        batch = [given.geonce, "batch", source, "-o", target, "--address", "address", "--default-country", "US",
                 "--quiet", "--restart", "--cache-only"]  # fmt: skip
        peer = [sys.executable, __file__, given.geonce, "--peer", source, target, str(cache.port), server.uri()]
        for place in ("redis", "postgres"):
            results = {"geonce": [], "recipe": []}
            for _ in range(given.runs):
                for who, command in (("geonce", batch), ("recipe", peer)):
                    client.flushall()
                    if place == "redis":
                        fill_redis(server.uri(), client)
                        if who == "geonce":
                            client.flushall()
                            subprocess.run(batch, env=env, check=True)  # what it reads it puts there
                    results[who].append(timed(command, env, cache.port))
            medians = {who: [statistics.median(run[i] for run in runs) for i in range(3)] for who, runs in results.items()}
            for who, (seconds, mib, wait_ms) in medians.items():
                print(f"{place:9} {who:7} {given.rows / seconds:10,.0f} rows/s  {mib:6.0f} MiB  others wait {wait_ms:6.1f} ms at most")
            print(f"{place:9} ratio   {medians['recipe'][0] / medians['geonce'][0]:.2f}")
        print("load", *os.getloadavg())


main()
