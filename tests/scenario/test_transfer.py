"""The answers of one store go into another: export and import."""

import json

from geonce_fixtures import Geonce, Postgres, read_rows, statuses, us_addresses, write_csv

COMMAND = ("batch", "in.csv", "--address", "address", "--default-country", "US")


def bought(tmp_path, provider, count, name="laptop"):
    """A program whose store has bought `count` addresses, and their file."""
    running = Geonce(tmp_path / name, provider.url)
    rows = us_addresses(count)
    write_csv(running.directory / "in.csv", rows)
    done = running.run(*COMMAND, "-o", "out.csv")
    assert done.rc == 0, done.err
    return running, rows


def exported(running):
    done = running.run("export", "answers.ndjson")
    assert done.rc == 0, done.err
    path = running.directory / "answers.ndjson"
    return path, [json.loads(line) for line in path.read_text().splitlines()]


def test_a_laptops_answers_go_into_a_store_with_a_secret_and_nothing_is_bought_again(tmp_path, provider):
    laptop, rows = bought(tmp_path, provider, 40)
    path, lines = exported(laptop)
    assert len(lines) == 40
    assert all(line["answer"]["kind"] == "match" and line["query"]["text"] for line in lines)

    company = Geonce(tmp_path / "company", provider.url)
    (company.directory / "secrets").write_text("k1 " + "s" * 40 + "\n")
    company.environment["GEONCE_KEY_SECRET_FILE"] = str(company.directory / "secrets")
    done = company.run("import", str(path))
    assert done.rc == 0, done.err
    assert "40 answers: 40 stored" in done.out
    write_csv(company.directory / "in.csv", rows)
    assert company.run(*COMMAND, "-o", "out.csv").rc == 0
    assert statuses(read_rows(company.directory / "out.csv")) == {"match": 40}
    assert len(provider.bill()) == 40
    point = ("geo_lat", "geo_lng", "geo_precision")
    ours, theirs = (read_rows(running.directory / "out.csv") for running in (company, laptop))
    assert [[row[name] for name in point] for row in ours] == [[row[name] for name in point] for row in theirs]

    again = company.run("import", str(path))
    assert again.rc == 0 and "0 stored, 40 not younger" in again.out
    assert len(exported(company)[1]) == 40


def test_a_store_goes_into_postgres_and_back_with_its_lives(tmp_path, provider):
    laptop, _ = bought(tmp_path, provider, 15)
    path, lines = exported(laptop)
    with Postgres() as server:
        company = Geonce(tmp_path / "company", provider.url, store=server.uri())
        done = company.run("import", str(path))
        assert done.rc == 0, done.err
        assert "15 stored" in done.out
        back, there = exported(company)
        assert there == lines
        home = Geonce(tmp_path / "home", provider.url)
        assert home.run("import", str(back)).rc == 0
        assert exported(home)[1] == lines
    assert len(provider.bill()) == 15


def test_a_line_that_says_nothing_is_named_and_the_others_are_taken(tmp_path, provider):
    laptop, _ = bought(tmp_path, provider, 3)
    path, lines = exported(laptop)
    spoilt = [dict(line) for line in lines]
    spoilt[0]["answered_at"] = "yesterday"
    text = "not json\n\n" + "".join(json.dumps(line) + "\n" for line in spoilt)
    path.write_text(text)
    other = Geonce(tmp_path / "other", provider.url)
    done = other.run("import", str(path))
    assert done.rc == 6
    assert "4 answers: 2 stored" in done.out and "2 that cannot be read" in done.out
    assert "line 1: not a JSON object" in done.err
    assert lines[0]["query"]["text"] not in done.out + done.err


def test_terms_are_kept_on_both_sides(tmp_path, provider):
    laptop, _ = bought(tmp_path, provider, 4)
    path, lines = exported(laptop)
    foreign = [dict(line, answer=dict(line["answer"], provider="nobody-knows")) for line in lines[:3]]
    over = dict(lines[3], erase_after="2020-01-01T00:00:00Z")
    path.write_text("".join(json.dumps(line) + "\n" for line in [*foreign, over]))
    other = Geonce(tmp_path / "other", provider.url)
    done = other.run("import", str(path))
    assert done.rc == 6
    assert "0 stored" in done.out and "1 whose lives are over, 3 that the terms" in done.out
    assert '3 answers of "nobody-knows"' in done.err


def test_export_to_a_pipe_and_import_from_one(tmp_path, provider):
    laptop, _ = bought(tmp_path, provider, 5)
    done = laptop.run("export", "-")
    assert done.rc == 0 and len(done.out.splitlines()) == 5
    other = Geonce(tmp_path / "other", provider.url)
    (other.directory / "x").write_text(done.out)
    assert other.run("import", "x").rc == 0
    missing = other.run("import", "no-such-file")
    assert missing.rc == 1 and "no-such-file" in missing.err
