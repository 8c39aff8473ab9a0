#!/usr/bin/env python3
"""How many addresses a second get a cache key in CPython, one core, by the rules of a published recipe for a geocoding
cache: NFC, small letters, no stops, commas or hashes, single spaces, then SHA-256 of the text and the country. Its rules
merge no abbreviation; this is about its speed alone. bench_keys runs it after its own figures, on the same lines."""

import hashlib
import pathlib
import re
import statistics
import time
import unicodedata

RUNS = 5
ROUNDS = 4_000
SPACE = re.compile(r"\s+")
MARKS = re.compile(r"[.,#]+")


def key(address, country):
    text = unicodedata.normalize("NFC", address).strip().lower()
    text = SPACE.sub(" ", MARKS.sub(" ", text)).strip()
    return hashlib.sha256(f"{text}|{country.upper()}".encode()).hexdigest()


def rate(lines):
    rates = []
    for _ in range(RUNS):
        begin = time.process_time()
        for _ in range(ROUNDS):
            for address, country in lines:
                key(address, country)
        rates.append(ROUNDS * len(lines) / (time.process_time() - begin))
    return statistics.median(rates)


def main():
    folder = pathlib.Path(__file__).parent / "addresses"
    us = [(line, "US") for line in (folder / "us.txt").read_text().splitlines()]
    world = [tuple(reversed(line.split("\t"))) for line in (folder / "world.tsv").read_text().splitlines()]
    for name, lines in (("us", us), ("world", world)):
        print(f"recipe in CPython, {name}: {rate(lines) / 1e6:.3f}M/s")


if __name__ == "__main__":
    main()
