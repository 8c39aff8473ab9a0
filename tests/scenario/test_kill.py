"""`kill -9` of a batch, again and again: what was paid stays paid for, and nothing is lost."""

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

CONCURRENCY = 16
# An address whose call is in flight at two kills is asked a third time only when told so; here the
# question is whether the sums hold, so it always is.
TEXT = ("--address", "address")
FIELDS = ("--map", "street=street,city=city,state=state,postcode=zip")
PATIENT = "\n[resolver]\nmax_unknown_retries = 10\n"


def batch(source, output, *more, address=TEXT):
    return (
        "batch", source, "-o", output, *address, "--default-country", "US",
        "--concurrency", CONCURRENCY, "--rate", 100_000, "--no-progress", *more,
    )  # fmt: skip


def input_with_repeats(path, rows, distinct, dice):
    """`rows` rows over `distinct` addresses; the first ones come again at random places."""
    addresses = us_addresses(distinct)
    addresses += dice.choices(addresses, k=rows - distinct)
    dice.shuffle(addresses)
    return write_csv(path, addresses)


def test_a_batch_killed_at_random_moments_loses_nothing_and_pays_once(
    tmp_path, provider, make_geonce, dice, full
):
    kills, row_count, distinct = (50, 20_000, 15_000) if full else (10, 4_000, 3_000)
    geonce = make_geonce(provider, extra=PATIENT)
    provider.script({"latency_ms": [1, 20]})
    source = input_with_repeats(tmp_path / "in.csv", row_count, distinct, dice)
    output = tmp_path / "out.csv"

    moments = sorted(dice.sample(range(1, distinct - 200), kills))
    killed = 0
    for moment in moments:
        # Counted from the bill, so a moment that the last run has passed already is in this run's
        # first milliseconds: start-up and adoption get their kills too.
        run = geonce.start(*batch(source, output, "--quiet"))
        provider.wait(requests=moment)
        assert run.poll() is None, run.communicate()
        run.kill()
        run.communicate()
        killed += 1
        assert not output.exists()
    last = geonce.run(*batch(source, output))
    assert last.rc == 0, last.err

    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": row_count}
    sums = check_the_ledger_against_the_bill(geonce, provider)
    bill = provider.calls()
    assert len(bill) == distinct
    assert sum(bill.values()) - distinct <= sums.unknown <= killed * CONCURRENCY
    print(f"{killed} kills: {sum(bill.values())} calls for {distinct} addresses, {sums}")

    again = geonce.run(*batch(source, tmp_path / "again.csv"))
    assert again.rc == 0, again.err
    assert (tmp_path / "again.csv").read_bytes() == output.read_bytes() or (
        [r["geo_lat"] for r in read_rows(tmp_path / "again.csv")] == [r["geo_lat"] for r in rows]
    )
    assert provider.calls() == bill


def test_a_killed_batch_leaves_no_file_under_the_final_name(tmp_path, provider, geonce):
    provider.script({"latency_ms": 20})
    source = write_csv(tmp_path / "in.csv", us_addresses(2_000))
    run = geonce.start(*batch(source, tmp_path / "out.csv", "--quiet"))
    provider.wait(requests=200)
    run.kill()
    run.communicate()
    assert not (tmp_path / "out.csv").exists()


def test_a_provider_that_dies_and_comes_back_costs_no_answer(tmp_path, provider, make_geonce, dice):
    """The other side of the wire: here the provider is killed, with calls of ours in flight."""
    geonce = make_geonce(provider, extra=PATIENT)
    provider.script({"latency_ms": [5, 20]})
    source = write_csv(tmp_path / "in.csv", us_addresses(1_000))
    run = geonce.start(*batch(source, tmp_path / "out.csv", "--quiet"))
    provider.wait(requests=dice.randrange(50, 500))
    provider.kill()
    provider.start()
    _, err = run.communicate(timeout=120)
    finished = geonce.run(*batch(source, tmp_path / "out.csv", "--retry-failed"))
    assert finished.rc == 0, (err, finished.err)
    rows = read_rows(tmp_path / "out.csv")
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": 1_000}
    check_the_ledger_against_the_bill(geonce, provider)


@pytest.mark.parametrize("name, address", [("geocodio", TEXT), ("census", FIELDS)])
def test_a_batch_killed_inside_bulk_calls_loses_nothing(
    tmp_path, provider, make_geonce, dice, full, name, address
):
    kills, row_count = (20, 20_000) if full else (4, 4_000)
    bulk = PATIENT.replace("[resolver]", "[resolver]\nbulk_size = 100")
    geonce = make_geonce(provider, chain=(name,), extra=bulk)
    provider.script({"latency_ms": [5, 60]})
    source = write_csv(tmp_path / "in.csv", us_addresses(row_count))
    output = tmp_path / "out.csv"
    for moment in sorted(dice.sample(range(1, row_count // 100 - 1), kills)):
        run = geonce.start(*batch(source, output, "--quiet", address=address))
        provider.wait(requests=moment)
        run.kill()
        run.communicate()
    last = geonce.run(*batch(source, output, address=address))
    assert last.rc == 0, last.err
    # One address that waits alone goes by the single endpoint.
    singles = sum(line.mode == "single" for line in provider.bill())
    assert singles <= row_count / 50
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": row_count}
    check_the_ledger_against_the_bill(geonce, provider)
