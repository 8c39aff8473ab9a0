"""One building, many units: what its addresses share."""

import json

from geonce_fixtures import Geonce, read_rows

UNITS = [f"48 Bramble Court Apt {n}, Dayton, OH 45402" for n in range(1, 6)]
OTHER = "50 Bramble Court Apt 1, Dayton, OH 45402"
COMMAND = ("batch", "in.csv", "--address", "address", "--default-country", "US", "-o", "out.csv")


def write_addresses(program, addresses):
    (program.directory / "in.csv").write_text("address\n" + "".join(f'"{address}"\n' for address in addresses))


def listed(program, *arguments):
    done = program.run("entry", "list", *arguments)
    assert done.rc == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_all_units_of_a_building_are_found_by_it(geonce):
    write_addresses(geonce, [*UNITS, OTHER])
    done = geonce.run(*COMMAND)
    assert done.rc == 0, done.err
    assert "geo_building_key" not in read_rows(geonce.directory / "out.csv")[0], "only who asks for it pays for it"
    done = geonce.run(*COMMAND, "--columns", "full")
    assert done.rc == 0, done.err
    rows = read_rows(geonce.directory / "out.csv")
    building = rows[0]["geo_building_key"]
    assert [row["geo_building_key"] == building for row in rows] == [True] * 5 + [False]
    assert len({row["geo_key"] for row in rows}) == 6

    units = listed(geonce, "--building", building)
    assert {entry["key"] for entry in units} == {row["geo_key"] for row in rows[:5]}
    assert {entry["building_key"] for entry in units} == {building}
    assert listed(geonce, "--building", "48 Bramble Ct # 77, Dayton OH 45402", "--country", "US") == units
    assert listed(geonce, "--building", building, "--limit", "2") == units[:2]
    assert listed(geonce, "--building", "49 Bramble Ct, Dayton OH 45402", "--country", "US") == []
    shown = json.loads(geonce.run("entry", "show", rows[0]["geo_key"]).out)
    assert shown["building_key"] == building
    explained = json.loads(geonce.run("explain", UNITS[3], "--country", "US", "--json").out)
    assert explained["building_key"] == building


def test_repeated_rows_and_json_have_it_too(geonce):
    write_addresses(geonce, [address for _ in range(3_000) for address in (UNITS[0], UNITS[1], OTHER)])
    for form, name in (("csv", "out.csv"), ("ndjson", "out.ndjson")):
        done = geonce.run(*COMMAND[:-1], name, "--columns", "full", "--format", form)
        assert done.rc == 0, done.err
    rows = read_rows(geonce.directory / "out.csv")
    assert len(rows) == 9_000
    assert len({(row["address"], row["geo_key"], row["geo_building_key"]) for row in rows}) == 3
    assert len({row["geo_building_key"] for row in rows}) == 2
    lines = [json.loads(line) for line in (geonce.directory / "out.ndjson").read_text().splitlines()]
    assert [line["geo_building_key"] for line in lines] == [row["geo_building_key"] for row in rows]


def test_a_new_secret_makes_new_building_keys(tmp_path, provider):
    running = Geonce(tmp_path / "geonce", provider.url)
    write_addresses(running, UNITS)
    assert running.run(*COMMAND).rc == 0
    secrets = running.directory / "secrets"
    secrets.write_text(f"k1 {'a' * 40}\nplain\n")
    running.environment["GEONCE_KEY_SECRET_FILE"] = str(secrets)
    # One is moved by being asked, the others all at once.
    one = running.run("get", UNITS[0], "--country", "US", "--cache-only")
    assert one.rc == 0, one.err
    units = listed(running, "--building", UNITS[0], "--country", "US")
    assert len(units) == 1
    assert units[0]["building_key"].startswith("n1.k1_")
    assert running.run("rekey").rc == 0
    assert len(listed(running, "--building", units[0]["building_key"])) == 5
    assert len(provider.bill()) == 5
