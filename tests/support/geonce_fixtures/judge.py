"""Judges records (records.py): which promise is broken, by what, and where.

The provider's bill is the only truth about money; what the program wrote down is held against it.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

ENDS = ("answered", "refused", "void", "unknown")
FINAL = ("match", "no_match", "ambiguous", "rejected", "error", "bad_row", "empty", "skipped")
# The bill's clock and the ledger's are one machine's, read as milliseconds that are rounded down.
ROUNDING_MS = 2.0


@dataclass(frozen=True)
class Breach:
    rule: str
    what: str
    where: str

    def __str__(self):
        return f"{self.rule} at {self.where}: {self.what}"


def judge(records):
    """All breaches; an empty list is what every promise asks for."""
    breaches = []
    for rule, find in RULES.items():
        breaches += [Breach(rule, what, where) for where, what in find(records)]
    return breaches


def sums(records):
    """Counts for reports: calls on the bill, and what the ledger makes of its intents."""
    ends = _ends(records)
    count = Counter(_end_of(events) for events in ends.values())
    windows = {(row.key, row.gen) for row in records.ledger if row.event == "prepared"}
    return {
        "calls": len(records.bill),
        "windows": len(windows),
        "intents": len(ends),
        **{name: count[name] for name in ("answered", "refused", "unknown", "void", "open")},
        "redundant": len({row.intent for row in records.ledger if row.redundant}),
        "unledgered": sum(1 for _ in unprepared(records)),
    }


# --- what the rules are about ------------------------------------------------------------------


def _ends(records):
    """Of each intent its events."""
    ends = defaultdict(list)
    for row in records.ledger:
        ends[row.intent].append(row.event)
    return ends


def _end_of(events):
    for event in ("answered", "refused", "void", "unknown"):
        if event in events:
            return event
    return "open"


def _windows(records):
    """Of each window its intents, by their ends, with what was ever unknown beside it."""
    windows = defaultdict(Counter)
    ends = _ends(records)
    for row in records.ledger:
        if row.event == "prepared":
            events = ends[row.intent]
            windows[row.key, row.gen][_end_of(events)] += 1
            windows[row.key, row.gen]["doubts"] += "unknown" in events
    return windows


def bound(records):
    """I1: calls of a window, by the ledger and by the bill."""
    windows = _windows(records)
    allowed = Counter()
    for (key, gen), count in windows.items():
        # A refusal is an answer that ends nothing: whoever is refused may ask again.
        may = records.providers + count["refused"] + (count["doubts"] if records.takeover else 0)
        calls = count["answered"] + count["refused"] + count["unknown"] + count["open"]
        if calls > may:
            yield f"{key}/{gen}", f"{calls} calls in the ledger, {may} allowed"
        allowed[key] += may
    for key, calls in Counter(line.key for line in records.bill).items():
        if calls > allowed[key]:
            yield key, f"{calls} calls on the bill, {allowed[key]} allowed"


def unprepared(records):
    """I2: every line of the bill has an intent that was written before it arrived."""
    prepared = defaultdict(list)
    ends = _ends(records)
    for row in records.ledger:
        if row.event == "prepared" and _end_of(ends[row.intent]) != "void":
            prepared[row.key].append(row.at)
    arrived = defaultdict(list)
    for line in records.bill:
        arrived[line.key].append(line.at)
    for key, times in arrived.items():
        written = sorted(prepared[key])
        for number, at in enumerate(sorted(times)):
            if number >= len(written):
                yield key, f"call {number + 1} has no intent"
            elif records.one_clock and written[number] > at + ROUNDING_MS:
                yield key, f"call {number + 1} came {written[number] - at:.0f} ms before its intent"


def unended(records):
    """I3: every intent is prepared once and has one end; the bill lies between the ledger's sums."""
    counts = Counter()
    for intent, events in _ends(records).items():
        if events.count("prepared") != 1:
            yield intent, f"prepared {events.count('prepared')} times"
        found = [event for event in ENDS if event in events]
        # What was in doubt may be known later.
        known = [event for event in found if event != "unknown"]
        if not found:
            yield intent, "has no end"
        if len(known) > 1:
            yield intent, f"has the ends {' and '.join(known)}"
        counts[_end_of(events)] += 1
    received = counts["answered"] + counts["refused"]
    if not received <= len(records.bill) <= received + counts["unknown"]:
        yield "the bill", f"{len(records.bill)} calls, {received} received and {counts['unknown']} unknown"


