"""What the flags of `geonce batch` promise about money and rows."""

import csv
import json

import pytest
from geonce_fixtures import read_rows, statuses, us_addresses, write_csv

HEAD = ("batch", "in.csv", "--address", "address", "--default-country", "US", "--rate", 100_000)


@pytest.fixture
def job(geonce):
    """Runs a batch over the rows of in.csv and returns exit code, rows and summary."""

    class Job:
        def __init__(self):
            self.program = geonce

        def rows(self, count):
            write_csv(geonce.directory / "in.csv", us_addresses(count))
            return self

        def text(self, text):
            (geonce.directory / "in.csv").write_text(text)
            return self

        def run(self, *flags):
            output = geonce.directory / "out.csv"
            output.unlink(missing_ok=True)
            done = geonce.run(*HEAD, "-o", "out.csv", "--summary", "s.json", *flags)
            rows = read_rows(output) if output.exists() else None
            summary = json.loads((geonce.directory / "s.json").read_text()) if rows is not None else None
            return done, rows, summary

    return Job()


def test_a_cap_on_calls_is_never_passed_and_the_next_run_goes_on(job, provider):
    done, rows, summary = job.rows(100).run("--max-calls", 30, "--concurrency", 32)
    assert done.rc == 7, done.err
    assert len(provider.bill()) == summary["calls"] == 30
    assert statuses(rows) == {"match": 30, "error": 70}
    done, rows, summary = job.run()
    assert done.rc == 0, done.err
    assert statuses(rows) == {"match": 100}
    assert summary["calls"] == 70
    assert len(provider.bill()) == 100


def test_a_cap_on_cost_counts_prices(job, provider):
    done, rows, summary = job.rows(100).run("--max-cost", "0.10", "--concurrency", 32)  # 20 at $0.005
    assert done.rc == 7, done.err
    assert len(provider.bill()) == 20
    assert summary["cost_microusd"] == 100_000


def test_cache_only_never_calls(job, provider):
    done, rows, _ = job.rows(10).run("--cache-only")
    assert done.rc == 6
    assert statuses(rows) == {"error": 10}
    assert "geo_error" in done.err and "--retry-failed" in done.err
    assert provider.bill() == []
    job.run()
    done, rows, _ = job.run("--cache-only", "--restart")
    assert done.rc == 0, done.err
    assert statuses(rows) == {"match": 10}
    assert len(provider.bill()) == 10


def test_refresh_buys_every_address_anew_once(job, provider):
    job.rows(10).run()
    done, rows, _ = job.run("--refresh")
    assert done.rc == 0, done.err
    assert statuses(rows) == {"match": 10}
    assert set(provider.calls().values()) == {2}


def test_an_old_answer_that_stands_in_for_a_new_one_is_not_what_the_batch_keeps(job, provider):
    job.rows(5).run()
    provider.rules({"do": "status", "status": 503})
    done, rows, _ = job.run("--refresh", "--max-retries", 0)
    assert done.rc == 0, done.err
    assert statuses(rows) == {"match": 5}
    assert {row["geo_cache"] for row in rows} == {"stale"}
    provider.rules()
    done, rows, _ = job.run()
    assert done.rc == 0, done.err
    assert statuses(rows) == {"match": 5}
    assert {row["geo_cache"] for row in rows} == {"db"}


def test_a_refresh_that_is_capped_says_so_and_goes_on_with_the_next(job, provider):
    job.rows(20).run()
    done, rows, _ = job.run("--refresh", "--max-calls", 5)
    assert done.rc == 7, done.err
    assert statuses(rows) == {"match": 20}
    assert len(provider.bill()) == 25
    done, rows, _ = job.run("--refresh")
    assert done.rc == 0, done.err
    assert set(provider.calls().values()) == {2}


def test_restart_forgets_the_rows_and_not_the_answers(job, provider):
    job.rows(10).run()
    done, rows, summary = job.run("--restart")
    assert done.rc == 0
    assert summary["replayed"] == 0
    assert summary["cache"]["db"] == 10
    assert len(provider.bill()) == 10


def test_retry_negative_asks_again_for_what_had_no_match(job, provider):
    text = "address\n1 Nowhere St Reno NV 89501\n12 Oak St Reno NV 89501\n"
    done, rows, _ = job.text(text).run()
    assert [row["geo_status"] for row in rows] == ["no_match", "match"]
    job.run()
    assert len(provider.bill()) == 2
    job.run("--retry-negative")
    assert sorted(provider.calls().values()) == [1, 2]


def test_only_missing_keeps_the_finished_rows_of_an_earlier_output(job, provider):
    done, rows, _ = job.rows(20).run("--max-calls", 5)
    assert done.rc == 7
    earlier = (job.program.directory / "out.csv").read_text()
    job.text(earlier)
    done, rows, summary = job.run("--only-missing")
    assert done.rc == 0, done.err
    assert statuses(rows) == {"match": 20}
    assert summary["kept"] == 5
    assert list(rows[0]) == list(csv.DictReader(earlier.splitlines()).fieldnames)
    assert len(provider.bill()) == 20


