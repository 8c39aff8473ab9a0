"""A provider that goes away in the middle of a batch and stays away: the run ends by itself, soon and with a
word, keeps what it bought, and goes on when the provider is back.
"""

import json
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

ROWS = 300
BOUGHT = 20
CONCURRENCY = 8


def batch(source, output, *more):
    return (
        "batch", source, "-o", output, "--address", "address", "--default-country", "US",
        "--concurrency", CONCURRENCY, "--rate", 100_000, "--summary", "s.json", *more,
    )  # fmt: skip


def check_the_end(geonce, run, output, within_s):
    """The run ends with the code of an outage, names the provider, tells how to go on, and leaves no output."""
    began = time.monotonic()
    _, err = run.communicate(timeout=within_s + 60)
    took = time.monotonic() - began
    err = err.decode()
    assert run.returncode == 3, (run.returncode, err)
    assert took < within_s, took
    assert "google" in err and "Run the same command again" in err
    assert not output.exists()
    summary = json.loads((geonce.directory / "s.json").read_text())
    assert summary["end"] == "provider_down"
    assert "google" in summary["stop_reason"]
    return err


def check_the_rest_is_bought(geonce, provider, source, output, before):
    done = geonce.run(*batch(source, output))
    assert done.rc == 0, done.err
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": ROWS}
    summary = json.loads((geonce.directory / "s.json").read_text())
    assert summary["calls"] == ROWS - before
    return check_the_ledger_against_the_bill(geonce, provider)


@pytest.mark.parametrize(
    ("fault", "knocks"),
    [
        pytest.param({}, 30, id="503"),
        # It said itself how soon it wants to be asked again: every second, then by all at once.
        pytest.param({"retry_after": 1}, CONCURRENCY * 25, id="503 with seconds"),
    ],
)
def test_a_provider_that_answers_503_from_some_call_on_ends_the_run(tmp_path, provider, geonce, fault, knocks):
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    provider.rules({"when": {"request": [BOUGHT + 1, 10_000_000]}, "do": "status", "status": 503, **fault})
    run = geonce.start(*batch(source, output, "--max-retries", 1))
    err = check_the_end(geonce, run, output, within_s=40)
    assert "server error" in err
    assert BOUGHT + CONCURRENCY <= len(provider.bill()) < BOUGHT + knocks
    provider.script({})
    sums = check_the_rest_is_bought(geonce, provider, source, output, before=BOUGHT)
    assert (sums.answered, sums.unknown) == (ROWS, 0)


def test_a_provider_that_closes_its_port_ends_the_run(tmp_path, provider, geonce):
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    # The calls after the first ones hang until the provider is gone, so that exactly so many were answered.
    provider.rules({"when": {"request": [BOUGHT + 1, 10_000_000]}, "do": "hang"})
    run = geonce.start(*batch(source, output, "--max-retries", 1, "--timeout", "60s"))
    provider.wait(requests=BOUGHT + CONCURRENCY, in_flight=CONCURRENCY)
    provider.kill()
    err = check_the_end(geonce, run, output, within_s=40)
    assert "connect" in err.lower()
    billed = len(provider.bill())
    assert billed == BOUGHT + CONCURRENCY
    provider.start()
    sums = check_the_rest_is_bought(geonce, provider, source, output, before=BOUGHT)
    # The calls that it took along were received and never answered: paid perhaps, and known to be in doubt.
    assert (sums.answered, sums.unknown) == (ROWS, CONCURRENCY)


def test_a_provider_that_takes_calls_and_answers_none_ends_the_run(tmp_path, provider, geonce):
    """Each of these calls may have been billed, so none is repeated without need: the run must not try them all."""
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    provider.rules({"when": {"request": [BOUGHT + 1, 10_000_000]}, "do": "hang"})
    run = geonce.start(*batch(source, output, "--max-retries", 1, "--timeout", "1s"))
    check_the_end(geonce, run, output, within_s=40)
    assert len(provider.bill()) < BOUGHT + 30
    provider.script({})
    done = geonce.run(*batch(source, output, "--retry-failed"))
    assert done.rc == 0, done.err
    check_points(read_rows(output))
    assert statuses(read_rows(output)) == {"match": ROWS}
    check_the_ledger_against_the_bill(geonce, provider)


def test_a_short_outage_is_waited_out(tmp_path, provider, geonce):
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    provider.rules({"when": {"request": [BOUGHT + 1, BOUGHT + 12]}, "do": "status", "status": 503})
    done = geonce.run(*batch(source, output))
    assert done.rc == 0, done.err
    assert statuses(read_rows(output)) == {"match": ROWS}
    assert len(provider.bill()) == ROWS + 12
    check_the_ledger_against_the_bill(geonce, provider)
