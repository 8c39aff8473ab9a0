#!/usr/bin/env python3
"""Is `geonce batch` faster than the look-up people write with pandas, over the same Redis and the same Postgres?

    PYTHONPATH=tests/support bench/recipe/batch_lookup.py build/release/bin/geonce [--rows 1000000] [--runs 3]

The peer takes the steps of the published `batch_lookup`: for each chunk of 10,000 rows (what its text advises) a copy of the
frame, SHA-256 of a folded string, one MGET and a JSON reading of each answer; then, where any are missing, a connection, one
`= ANY` over a table with a jsonb column, and `isin` and `map` to put the answers in their rows. Then it writes what `geonce batch`
writes by default, the input's columns and eleven more, cell for cell the same but for the keys. An answer is JSON of about 350 bytes,
as providers send it; geonce keeps of it what its formats have (`geonce adopt` takes it over), and it also keeps the batch's rows in
the store, so that it can be gone on with. Both run from file to file, in turns, in two places: all answers in Redis, and none there.

Meanwhile a client asks that Redis for a key every millisecond, and another one a Redis that nobody else uses: what that one waits
is the machine's doing. Told are the longest of its waits and the one of a thousand.

Wanted at 1,000,000 rows: 5 times as fast from Redis, 7 times from Postgres, at most 200 MiB, waits under 10 ms. Medians. Needs
python3-hiredis, -pandas, -psycopg and -redis.
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
import unicodedata

import pandas
import psycopg
import redis
from geonce_fixtures import Postgres, Redis

CHUNK = 10_000
NEGATIVE = "\x00NEG"
TABLE = """CREATE TABLE geocode_cache (cache_key text PRIMARY KEY, raw_input text NOT NULL, country_code text NOT NULL,
 result jsonb NOT NULL, expires_at timestamptz NOT NULL, updated_at timestamptz NOT NULL DEFAULT now())"""
# Databases of the one Redis: each has its own copies, so none has to be filled twice.
RECIPE_FULL, GEONCE_FULL, RECIPE_EMPTY, GEONCE_EMPTY = range(4)

PUNCTUATION, BLANKS = re.compile(r"[.,#]+"), re.compile(r"\s+")


def cache_key(address, country="US"):
    folded = unicodedata.normalize("NFC", address).strip().lower()
    folded = BLANKS.sub(" ", PUNCTUATION.sub(" ", folded)).strip()
    return hashlib.sha256(f"{folded}|{country.upper()}".encode()).hexdigest()


def batch_lookup(frame, cache, uri):
    """Adds cache_key, result (a dict or None) and source."""
    frame = frame.copy()
    pairs = zip(frame["address"], frame["country_code"].fillna("US"))
    frame["cache_key"] = [cache_key(address, country) for address, country in pairs]
    values = cache.mget(frame["cache_key"].tolist())
    frame["result"] = [json.loads(value) if value and value != NEGATIVE else None for value in values]
    frame["source"] = ["miss" if value is None else "redis" for value in values]
    missing = frame.loc[frame["source"] == "miss", "cache_key"].tolist()
    if missing:
        with psycopg.connect(uri) as store:
            query = "SELECT cache_key, result FROM geocode_cache WHERE cache_key = ANY(%s) AND expires_at > now()"
            known = dict(store.execute(query, (missing,)).fetchall())
        mask = frame["cache_key"].isin(known)
        frame.loc[mask, "result"] = frame.loc[mask, "cache_key"].map(known)
        frame.loc[mask, "source"] = "postgres"
    return frame


def look_up(source, target, cache, uri):
    with open(target, "w") as out:
        for n, frame in enumerate(pandas.read_csv(source, chunksize=CHUNK, dtype=str)):
            done = batch_lookup(frame, cache, uri)
            answers = [answer or {} for answer in done["result"]]
            frame["geo_status"] = ["match" if answer else "error" for answer in answers]
            frame["geo_lat"] = [answer.get("lat") for answer in answers]
            frame["geo_lng"] = [answer.get("lng") for answer in answers]
            frame["geo_precision"] = [answer.get("precision") for answer in answers]
            frame["geo_confidence"] = [answer.get("confidence") for answer in answers]
            frame["geo_formatted"] = [answer.get("formatted_address") for answer in answers]
            frame["geo_country"] = None
            frame["geo_provider"] = [answer.get("provider") for answer in answers]
            frame["geo_cache"] = done["source"].replace("postgres", "db")
            frame["geo_key"] = done["cache_key"]
            frame["geo_error"] = None
            frame.to_csv(out, index=False, header=n == 0)


class Bystander:
    """A client of its own, who asks for one key every millisecond."""

    def __init__(self, port):
        self.waits_ms, self._stop = [], threading.Event()
        self._client = redis.Redis(port=port)
        self._thread = threading.Thread(target=self._ask)

    def _ask(self):
        while not self._stop.wait(0.001):
            began = time.monotonic()
            self._client.get("somebody-elses-key")
            self.waits_ms.append((time.monotonic() - began) * 1e3)

    def __enter__(self):
        self._client.ping()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def longest_ms(self):
        return max(self.waits_ms)

    def one_of_a_thousand_ms(self):
        return sorted(self.waits_ms)[-1 - len(self.waits_ms) // 1000]


def timed(command, env, port, idle_port):
    """Seconds, CPU seconds, MiB, and what others waited: longest and p99.9 of ours, then of the idle Redis."""
    with Bystander(port) as other, Bystander(idle_port) as idle:
        began = time.monotonic()
        pid = subprocess.Popen(command, env=env).pid
        _, status, usage = os.wait4(pid, 0)
        seconds = time.monotonic() - began
    if status != 0:
        sys.exit(f"{command} failed with {status}")
    return (seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, other.longest_ms(),
            other.one_of_a_thousand_ms(), idle.longest_ms(), idle.one_of_a_thousand_ms())  # fmt: skip


def answer_to(n, address):
    number, street = address.split(", ")[0].split(" ", 1)
    return {"lat": round(30 + n / 1e7, 7), "lng": round(-97 - n / 1e7, 7), "precision": "rooftop", "confidence": 0.95,
            "formatted_address": f"{address}, United States of America", "provider": "opencage",
            "components": {"house_number": number, "road": street, "city": "Austin", "county": "Travis County",
                           "state_code": "TX", "postcode": "78701", "country_code": "us"}}  # fmt: skip


def fill(uri, source, rows):
    with psycopg.connect(uri) as store, open(source, "w") as file:
        store.execute(TABLE)
        file.write("id,address,country_code\n")
        with store.cursor().copy("COPY geocode_cache (cache_key, raw_input, country_code, result, expires_at) FROM STDIN") as copy:
            for n in range(rows):
                address = f"{n % 9000 + 1} {n // 9000 + 1}th Avenue, Austin, TX 78701"
                file.write(f'{n},"{address}",US\n')
                copy.write_row((cache_key(address), address, "US", json.dumps(answer_to(n, address)), "2100-01-01"))
        store.commit()


def fill_redis(uri, cache):
    with psycopg.connect(uri) as store, store.cursor("all") as rows:
        rows.itersize = CHUNK
        rows.execute("SELECT cache_key, result::text FROM geocode_cache")
        while some := rows.fetchmany(CHUNK):
            cache.mset(dict(some))


def results_of(path):
    """What stands in the output but for the key and where the answer was, which differ."""
    frame = pandas.read_csv(path, dtype={"geo_error": str, "geo_country": str})
    return frame.drop(columns=["geo_key"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("geonce")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--other", help="another geonce, which takes turns too: before and after a change")
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)  # the peer, in a process of its own
    given = parser.parse_args()
    if given.peer:
        source, target, url, uri = given.peer
        look_up(source, target, redis.Redis.from_url(url, decode_responses=True), uri)
        return
    with tempfile.TemporaryDirectory() as folder, Postgres(settings=("shared_buffers=512MB",)) as server, \
            Redis(pathlib.Path(folder) / "redis") as cache, Redis(pathlib.Path(folder) / "idle") as idle:  # fmt: skip
        source = f"{folder}/in.csv"
        clients = [redis.Redis(port=cache.port, db=db) for db in range(4)]
        fill(server.uri(), source, given.rows)
        fill_redis(server.uri(), clients[RECIPE_FULL])
        env = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder, "GEONCE_STORE": server.uri()}
        subprocess.run([given.geonce, "adopt", "--postgres", server.uri()], env=env, check=True)
        server.sql("VACUUM ANALYZE")

        def run_of(who, db):
            if who == "recipe":
                return [sys.executable, __file__, given.geonce, "--peer", source, f"{folder}/recipe.csv", f"{cache.url}/{db}", server.uri()], env
            binary = given.geonce if who == "geonce" else given.other
            return [binary, "batch", source, "-o", f"{folder}/{who}.csv", "--address", "address", "--map", "country=country_code",
                    "--default-country", "US", "--quiet", "--restart", "--cache-only"], {**env, "GEONCE_REDIS_URL": f"{cache.url}/{db}"}  # fmt: skip

        for _ in range(20):  # a run puts there what it reads, as far as Redis keeps up
            if clients[GEONCE_FULL].dbsize() == given.rows:
                break
            command, its_env = run_of("geonce", GEONCE_FULL)
            subprocess.run(command, env=its_env, check=True)
        else:
            sys.exit("Redis does not come to hold all")
        callers = ["geonce", "recipe"] + (["other"] if given.other else [])
        for place in ("redis", "postgres"):
            results = {who: [] for who in callers}
            for _ in range(given.runs):
                for who in callers:
                    is_recipe = who == "recipe"
                    if place == "postgres":
                        clients[GEONCE_EMPTY].flushdb()
                        db = RECIPE_EMPTY if is_recipe else GEONCE_EMPTY
                    else:
                        db = RECIPE_FULL if is_recipe else GEONCE_FULL
                    server.sql("CHECKPOINT")
                    results[who].append(timed(*run_of(who, db), cache.port, idle.port))
            if not results_of(f"{folder}/geonce.csv").equals(results_of(f"{folder}/recipe.csv")):
                sys.exit(f"the outputs differ: {folder}")
            medians = {who: [statistics.median(run[i] for run in runs) for i in range(7)] for who, runs in results.items()}
            for who, (seconds, cpu_s, mib, *waits) in medians.items():
                print(f"{place:9} {who:7} {given.rows / seconds:10,.0f} rows/s  {cpu_s / given.rows * 1e6:6.2f} CPU us/row  {mib:4.0f} MiB  "
                      "others wait at most {:.1f} ms, one of a thousand {:.1f} ms (at an idle Redis {:.1f}, {:.1f})".format(*waits))
            ratios = [recipe[0] / geonce[0] for recipe, geonce in zip(results["recipe"], results["geonce"])]
            print(f"{place:9} ratio   {statistics.median(ratios):.2f}  ({', '.join(f'{r:.2f}' for r in ratios)})", flush=True)
        print("load", *os.getloadavg())


main()
