"""Answers that were bought under an older version of the rules for addresses.

n0 never was (tests/support/older_rules.h): it has one key for all units of a house, and a key for each
way to spell `Street`. `geonce_since_n0` is geonce with n0 as the version before its own."""

import json
import subprocess

import pytest

from geonce_fixtures import Geonce, read_rows
from geonce_fixtures.fakegeo import find_binary

STREETS = ("Elm St", "Oak St", "Birch St")
HOUSES = [f"{number} {street}, Reno, NV 89501" for number in range(1, 41) for street in STREETS]
COMMAND = ("batch", "in.csv", "--default-country", "US", "-o", "out.csv", "--summary", "s.json")


class Program(Geonce):
    """geonce, or the one that knows n0, with an input of addresses."""

    def write(self, addresses):
        (self.directory / "in.csv").write_text("address\n" + "".join(f'"{one}"\n' for one in addresses))

    def since_n0(self):
        self.binary = find_binary("geonce_since_n0").resolve()

    def file_as_n0(self):
        tool = find_binary("geonce_file_as_n0").resolve()
        subprocess.run([tool, self.directory / "geonce.db"], check=True)

    def batch(self, *flags):
        done = self.run(*COMMAND, *flags)
        assert done.rc in (0, 6), done.err
        return read_rows(self.directory / "out.csv")

    def entries(self):
        done = self.run("entry", "list", "--limit", 10_000)
        assert done.rc == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def program(tmp_path, provider):
    running = Program(tmp_path / "geonce", provider.url)
    running.write(HOUSES)
    rows = running.batch()
    assert len(provider.bill()) == len(HOUSES) == len(rows)
    running.file_as_n0()
    return running


def test_no_address_is_bought_again_and_each_is_filed_under_its_new_key(program, provider):
    assert {entry["key"][:3] for entry in program.entries()} == {"n0_"}
    program.since_n0()
    plan = program.run(*COMMAND, "--dry-run")
    assert plan.rc == 0, plan.err
    assert json.loads((program.directory / "s.json").read_text())["would_ask"] == 0
    assert {entry["key"][:3] for entry in program.entries()} == {"n0_"}
    rows = program.batch("--restart")
    assert {row["geo_status"] for row in rows} == {"match"}
    assert {entry["key"] for entry in program.entries()} == {row["geo_key"] for row in rows}
    assert len(provider.bill()) == len(HOUSES)
    program.binary = find_binary("geonce").resolve()
    assert [row["geo_lat"] for row in program.batch("--restart", "--cache-only")] == [row["geo_lat"] for row in rows]


def test_the_program_that_is_shipped_knows_no_n0(program, provider):
    assert {row["geo_status"] for row in program.batch("--restart", "--cache-only")} == {"error"}


def test_an_answer_is_not_taken_for_a_neighbours(program, provider):
    program.since_n0()
    flats = [house.replace(",", " Apt 1,", 1) for house in HOUSES]
    program.write(flats)
    assert {row["geo_status"] for row in program.batch("--cache-only")} == {"error"}
    rows = program.batch()
    assert {row["geo_cache"] for row in rows} == {"paid"}
    assert len(provider.bill()) == 2 * len(HOUSES)
    program.write(HOUSES)
    rows = program.batch("--restart")
    assert len(provider.bill()) == 2 * len(HOUSES)
    assert len({row["geo_key"] for row in rows}) == len(HOUSES)
    assert len(program.entries()) == 2 * len(HOUSES)


def test_two_processes_at_once_buy_nothing(program, provider):
    program.since_n0()
    runs = [program.start(*COMMAND[:-4], "-o", name, "--restart") for name in ("a.csv", "b.csv")]
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err.decode()
    for name in ("a.csv", "b.csv"):
        assert {row["geo_status"] for row in read_rows(program.directory / name)} == {"match"}
    assert len(provider.bill()) == len(HOUSES)
    assert len(program.entries()) == len(HOUSES)


