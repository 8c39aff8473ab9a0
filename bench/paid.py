#!/usr/bin/env python3
"""How much of what a provider allows does `geonce batch` use? 50 ms latency and 64 calls at once allow 1,280 calls/s.

    bench/paid.py build/release/bin [--rows 12800] [--runs 3]

`fakegeo` stands beside `geonce` in that folder, or FAKEGEO_BIN names it. The rate is read off the provider's bill, from its
first line to its last.

2026-11-30, 2 cores, release builds: 1,243 calls/s, 97.1 %; 91 to 97 % with other builds beside it.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "support"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--rows", type=int, default=12_800)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--store", default=None, help="postgres://… of an empty database; default: a file")
    parser.add_argument("--concurrency", type=int, default=64)
    given = parser.parse_args()
    os.environ.setdefault("GEONCE_BIN", f"{given.bin}/geonce")
    os.environ.setdefault("FAKEGEO_BIN", f"{given.bin}/fakegeo")
    from geonce_fixtures import Fakegeo, Geonce, us_addresses, write_csv

    rates = []
    for _ in range(given.runs):
        with tempfile.TemporaryDirectory() as folder, Fakegeo(folder, latency_ms=50) as provider:
            geonce = Geonce(pathlib.Path(folder) / "geonce", provider.url, store=given.store)
            write_csv(geonce.directory / "in.csv", us_addresses(given.rows))
            done = geonce.run("batch", "in.csv", "-o", "out.csv", "--address", "address", "--default-country", "US",
                              "--concurrency", given.concurrency, "--rate", 1_000_000)
            assert done.rc == 0, done.err
            bill = provider.bill()
            assert len(bill) == given.rows
            rates.append(given.rows / ((bill[-1].ns - bill[0].ns) / 1e9 + 0.05))
    rate = statistics.median(rates)
    print(f"{rate:,.0f} calls/s, {rate / 1280:.1%} of 1,280 (runs: {', '.join(f'{r:,.0f}' for r in rates)})")


main()
