"""What the system underneath can refuse, refused on purpose: no call without its note, no answer lost, and nothing is
stuck once the trouble is over."""

import pytest
from trial import get, note

FAILURES = {
    # A mark, or the room for an answer, that cannot be written forbids the call.
    "spool.write=enospc@2+": "a full disk under the spool",
    "spool.write=eio@2+": "a failing disk under the spool",
    "spool.write=short": "writes that take half",
    "spool.sync=eio@2+": "a sync of the spool that fails",
    "sqlite.commit=enospc@3+": "a full disk under the store",
    "sqlite.commit=eio@3+": "a failing disk under the store",
    "sqlite.commit=eio@20%": "a store that fails now and then",
    "output.write=enospc@1": "a full disk under the output",
    "output.write=short": "an output that takes half",
    "postgres.reply=error@20%": "replies of Postgres that are lost",
}


BOTH = [
    pytest.param(store, failure, id=f"{store}-G4-{what.replace(' ', '-')}")
    for store in ("sqlite", "postgres")
    for failure, what in FAILURES.items()
    if failure.split(".")[0] in ("spool", "output", store)
]


@pytest.mark.parametrize("store, failure", BOTH, indirect=["store"])
def test_a_failure_of_the_system_loses_no_answer_and_buys_nothing_twice(trial_of, store, results, failure):
    with trial_of(concurrency=4) as trial:
        for _ in range(3):
            life = trial.run(f"seed={trial.seed};{failure}")
            trial.expect(life.rc >= 0, f"it died of signal {-life.rc}: {life.err}")
            trial.expect(life.rc in (0, 6) or life.err, f"it failed with {life.rc} and said nothing")
        trial.finish_patiently()
        found = trial.judge()
        note(results, fault=FAILURES[failure], point=failure, store=store, guarantee="G4", **found)
        trial.expect(
            found["calls"] <= trial.addresses + found["unknown"],
            f"{found['calls']} calls for {trial.addresses} addresses, {found['unknown']} unknown",
        )
        trial.expect(found["redundant"] == 0, f"{found['redundant']} answers were bought for nothing")


@pytest.mark.parametrize("action", ["enospc", "eio"])
def test_G3_a_mark_that_cannot_be_written_forbids_the_call(trial_of, store, results, action):
    """The first write is the file's head, the second the mark."""
    with trial_of() as trial:
        for address in trial.fresh_addresses(5):
            life = trial.run(f"spool.write={action}@2", get(address))
            trial.expect(life.rc > 0, "an answer without a mark of its call")
        trial.expect(trial.provider.bill() == [], "a call left without its mark")
        note(results, fault=f"spool.write={action}@2", point="spool.write", store=store, guarantee="G3",
             calls=0, seed=trial.seed)  # fmt: skip


def test_a_quiet_run_that_has_to_stop_says_why(trial_of):
    with trial_of() as trial:
        life = trial.run("spool.write=enospc@2+")
        trial.expect(life.rc == 1 and "--quiet" in trial.command(), f"it ended with {life.rc}")
        trial.expect("stopped:" in life.err and "No space left" in life.err, f"it said {life.err!r}")
        trial.finish_patiently()
        trial.expect(trial.run().err == "", "a quiet run without trouble spoke")
