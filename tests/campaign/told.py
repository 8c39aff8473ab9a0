"""What the callers of a campaign got, and what may not be in it."""

import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass

HELD = ("l1", "redis", "db")


@dataclass(frozen=True)
class Told:
    """One answer. Times in monotonic nanoseconds of the machine, as on the bill."""

    begun: int
    ended: int
    key: int
    outcome: str  # match, no_match, …, or the code of an error
    source: str  # the words of geo_cache, or error
    gen: int
    calls: int
    point: str

    @property
    def is_error(self):
        return self.source == "error"


def read(files):
    """All histories, by the time the question was put. A last line that a kill cut is left out."""
    told = []
    for file in files:
        for line in file.read_text().split("\n")[:-1]:
            begun, ended, key, outcome, source, gen, calls, point = line.split("\t")
            told.append(Told(int(begun), int(ended), int(key), outcome, source, int(gen), int(calls), point))
    return sorted(told, key=lambda one: one.begun)


def key_of(address):
    """The number of a key from the address on the bill."""
    return int(address.split()[0]) - 1


def calls_by_key(bill):
    return Counter(key_of(line.text) for line in bill)


def first_known(history):
    """When each key's first answer was told: from then on somebody holds it."""
    known = {}
    for one in history:
        if not one.is_error:
            known[one.key] = min(known.get(one.key, one.ended), one.ended)
    return known


def errors_of_held_keys(history):
    known = first_known(history)
    return [one for one in history if one.is_error and known.get(one.key, one.begun) < one.begun]


def changed_points(history):
    """Keys that were told two different points: of one window there is one answer."""
    points = defaultdict(set)
    for one in history:
        if one.point:
            points[one.key].add(one.point)
    return {key: found for key, found in points.items() if len(found) > 1}


def waits_of_held_keys(history, start, end):
    """Milliseconds, ascending, of the questions put from `start` to `end` whose answer was held."""
    known = first_known(history)
    begins = [one.begun for one in history]
    chosen = history[bisect.bisect_left(begins, start) : bisect.bisect_left(begins, end)]
    return sorted(
        (one.ended - one.begun) / 1e6 for one in chosen if known.get(one.key, one.begun) < one.begun
    )


def percentile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0
