#!/usr/bin/env python3
"""How fast is `geonce batch` from file to file when every address is known, and how much memory does it take?

    bench/batch.py build/release/bin [--rows 1000000] [--runs 5]

A peer in the same run: the Python that people write (csv module, SHA-256 of a folded string, a dict that holds all).

2026-11-30, virtual machine with 2 cores, medians of 3, 56 MiB in, 203 MiB out; the last but one from a busy machine:

    1,000,000 rows, all distinct       165,400 rows/s   10.9 CPU s   124 MiB
    1,000,000 rows over 50,000         731,100 rows/s    1.7 CPU s   117 MiB
    either file again                  734,900 and 662,200 rows/s
    10,000,000 rows over 1,000,000      64,700 rows/s   114 CPU s   135 MiB (one run, load 5)
    Python, from memory alone          216,000 rows/s
"""
import argparse
import csv
import hashlib
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def timed(args, **kwargs):
    began = time.monotonic()
    pid = subprocess.Popen(args, **kwargs)
    _, status, usage = os.wait4(pid.pid, 0)
    if status != 0:
        sys.exit(f"{args} failed with {status}")
    return time.monotonic() - began, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def python_peer(source, target):
    """The glue people write: fold, hash, look up in a dict that already holds all answers."""
    def key(address):
        folded = re.sub(r"[\s.,#]+", " ", address.lower()).strip()
        return hashlib.sha256(folded.encode()).hexdigest()
    with open(source, newline="") as f:
        known = {key(row["address"]): ("match", "1.0", "2.0") for row in csv.DictReader(f)}
    began = time.monotonic()
    with open(source, newline="") as f, open(target, "w", newline="") as out:
        reader = csv.DictReader(f)
        writer = csv.writer(out)
        for row in reader:
            writer.writerow([*row.values(), *known[key(row["address"])]])
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--distinct", type=int, default=0, help="default: all rows")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--store", default=None, help="postgres://… of an empty database; default: a file")
    parser.add_argument("--no-peer", action="store_true")
    given = parser.parse_args()
    distinct = given.distinct or given.rows
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        store, source, target = (os.path.join(folder, n) for n in ("bench.db", "in.csv", "out.csv"))
        store = given.store or store
        subprocess.run([f"{given.bin}/bench_fill_known", store, source, str(given.rows), str(distinct)], check=True)
        env = {**os.environ, "GEONCE_STORE": store, "HOME": folder, "XDG_CONFIG_HOME": folder}
        command = [f"{given.bin}/geonce", "batch", source, "-o", target, "--address", "address",
                   "--default-country", "US", "--quiet"]
        results = {"geonce, first run": [], "geonce, run again": []}
        for _ in range(given.runs):
            results["geonce, first run"].append(timed(command + ["--restart"], env=env))
            results["geonce, run again"].append(timed(command, env=env))
        with open(target) as f:
            lines = sum(1 for _ in f)
        matches = subprocess.run(["grep", "-c", ",match,", target], capture_output=True, text=True).stdout.strip()
        if lines != given.rows + 1 or int(matches) != given.rows:
            sys.exit(f"{lines} lines and {matches} matches for {given.rows} rows")
        print(f"{given.rows} rows, {distinct} distinct, {os.path.getsize(source) >> 20} MiB in, "
              f"{os.path.getsize(target) >> 20} MiB out; medians of {given.runs}")
        for name, runs in results.items():
            seconds, rss, cpu = (statistics.median(r[i] for r in runs) for i in range(3))
            print(f"{name:20} {given.rows / seconds:10,.0f} rows/s   {seconds:6.2f} s   {cpu:6.2f} CPU s   "
                  f"peak {max(r[1] for r in runs):6.1f} MiB")
        if not given.no_peer:
            seconds = python_peer(source, target)
            print(f"{'Python dict':20} {given.rows / seconds:10,.0f} rows/s   {seconds:6.2f} s (memory only, all answers in a dict)")


main()
