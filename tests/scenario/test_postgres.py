"""One Postgres database as the store of several machines: folders, homes and spools of their own."""

import json
import subprocess

import pytest
from geonce_fixtures import (
    Geonce,
    PgBouncer,
    Postgres,
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    ledger_sums,
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


def test_what_is_over_is_erased_beside_the_work_of_two_machines(tmp_path, provider, server):
    """100,000 answers whose lives are over, and a batch on each machine over addresses some of which are among them."""
    server.sql("ALTER SYSTEM SET autovacuum_naptime = 1")
    server.sql("SELECT pg_reload_conf()")
    fast = PATIENT + "\n[sweep]\nevery = \"1m\"\n"
    one, other = machines(tmp_path, provider, server.uri(), extra=fast)
    addresses = us_addresses(3_000)
    source = write_csv(tmp_path / "a.csv", addresses)
    assert one.run(*batch(source, tmp_path / "first.csv")).rc == 0
    paid = len(provider.bill())
    server.sql(
        "UPDATE geonce.entry SET fresh_until = 1, stale_until = 1, erase_after = 1;"
        "UPDATE geonce.chunk SET erase_after = 1; DELETE FROM geonce.lease;"
        "INSERT INTO geonce.entry SELECT pool, sha256(key || int4send(n)), NULL, gen, kind, pinned, no_match_streak, answered_at,"
        " n, n, n, provider, NULL, payload, query_json, pre_image FROM geonce.entry, generate_series(1, 32) AS n"
    )
    again = write_csv(tmp_path / "b.csv", addresses[::-1])
    provider.script({"latency_ms": [5, 40]})
    runs = [
        one.start(*batch(source, tmp_path / "one.csv")),
        other.start(*batch(again, tmp_path / "other.csv")),
    ]
    for run in runs:
        finish(run)
    check_output(source, tmp_path / "one.csv")
    check_output(again, tmp_path / "other.csv")
    assert len(provider.bill()) == 2 * paid, "each was bought once more"
    assert server.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'") == ["0"]
    while int(server.sql("SELECT count(*) FROM geonce.entry WHERE erase_after < 1000")[0]) > 0:
        assert other.run("sweep").rc == 0
    assert server.sql("SELECT count(*) FROM geonce.entry") == [str(paid)]
    assert server.sql("SELECT count(*) FROM geonce.lease WHERE name = 'sweep.round'") == ["1"], "a batch did it by itself"
    assert ledger_sums(one).answered == 2 * paid


def test_the_wire_is_encrypted_and_the_server_has_to_prove_who_it_is(tmp_path, provider):
    names = ("ca", "server", "stranger")
    for name in names:
        make_certificate(tmp_path, name, signed_by="ca" if name == "server" else None)
    hba = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
    with Postgres(hba=hba, settings=("ssl=on",), files=(tmp_path / "server.crt", tmp_path / "server.key")) as server:
        server.sql("CREATE ROLE app LOGIN PASSWORD 'geheim'; CREATE DATABASE geonce OWNER app")
        password = tmp_path / "password"
        password.write_text("geheim\n")

        def machine(name, host, root, secret=password):
            store = (
                f"postgres://app@{host}:{server.port}/geonce?sslmode=verify-full"
                f"&sslrootcert={tmp_path / root}.crt"
            )
            extra = f'\n[postgres]\npassword_file = "{secret}"\n'
            return Geonce(tmp_path / name, provider.url, store=store, extra=extra)

        good = machine("good", "localhost", "ca").run("migrate")
        assert good.rc == 0, good.err
        assert server.sql("SELECT count(*) FROM geonce.ledger", "geonce") == ["0"]
        for name, host, root in (("other-name", "127.0.0.1", "ca"), ("other-ca", "localhost", "stranger")):
            refused = machine(name, host, root).run("ledger", "summary")
            assert refused.rc == 1, refused
            assert "cannot be reached" in refused.err and "certificate" in refused.err, refused.err
        wrong = tmp_path / "wrong"
        wrong.write_text("falsch\n")
        refused = machine("wrong-password", "localhost", "ca", wrong).run("ledger", "summary")
        assert refused.rc == 1
        assert "password authentication failed" in refused.err
        assert "falsch" not in refused.err
        plain = Geonce(
            tmp_path / "plain", provider.url,
            store=f"postgres://app@127.0.0.1:{server.port}/geonce?sslmode=disable",
        ).run("ledger", "summary")  # fmt: skip
        assert plain.rc == 1
        assert "no encryption" in plain.err


def make_certificate(folder, name, signed_by=None):
    """`name.key` and `name.crt` for localhost, by itself or by another."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
               "-days", "2", "-subj", f"/CN={'localhost' if signed_by else name}",
               "-keyout", f"{name}.key", "-out", f"{name}.crt"]  # fmt: skip
    if signed_by:
        command += ["-CA", f"{signed_by}.crt", "-CAkey", f"{signed_by}.key",
                    "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:false"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_a_failover_to_the_standby_in_mid_batch_costs_no_answer(tmp_path, provider):
    """Both hosts are in the address; what the primary acknowledged the standby has."""
    provider.script({"latency_ms": [1, 20]})
    count = 3_000
    with Postgres() as primary:
        with primary.standby() as standby:
            primary.wait_for_the_standby()
            store = f"postgres://postgres@127.0.0.1:{standby.port},127.0.0.1:{primary.port}/postgres"
            both = machines(tmp_path, provider, store)
            source = write_csv(tmp_path / "in.csv", us_addresses(count))
            runs = [machine.start(*batch(source, tmp_path / f"{n}.out")) for n, machine in enumerate(both)]
            provider.wait(requests=count // 2)
            primary.crash()
            standby.promote()
            for n, run in enumerate(runs):
                finish(run)
                check_output(source, tmp_path / f"{n}.out")
            sums = check_the_ledger_against_the_bill(both[0], provider)
            bill = provider.calls()
    assert len(bill) == count
    assert sum(bill.values()) - count <= sums.unknown
    print(f"{sum(bill.values())} calls for {count} addresses, {sums}")


def test_a_plan_made_on_an_empty_database_still_goes_by_the_key_once_it_is_full(tmp_path, provider, server):
    (machine,) = machines(tmp_path, provider, server.uri(), count=1)
    assert machine.run("migrate").rc == 0
    look = "FROM geonce.find(ARRAY[0]::bigint[], ARRAY[sha256('7')]::bytea[]);"
    counted = server.sql(
        f"""
        SELECT count(*) {look}
        INSERT INTO geonce.entry (pool, key, gen, kind, pinned, no_match_streak, answered_at, fresh_until, stale_until,
                                  erase_after, provider, payload, query_json, pre_image)
          SELECT 0, sha256(n::text::bytea), 1, 1, false, 0, t, t + 1000000, t + 1000000, t + 1000000, '', '', '', ''
          FROM generate_series(1, 5000) n, (SELECT geonce.now() AS t) AS x;
        BEGIN;
        SELECT count(*) {look}
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'entry';
        COMMIT;
        """
    )
    assert counted == ["0", "1", "1"]
