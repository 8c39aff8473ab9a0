"""What is left when the dust has settled, read past the program: bill, ledger, entries, claims, rows, spools.

The judge (judge.py) reads nothing else. A test that wants to see the judge at work makes records by hand.
"""

import csv
import json
import pathlib
import sqlite3
import time
from dataclasses import dataclass, field

EVENTS = {1: "prepared", 2: "answered", 3: "refused", 4: "unknown", 5: "void", 6: "reconciled"}
TOMBSTONE = 0


@dataclass(frozen=True)
class Bill:
    """One address that reached the provider."""

    key: str
    at: float  # ms since 1970, by the machine's clock
    text: str = ""


@dataclass(frozen=True)
class Ledger:
    """One row of the ledger."""

    intent: str
    event: str
    at: float
    key: str
    gen: int
    redundant: bool = False
    cause: int = 0


@dataclass(frozen=True)
class Entry:
    key: str
    gen: int
    kind: int  # 0: dropped, its gen is kept
    intent: str = ""


@dataclass(frozen=True)
class Claim:
    key: str
    gen: int
    phase: int  # 1 in flight, 2 cooling down, 3 blocked


@dataclass(frozen=True)
class Told:
    """One answer a client was given."""

    key: str
    gen: int
    begun: float  # ms
    ended: float
    is_fresh: bool = True
    fresh_until: float = float("inf")
    request: str = ""  # whoever repeats a request names it again …
    body: bytes = b""  # … and has to be given the same


@dataclass(frozen=True)
class Dropped:
    """From `at` on nobody may be told a window before `gen`."""

    key: str
    gen: int
    at: float


@dataclass(frozen=True)
class Rows:
    """A batch: the cells that identify each row, as they went in and came out, and what became of them."""

    name: str
    sent: list
    received: list
    statuses: list


@dataclass(frozen=True)
class Messages:
    """A queue's messages by id; `done` are those whose outcome is durable."""

    sent: set
    acknowledged: set
    done: set
    queued: set
    dead: set


@dataclass
class Records:
    bill: list = field(default_factory=list)
    ledger: list = field(default_factory=list)
    entries: list = field(default_factory=list)
    claims: list = field(default_factory=list)
    told: list = field(default_factory=list)
    dropped: list = field(default_factory=list)
    batches: list = field(default_factory=list)
    messages: Messages = None
    spools: list = field(default_factory=list)  # files that a run has left
    leases: list = field(default_factory=list)
    cap: int = None  # on calls
    one_clock: bool = True  # False: the ledger's jumped, so its times say nothing
    providers: int = 1  # of the chain
    takeover: bool = True  # False: resolver.takeover = "never"
    bound_ms: float = 0  # how late a dropped window may still be told


def read_records(geonce, provider, postgres=None, country="US", **more):
    """All that a finished trial has left.

    postgres   asks the database that the store is in: SQL in, lines out as of `Postgres.sql`; None: the store is a file
    """
    bill_lines = provider.bill()
    keys = keys_of(geonce, {line.text for line in bill_lines}, country)
    offset = time.time() * 1e3 - time.monotonic() * 1e3
    query = _ask_postgres(postgres) if postgres else _ask_sqlite(geonce.directory / "geonce.db")
    intent, key = ("intent", "encode(key, 'hex')") if postgres else ("lower(hex(intent))", "lower(hex(key))")
    prefix = "geonce." if postgres else ""
    ledger = query(
        f"SELECT {intent}, event, at, {key}, gen, redundant, cause,"
        f" reason LIKE 'not sent: %' FROM {prefix}ledger ORDER BY seq"
    )
    entries = query(f"SELECT {key}, gen, kind, {intent} FROM {prefix}entry")
    claims = query(f"SELECT {key}, gen, phase FROM {prefix}claim")
    return Records(
        bill=[Bill(keys[line.text], line.ns / 1e6 + offset, line.text) for line in bill_lines],
        ledger=[
            Ledger(_bare(i), _event(e, unsent), float(at), k, int(g), r in (1, "t"), int(c))
            for i, e, at, k, g, r, c, unsent in ledger
        ],
        entries=[Entry(k, int(g), int(kind), _bare(i)) for k, g, kind, i in entries],
        claims=[Claim(k, int(g), int(phase)) for k, g, phase in claims],
        spools=sorted(str(file) for file in _spools(geonce.directory)),
        **more,
    )


def _spools(directory):
    """Files in the program's own folder, its home included."""
    return (file for file in pathlib.Path(directory).rglob("*.spool*") if file.is_file())


def _event(number, unsent):
    """While an earlier provider's answer hangs on the claim, a call that did not leave ends as a refusal by ourselves."""
    return "void" if EVENTS[int(number)] == "refused" and unsent in (1, "t") else EVENTS[int(number)]


def _bare(intent):
    return (intent or "").replace("-", "")


def keys_of(geonce, texts, country):
    """The key of each text, as 64 hex digits."""
    texts = sorted(texts)
    if not texts:
        return {}
    lines = "".join(f"{text}\t{country}\n" for text in texts)
    done = geonce.run("explain", "--jsonl", "-", input=lines)
    assert done.rc == 0, done.err
    explained = [json.loads(line)["key"] for line in done.out.splitlines()]
    return {text: key.rsplit("_", 1)[1] for text, key in zip(texts, explained, strict=True)}


def _ask_sqlite(file):
    def ask(sql):
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
            return db.execute(sql).fetchall()

    return ask


def _ask_postgres(ask):
    return lambda sql: [line.split("|") for line in ask(sql)]


def read_batch(name, source, output, identity=("id", "address", "note")):
    """The rows of a batch that has come to its end."""

    def rows(path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    sent, received = rows(source), rows(output)
    return Rows(
        name,
        [tuple(row[column] for column in identity) for row in sent],
        [tuple(row.get(column) for column in identity) for row in received],
        [row.get("geo_status") for row in received],
    )
