"""Two processes on one store want the same addresses at the same time."""

import json

from geonce_fixtures import (
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    read_rows,
    statuses,
    us_addresses,
    write_csv,
)


def test_two_batches_on_one_store_and_one_file_buy_each_address_once(tmp_path, provider, geonce):
    provider.script({"latency_ms": [1, 20]})
    source = write_csv(tmp_path / "in.csv", us_addresses(3_000))
    outputs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    runs = [
        geonce.start("batch", source, "-o", output, "--address", "address", "--default-country", "US")
        for output in outputs
    ]
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err.decode()
    for output in outputs:
        rows = read_rows(output)
        check_rows_are_the_input(source, rows)
        check_points(rows)
        assert statuses(rows) == {"match": 3_000}
    assert set(provider.calls().values()) == {1}
    assert len(provider.bill()) == 3_000
    sums = check_the_ledger_against_the_bill(geonce, provider)
    assert (sums.answered, sums.unknown, sums.redundant) == (3_000, 0, 0)


def test_two_batches_whose_files_overlap_buy_the_overlap_once(tmp_path, provider, geonce):
    provider.script({"latency_ms": [1, 20]})
    addresses = us_addresses(2_000)
    sources = [
        write_csv(tmp_path / "a.csv", addresses[:1_500]),
        write_csv(tmp_path / "b.csv", addresses[:499:-1]),  # the other way round
    ]
    runs = [
        geonce.start(
            "batch", source, "-o", source.with_suffix(".out"), "--address", "address",
            "--default-country", "US",
        )
        for source in sources
    ]  # fmt: skip
    for source, run in zip(sources, runs, strict=True):
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err.decode()
        rows = read_rows(source.with_suffix(".out"))
        check_rows_are_the_input(source, rows)
        check_points(rows)
    assert len(provider.bill()) == len(provider.calls()) == 2_000
    check_the_ledger_against_the_bill(geonce, provider)


def test_twelve_processes_that_get_one_address_cost_one_call(provider, geonce):
    provider.script({"latency_ms": 300})
    address = "1100 Congress Ave, Austin, TX 78701"
    runs = [geonce.start("get", address, "--country", "US", "--json") for _ in range(12)]
    outputs = set()
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, err.decode()
        outputs.add(point_in(out.decode()))
    assert len(outputs) == 1
    assert len(provider.bill()) == 1
    check_the_ledger_against_the_bill(geonce, provider)


def point_in(text):
    answer = json.loads(text)
    return answer["lat"], answer["lng"]
