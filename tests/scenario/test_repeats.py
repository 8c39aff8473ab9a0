"""Files repeat themselves; a row must not say anything else for having come before."""

import csv
import json

import pytest
from geonce_fixtures import read_rows, us_addresses

ROUNDS, DISTINCT = 120, 300  # more chunks than are worked on at once, each address in all of them


@pytest.fixture
def source(geonce):
    """Rows over few addresses, in two spellings: some unknown to the provider, some ambiguous, one refused."""
    addresses = [f"{street}, {city}, {state} {zip_code}" for street, city, state, zip_code in us_addresses(DISTINCT)]
    addresses[7] = "7 Nowhere St, Reno, NV 89501"
    addresses[9] = "x" * 3_000
    with open(geonce.directory / "in.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "address"))
        for i in range(ROUNDS * DISTINCT):
            text = addresses[i % DISTINCT]
            writer.writerow((i, text.upper() if i // DISTINCT % 2 else text))
    return "in.csv"


@pytest.mark.parametrize("output", ["out.csv", "out.ndjson"])
def test_every_row_of_an_address_says_the_same_and_one_call_is_made(geonce, provider, source, output):
    command = ("batch", source, "--address", "address", "--default-country", "US", "--columns", "full", "--summary", "s.json")
    done = geonce.run(*command, "-o", output)
    assert done.rc == 6, done.err  # the address that is too long
    path = geonce.directory / output
    if output.endswith("csv"):
        rows = read_rows(path)
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [int(row["id"]) for row in rows] == list(range(ROUNDS * DISTINCT))
    varying = {"id", "address", "geo_cache", "geo_cost", "geo_attempts"}
    said = [{name: value for name, value in row.items() if name not in varying} for row in rows]
    for i, row in enumerate(said):
        assert row == said[i % DISTINCT], f"row {i}"
    assert rows[7]["geo_status"] == "no_match"
    assert rows[9]["geo_status"] == "error"
    assert len(provider.bill()) == DISTINCT - 1
    summary = json.loads((geonce.directory / "s.json").read_text())
    assert summary["calls"] == DISTINCT - 1
    assert summary["distinct"] == DISTINCT - 1
    paid = [row for row in rows if row["geo_cache"] == "paid"]
    assert len(paid) == DISTINCT - 1
    assert {row["geo_cache"] for row in rows[-DISTINCT:] if row["geo_status"] == "match"} == {"l1"}
    assert rows[-DISTINCT + 7]["geo_cache"] == "negative"

    assert geonce.run(*command, "-o", f"again-{output}").rc == 6
    assert (geonce.directory / f"again-{output}").read_bytes() == path.read_bytes()


def test_a_refresh_buys_each_address_once_however_often_it_comes(geonce, provider, source):
    command = ("batch", source, "--address", "address", "--default-country", "US", "-o", "out.csv")
    assert geonce.run(*command).rc == 6
    assert geonce.run(*command, "--refresh").rc == 6
    assert len(provider.bill()) == 2 * (DISTINCT - 1)


def test_a_refresh_that_was_killed_goes_on_where_it_was(geonce, provider, source):
    command = ("batch", source, "--address", "address", "--default-country", "US", "-o", "out.csv")
    assert geonce.run(*command).rc == 6
    provider.rules({"when": {"request": [101, 1_000_000]}, "do": "hang"})
    running = geonce.start(*command, "--refresh", "--concurrency", "1")
    provider.wait(requests=DISTINCT - 1 + 101)
    running.kill()
    running.wait()
    provider.rules()
    before = len(provider.bill())
    assert geonce.run(*command, "--refresh").rc == 6
    assert len(provider.bill()) - before <= DISTINCT - 1 - 99
    assert geonce.run(*command, "--refresh").rc == 6, "finished: a new one"
    assert len(provider.bill()) - before > DISTINCT
