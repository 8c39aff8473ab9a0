"""The judge finds what is broken: one record that is whole, and each promise broken in a copy of it."""

import copy

import pytest
from geonce_fixtures.judge import RULES, judge, sums
from geonce_fixtures.records import Bill, Claim, Dropped, Entry, Ledger, Messages, Records, Rows, Told


def whole():
    """Three addresses. `a` was bought at once, `b` after a doubt, `c` after a refusal and a void intent."""
    return Records(
        bill=[Bill("a", 101), Bill("b", 202), Bill("b", 302), Bill("c", 401), Bill("c", 451)],
        ledger=[
            Ledger("a1", "prepared", 100, "a", 1), Ledger("a1", "answered", 110, "a", 1),
            Ledger("b1", "prepared", 200, "b", 1), Ledger("b1", "unknown", 210, "b", 1),
            Ledger("b2", "prepared", 300, "b", 1), Ledger("b2", "answered", 310, "b", 1),
            Ledger("c0", "prepared", 390, "c", 1), Ledger("c0", "void", 391, "c", 1),
            Ledger("c1", "prepared", 400, "c", 1), Ledger("c1", "refused", 410, "c", 1),
            Ledger("c2", "prepared", 450, "c", 1), Ledger("c2", "answered", 460, "c", 1),
        ],
        entries=[Entry("a", 1, 1, "a1"), Entry("b", 1, 1, "b2"), Entry("c", 1, 2, "c2")],
        claims=[Claim("d", 1, 3)],
        told=[
            Told("a", 1, 500, 501, fresh_until=9_000, request="r", body=b"x"),
            Told("a", 1, 600, 601, fresh_until=9_000, request="r", body=b"x"),
        ],
        dropped=[Dropped("a", 2, 700)],
        batches=[Rows("batch", [(1,), (2,)], [(1,), (2,)], ["match", "no_match"])],
        messages=Messages({"m", "n", "o"}, {"m", "o"}, {"m"}, {"n"}, {"o"}),
        cap=5,
    )  # fmt: skip


def without(rows, *wanted):
    return [row for row in rows if (row.intent, row.event) not in wanted]


def more(name, *rows):
    return lambda records: getattr(records, name).extend(rows)


def put(name, value):
    return lambda records: setattr(records, name, value)


def less_ledger(*wanted):
    return lambda records: setattr(records, "ledger", without(records.ledger, *wanted))


BROKEN = [
    ("I1", "a second call without a doubt",
     more("ledger", Ledger("a2", "prepared", 120, "a", 1), Ledger("a2", "answered", 130, "a", 1, True))),
    ("I1", "a second call after a doubt, which may never be followed", put("takeover", False)),
    ("I1", "a call on the bill alone", more("bill", Bill("a", 140))),
    ("I2", "a call without an intent", more("bill", Bill("x", 140))),
    ("I2", "a call before its intent",
     lambda records: records.bill.__setitem__(0, Bill("a", 90))),
    ("I2", "a call that the ledger calls void",
     lambda records: records.ledger.__setitem__(1, Ledger("a1", "void", 110, "a", 1))),
    ("I3", "an intent without an end", less_ledger(("a1", "answered"))),
    ("I3", "an intent with two ends", more("ledger", Ledger("a1", "void", 111, "a", 1))),
    ("I3", "an end without its intent", less_ledger(("a1", "prepared"))),
    ("I3", "an answer that never came",
     lambda records: records.bill.__delitem__(slice(0, 2))),
    ("I4", "an answer that no entry has",
     lambda records: records.entries.pop(0)),
    ("I4", "an entry with another answer of its window",
     lambda records: records.entries.__setitem__(0, Entry("a", 1, 1, "b2"))),
    ("I5", "an entry of a call in doubt",
     lambda records: records.entries.__setitem__(1, Entry("b", 1, 1, "b1"))),
    ("I5", "an entry of a refusal",
     lambda records: records.entries.__setitem__(2, Entry("c", 1, 2, "c1"))),
    ("I6", "an answer told after it was dropped", more("told", Told("a", 1, 701, 702))),
    ("I7", "an answer told as fresh after its end", more("told", Told("b", 1, 3_000, 3_001, True, 1_900))),
    ("I8", "a repetition with another body", more("told", Told("a", 1, 650, 651, request="r", body=b"y"))),
    ("I9", "a row lost", more("batches", Rows("short", [(1,), (2,)], [(1,)], ["match"]))),
    ("I9", "a row twice", more("batches", Rows("long", [(1,)], [(1,), (1,)], ["match", "match"]))),
    ("I9", "rows in another order", more("batches", Rows("swapped", [(1,), (2,)], [(2,), (1,)], ["match"] * 2))),
    ("I9", "a row without an end", more("batches", Rows("open", [(1,)], [(1,)], [""]))),
    ("I10", "a message acknowledged too early", put("messages", Messages({"m"}, {"m"}, set(), set(), set()))),
    ("I10", "a message lost", put("messages", Messages({"m"}, set(), set(), set(), set()))),
    ("I11", "more calls than the cap", put("cap", 4)),
    ("I12", "a claim that is held", more("claims", Claim("e", 1, 1))),
    ("I12", "a spool left behind", put("spools", ["x.spool"])),
    ("I12", "a lease left behind", put("leases", ["sweep"])),
]  # fmt: skip


def test_whole_records_break_nothing():
    assert judge(whole()) == []


def test_every_rule_is_seen_broken():
    assert {rule for rule, _, _ in BROKEN} == set(RULES)


@pytest.mark.parametrize("rule, what, break_it", BROKEN, ids=[f"{rule}: {what}" for rule, what, _ in BROKEN])
def test_what_is_broken_is_found_and_named(rule, what, break_it):
    records = copy.deepcopy(whole())
    break_it(records)
    found = judge(records)
    assert rule in {breach.rule for breach in found}, [str(breach) for breach in found]
    assert all(breach.where and breach.what for breach in found)


@pytest.mark.parametrize(
    "fine",
    [
        more("told", Told("a", 1, 690, 720)),  # asked before the drop
        more("told", Told("b", 1, 3_000, 3_001, False, 1_900)),  # told as stale
        # An answer that came after its call had been written off.
        lambda records: (
            records.ledger.append(Ledger("b1", "answered", 320, "b", 1, True)),
        ),
        # A doubt whose request never arrived.
        lambda records: records.bill.pop(1),
    ],
)
def test_what_looks_odd_and_is_allowed_is_no_breach(fine):
    records = copy.deepcopy(whole())
    fine(records)
    assert judge(records) == []


def test_sums_count_calls_by_the_bill_and_intents_by_their_ends():
    found = sums(whole())
    assert found == {
        "calls": 5, "windows": 3, "intents": 6, "answered": 3, "refused": 1, "unknown": 1, "void": 1,
        "open": 0, "redundant": 0, "unledgered": 0,
    }  # fmt: skip