def lost_answers(records):
    """I4: an answer that is not redundant is, or was, the entry."""
    entries = {entry.key: entry for entry in records.entries}
    answered = defaultdict(set)  # a chain of providers may answer a window more than once
    for row in records.ledger:
        if row.event == "answered" and not row.redundant:
            answered[row.key, row.gen].add(row.intent)
    for row in records.ledger:
        if row.event != "answered" or row.redundant:
            continue
        entry = entries.get(row.key)
        if entry is None or entry.gen < row.gen:
            yield row.key, f"paid in window {row.gen}, and no entry has it"
        elif entry.gen == row.gen and entry.kind != 0 and entry.intent not in answered[row.key, row.gen]:
            yield row.key, f"window {row.gen} has another answer than the one that is not redundant"


def false_answers(records):
    """I5: no entry without an answer of the provider."""
    ends = _ends(records)
    for entry in records.entries:
        if entry.kind != 0 and entry.intent and "answered" not in ends.get(entry.intent, ()):
            yield entry.key, f"its entry is of an intent that is {_end_of(ends.get(entry.intent, ()))}"


def dropped_answers(records):
    """I6: who asks after a drop is not told what was dropped."""
    dropped = defaultdict(list)
    for one in records.dropped:
        dropped[one.key].append(one)
    for told in records.told:
        for one in dropped[told.key]:
            if told.begun > one.at + records.bound_ms and told.gen < one.gen:
                late = told.begun - one.at
                yield told.key, f"window {told.gen} told {late:.0f} ms after {one.gen} began"


def outlived_answers(records):
    """I7: what is told as fresh is fresh."""
    for told in records.told:
        if told.is_fresh and told.begun > told.fresh_until + 1_000:
            yield told.key, f"told as fresh {told.begun - told.fresh_until:.0f} ms after its end"


def differing_replays(records):
    """I8: a request that is repeated gets the same bytes."""
    first = {}
    for told in records.told:
        if told.request and first.setdefault(told.request, told.body) != told.body:
            yield told.request, "its repetition got another body"


def broken_batches(records):
    """I9: each row once, in the order of the input, at an end."""
    for batch in records.batches:
        if len(batch.received) != len(batch.sent):
            yield batch.name, f"{len(batch.sent)} rows went in, {len(batch.received)} came out"
        for number, (sent, received) in enumerate(zip(batch.sent, batch.received, strict=False)):
            if sent != received:
                yield f"{batch.name} row {number}", "is another row than the input's"
                break
        for number, status in enumerate(batch.statuses):
            if status not in FINAL:
                yield f"{batch.name} row {number}", f"is left as {status}"


def lost_messages(records):
    """I10: a message is done and acknowledged, or in the queue, or with the dead."""
    messages = records.messages
    if messages is None:
        return
    for name in sorted(messages.acknowledged - messages.done - messages.dead):
        yield name, "acknowledged, and its outcome is nowhere"
    for name in sorted(messages.sent - messages.acknowledged - messages.queued - messages.dead):
        yield name, "neither acknowledged nor queued nor dead"


def overspent(records):
    """I11: no more calls than the cap."""
    if records.cap is not None and len(records.bill) > records.cap:
        yield "the cap", f"{len(records.bill)} calls, {records.cap} allowed"


def left_over(records):
    """I12: at the end nothing is held any more."""
    for claim in records.claims:
        if claim.phase == 1:
            yield claim.key, "a claim is in flight still"
    for spool in records.spools:
        yield spool, "a spool that nobody has adopted"
    for lease in records.leases:
        yield lease, "a lease that nobody has given back"


RULES = {
    "I1": bound,
    "I2": unprepared,
    "I3": unended,
    "I4": lost_answers,
    "I5": false_answers,
    "I6": dropped_answers,
    "I7": outlived_answers,
    "I8": differing_replays,
    "I9": broken_batches,
    "I10": lost_messages,
    "I11": overspent,
    "I12": left_over,
}
