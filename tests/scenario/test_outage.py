"""A provider that goes away in the middle of a batch and stays away: the run ends by itself, soon and with a
word, keeps what it bought, and goes on when the provider is back.
"""

import json
import time
from dataclasses import dataclass

import pytest
from geonce_fixtures import (
    Fakegeo,
    Geonce,
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


@dataclass
class Outage:
    """A batch whose provider answers `BOUGHT` calls and, while `fault` lasts, none after."""

    name: str
    fault: dict
    words: str  # of the message
    fewest: int  # calls that reach the provider without an answer
    most: int
    timeout: str = "8s"
    is_killed: bool = False  # the provider, with calls in flight

    def start(self, directory):
        (directory / "provider").mkdir()
        self.provider = Fakegeo(directory / "provider")
        self.provider.start()
        self.provider.rules({"when": {"request": [BOUGHT + 1, 10_000_000]}, **self.fault})
        self.geonce = Geonce(directory / "geonce", self.provider.url, extra="\n[resolver]\nmax_unknown_retries = 10\n")
        self.source = write_csv(directory / "in.csv", us_addresses(ROWS))
        self.output = directory / "out.csv"
        self.began = time.monotonic()
        self.run = self.geonce.start(*batch(self.source, self.output, "--max-retries", 1, "--timeout", self.timeout))
        if self.is_killed:
            self.provider.wait(requests=BOUGHT + CONCURRENCY, in_flight=CONCURRENCY)
            self.provider.kill()


OUTAGES = [
    Outage("503", {"do": "status", "status": 503}, "server error", CONCURRENCY, 30),
    # It says itself how soon it wants to be asked again: every second, then by all at once.
    Outage("503 with seconds", {"do": "status", "status": 503, "retry_after": 1}, "server error", CONCURRENCY, 25 * CONCURRENCY),
    # Each of these calls may have been billed: the run must not try every address.
    Outage("no answer", {"do": "hang"}, "Timeout was reached", CONCURRENCY, 30, timeout="1s"),
    # The calls in flight are lost, later ones find the port closed and are not sent.
    Outage("port closed", {"do": "hang"}, "connect", CONCURRENCY, CONCURRENCY, timeout="60s", is_killed=True),
]


@pytest.fixture(scope="module")
def outages(tmp_path_factory):
    """All of them under way at once: they mostly wait."""
    for outage in OUTAGES:
        outage.start(tmp_path_factory.mktemp(outage.name.replace(" ", "_")))
    yield
    for outage in OUTAGES:
        outage.run.kill()
        outage.run.communicate()
        outage.provider.stop()


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.name)
@pytest.mark.usefixtures("outages")
def test_an_outage_ends_the_run_which_goes_on_when_it_is_over(outage):
    geonce, provider = outage.geonce, outage.provider
    _, err = outage.run.communicate(timeout=90)
    took = time.monotonic() - outage.began
    err = err.decode()
    assert outage.run.returncode == 3, (outage.run.returncode, err)
    assert took < 60, took  # 15 s of patience, and one pause of the breaker
    assert "google" in err and outage.words in err
    assert "Run the same command again" in err
    assert not outage.output.exists()
    summary = json.loads((geonce.directory / "s.json").read_text())
    assert summary["end"] == "provider_down"
    unanswered = len(provider.bill()) - BOUGHT
    assert outage.fewest <= unanswered <= outage.most

    if outage.is_killed:
        provider.start()
    provider.script({})
    done = geonce.run(*batch(outage.source, outage.output))
    assert done.rc == 0, done.err
    rows = read_rows(outage.output)
    check_rows_are_the_input(outage.source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": ROWS}
    # What was bought before is not bought again.
    assert json.loads((geonce.directory / "s.json").read_text())["calls"] == ROWS - BOUGHT
    sums = check_the_ledger_against_the_bill(geonce, provider)
    assert sums.answered == ROWS
    is_refused = outage.fault["do"] == "status"
    assert (sums.refused, sums.unknown) == ((unanswered, 0) if is_refused else (0, unanswered))


def test_a_short_outage_is_waited_out(tmp_path, provider, geonce):
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    provider.rules({"when": {"request": [BOUGHT + 1, BOUGHT + CONCURRENCY]}, "do": "status", "status": 503})
    done = geonce.run(*batch(source, output))
    assert done.rc == 0, done.err
    assert statuses(read_rows(output)) == {"match": ROWS}
    assert len(provider.bill()) == ROWS + CONCURRENCY
    check_the_ledger_against_the_bill(geonce, provider)