def test_versions_and_secrets_change_together(program, provider):
    secrets = program.directory / "secrets"
    secrets.write_text(f"k2 {'b' * 40}\nk1 {'a' * 40}\nplain\n")
    program.environment["GEONCE_KEY_SECRET_FILE"] = str(secrets)
    program.since_n0()
    one = program.run("get", HOUSES[0], "--country", "US", "--cache-only")
    assert one.rc == 0, one.err
    shown = json.loads(program.run("entry", "show", HOUSES[0], "--country", "US").out)
    assert shown["key"].startswith("n1.k2_")
    shown = json.loads(program.run("entry", "show", HOUSES[1], "--country", "US").out)
    assert shown["key"].startswith("n0_"), "looking moves nothing"
    dropped = program.run("entry", "drop", HOUSES[1], "--country", "US")
    assert "dropped" in dropped.out, dropped.err
    assert program.run("get", HOUSES[1], "--country", "US", "--cache-only").rc == 6
    rows = program.batch("--restart")
    assert {row["geo_key"][:6] for row in rows} == {"n1.k2_"}
    assert len(provider.bill()) == len(HOUSES) + 1, "the one that was dropped"
    assert len(program.entries()) == len(HOUSES)


def test_a_plan_tells_merges_and_splits_before_anything_changes(program, provider):
    program.since_n0()
    spelt_out = [house.replace("St,", "Street,") for house in HOUSES[:3]]
    program.write(spelt_out)
    program.binary = find_binary("geonce").resolve()
    assert {row["geo_cache"] for row in program.batch("--restart")} == {"paid"}
    program.file_as_n0()  # now three streets are there in two spellings, under two keys
    program.since_n0()
    flat = HOUSES[5].replace(",", " Apt 1,")
    assert program.run("get", flat, "--country", "US").rc == 0  # the same as the house to n0, and not to n1
    before = program.entries()

    plan = program.run("rekey", "--plan")
    assert plan.rc == 0, plan.err
    lines = plan.out.splitlines()
    assert lines[0].startswith("124 answers: 1 keep their keys, 120 would move to another key, 3 would be erased")
    assert lines[1].startswith("1 former address is several now")
    assert lines[2].startswith("123 have another key because of the rules")
    assert sum(line.startswith("one address now, n1_") for line in lines) == 3
    assert sum(line.startswith("    left    n0_") for line in lines) == 3
    assert sum(line.startswith("    erased  n0_") for line in lines) == 3
    assert lines[-3] == "one address before, and several now"
    assert "Reno" not in plan.out
    shown = program.run("rekey", "--plan", "--addresses").out
    assert f"({flat})" in shown and f"({HOUSES[5]})" in shown and f"({spelt_out[0]})" in shown
    assert program.entries() == before

    moved = program.run("rekey")
    assert "120 answers moved to another key, 3 met another answer" in moved.out, moved.out
    assert "121 answers: 121 keep their keys" in program.run("rekey", "--plan").out
    assert {entry["key"][:3] for entry in program.entries()} == {"n1_"}
    program.binary = find_binary("geonce").resolve()
    program.write([*HOUSES, *spelt_out, flat])
    assert {row["geo_status"] for row in program.batch("--restart", "--cache-only")} == {"match"}
    assert program.run("rekey", "--addresses").rc == 2


def test_a_plan_may_be_made_while_others_work(program, provider):
    program.since_n0()
    run = program.start(*COMMAND[:-4], "-o", "a.csv", "--restart")
    plan = program.run("rekey", "--plan")
    assert plan.rc == 0, plan.err
    assert program.run("rekey").rc == 0
    _, err = run.communicate(timeout=120)
    assert run.returncode == 0, err.decode()
    assert {row["geo_status"] for row in read_rows(program.directory / "a.csv")} == {"match"}
    assert len(provider.bill()) == len(HOUSES)
