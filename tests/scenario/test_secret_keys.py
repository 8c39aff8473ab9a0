"""Keys made with a secret, and what becomes of answers when the secret changes."""

import hashlib
import hmac
import json

from geonce_fixtures import Geonce, read_rows, statuses, us_addresses, write_csv

OLD, NEW = "a" * 40, "b" * 40
PRE_IMAGE = "geonce\x1fn1\x1fb\x1fp\x1fus\x1foh\x1f45402\x1fdayton\x1fbramble ct\x1f48\x1f\x1f\x1f"
COMMAND = ("batch", "in.csv", "--address", "address", "--default-country", "US", "--summary", "s.json")


def program(tmp_path, provider, *secrets):
    running = Geonce(tmp_path / "geonce", provider.url)
    (running.directory / "secrets").write_text("\n".join(secrets) + "\n")
    if secrets:
        running.environment["GEONCE_KEY_SECRET_FILE"] = str(running.directory / "secrets")
    return running


def test_a_key_is_the_hmac_that_anybody_with_the_secret_can_make(tmp_path, provider):
    running = program(tmp_path, provider, f"k1 {OLD}")
    done = running.run("explain", "48 Bramble Court, Dayton, OH 45402", "--country", "US", "--json")
    assert done.rc == 0, done.err
    digest = hmac.new(OLD.encode(), PRE_IMAGE.encode(), hashlib.sha256).hexdigest()
    assert json.loads(done.out)["key"] == f"n1.k1_{digest}"
    write_csv(running.directory / "in.csv", us_addresses(5))
    assert running.run(*COMMAND, "-o", "out.csv").rc == 0
    keys = [row["geo_key"] for row in read_rows(running.directory / "out.csv")]
    assert all(key.startswith("n1.k1_") for key in keys)
    shown = running.run("entry", "show", keys[0])
    assert shown.rc == 0, shown.err
    assert json.loads(shown.out)["key"] == keys[0]
    assert "n1.k1_" in running.run("doctor").out


def test_after_a_rotation_no_address_is_bought_again(tmp_path, provider):
    program(tmp_path, provider)  # the time before secrets
    running = program(tmp_path, provider)
    write_csv(running.directory / "in.csv", us_addresses(30))
    assert running.run(*COMMAND, "-o", "out.csv").rc == 0
    assert len(provider.bill()) == 30
    for secrets in ((f"k1 {OLD}", "plain"), (f"k2 {NEW}", f"k1 {OLD}")):
        running = program(tmp_path, provider, *secrets)
        plan = running.run(*COMMAND, "-o", "out.csv", "--dry-run")
        assert plan.rc == 0, plan.err
        assert json.loads((running.directory / "s.json").read_text())["would_ask"] == 0
        done = running.run(*COMMAND, "-o", "out.csv")
        assert done.rc == 0, done.err
        rows = read_rows(running.directory / "out.csv")
        assert statuses(rows) == {"match": 30}
        assert {row["geo_key"][:6] for row in rows} == {"n1." + secrets[0][:2] + "_"}
    assert len(provider.bill()) == 30
    # Every answer stands under its new key alone: without the older secrets nothing is missed.
    running = program(tmp_path, provider, f"k2 {NEW}")
    assert running.run(*COMMAND, "-o", "out.csv", "--restart", "--cache-only").rc == 0
    assert len(provider.bill()) == 30
    one = running.run("get", "1 Nowhere Else, Reno, NV 89501", "--country", "US", "--cache-only")
    assert one.rc != 0


def test_rekey_moves_all_answers_so_that_the_old_secret_can_go(tmp_path, provider):
    running = program(tmp_path, provider, f"k1 {OLD}")
    write_csv(running.directory / "in.csv", us_addresses(2_500))
    assert running.run(*COMMAND, "-o", "out.csv").rc == 0
    assert len(provider.bill()) == 2_500
    running = program(tmp_path, provider, f"k2 {NEW}")
    planned = running.run("rekey", "--plan")
    assert planned.rc == 0, planned.err
    assert "2500 answers: 0 keep their keys, 2500 would move" in planned.out
    moved = running.run("rekey")
    assert moved.rc == 0, moved.err
    assert "2500 answers moved" in moved.out
    assert "2500 keep their keys, 0 would move" in running.run("rekey", "--plan").out
    done = running.run(*COMMAND, "-o", "out.csv", "--cache-only")
    assert done.rc == 0, done.err
    assert statuses(read_rows(running.directory / "out.csv")) == {"match": 2_500}
    assert len(provider.bill()) == 2_500
    assert running.run("doctor", "--deep").rc == 0


def test_a_secret_file_that_is_none_is_named_and_its_secrets_are_not_shown(tmp_path, provider):
    running = program(tmp_path, provider, f"K1 {OLD}")
    done = running.run("get", "1 Oak St, Reno, NV 89501", "--country", "US")
    assert done.rc == 2, (done.rc, done.err)
    assert "secrets, line 1" in done.err
    assert OLD not in done.err
    running.environment["GEONCE_KEY_SECRET_FILE"] = str(running.directory / "none")
    done = running.run("explain", "1 Oak St, Reno, NV 89501")
    assert done.rc == 2
    assert "cannot read" in done.err
