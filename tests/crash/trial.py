"""One trial: batches that are killed at one moment again and again, and what is left of them at the end."""

import functools
import itertools
import json
import os
import pathlib
import random
import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack

from geonce_fixtures import (
    Fakegeo,
    Geonce,
    Redis,
    check_points,
    judge,
    read_batch,
    read_records,
    read_rows,
    sums,
    us_addresses,
    write_csv,
)

# An address whose call is in flight at many kills is bought again each time; here the question is
# whether the sums hold, so it always may be.
PATIENT = "max_unknown_retries = 1000"
ROWS = 24  # of a batch
KILLS = int(os.environ.get("GEONCE_KILLS", "20"))  # at each moment, in a test
RESULTS = os.environ.get("GEONCE_RESULTS")  # a file for verdicts
_numbers = itertools.count()


class Broken(AssertionError):
    """A promise is broken; says what, where, and how to see it again."""


class Trial:
    """`with Trial(folder, "sqlite", seed=7) as trial: trial.kill_at("CP12", 20); trial.judge()`

    store      sqlite, or a running Postgres: then in a database of its own
    resolver   lines of [resolver]
    again      the command that repeats this trial
    """

    def __init__(
        self, folder, store="sqlite", *, seed, again, chain=("google",), resolver=PATIENT, redis=False,
        concurrency=1,
    ):  # fmt: skip
        self.folder = folder
        self.store = store
        self.dice = random.Random(seed)
        self.seed = seed
        self.again = again
        self.concurrency = concurrency
        self.batches = []
        self.kills = 0
        self.lives = 0
        self._chain = chain
        self._resolver = resolver
        self._redis = redis
        self._stack = ExitStack()
        self.postgres = None if store == "sqlite" else store
        self._given = us_addresses(20_000, seed=seed % 1000)
        self._next = 0

    def __enter__(self):
        (self.folder / "provider").mkdir(parents=True)
        self.provider = self._stack.enter_context(Fakegeo(self.folder / "provider", seed=self.seed))
        extra = f"\n[resolver]\n{self._resolver}\n"
        if self._redis:
            self.redis = self._stack.enter_context(Redis(self.folder / "redis"))
            extra += self.redis.config
        uri = None
        if self.postgres:
            self.database = f"trial_{os.getpid()}_{next(_numbers)}"
            self.postgres.sql(f"CREATE DATABASE {self.database}")
            uri = self.postgres.uri(self.database)
        self.geonce = Geonce(
            self.folder / "geonce", self.provider.url, chain=self._chain, extra=extra, store=uri
        )
        if self.postgres:
            made = self.geonce.run("migrate")
            assert made.rc == 0, made.err
        self.begin_batch()
        return self

    def __exit__(self, *_):
        self._stack.close()

    # --- batches ---------------------------------------------------------------------------------

    def begin_batch(self, rows=ROWS):
        """A new file of addresses that nobody has asked yet; a quarter of them twice."""
        fresh = self._given[self._next : self._next + rows * 3 // 4]
        self._next += len(fresh)
        addresses = fresh + fresh[: rows - len(fresh)]
        self.dice.shuffle(addresses)
        number = len(self.batches)
        source = write_csv(self.folder / f"in{number}.csv", addresses)
        self.batches.append((f"batch {number}", source, self.folder / f"out{number}.csv", len(fresh)))

    @property
    def addresses(self):
        """How many distinct ones there are in all batches."""
        return sum(batch[3] for batch in self.batches)

    def command(self):
        _, source, output, _ = self.batches[-1]
        return (
            "batch", source, "-o", output, "--address", "address", "--default-country", "US",
            "--concurrency", self.concurrency, "--rate", 100_000, "--no-progress", "--quiet",
        )  # fmt: skip

    def run(self, failpoints="", command=None, under=()):
        """One life of the program; -9 when it was killed.

        under      words in front of the command, as of a program that changes its clock
        """
        self.lives += 1
        self.geonce.environment["GEONCE_FAILPOINTS"] = failpoints
        return self.geonce.run(*(command or self.command()), under=under)

    def start(self, command=None, output=None):
        """A life that goes on while others do; `output` another file than the batch's own."""
        self.lives += 1
        self.geonce.environment["GEONCE_FAILPOINTS"] = ""
        words = list(command or self.command())
        if output:
            words[words.index("-o") + 1] = self.folder / output
        return self.geonce.start(*words)

    def dies(self, point, command=None, passage=1):
        """One life that has to be killed at `point`."""
        life = self.run(f"{point}=kill@{passage}", command)
        self.expect(life.rc == -signal.SIGKILL, f"at {point} a life ended with {life.rc}: {life.err}")
        self.kills += 1

    def kill_batches(self, point, kills, most=3):
        """Kills runs at `point` until it has been `kills`; whoever comes to the end first begins a new batch.

        most       the passages at which a run is killed are drawn from 1 to this
        """
        futile = 0
        until = self.kills + kills
        while self.kills < until:
            life = self.run(f"{point}=kill@{self.dice.randint(1, most)}")
            if life.rc == -signal.SIGKILL:
                self.kills += 1
                futile = 0
                continue
            self.expect(life.rc == 0, f"a life ended with {life.rc}: {life.err}")
            futile += 1
            self.expect(futile < 10, f"{point} is never passed")
            self.begin_batch()
        self.finish()

    def one_by_one(self, count, deed):
        """Calls `deed(address)` for `count` addresses that nobody has asked yet, and finishes batches of them."""
        while count > 0:
            if self.lives > 0:
                self.begin_batch()
            addresses = sorted({row["address"] for row in read_rows(self.batches[-1][1])})
            for address in addresses[:count]:
                deed(address)
            count -= len(addresses)
            self.finish()

    def fresh_addresses(self, count):
        """Ones of no batch."""
        file = write_csv(self.folder / "fresh.csv", self._given[self._next : self._next + count])
        self._next += count
        return [row["address"] for row in read_rows(file)]

    def kill_singly(self, point, kills):
        """Kills lives that ask for one address each, so that nothing else is on its way."""
        self.one_by_one(kills, lambda address: self.dies(point, get(address)))

    def finish(self):
        """The last batch to its end, with nobody who kills."""
        life = self.run()
        self.expect(life.rc == 0, f"the last life ended with {life.rc}: {life.err}")

    def finish_patiently(self):
        """The same after trouble: rows may be in error still, which are asked again then."""
        life = self.run(command=(*self.command(), "--retry-failed"))
        self.expect(life.rc == 0, f"the last life ended with {life.rc}: {life.err}")

    def ask(self, sql):
        """Of the store, past the program: a list of rows."""
        if self.postgres:
            return [line.split("|") for line in self.ask_postgres(f"SET search_path = geonce; {sql}")]
        with sqlite3.connect(self.geonce.directory / "geonce.db") as db:
            return db.execute(sql).fetchall()

    change = ask

    def ask_postgres(self, sql):
        return self.postgres.sql(sql, self.database)

    # --- the verdict -----------------------------------------------------------------------------

    def records(self, **more):
        finished = [batch for batch in self.batches if batch[2].exists()]
        return read_records(
            self.geonce,
            self.provider,
            self.ask_postgres if self.postgres else None,
            batches=[read_batch(name, source, output) for name, source, output, _ in finished],
            providers=len(self._chain),
            takeover="never" not in self._resolver,
            **more,
        )

    def judge(self, **more):
        """The sums, once nothing is broken and every batch has its output."""
        self.expect(all(output.exists() for _, _, output, _ in self.batches), "a batch has no output")
        return self.judge_what_is_there(**more)

    def judge_what_is_there(self, **more):
        self.geonce.environment["GEONCE_FAILPOINTS"] = ""
        records = self.records(**more)
        breaches = judge(records)
        self.expect(not breaches, "\n  ".join(map(str, breaches[:20])))
        for _, _, output, _ in self.batches:
            if output.exists():
                check_points(read_rows(output))
        return {**sums(records), "kills": self.kills, "lives": self.lives, "seed": self.seed}

    def expect(self, holds, what):
        if not holds:
            raise Broken(f"{what}\n  seed {self.seed}; see it again with:\n  {self.again}")


def get(address, *more):
    return ("get", address, "--country", "US", *more)


def again(test, seed):
    """The one command that repeats a test of this folder."""
    return f"GEONCE_SEED={seed} python3 -m pytest -p no:cacheprovider {shlex.quote(test)}"


@functools.cache
def _commit():
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False,
        cwd=pathlib.Path(__file__).parent,
    )  # fmt: skip
    return done.stdout.strip()


def note(file, **what):
    """Adds a line to a file of results, if there is one; docs/faults.md is made of these."""
    what.setdefault("commit", _commit())
    if file:
        with open(file, "a", encoding="utf-8") as out:
            out.write(json.dumps(what) + "\n")
    print(json.dumps(what), file=sys.stderr)
