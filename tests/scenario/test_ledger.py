"""What `geonce ledger` says of calls, and what may be said to it."""

import json

from geonce_fixtures import ledger_sums


def shown(geonce, *flags):
    done = geonce.run("ledger", "show", *flags)
    assert done.rc == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def ask(geonce, address):
    return geonce.run("get", address, "--country", "US")


def test_the_ledger_is_asked_in_the_words_that_it_answers_with(geonce, provider):
    assert ask(geonce, "5 Elm St, Troy, NY 12180").rc == 0
    for event in ("prepared", "answered", "refused", "unknown", "void", "reconciled"):
        words = [row["event"] for row in shown(geonce, "--event", event)]
        assert words == [event] * (1 if event in ("prepared", "answered") else 0)
    assert geonce.run("ledger", "show", "--event", "voided").rc == 2


def test_lost_calls_are_in_doubt_until_a_person_says_whether_they_were_billed(make_geonce, provider):
    geonce = make_geonce(provider, extra='\n[resolver]\ntakeover = "never"\n')
    provider.rules({"do": "close"})
    for address in ("5 Elm St, Troy, NY 12180", "7 Elm St, Troy, NY 12180"):
        assert ask(geonce, address).rc == 6
    provider.rules()
    assert ask(geonce, "5 Elm St, Troy, NY 12180").rc == 6, "blocked: it may have been billed"
    assert ledger_sums(geonce).in_doubt_microusd == 2 * 5_000

    first = "5 Elm St, Troy, NY 12180"
    for flags in (["--billed", "maybe", "--reason", "x"], ["--billed", "yes"]):
        assert geonce.run("ledger", "reconcile", *flags).rc == 2
    said = ("ledger", "reconcile", "--reason", "invoice of May", "--billed")
    done = geonce.run(*said, "yes", "--to", "2020-01-01")
    assert (done.rc, done.out) == (0, "0 lost calls are closed as billed\n")
    done = geonce.run(*said, "yes", "--key", first, "--country", "US")
    assert (done.rc, done.out) == (0, "1 lost call is closed as billed\n"), done.err
    assert ledger_sums(geonce).in_doubt_microusd == 5_000
    done = geonce.run(*said, "no")
    assert (done.rc, done.out) == (0, "1 lost call is closed as not billed\n")
    assert ledger_sums(geonce).in_doubt_microusd == 0
    rows = shown(geonce, "--event", "reconciled")
    assert sorted((row["billed"], row["price_microusd"]) for row in rows) == [("no", 0), ("yes", 5_000)]
    assert {row["reason"] for row in rows} == {"invoice of May"}

    assert ask(geonce, first).rc == 0, "it may be bought again"
