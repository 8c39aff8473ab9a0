"""One Postgres database as the store of several machines: folders, homes and spools of their own."""

import json

import pytest
from geonce_fixtures import (
    Geonce,
    PgBouncer,
    Postgres,
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    read_rows,
    statuses,
    us_addresses,
    write_csv,
)

PATIENT = "\n[resolver]\nmax_unknown_retries = 10\n"


@pytest.fixture
def server():
    with Postgres() as running:
        yield running


def machines(tmp_path, provider, store, count=2, extra=PATIENT):
    return [
        Geonce(tmp_path / f"machine{n}", provider.url, store=store, extra=extra) for n in range(count)
    ]


def batch(source, output, *more):
    return (
        "batch", source, "-o", output, "--address", "address", "--default-country", "US",
        "--concurrency", 16, "--rate", 100_000, "--no-progress", *more,
    )  # fmt: skip


def finish(run):
    _, err = run.communicate(timeout=180)
    assert run.returncode == 0, err.decode()


def check_output(source, output):
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": len(rows)}


def test_two_machines_that_do_the_same_work_buy_each_address_once(tmp_path, provider, server):
    provider.script({"latency_ms": [1, 20]})
    one, other = machines(tmp_path, provider, server.uri())
    addresses = us_addresses(3_000)
    sources = [
        write_csv(tmp_path / "a.csv", addresses[:2_000]),
        write_csv(tmp_path / "b.csv", addresses[:999:-1]),  # the other way round
    ]
    outputs = [tmp_path / "a.out", tmp_path / "b.out"]
    runs = [
        machine.start(*batch(source, output))
        for machine, source, output in zip((one, other), sources, outputs, strict=True)
    ]
    for run in runs:
        finish(run)
    for source, output in zip(sources, outputs, strict=True):
        check_output(source, output)
    assert len(provider.bill()) == len(provider.calls()) == 3_000
    sums = check_the_ledger_against_the_bill(one, provider)
    assert (sums.answered, sums.unknown, sums.redundant) == (3_000, 0, 0)

    # Whoever asks again, on whichever machine, pays nothing.
    again = other.run(*batch(sources[0], tmp_path / "again.csv"))
    assert again.rc == 0, again.err
    check_output(sources[0], tmp_path / "again.csv")
    assert len(provider.bill()) == 3_000


def test_a_machine_killed_again_and_again_loses_nothing_and_pays_once(
    tmp_path, provider, server, dice, full
):
    kills, count = (20, 10_000) if full else (5, 2_500)
    provider.script({"latency_ms": [1, 20]})
    steady, shaky = machines(tmp_path, provider, server.uri())
    source = write_csv(tmp_path / "in.csv", us_addresses(count))
    other_source = write_csv(tmp_path / "other.csv", us_addresses(count)[::-1])
    steady_run = None
    for moment in sorted(dice.sample(range(1, count - 400), kills)):
        run = shaky.start(*batch(source, tmp_path / "out.csv", "--quiet"))
        if steady_run is None:
            steady_run = steady.start(*batch(other_source, tmp_path / "other.out"))
        provider.wait(requests=moment)
        run.kill()
        run.communicate()
    last = shaky.run(*batch(source, tmp_path / "out.csv"))
    assert last.rc == 0, last.err
    finish(steady_run)
    check_output(source, tmp_path / "out.csv")
    check_output(other_source, tmp_path / "other.out")
    sums = check_the_ledger_against_the_bill(steady, provider)
    bill = provider.calls()
    assert len(bill) == count
    assert sum(bill.values()) - count <= sums.unknown <= kills * 16
    print(f"{kills} kills: {sum(bill.values())} calls for {count} addresses, {sums}")


@pytest.mark.parametrize("how", ["stop", "crash"])
def test_a_server_that_goes_and_comes_back_in_mid_batch_costs_no_answer(
    tmp_path, provider, server, dice, how
):
    provider.script({"latency_ms": [1, 20]})
    runs = []
    count = 4_000
    both = machines(tmp_path, provider, server.uri())
    for n, machine in enumerate(both):
        addresses = us_addresses(count)
        source = write_csv(tmp_path / f"{n}.csv", addresses if n == 0 else addresses[::-1])
        runs.append((source, tmp_path / f"{n}.out", machine.start(*batch(source, tmp_path / f"{n}.out"))))
    for moment in sorted(dice.sample(range(100, count - 500), 3)):
        provider.wait(requests=moment)
        getattr(server, how)()
        server.start()
    for source, output, run in runs:
        finish(run)
        check_output(source, output)
    sums = check_the_ledger_against_the_bill(both[0], provider)
    bill = provider.calls()
    assert len(bill) == count
    assert sum(bill.values()) - count <= sums.unknown + sums.redundant
    print(f"{sum(bill.values())} calls for {count} addresses, {sums}")


def test_a_pooler_that_deals_out_transactions_may_stand_between(tmp_path, provider, server):
    provider.script({"latency_ms": [1, 20]})
    with PgBouncer(server) as bouncer:
        both = machines(tmp_path, provider, bouncer.uri())
        source = write_csv(tmp_path / "in.csv", us_addresses(2_000))
        runs = [machine.start(*batch(source, tmp_path / f"{n}.out")) for n, machine in enumerate(both)]
        for n, run in enumerate(runs):
            finish(run)
            check_output(source, tmp_path / f"{n}.out")
        sums = check_the_ledger_against_the_bill(both[0], provider)
    assert (sums.answered, sums.unknown, sums.redundant) == (2_000, 0, 0)
    assert set(provider.calls().values()) == {1}


def test_the_commands_work_on_it(tmp_path, provider, server):
    (geonce,) = machines(tmp_path, provider, server.uri(), count=1)
    address = "1100 Congress Ave, Austin, TX 78701"
    assert "no store in the database" in geonce.run("ledger", "summary").err
    migrated = geonce.run("migrate")
    assert migrated.rc == 0, migrated.err
    assert "001_tables" in migrated.out
    assert geonce.run("migrate").out == "the schema is up to date\n"
    got = geonce.run("get", address, "--country", "US", "--json")
    assert got.rc == 0, got.err
    assert json.loads(got.out)["lat"]
    assert geonce.run("get", address, "--country", "US", "--json").rc == 0
    assert len(provider.bill()) == 1
    shown = geonce.run("entry", "show", address, "--country", "US")
    assert shown.rc == 0, shown.err
    assert geonce.run("sweep").rc == 0
    doctor = geonce.run("doctor")
    assert "postgres 15" in doctor.out, doctor.out + doctor.err
    assert "MiB free for the spool" in doctor.out
    assert server.sql("SELECT count(*) FROM geonce.ledger") == ["2"]
