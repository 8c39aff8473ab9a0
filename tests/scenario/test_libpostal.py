"""libpostal as a second reader: what it reads, what becomes of keys and money, and what it leaves behind.

Here it is a stand-in with the same interface that does what its data folder says.
"""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from geonce_fixtures import Geonce, Libpostal, read_rows, statuses

COMMAND = ("batch", "in.csv", "-o", "out.csv", "--address", "address", "--default-country", "US", "--rate", 100_000)
TEXT = "{} Main St West Chester"  # of two readings, so the built-in rules have none


@pytest.fixture
def postal(tmp_path):
    return Libpostal(tmp_path / "postal")


@pytest.fixture
def on(tmp_path, provider, postal):
    """The program with libpostal; `on(more)` adds to its [normalize]."""

    def make(more="", name="geonce"):
        return Geonce(tmp_path / name, provider.url, extra=postal.config(more))

    return make


@pytest.fixture
def off(tmp_path, provider):
    """The same store without it."""
    return lambda name="geonce": Geonce(tmp_path / name, provider.url)


def write_texts(geonce, texts):
    (geonce.directory / "in.csv").write_text("address\n" + "".join(f'"{text}"\n' for text in texts))


def explain(geonce, text, country="US"):
    done = geonce.run("explain", text, "--country", country, "--json")
    assert done.rc == 0, done.err
    return json.loads(done.out)


