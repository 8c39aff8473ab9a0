"""A store that may not be written, is full, damaged or held by another: said at once and by name, nothing
is paid without a place to note it down, and once the trouble is over the same command goes on.
"""

import os
import sqlite3
import subprocess
import time

import pytest
from geonce_fixtures import (
    Geonce,
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    read_rows,
    statuses,
    us_addresses,
    write_csv,
)



def batch(source, output, *more):
    return (
        "batch", source, "-o", output, "--address", "address", "--default-country", "US",
        "--concurrency", 8, "--rate", 100_000, *more,
    )  # fmt: skip


@pytest.fixture
def obedient():
    """Words in front of a command that make it respect file modes, which root alone does not.

    Proved on a file before it is used: a test that silently ran with all of root's rights would
    pass whatever the program does.
    """
    if os.geteuid() != 0:
        return []
    return [
        "setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all", "--ambient-caps=-all",
    ]  # fmt: skip


def run_as(words, program, *args):
    return subprocess.run(
        [*words, program.binary, *map(str, args)],
        cwd=program.directory, env=program.environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def freeze(words, *paths):
    """Takes away the right to write, and makes sure that it is gone."""
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
        probe = subprocess.run([*words, "sh", "-c", 'test -w "$1"', "sh", path], check=False)
        assert probe.returncode == 1, f"{path} can still be written: this test cannot be set up here"


@pytest.mark.parametrize("frozen", ["file", "folder", "file and folder"])
@pytest.mark.parametrize("command", ["batch", "get", "places"])
def test_a_store_that_may_only_be_read_is_named_before_anything_is_paid(tmp_path, provider, obedient, frozen, command):
    program = Geonce(tmp_path / "geonce", provider.url)
    folder = tmp_path / "kept"
    folder.mkdir()
    store = folder / "geonce.db"
    program.environment["GEONCE_STORE"] = str(store)
    assert program.run("get", "1 Oak St, Reno, NV 89501", "--country", "US").rc == 0
    before = store.read_bytes()
    paid = len(provider.bill())
    write_csv(program.directory / "in.csv", us_addresses(5))
    freeze(obedient, *{"file": [store], "folder": [folder], "file and folder": [store, folder]}[frozen])
    try:
        words = {
            "batch": batch("in.csv", "out.csv"),
            "get": ("get", "3 Oak St, Reno, NV 89501", "--country", "US"),
            "places": ("places", "load", "in.csv", "--map", "lon=id,lat=id,street=street"),
        }[command]
        done = run_as(obedient, program, *words)
    finally:
        folder.chmod(0o700)
        store.chmod(0o600)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("geonce: ") and str(store) in done.stderr and "denied" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert len(provider.bill()) == paid
    assert store.read_bytes() == before
    assert not (program.directory / "out.csv").exists()
    assert program.run("get", "3 Oak St, Reno, NV 89501", "--country", "US").rc == 0


class Disk:
    """A file system of its own: `size` bytes at most, and it can be made read-only."""

    def __init__(self, folder, size):
        self.folder = folder
        folder.mkdir()
        self._mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)

    def resize(self, size):
        self._mount("-o", f"remount,size={size}", self.folder)

    def freeze(self):
        self._mount("-o", "remount,ro", self.folder)

    def thaw(self):
        self._mount("-o", "remount,rw", self.folder)

    def remove(self):
        subprocess.run(["umount", "--lazy", self.folder], check=True)

    @staticmethod
    def _mount(*words):
        done = subprocess.run(["mount", *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"a file system is needed for this test: {done.stderr}"


@pytest.fixture
def disk(tmp_path):
    disks = []

    def make(size):
        disks.append(Disk(tmp_path / f"disk{len(disks)}", size))
        return disks[-1]

    yield make
    for made in disks:
        made.remove()


def test_a_store_on_a_file_system_that_is_mounted_read_only_is_named(tmp_path, provider, disk):
    program = Geonce(tmp_path / "geonce", provider.url)
    kept = disk("32m")
    program.environment["GEONCE_STORE"] = str(kept.folder / "geonce.db")
    assert program.run("get", "1 Oak St, Reno, NV 89501", "--country", "US").rc == 0
    write_csv(program.directory / "in.csv", us_addresses(5))
    kept.freeze()
    done = program.run(*batch("in.csv", "out.csv"))
    assert done.rc == 1
    assert str(kept.folder) in done.err and "ead-only" in done.err
    assert len(provider.bill()) == 1
    kept.thaw()
    assert program.run(*batch("in.csv", "out.csv")).rc == 0
    assert len(provider.bill()) == 6


def test_a_store_whose_disk_fills_up_ends_the_run_and_with_space_it_goes_on(tmp_path, provider, disk):
    program = Geonce(tmp_path / "geonce", provider.url)
    small = disk("1m")
    program.environment["GEONCE_STORE"] = str(small.folder / "geonce.db")
    source = write_csv(tmp_path / "in.csv", us_addresses(3_000))
    output = tmp_path / "out.csv"
    began = time.monotonic()
    done = program.run(*batch(source, output))
    took = time.monotonic() - began
    bought = len(provider.bill())
    assert done.rc == 1, (done.rc, done.err)
    assert "geonce.db" in done.err and ("space" in done.err or "full" in done.err)
    assert not output.exists()
    assert 0 < bought < 3_000
    assert took < 20
    small.resize("64m")
    done = program.run(*batch(source, output))
    assert done.rc == 0, done.err
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": 3_000}
    # The spool has room for the answer of each call that was let go, also when the store has none.
    assert check_the_ledger_against_the_bill(program, provider).unknown == 0
    assert len(provider.bill()) == 3_000


def test_an_output_beyond_the_limit_of_file_sizes_is_a_full_disk_and_not_a_signal(tmp_path):
    """`ulimit -f` sends SIGXFSZ, which ends a program that did not think of it, without a word."""
    program = Geonce(tmp_path / "geonce", "", chain=("places",))
    assert program.run("get", "1 Oak St", "--country", "US").rc == 6  # makes the store
    write_csv(program.directory / "in.csv", us_addresses(20_000))
    target = program.directory / "out.csv"
    target.write_text("yesterday's\n")
    done = run_as(["prlimit", f"--fsize={1 << 20}"], program, *batch("in.csv", "out.csv"))
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "out.csv" in done.stderr and "too large" in done.stderr
    assert target.read_text() == "yesterday's\n"


def damage(store):
    """Overwrites the middle of the file, as a bad disk would: the head still says what it is."""
    size = store.stat().st_size
    with store.open("r+b") as file:
        for at in range(8192, size, 8192):
            file.seek(at)
            file.write(b"\xa5" * 4096)


@pytest.mark.parametrize("how", ["damaged", "cut"])
def test_a_store_that_was_damaged_is_said_to_be_and_nothing_is_paid(tmp_path, provider, how):
    program = Geonce(tmp_path / "geonce", provider.url)
    source = write_csv(tmp_path / "in.csv", us_addresses(200))
    assert program.run(*batch(source, tmp_path / "first.csv")).rc == 0
    paid = len(provider.bill())
    store = program.directory / "geonce.db"
    for log in program.directory.glob("geonce.db-*"):
        log.unlink()
    if how == "damaged":
        damage(store)
    else:
        with store.open("r+b") as file:
            file.truncate(store.stat().st_size // 2 // 8192 * 8192)
    other = write_csv(tmp_path / "other.csv", us_addresses(200, seed=2) + us_addresses(220)[-20:])
    done = program.run(*batch(other, tmp_path / "out.csv"))
    assert done.rc == 1, (done.rc, done.err)
    assert "geonce.db" in done.err and ("damaged" in done.err or "malformed" in done.err or "corrupt" in done.err)
    assert len(provider.bill()) == paid
    assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def holder():
    """Holds a store for itself until it is closed."""
    held = []

    def hold(store):
        connection = sqlite3.connect(store, isolation_level=None)
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        held.append(connection)
        return connection

    yield hold
    for connection in held:
        connection.close()


def test_a_batch_on_a_store_that_another_program_holds_ends_with_a_word_and_without_a_call(geonce, provider, holder):
    assert geonce.run("get", "1 Oak St, Reno, NV 89501", "--country", "US").rc == 0
    write_csv(geonce.directory / "in.csv", us_addresses(5))
    holder(geonce.directory / "geonce.db")
    done = geonce.run(*batch("in.csv", "out.csv"), timeout_s=60)
    assert done.rc == 1, (done.rc, done.err)
    assert "geonce.db" in done.err and "lock" in done.err
    assert not (geonce.directory / "out.csv").exists()
    assert len(provider.bill()) == 1


def test_a_store_that_is_held_for_a_moment_in_the_middle_of_a_batch_costs_nothing(geonce, provider):
    source = write_csv(geonce.directory / "in.csv", us_addresses(600))
    output = geonce.directory / "out.csv"
    provider.rules(latency_ms=20)
    run = geonce.start(*batch(source, output))
    provider.wait(requests=100)
    other = sqlite3.connect(geonce.directory / "geonce.db", isolation_level=None, timeout=30)
    other.execute("BEGIN IMMEDIATE")  # a writer's lock: the batch can read, and not write
    held_at = len(provider.bill())
    # What could be claimed before is called; then nothing more, however long it takes.
    try:
        deadline = time.monotonic() + 30
        while (now := len(provider.bill())) != held_at or provider.stats()["in_flight"]:
            assert time.monotonic() < deadline, "calls go on although no claim can be written"
            held_at = now
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert run.poll() is None
    _, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": 600}
    check_the_ledger_against_the_bill(geonce, provider)
    assert max(provider.calls().values()) == 1
