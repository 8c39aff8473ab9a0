"""Every way in which fakegeo breaks, under a whole batch: no wrong point, no false "no such place",
no call that the ledger does not know; and once the provider is well, the rest is bought and no more.
"""

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

ROWS = 60
# The provider is asked again within the run's patience, not within ours.
QUICK = "\n[resolver]\ncool_down = \"50ms\"\nmax_unknown_retries = 10\n"

GOOGLE_FAULTS = {
    "429": {"do": "status", "status": 429},
    "429 with seconds": {"do": "status", "status": 429, "retry_after": 1},
    "429 with a date": {"do": "status", "status": 429, "retry_after": "date:+1"},
    "429 with nonsense": {"do": "status", "status": 429, "retry_after": "soon"},
    "503": {"do": "status", "status": 503},
    "500 as HTML": {"do": "status", "status": 500, "html": True},
    "400": {"do": "status", "status": 400, "code": "INVALID_REQUEST"},
    "200 OVER_QUERY_LIMIT": {"do": "in_body_error", "code": "OVER_QUERY_LIMIT"},
    "200 UNKNOWN_ERROR": {"do": "in_body_error", "code": "UNKNOWN_ERROR"},
    "200 as plain text": {"do": "text"},
    "200 and nothing": {"do": "text", "body": ""},
    "half JSON": {"do": "half_body"},
    "length too long": {"do": "wrong_length", "delta": 10},
    "length too short": {"do": "wrong_length", "delta": -20},
    "cut in the head": {"do": "cut_head"},
    "cut in the body": {"do": "cut_body"},
    "closed before the reply": {"do": "close"},
    "reset before the reply": {"do": "close", "reset": True},
    "closed after the reply": {"then_close": True},
    "hanging": {"do": "hang"},
    "one byte a second": {"do": "slow"},
    "endless chunks": {"do": "endless_chunks"},
    "gzip bomb": {"do": "gzip_bomb"},
    "two replies": {"do": "twice"},
}
FATAL_FAULTS = {
    "401": {"do": "status", "status": 401},
    "402": {"do": "status", "status": 402},
    "403 as HTML": {"do": "status", "status": 403, "html": True},
    "200 REQUEST_DENIED": {"do": "in_body_error", "code": "REQUEST_DENIED"},
    "200 OVER_DAILY_LIMIT": {"do": "in_body_error", "code": "OVER_DAILY_LIMIT"},
    "200 daily quota": {
        "do": "in_body_error",
        "code": "OVER_QUERY_LIMIT",
        "message": "You have exceeded your daily request quota for this API.",
    },
}


TEXT = ("--address", "address")
FIELDS = ("--map", "street=street,city=city,state=state,postcode=zip")


def batch(source, output, *more, address=TEXT):
    return (
        "batch", source, "-o", output, *address, "--default-country", "US",
        "--concurrency", 8, "--rate", 100_000, "--timeout", "1500ms", *more,
    )  # fmt: skip


def whole_in_the_end(tmp_path, provider, geonce, source, address=TEXT):
    """With a provider that is well again every row is answered, and nothing was bought for nothing."""
    provider.script({})
    output = tmp_path / "well.csv"
    done = geonce.run(*batch(source, output, "--retry-failed", address=address))
    assert done.rc == 0, done.err
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": ROWS}
    return check_the_ledger_against_the_bill(geonce, provider)


@pytest.mark.parametrize("fault", GOOGLE_FAULTS)
def test_a_batch_under_a_fault_gives_no_wrong_answer(tmp_path, provider, make_geonce, fault):
    geonce = make_geonce(provider, extra=QUICK)
    provider.rules({"when": {"probability": 0.2}, **GOOGLE_FAULTS[fault]}, seed=3)
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    done = geonce.run(*batch(source, output, "--max-retries", 2))
    assert done.rc in (0, 3, 6), done.err
    if output.exists():
        rows = read_rows(output)
        check_rows_are_the_input(source, rows)
        check_points(rows)
        assert set(statuses(rows)) <= {"match", "error"}
    check_the_ledger_against_the_bill(geonce, provider)
    whole_in_the_end(tmp_path, provider, geonce, source)