def rows(geonce):
    return read_rows(geonce.directory / "out.csv")


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def is_gone(pid):
    """Dead; an orphan may wait as a zombie where nobody is there to take it in."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_it_reads_only_what_the_rules_leave_in_one_piece_and_under_a_name_of_its_own(on, off, postal):
    without = explain(off(), TEXT.format(12))
    assert without["mode"] == "unparsed" and without["backend"] == "b"
    read = explain(on(), TEXT.format(12))
    assert read["mode"] == "parsed"
    assert read["fields"] == {"house": "12", "road": "main st w", "locality": "chester"}
    assert read["key"] != without["key"]
    assert explain(on(), "  12 MAIN ST. west   chester,") == read
    assert explain(on(), "12 Main St, West Chester, PA 19380")["backend"] == "b"
    # What is printed as canonical has the same key, with libpostal and without.
    assert explain(on(), read["canonical"])["key"] == read["key"]
    assert explain(off(), read["canonical"])["key"] == read["key"]


def test_the_name_is_the_hash_that_the_docs_show_how_to_make(on, postal):
    page = pathlib.Path(__file__).parents[2] / "docs/formats/key.md"
    recipe = page.read_text().split("## The backend")[1].split("    ( echo")[1].split("\n\nThe `1`")[0]
    recipe = ("( echo" + recipe).replace("LIBRARY", str(postal.library)).replace("DATA", str(postal.data))
    made = subprocess.run(["bash", "-c", recipe], capture_output=True, text=True, check=True)
    assert explain(on(), TEXT.format(12))["backend"] == "p:" + made.stdout.strip()


def test_all_commands_agree_on_the_key(on, provider):
    geonce = on()
    key = explain(geonce, TEXT.format(12))["key"]
    got = geonce.run("get", TEXT.format(12), "--country", "US", "--json")
    assert got.rc == 0, got.err
    assert json.loads(got.out)["key"] == key
    write_texts(geonce, [TEXT.format(12), TEXT.format(12).upper()])
    plan = geonce.run(*COMMAND, "--dry-run", "--summary", "s.json")
    assert plan.rc == 0, plan.err
    assert json.loads((geonce.directory / "s.json").read_text())["would_ask"] == 0
    assert geonce.run(*COMMAND).rc == 0
    assert {row["geo_key"] for row in rows(geonce)} == {key}
    shown = json.loads(geonce.run("entry", "show", TEXT.format(12), "--country", "US").out)
    assert shown["key"] == key
    assert geonce.run("ledger", "show", "--key", TEXT.format(12), "--country", "US").out.count(key) == 2
    near = geonce.run("report", "near-misses")
    assert near.rc == 0 and "1 remembered address" in near.out, near.out + near.err
    planned = geonce.run("rekey", "--plan")
    assert "1 answers: 1 keep their keys" in planned.out, planned.out + planned.err
    assert len(provider.bill()) == 1


def test_switching_it_on_costs_nothing_and_off_again_nothing_after_rekey(on, off, provider):
    texts = [TEXT.format(i) for i in range(1, 41)]
    write_texts(off(), texts)
    assert off().run(*COMMAND).rc == 0
    assert len(provider.bill()) == 40
    before = [row["geo_key"] for row in rows(off())]
    plan = on().run(*COMMAND, "--dry-run", "--summary", "s.json")
    assert json.loads((on().directory / "s.json").read_text())["would_ask"] == 0, plan.err
    done = on().run(*COMMAND)
    assert done.rc == 0, done.err
    assert statuses(rows(on())) == {"match": 40}
    after = [row["geo_key"] for row in rows(on())]
    assert not set(before) & set(after)
    assert len(provider.bill()) == 40
    # The answers say what their keys are made of.
    assert "40 answers: 40 keep their keys" in on().run("rekey", "--plan").out
    assert "40 answers: 0 keep their keys, 40 would move" in off().run("rekey", "--plan").out
    assert off().run("rekey").rc == 0
    assert off().run(*COMMAND, "--restart", "--cache-only").rc == 0
    assert [row["geo_key"] for row in rows(off())] == before
    assert len(provider.bill()) == 40


def test_other_data_is_another_key_space_and_rekey_moves_into_it(on, postal, provider):
    assert on().run("get", TEXT.format(12), "--country", "US").rc == 0
    first = explain(on(), TEXT.format(12))
    postal.answer({"any other text": "road=any other text"})
    second = explain(on(), TEXT.format(12))
    assert first["fields"] == second["fields"] and first["backend"] != second["backend"]
    assert on().run("rekey").rc == 0
    assert on().run("get", TEXT.format(12), "--country", "US", "--cache-only").rc == 0
    assert len(provider.bill()) == 1


def test_a_row_that_crashes_it_is_in_error_alone_and_the_next_run_reads_it(on, postal, provider):
    postal.answer({"7 main st west chester": "!crash_once"})
    geonce = on()
    write_texts(geonce, [TEXT.format(i) for i in range(1, 21)])
    done = geonce.run(*COMMAND)
    assert done.rc == 6, done.err
    assert "libpostal: its process ended with signal 11; it is started again" in done.err
    assert statuses(rows(geonce)) == {"match": 19, "error": 1}
    row = rows(geonce)[6]
    assert "signal 11" in row["geo_error"] and row["geo_key"] == ""
    assert len(provider.bill()) == 19
    assert len(postal.pids()) == 2
    done = geonce.run(*COMMAND)
    assert done.rc == 0, done.err
    assert statuses(rows(geonce)) == {"match": 20}
    assert len(provider.bill()) == 20


@pytest.mark.parametrize("misdeed", ["!crash", "!hang", "!exit", "!null", "!garbage"])
def test_an_address_that_it_cannot_read_is_never_bought_under_another_key(on, postal, provider, misdeed):
    postal.answer({"7 main st west chester": misdeed})
    geonce = on('timeout = "500ms"' if misdeed == "!hang" else "")
    got = geonce.run("get", TEXT.format(7), "--country", "US", "--json")
    assert got.rc == 1, got.out + got.err
    assert "7 main" not in got.err.lower()
    told = geonce.run("explain", TEXT.format(7), "--country", "US", "--json")
    assert json.loads(told.out)["error"]["code"] == "reader_unavailable"
    write_texts(geonce, [TEXT.format(7), TEXT.format(8)])
    for _ in range(2):
        done = geonce.run(*COMMAND)
        assert done.rc == 6, done.err
        assert statuses(rows(geonce)) == {"error": 1, "match": 1}
    assert len(provider.bill()) == 1


def test_a_model_that_cannot_be_read_leaves_all_other_rows_alone(on, postal, provider):
    postal.setup("address_parser", "fail")
    geonce = on()
    others = [f"{i} Oak St, Reno, NV 89501" for i in range(100)]
    write_texts(geonce, others + [TEXT.format(i) for i in range(1, 501)])
    done = geonce.run(*COMMAND)
    assert done.rc == 6, done.err
    assert done.err.count("libpostal:") == 1, done.err
    assert statuses(rows(geonce)) == {"match": 100, "error": 500}
    assert len(provider.bill()) == 100


def test_one_process_serves_all_threads_of_a_batch(on, postal, provider):
    geonce = on()
    write_texts(geonce, [TEXT.format(i) for i in range(1, 20_001)])
    done = geonce.run(*COMMAND, "--cache-only", "--summary", "s.json")
    assert done.rc == 6, done.err  # nothing is known, and nothing may be paid
    assert json.loads((geonce.directory / "s.json").read_text())["distinct"] == 20_000
    assert len(postal.pids()) == 1
    assert provider.bill() == []


def start_and_wait(geonce, postal, *command):
    """Starts a run that hangs in libpostal; returns it and the process that hangs."""
    run = geonce.start(*command)
    until(lambda: postal.pids() or run.poll() is not None)
    assert run.poll() is None, run.communicate()
    return run, postal.pids()[-1]


def test_it_is_loaded_in_a_process_of_its_own_that_dies_with_geonce(on, postal):
    postal.answer({"7 main st west chester": "!hang"})
    geonce = on('timeout = "10m"')
    write_texts(geonce, [TEXT.format(7)])
    run, helper = start_and_wait(geonce, postal, *COMMAND)
    maps = {pid: pathlib.Path(f"/proc/{pid}/maps").read_text() for pid in (run.pid, helper)}
    assert "libpostal" in maps[helper] and "libpostal" not in maps[run.pid]
    assert sorted(os.listdir(f"/proc/{helper}/fd")) == ["0", "1", "2", "3"]
    run.kill()
    run.communicate()
    until(lambda: is_gone(helper))


def test_a_stop_does_not_wait_for_it_and_writes_no_row_that_was_not_read(on, postal, provider):
    postal.answer({"7 main st west chester": "!hang"})
    geonce = on('timeout = "10m"')
    write_texts(geonce, [TEXT.format(7), "12 Oak St, Reno, NV 89501"])
    run, helper = start_and_wait(geonce, postal, *COMMAND)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    assert not (geonce.directory / "out.csv").exists()
    assert is_gone(helper)


def test_two_programs_share_a_store_and_have_a_process_each(on, postal, provider):
    texts = [TEXT.format(i) for i in range(1, 61)]
    geonce = on()
    write_texts(geonce, texts)
    provider.rules(latency_ms=20)
    runs = [
        geonce.start("batch", "in.csv", "-o", f"out{i}.csv", *COMMAND[4:]) for i in range(2)
    ]
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
    keys = [{row["geo_key"] for row in read_rows(geonce.directory / f"out{i}.csv")} for i in range(2)]
    assert keys[0] == keys[1] and len(keys[0]) == 60
    assert len(provider.bill()) == 60
    assert len(postal.pids()) == 2


def test_rekey_leaves_what_it_could_not_read_and_says_so(on, off, postal):
    postal.answer({"7 main st west chester": "!crash_once"})
    write_texts(off(), [TEXT.format(i) for i in range(1, 11)])
    assert off().run(*COMMAND).rc == 0
    first = on().run("rekey")
    assert first.rc == 1, first.err
    assert "9 answers moved" in first.out and "1 spellings were not read" in first.err
    second = on().run("rekey")
    assert second.rc == 0 and "1 answers moved" in second.out, second.out + second.err


@pytest.mark.parametrize(
    "config, why",
    [
        ('[normalize]\nbackend = "libpostal"\n', "normalize.data"),
        ('[normalize]\nbackend = "libpostal"\ndata = "/nowhere"\n', "libpostal.so.1"),
        ('[normalize]\nbackend = "libpostal"\ndata = "/nowhere"\nlibrary = "LIBRARY"\n', "/nowhere"),
        ('[normalize]\nbackend = "bigpostal"\n', "normalize.backend"),
    ],
)
def test_without_libpostal_it_cannot_be_switched_on(tmp_path, provider, postal, config, why):
    geonce = Geonce(tmp_path / "geonce", provider.url, extra="\n" + config.replace("LIBRARY", str(postal.library)))
    write_texts(geonce, ["12 Oak St, Reno, NV 89501"])
    for command in (COMMAND, ("get", "12 Oak St, Reno, NV 89501"), ("explain", "12 Oak St"), ("doctor",)):
        done = geonce.run(*command)
        assert done.rc == 2, done.err
        assert why in done.out + done.err, done.out + done.err
    assert provider.bill() == []
    assert not (geonce.directory / "out.csv").exists()


def test_doctor_tries_it(on, postal):
    done = on().run("doctor")
    assert "libpostal reads what the built-in rules do not; its keys are p:" in done.out, done.out
    assert postal.pids() == []
    done = on().run("doctor", "--deep")
    assert "libpostal has read its model and an address" in done.out, done.out
    postal.setup("address_parser", "fail")
    assert on().run("doctor", "--deep").rc == 1
