"""`geonce report near-misses`: which addresses that were bought twice may be one."""

import json

PRICE = 5_000  # micro-USD of one call to google


def bought(geonce, *addresses, country="US"):
    rows = "".join(f'"{address}"\n' for address in addresses)
    (geonce.directory / "in.csv").write_text("address\n" + rows)
    done = geonce.run(
        "batch", "in.csv", "-o", "out.csv", "--address", "address", "--default-country", country
    )
    assert done.rc == 0, done.err


def near_misses(geonce, *flags):
    done = geonce.run("report", "near-misses", "--json", *flags)
    assert (done.rc, done.err) == (0, ""), done.err
    return [json.loads(line) for line in done.out.splitlines()]


def lines(group):
    return [tuple(one["canonical"] for one in pair) for pair in group["examples"]]


def test_the_words_that_cost_a_second_purchase_are_listed_most_frequent_first(geonce, provider):
    bought(
        geonce,
        *(f"{house} Larkspur {word}, Reno, NV 89501" for house in (31, 32, 33)
          for word in ("Chase", "Chs")),
        "7 Elm St, Troy, NY 12180",
        "8 Elm St, Troy, NY 12180",
        "8 Elm St, Troi, NY 12180",
        "9 Elm St #4, Troy, NY 12180",
        "9 Elm St Apt 4, Troy, NY 12180",
    )
    assert len(provider.bill()) == 11
    chase, *others = near_misses(geonce, "--examples", "2")
    assert (chase["likeness"], chase["words"], chase["pairs"]) == (
        "abbreviation", ["chs", "chase"], 3)
    assert (chase["second_calls"], chase["second_billed_microusd"]) == (3, 3 * PRICE)
    assert chase["same_place"] + chase["other_place"] == 3
    assert [line.split()[0] for line, _ in lines(chase)] == [
        line.split()[0] for _, line in lines(chase)]
    assert len(lines(chase)) == 2
    assert sorted((group["likeness"], *group["words"], group["pairs"]) for group in others) == [
        ("misspelling", "troi", "troy", 1), ("unit_word", "apt", "unit", 1)]
    for one in chase["examples"][0]:
        shown = geonce.run("entry", "show", one["key"])
        assert shown.rc == 0, shown.err
        asked = geonce.run("explain", "--json", one["canonical"], "--country", one["country"])
        assert json.loads(asked.out)["key"] == one["key"]
    assert len(provider.bill()) == 11, "a report buys nothing"


def test_the_text_names_words_pairs_cost_addresses_and_keys(geonce):
    bought(geonce, "31 Larkspur Chase, Reno, NV 89501", "31 Larkspur Chs, Reno, NV 89501")
    (group,) = near_misses(geonce)
    done = geonce.run("report", "near-misses")
    assert (done.rc, done.err) == (0, "")
    (short, long), = group["examples"]
    assert done.out == f"""\
2 remembered addresses; 1 pair of them one word apart, by 1 pair of words:

chs ↔ chase  1 pair, abbreviation; 0 of 1 in one place; the second of each: 1 call, $0.005
    31 larkspur chs, reno, nv 89501
        {short["key"]}
    31 larkspur chase, reno, nv 89501
        {long["key"]}
"""


def test_flags_narrow_the_report(geonce):
    bought(
        geonce,
        *(f"{house} Larkspur {word}, Reno, NV 89501" for house in (31, 32)
          for word in ("Chase", "Chs")),
        "8 Elm St, Troy, NY 12180", "8 Elm St, Troi, NY 12180",
    )
    assert [group["words"] for group in near_misses(geonce, "--limit", "1")] == [["chs", "chase"]]
    assert near_misses(geonce, "--limit", "0") == near_misses(geonce, "--country", "CA") == []
    assert [group["examples"] for group in near_misses(geonce, "--examples", "0")] == [[], []]
    assert near_misses(geonce, "--country", "US") == near_misses(geonce)
    done = geonce.run("report", "near-misses", "--country", "Atlantis")
    assert done.rc == 2


def test_other_places_are_no_near_misses_and_a_store_without_any_says_so(geonce):
    bought(
        geonce,
        "7 Elm St, Troy, NY 12180", "8 Elm St, Troy, NY 12180", "7 Elm St Apt 4, Troy, NY 12180",
        "7 Elm St Apt 5, Troy, NY 12180", "7 Elm Ave, Troy, NY 12180", "7 N Elm St, Troy, NY 12180",
        "7 5th St, Troy, NY 12180", "7 6th St, Troy, NY 12180",
    )
    done = geonce.run("report", "near-misses")
    assert (done.rc, done.out) == (0, "no two of 8 remembered addresses are one word apart\n")
    assert near_misses(geonce) == []


def test_what_was_paid_is_found_under_the_keys_of_the_time(geonce, provider):
    both = "31 Larkspur Chase, Reno, NV 89501", "31 Larkspur Chs, Reno, NV 89501"
    bought(geonce, *both)
    (group,) = near_misses(geonce)
    assert all(one["key"].startswith("n1_") for one in group["examples"][0])
    secrets = geonce.directory / "secrets"
    secrets.write_text(f"k1 {'a' * 40}\nplain\n")
    geonce.environment["GEONCE_KEY_SECRET_FILE"] = str(secrets)
    (geonce.directory / "out.csv").unlink()
    bought(geonce, *both, "8 Elm St, Troy, NY 12180")
    assert len(provider.bill()) == 3
    (group,) = near_misses(geonce)
    assert (group["pairs"], group["second_calls"], group["second_billed_microusd"]) == (1, 1, PRICE)
    assert all(one["key"].startswith("n1.k1_") for one in group["examples"][0])


def test_without_a_store_there_is_nothing_to_report(geonce):
    done = geonce.run("report", "near-misses")
    assert done.rc != 0
    assert not (geonce.directory / "geonce.db").exists(), "a report makes no store"
