"""The sums that matter: what the provider billed, what the ledger says, what the rows got."""

import csv
import json
from dataclasses import dataclass

from .fakegeo import point_of


PRICES = {"google": 5_000, "geocodio": 500, "census": 0}  # micro-USD, of the built-in specs


@dataclass(frozen=True)
class Sums:
    """`geonce ledger summary` over all providers."""

    calls: int
    answered: int
    refused: int
    unknown: int
    void: int
    redundant: int
    open: int
    in_doubt_microusd: int
    lost_microusd: int  # what the unknown ones cost if all of them were billed


def ledger_sums(geonce):
    done = geonce.run("ledger", "summary", "--json")
    assert done.rc == 0, done.err
    rows = json.loads(done.out)
    for row in rows:
        row["lost_microusd"] = PRICES[row["provider"]] * row["unknown"]
    return Sums(**{name: sum(row[name] for row in rows) for name in Sums.__dataclass_fields__})


def check_the_ledger_against_the_bill(geonce, provider):
    """Every address that reached the provider is one intent of the ledger, and none is open.

    An intent may be unknown although nothing arrived (killed between the send mark and the first
    byte), and a proven unsent one is void; so the bill lies between the two sums. Returns the sums.
    """
    sums = ledger_sums(geonce)
    billed = len(provider.bill())
    assert sums.open == 0, sums
    assert sums.calls == sums.answered + sums.refused + sums.unknown + sums.void, sums
    # A lost answer may have cost what an answer costs, whoever noticed the loss.
    assert sums.in_doubt_microusd >= sums.lost_microusd, sums
    received = sums.answered + sums.refused
    assert received <= billed <= received + sums.unknown, (billed, sums)
    # More than one purchase of an address needs a doubt, or a refusal, for each further one.
    again = sum(count - 1 for count in provider.calls().values())
    assert again <= sums.unknown + sums.refused, (again, sums)
    return sums


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_rows_are_the_input(source, rows):
    """Each row once, in the order of the input, its own cells untouched."""
    wanted = read_rows(source)
    assert len(rows) == len(wanted)
    for row, want in zip(rows, wanted, strict=True):
        assert {name: row[name] for name in want} == want


def check_points(rows, country="US", column="address"):
    """Every match lies where the provider put that row's own address: no answer slipped a row."""
    for row in rows:
        if row["geo_status"] == "match":
            found = float(row["geo_lat"]), float(row["geo_lng"])
            want = point_of(row[column], country)
            assert abs(found[0] - want[0]) < 1e-6 and abs(found[1] - want[1]) < 1e-6, row
        else:
            assert row["geo_lat"] == row["geo_lng"] == "", row


def statuses(rows):
    counts = {}
    for row in rows:
        counts[row["geo_status"]] = counts.get(row["geo_status"], 0) + 1
    return counts
