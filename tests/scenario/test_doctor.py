"""geonce doctor says what is wrong with servers that are set wrongly on purpose, and what to do."""

import json
import os
import subprocess

import pytest
from geonce_fixtures import Geonce, PgBouncer, Postgres, Redis


def doctor(geonce, code=0):
    done = geonce.run("doctor")
    assert done.rc == code, done.out + done.err
    return done.out


@pytest.fixture(scope="module")
def server():
    with Postgres(settings=("fsync=on",)) as running:
        yield running


@pytest.fixture
def machine(tmp_path, provider, server):
    geonce = Geonce(tmp_path / "m", provider.url, store=server.uri())
    server.sql("DROP SCHEMA IF EXISTS geonce CASCADE")
    assert geonce.run("migrate").rc == 0
    return geonce


def test_a_server_that_is_set_well_is_said_to_be(machine):
    assert "the server of the store is set as it should be" in doctor(machine)


@pytest.mark.parametrize("setting, value, advice", [
    ("full_page_writes", "off", "full_page_writes is off"),
    ("synchronous_commit", "off", "synchronous_commit is off"),
    ("autovacuum", "off", "autovacuum is off"),
    ("synchronous_standby_names", "'nobody'", "no such standby is connected"),
])  # fmt: skip
def test_a_setting_that_loses_purchases_is_named(machine, server, setting, value, advice):
    # Nothing on this connection may wait for the standby that is not there.
    server.sql(f"ALTER SYSTEM SET {setting} = {value}")
    server.sql("SET synchronous_commit = local; SELECT pg_reload_conf()")
    try:
        said = ""
        while advice not in said:  # it is read in a moment
            said = doctor(machine)
        assert "warn" in next(line for line in said.splitlines() if advice in line)
        assert "set as it should be" not in said
    finally:
        server.sql(f"ALTER SYSTEM RESET {setting}")
        server.sql("SELECT pg_reload_conf()")


def test_a_server_without_fsync(tmp_path, provider):
    with Postgres(settings=("fsync=off",)) as fast:
        geonce = Geonce(tmp_path / "m", provider.url, store=fast.uri())
        assert geonce.run("migrate").rc == 0
        assert "fsync is off" in doctor(geonce)


def test_a_table_without_autovacuum_and_one_that_is_behind(machine, server):
    server.sql("ALTER TABLE geonce.no_match SET (autovacuum_enabled = false)")
    assert "switched off for no_match" in doctor(machine)
    server.sql("INSERT INTO geonce.no_match SELECT 1, int4send(n), 'x', n FROM generate_series(1, 21000) AS n")
    server.sql("DELETE FROM geonce.no_match")
    while "autovacuum is behind on no_match" not in doctor(machine):
        pass


def test_too_few_connections(machine, server):
    machine.environment["GEONCE_POSTGRES_CONNECTIONS"] = "64"
    server.sql("ALTER SYSTEM SET max_connections = 60")
    server.stop()
    server.start()
    assert "raise max_connections" in doctor(machine)
    server.sql("ALTER SYSTEM RESET max_connections")
    server.stop()
    server.start()


def test_a_pooler_is_no_shortage_of_connections(tmp_path, provider, machine, server):
    with PgBouncer(server) as pooler:
        behind = Geonce(tmp_path / "p", provider.url, store=pooler.uri())
        behind.environment["GEONCE_POSTGRES_CONNECTIONS"] = "64"
        assert "max_connections" not in doctor(behind)


@pytest.mark.parametrize("options, advice", [
    (("--maxmemory", "64mb", "--maxmemory-policy", "volatile-ttl"), "maxmemory-policy is volatile-ttl"),
    (("--maxmemory", "64mb", "--maxmemory-policy", "noeviction"), "maxmemory-policy is noeviction"),
    (("--maxmemory", "0"), "has no maxmemory"),
    (("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu"), None),
    (("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"), None),
])  # fmt: skip
def test_how_a_redis_evicts(tmp_path, provider, options, advice):
    with Redis(tmp_path / "r", *options) as redis:
        geonce = Geonce(tmp_path / "m", provider.url, extra=redis.config)
        assert geonce.run("migrate").rc == 0
        said = doctor(geonce)
        assert "redis " in said
        if advice is None:
            assert "maxmemory" not in said
        else:
            assert advice in next(line for line in said.splitlines() if line.startswith("warn  redis")), said


@pytest.mark.parametrize("offset, advice", [("+5s", "behind this machine's"), ("-5s", "ahead of this machine's")])
def test_a_clock_that_is_off(tmp_path, provider, server, machine, offset, advice):
    with Redis(tmp_path / "r", "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu") as redis:
        geonce = Geonce(tmp_path / "c", provider.url, extra=redis.config, store=server.uri())
        assert advice not in doctor(geonce)
        said = subprocess.run(
            ["faketime", "-f", offset, geonce.binary, "doctor"],
            env=geonce.environment, cwd=geonce.directory, text=True, capture_output=True, check=True,
        ).stdout  # fmt: skip
        warnings = [line for line in said.splitlines() if advice in line]
        assert len(warnings) == 2, said  # of Postgres and of Redis
        assert all(line.startswith("warn") for line in warnings)
        assert any(f"redis 127.0.0.1:{redis.port}" in line for line in warnings), said


def test_indexes_that_do_not_fit_into_shared_buffers(tmp_path, provider):
    with Postgres(settings=("shared_buffers=1MB",)) as small:
        geonce = Geonce(tmp_path / "m", provider.url, store=small.uri())
        assert geonce.run("migrate").rc == 0
        assert "raise shared_buffers" not in doctor(geonce)
        answer = {"kind": "match", "lat": 30.0, "lng": -97.0, "precision": "rooftop", "provider": "opencage"}
        life = {name: "2099-01-01T00:00:00Z" for name in ("fresh_until", "stale_until", "erase_after")}
        with open(geonce.directory / "answers.ndjson", "w", encoding="utf-8") as file:
            for n in range(20_000):
                query = {"text": f"{n + 1} Main St, Austin, TX 78701", "country": "US"}
                line = {"query": query, "answer": answer, "answered_at": "2026-11-01T00:00:00Z", **life}
                file.write(json.dumps(line) + "\n")
        assert geonce.run("import", "answers.ndjson").rc == 0
        assert "raise shared_buffers" in doctor(geonce)


@pytest.mark.skipif(os.environ.get("GEONCE_SCENARIO") != "full", reason="a standby has to fall a minute behind")
def test_a_standby_that_is_behind(tmp_path, provider):
    with Postgres() as primary, primary.standby() as standby:
        geonce = Geonce(tmp_path / "m", provider.url, store=primary.uri())
        assert geonce.run("migrate").rc == 0
        assert "behind: a failover" not in doctor(geonce)
        standby.sql("SELECT pg_wal_replay_pause()")
        said = ""
        while "behind: a failover" not in said:
            primary.sql("SELECT pg_logical_emit_message(true, 'test', 'x')")
            said = doctor(geonce)
