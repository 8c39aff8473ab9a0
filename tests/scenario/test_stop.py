"""A batch that is told to stop: what is in flight lands, what was bought is kept, and the next run buys the rest."""

import json
import re
import signal
import subprocess
import time

import pytest
from geonce_fixtures import (
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    read_rows,
    statuses,
    us_addresses,
    write_csv,
)

ROWS = 600
CONCURRENCY = 8


def batch(source, output, *more):
    return (
        "batch", source, "-o", output, "--address", "address", "--default-country", "US",
        "--concurrency", CONCURRENCY, "--rate", 100_000, *more,
    )  # fmt: skip


def finish(geonce, provider, source, output):
    """Runs the batch again, to its end; every row is answered. Returns its summary."""
    provider.script({})
    done = geonce.run(*batch(source, output, "--summary", "s.json"))
    assert done.rc == 0, done.err
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": ROWS}
    return json.loads((geonce.directory / "s.json").read_text())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
@pytest.mark.parametrize("name", ["google", "geocodio"])
def test_a_signal_lets_calls_in_flight_land_and_the_next_run_buys_the_rest(tmp_path, provider, make_geonce, name, how):
    geonce = make_geonce(provider, chain=(name,), extra="\n[resolver]\nbulk_size = 10\n")
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    provider.rules(latency_ms=300)
    run = geonce.start(*batch(source, output))
    provider.wait(requests=2 * CONCURRENCY, in_flight=CONCURRENCY)
    run.send_signal(how)
    stopped = time.monotonic()
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert time.monotonic() - stopped < 10
    err = err.decode()
    assert "interrupted" in err and "Run the same command again" in err
    part = re.search(r"The rows so far are in (\S+)\. ", err)[1]
    assert (tmp_path / part).exists()
    assert not output.exists()
    # Every call has landed: none is in doubt, each has its answer in the store.
    sums = check_the_ledger_against_the_bill(geonce, provider)
    bought = len(provider.bill())
    assert (sums.answered, sums.unknown) == (bought, 0)
    assert bought < ROWS
    summary = finish(geonce, provider, source, output)
    assert summary["resumed"] is True
    assert not (tmp_path / part).exists()
    assert len(provider.bill()) == ROWS
    assert max(provider.calls().values()) == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_a_second_signal_ends_the_program_at_once_and_the_calls_in_flight_are_in_doubt(tmp_path, provider, make_geonce, how):
    geonce = make_geonce(provider, extra="\n[resolver]\nmax_unknown_retries = 10\n")
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    provider.rules({"when": {"request": [21, 10_000]}, "do": "hang"})
    run = geonce.start(*batch(source, output, "--timeout", "30s"))
    provider.wait(requests=20 + CONCURRENCY, in_flight=CONCURRENCY)
    run.send_signal(how)
    # The first is being obeyed when the second comes; which of the two instants it is does not matter.
    while run.poll() is None:
        run.send_signal(how)
    run.communicate(timeout=10)
    assert run.returncode == 130
    assert not output.exists()
    summary = finish(geonce, provider, source, output)
    sums = check_the_ledger_against_the_bill(geonce, provider)
    assert sums.unknown == CONCURRENCY
    assert summary["calls"] == ROWS - 20
    assert len(provider.bill()) == ROWS + CONCURRENCY


def test_a_signal_before_the_first_call_buys_nothing(tmp_path, provider, geonce):
    """Whoever feeds standard input may take its time; it is not waited for."""
    run = geonce.start(*batch("-", tmp_path / "out.csv"), stdin=subprocess.PIPE)
    run.stdin.write(b"address\n")
    run.stdin.flush()
    # From here on signals are listened to.
    deadline = time.monotonic() + 30
    while not list(geonce.directory.glob("geonce.db.spool/*")):
        assert time.monotonic() < deadline and run.poll() is None
    run.send_signal(signal.SIGTERM)
    try:
        run.wait(timeout=10)
    finally:
        run.stdin.close()
    assert run.returncode == 130
    assert b"nothing was asked or paid" in run.stderr.read()
    assert provider.bill() == []
    assert not (tmp_path / "out.csv").exists()


def test_rows_in_a_pipe_that_is_stopped_are_whole_rows(tmp_path, provider, make_geonce):
    """Standard output has no second name: what is there when the run is stopped has to be usable."""
    geonce = make_geonce(provider)
    # Rows of a kilobyte: a chunk is 256 KiB and five are worked on at once, so when more than five chunks
    # have been asked about, the first one is written, in whatever order the calls were made.
    total = ROWS * 5
    source = tmp_path / "in.csv"
    with source.open("w") as file:
        file.write("note,address\n")
        for row in us_addresses(total):
            file.write(f'{"x" * 1_024},"{row[0]}, {row[1]}, {row[2]} {row[3]}"\n')
    provider.rules(latency_ms=[1, 3])
    with (tmp_path / "piped.csv").open("wb") as pipe:
        run = geonce.start(*batch(source, "-"), stdout=pipe)
        provider.wait(requests=total // 2)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    text = (tmp_path / "piped.csv").read_text()
    assert text.endswith("\n")
    rows = read_rows(tmp_path / "piped.csv")
    assert 0 < len(rows) < total
    assert statuses(rows) == {"match": len(rows)}
    check_points(rows)
    bought = len(provider.bill())
    provider.script({})
    assert geonce.run(*batch(source, tmp_path / "out.csv")).rc == 0
    check_rows_are_the_input(source, read_rows(tmp_path / "out.csv"))
    assert len(provider.bill()) == total >= bought