@pytest.mark.parametrize("flag, value, complaint", [
    ("--limit", "-1", '"-1" is no whole number from 0 on'),
    ("--concurrency", "0", '"0" is no whole number from 1 on'),
    ("--rate", "0", '"0" is no number above 0'),
    ("--default-country", "Narnia", '"Narnia" is no country'),
])
def test_a_value_that_cannot_be_is_named_with_its_flag(job, flag, value, complaint):
    done = job.rows(1).program.run("batch", "in.csv", "-o", "out.csv", flag, value)
    assert done.rc == 2
    assert flag in done.err and complaint in done.err


def test_limit_answers_the_first_rows_alone(job, provider):
    done, rows, _ = job.rows(50).run("--limit", 7)
    assert done.rc == 0, done.err
    assert len(rows) == 7
    assert len(provider.bill()) == 7
    done, rows, summary = job.run()
    assert len(rows) == 50
    assert summary["calls"] == 43


def test_exceptions_hold_the_rows_that_need_a_person(job):
    job.text("id,address\n1,1 Nowhere St Reno NV 89501\n2,12 Oak St Reno NV 89501\n3\n4,\n")
    done, rows, _ = job.run("--exceptions", "todo.csv")
    assert done.rc == 6
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["id"] for row in read_rows(job.program.directory / "todo.csv")] == ["1", "3"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-o", "out.csv", "--summary", "out.csv"), ("-o", "--summary", "out.csv")),
        (("-o", "out.csv", "--summary", "./out.csv"), ("-o", "--summary")),
        (("-o", "out.csv", "--exceptions", "out.csv"), ("-o", "--exceptions")),
        (("-o", "out.csv", "--exceptions", "e.csv", "--summary", "e.csv"), ("--exceptions", "--summary")),
        (("--exceptions", "-"), ("-o", "--exceptions", "standard output")),
        (("--summary", "-"), ("-o", "--summary", "standard output")),
        (("-o", "out.csv", "--summary", "in.csv"), ("--summary", "in.csv")),
        (("-o", "out.csv", "--exceptions", "other-name.csv"), ("--exceptions", "in.csv")),
        (("-o", "in.csv", "--limit", "1"), ("-o", "in.csv")),
        (("-o", "out.csv", "--summary", "nowhere/s.json"), ("nowhere",)),
        (("-o", "out.csv", "--delimiter", ";", "--quote", ";"), ("--delimiter", "--quote")),
    ],
)
def test_files_of_one_run_that_would_overwrite_each_other_are_refused_before_a_call(job, provider, flags, words):
    job.rows(5)
    folder = job.program.directory
    (folder / "other-name.csv").symlink_to("in.csv")
    before = (folder / "in.csv").read_bytes()
    done = job.program.run(*HEAD, *flags)
    assert done.rc == (1 if "nowhere" in words else 2), done.err
    for word in words:
        assert word in done.err
    assert (folder / "in.csv").read_bytes() == before
    assert not (folder / "out.csv").exists()
    assert provider.bill() == []


def test_the_output_may_take_the_place_of_the_input(job, provider):
    job.rows(5)
    done = job.program.run(*HEAD, "-o", "in.csv")
    assert done.rc == 0, done.err
    assert statuses(read_rows(job.program.directory / "in.csv")) == {"match": 5}


def test_a_dry_run_prices_what_is_not_known_and_asks_nobody(job, provider):
    job.rows(10).run("--limit", 4)
    done = job.program.run(*HEAD, "--dry-run", "--summary", "plan.json")
    assert done.rc == 0, done.err
    plan = json.loads((job.program.directory / "plan.json").read_text())
    assert (plan["distinct"], plan["known"], plan["would_ask"]) == (10, 4, 6)
    assert plan["at_most_microusd"] == {"google": 6 * 5000}
    assert "$0.03" in done.out
    assert len(provider.bill()) == 4


def test_max_errors_stops_a_hopeless_run(job, provider):
    provider.rules({"do": "status", "status": 400, "code": "INVALID_REQUEST"})
    done, rows, _ = job.rows(500).run("--max-errors", 10, "--max-retries", 0, "--concurrency", 4)
    assert done.rc == 1, done.err
    assert rows is None
    assert len(provider.bill()) < 100


def test_a_provider_that_is_down_ends_the_run_with_its_own_code(job, provider):
    provider.rules({"do": "status", "status": 503})
    done, rows, _ = job.rows(200).run("--max-retries", 0, "--concurrency", 4)
    assert done.rc == 3, (done.rc, done.err)
    assert rows is None
    assert "again" in done.err