@pytest.mark.parametrize("fault", FATAL_FAULTS)
def test_a_fatal_error_stops_the_provider_and_fails_no_row(tmp_path, provider, make_geonce, fault):
    geonce = make_geonce(provider, extra=QUICK)
    provider.rules({"when": {"request": [21, 1000]}, **FATAL_FAULTS[fault]})
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    done = geonce.run(*batch(source, tmp_path / "out.csv"))
    assert done.rc == 8, (done.rc, done.err)
    assert not (tmp_path / "out.csv").exists()
    # The calls that were in flight when the first one failed, and none after.
    assert len(provider.bill()) <= 20 + 8
    sums = whole_in_the_end(tmp_path, provider, geonce, source)
    assert sums.answered == ROWS


@pytest.mark.parametrize("probability", [0.05, 0.3, 1.0])
def test_a_closed_keep_alive_connection_never_sends_a_call_twice(
    tmp_path, provider, make_geonce, probability
):
    geonce = make_geonce(provider, extra=QUICK)
    provider.rules({"when": {"reused": True, "probability": probability}, "do": "close"}, seed=5)
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS * 5))
    done = geonce.run(*batch(source, tmp_path / "out.csv"))
    assert done.rc in (0, 6), done.err
    sums = check_the_ledger_against_the_bill(geonce, provider)
    # Each line of the bill has its own intent: with a hidden second send there would be more lines.
    assert len(provider.bill()) == sums.answered + sums.unknown
    assert sums.unknown > 0
    check_points(read_rows(tmp_path / "out.csv"))


@pytest.mark.parametrize(
    "status, code",
    [(400, "INVALID_REQUEST"), (500, "UNKNOWN_ERROR"), (503, "UNKNOWN_ERROR"), (429, "")],
)
def test_twelve_equal_rows_under_a_failing_provider_cost_one_call_and_get_one_error(
    tmp_path, provider, geonce, status, code
):
    provider.rules({"do": "status", "status": status, "code": code}, latency_ms=100)
    source = write_csv(tmp_path / "in.csv", us_addresses(1) * 12)
    done = geonce.run(*batch(source, tmp_path / "out.csv", "--max-retries", 0))
    assert done.rc in (3, 6), done.err
    assert len(provider.bill()) == 1
    rows = read_rows(tmp_path / "out.csv")
    assert statuses(rows) == {"error": 12}
    assert len({row["geo_error"] for row in rows}) == 1
    assert rows[0]["geo_error"]


@pytest.mark.parametrize("name, address", [("geocodio", TEXT), ("census", FIELDS)])
@pytest.mark.parametrize(
    "fault",
    [
        {"do": "items_missing", "items": [0, 7]},
        {"do": "items_doubled", "items": [3]},
        {"do": "items_reordered"},
        {"do": "cut_body"},
        {"do": "half_body"},
        {"do": "close"},
        {"do": "status", "status": 500, "html": True},
        {"do": "text"},
    ],
    ids=lambda fault: fault["do"],
)
def test_a_broken_bulk_answer_moves_no_row(tmp_path, provider, make_geonce, name, address, fault):
    bulk = QUICK.replace("[resolver]", "[resolver]\nbulk_size = 20")
    geonce = make_geonce(provider, chain=(name,), extra=bulk)
    provider.rules({"when": {"request": [1, 2], "mode": "batch"}, **fault})
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    done = geonce.run(*batch(source, output, "--max-retries", 2, address=address))
    assert done.rc in (0, 3, 6), done.err
    assert any(line.mode == "batch" for line in provider.bill())
    if output.exists():
        check_rows_are_the_input(source, read_rows(output))
        check_points(read_rows(output))
        assert set(statuses(read_rows(output))) <= {"match", "error"}
    whole_in_the_end(tmp_path, provider, geonce, source, address)
