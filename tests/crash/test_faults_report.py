"""The report shows the sums of what was written down, what was broken, and what was not run."""

import json
import pathlib
import subprocess
import sys

REPORT = pathlib.Path(__file__).parents[1] / "faults-report"


def report(folder, *trials):
    file = folder / "results.jsonl"
    file.write_text("".join(json.dumps(trial) + "\n" for trial in trials))
    done = subprocess.run([sys.executable, REPORT, file], capture_output=True, text=True, check=True)
    return done.stdout


def trial(**more):
    return {"fault": "moment", "point": "CP12", "store": "sqlite", "seed": 7, "commit": "c0ffee", "kills": 20,
            "windows": 18, "calls": 19, "unknown": 1, "redundant": 0, "unledgered": 0, **more}  # fmt: skip


def test_trials_of_one_moment_and_store_are_one_row_of_sums(tmp_path):
    text = report(tmp_path, trial(), trial(seed=8), trial(store="postgres"))
    assert "| CP12 | sqlite | 2 | 40 | 36 | 38 | 2 | 0 | 0 | – |" in text
    assert "| CP12 | postgres | 1 | 20 | 18 | 19 | 1 | 0 | 0 | – |" in text
    assert "Commit: c0ffee. Trials: 3. Broken promises: 0." in text
    assert "- moment: 7, 8, 7" in text


def test_a_broken_promise_is_shown_with_its_seed(tmp_path):
    text = report(tmp_path, trial(), trial(seed=99, broken="I1 at x: 3 calls"))
    assert "Broken promises: 1" in text
    assert "| moment | sqlite | 99 | I1 at x: 3 calls |" in text


def test_what_a_machine_does_not_allow_is_not_run_and_says_why(tmp_path):
    text = report(tmp_path, {"fault": "full-disk", "store": "sqlite", "seed": 1, "not_run": "no tmpfs may be mounted"})
    assert "| full-disk | no tmpfs may be mounted |" in text
    assert "Trials: 0" in text


def test_the_worst_wait_of_an_outage_is_shown(tmp_path):
    text = report(tmp_path, trial(fault="redis killed", p99_ms=12.3), trial(fault="redis killed", p99_ms=40))
    assert "| redis killed | sqlite | 2 | 40 | 36 | 38 | 2 | 0 | 0 | 40 |" in text
