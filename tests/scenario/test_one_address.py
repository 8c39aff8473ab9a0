"""What `geonce` says to a person or a script that asks for one address, or asks wrongly."""

import json

import pytest


def test_numbers_in_json_are_written_as_people_write_them(geonce):
    address = ("12 Oak St Reno NV 89501", "--country", "US")
    done = geonce.run("get", "--json", *address)
    assert done.rc == 0, done.err
    assert "E" not in done.out.split('"lat":')[1].split('"precision"')[0]
    got = json.loads(done.out)
    text, = geonce.run("get", *address).out.splitlines()
    assert text.startswith(f"{got['lat']:.7f},{got['lng']:.7f}  ")
    shown = json.loads(geonce.run("entry", "show", *address).out)
    assert (shown["lat"], shown["lng"]) == (got["lat"], got["lng"])


def test_a_script_that_asked_for_json_gets_it_when_there_is_no_answer(geonce, provider):
    done = geonce.run("get", "--json", "--cache-only", "12 Oak St Reno NV 89501", "--country", "US")
    assert done.rc == 6
    assert json.loads(done.out)["error"] == "cache_only_miss"
    assert provider.bill() == []


def test_who_forgot_the_country_is_told(geonce):
    done = geonce.run("get", "1 Nowhere St Reno NV 89501")
    assert done.rc == 6
    assert "--country" in done.err
    assert "--country" not in geonce.run("get", "1 Nowhere St Reno NV 89501", "--country", "US").err


@pytest.mark.parametrize("words, said", [
    (("gett", "12 Oak St"), "there is no command geonce gett"),
    (("entry", "shw", "12 Oak St"), "there is no command geonce entry shw"),
    (("get", "12", "Oak", "St"), "not expected: Oak St (an address is one argument"),
    (("batch", "a.csv", "--frmat", "json"), "not expected: --frmat json"),
])
def test_a_command_line_that_cannot_be_read_is_told_where(geonce, words, said):
    done = geonce.run(*words)
    assert done.rc == 2
    assert said in done.err
