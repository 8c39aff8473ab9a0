"""Bad input gets a clear message and its exit code, and loses nothing."""

import os
import sqlite3
import subprocess

import pytest
from geonce_fixtures import Geonce, us_addresses, write_csv


@pytest.fixture
def places(tmp_path):
    return Geonce(tmp_path / "geonce", "", chain=("places",))


def no_output(program, name="out.csv"):
    return not (program.directory / name).exists()


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        pytest.param(lambda p: None, 1, ["in.csv"], id="missing"),
        pytest.param(lambda p: p.mkdir(), 1, ["in.csv", "directory"], id="directory"),
        pytest.param(lambda p: p.write_bytes(b""), 5, ["in.csv", "empty"], id="empty"),
        pytest.param(lambda p: p.write_text("id,name\n1,x\n"), 2, ["id", "name"], id="no_address_column"),
        pytest.param(lambda p: p.write_bytes('address\n"Caf\u00e9 1"\n'.encode() + b"\xe9\n"), 5, [], id="mixed_encodings"),
        pytest.param(lambda p: p.write_text('address\n"12 Oak St\n'), 5, ["quote"], id="quote_that_never_ends"),
    ],
)
def test_input_that_cannot_be_read(places, make, code, words):
    make(places.directory / "in.csv")
    done = places.run("batch", "in.csv", "-o", "out.csv")
    assert done.rc == code, done.err
    assert done.err.startswith("geonce: ")
    for word in words:
        assert word in done.err
    assert no_output(places)


def test_an_unreadable_file_is_named(places):
    file = places.directory / "in.csv"
    file.write_text("address\nx\n")
    file.chmod(0)
    command = [places.binary, "batch", "in.csv"]
    if os.geteuid() == 0:  # root reads everything, unless it may not override modes
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", *command]
    done = subprocess.run(
        command, cwd=places.directory, env=places.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "in.csv" in done.stderr and "ermission denied" in done.stderr


def test_a_header_alone_gives_a_header_with_the_new_columns(places):
    (places.directory / "in.csv").write_text("id,address\n")
    done = places.run("batch", "in.csv", "-o", "out.csv")
    assert done.rc == 0, done.err
    assert (places.directory / "out.csv").read_text().startswith("id,address,geo_status,")


def test_an_unknown_column_is_an_error_that_lists_the_columns(places):
    (places.directory / "in.csv").write_text("id,street,town\n1,a,b\n")
    done = places.run("batch", "in.csv", "--address", "adress", "-o", "out.csv")
    assert done.rc == 2
    for name in ("adress", "id", "street", "town"):
        assert name in done.err
    assert no_output(places)


def test_two_columns_of_one_name_are_told_apart_by_number(places):
    (places.directory / "in.csv").write_text("address,address\n1 Oak St,2 Oak St\n")
    done = places.run("batch", "in.csv", "--address", "address", "-o", "out.csv")
    assert done.rc == 2
    assert "1" in done.err and "2" in done.err
    assert places.run("batch", "in.csv", "--address", "2", "-o", "out.csv").rc == 0


def test_a_line_of_a_gibibyte_fails_fast_in_bounded_memory(places):
    file = places.directory / "in.csv"
    with file.open("wb") as out:
        out.write(b"id,address\n1,")
        out.truncate(1 << 30)  # zeros: no line end
    done = subprocess.run(
        ["prlimit", f"--as={1 << 30}", places.binary, "batch", "in.csv", "-o", "out.csv", "--encoding", "utf-8"],
        cwd=places.directory, env=places.environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 5, done.stderr
    assert "row 1" in done.stderr
    assert no_output(places)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_under_the_output_leaves_the_old_output_alone(places, small_disk):
    target = small_disk / "out.csv"
    target.write_text("yesterday's\n")
    write_csv(places.directory / "in.csv", us_addresses(60_000))
    done = places.run("batch", "in.csv", "-o", target, "--address", "address", "--default-country", "US")
    assert done.rc == 1
    assert "space" in done.err.lower() or "full" in done.err.lower()
    assert target.read_text() == "yesterday's\n"


def test_a_full_disk_under_the_store_stops_before_any_call_and_goes_on_when_there_is_space(tmp_path, provider, small_disk):
    program = Geonce(tmp_path / "geonce", provider.url)
    program.environment["GEONCE_STORE"] = str(small_disk / "geonce.db")
    ballast = small_disk / "ballast"
    assert program.run("get", "1 Oak St, Reno, NV 89501", "--country", "US").rc == 0
    paid = len(provider.bill())
    with pytest.raises(OSError):
        ballast.write_bytes(b"x" * (4 << 20))
    done = program.run("get", "3 Oak St, Reno, NV 89501", "--country", "US")
    assert done.rc != 0
    assert done.err.startswith("geonce: ")
    assert len(provider.bill()) == paid
    ballast.unlink()
    assert program.run("get", "3 Oak St, Reno, NV 89501", "--country", "US").rc == 0
    assert len(provider.bill()) == paid + 1


def test_a_store_that_cannot_be_written_is_named(places):
    folder = places.directory / "locked"
    folder.mkdir()
    (folder / "geonce.db").mkdir()
    done = places.run("--store", folder / "geonce.db", "get", "1 Oak St")
    assert done.rc == 1
    assert "geonce.db" in done.err


def test_a_store_that_another_program_holds_says_so(places):
    assert places.run("places", "load", "-", input="LON,LAT,NUMBER,STREET\n1,2,3,Oak St\n").rc == 0
    holder = sqlite3.connect(places.directory / "geonce.db", isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    done = places.run("places", "load", "-", input="LON,LAT,NUMBER,STREET\n1,2,3,Oak St\n", timeout_s=60)
    assert done.rc == 1
    assert "lock" in done.err.lower() or "busy" in done.err.lower()
    holder.close()


def test_a_corrupt_store_says_so_and_is_not_touched(places):
    file = places.directory / "geonce.db"
    file.write_bytes(b"this is no database" * 1000)
    before = file.read_bytes()
    done = places.run("get", "1 Oak St")
    assert done.rc == 1
    assert "geonce.db" in done.err
    assert file.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused(places):
    assert places.run("places", "load", "-", input="LON,LAT,NUMBER,STREET\n1,2,3,Oak St\n").rc == 0
    store = sqlite3.connect(places.directory / "geonce.db")
    store.execute("INSERT INTO schema_step SELECT max(number) + 1000, 'later', '', 0 FROM schema_step")
    store.execute("PRAGMA user_version=1001")
    store.commit()
    store.close()
    done = places.run("get", "1 Oak St")
    assert done.rc == 1
    assert "newer" in done.err


def test_an_output_folder_that_is_not_there_is_an_error_before_anything_is_paid(geonce, provider):
    write_csv(geonce.directory / "in.csv", us_addresses(5))
    done = geonce.run("batch", "in.csv", "-o", "nowhere/out.csv", "--address", "address", "--default-country", "US")
    assert done.rc == 1
    assert "nowhere" in done.err
    assert provider.bill() == []


def test_a_column_collision_is_an_error_before_anything_is_paid(geonce, provider):
    (geonce.directory / "in.csv").write_text('address,geo_lat\n"1 Oak St, Reno, NV 89501",1\n')
    done = geonce.run("batch", "in.csv", "-o", "out.csv", "--address", "address", "--default-country", "US")
    assert done.rc == 2
    assert "geo_lat" in done.err
    assert provider.bill() == []
