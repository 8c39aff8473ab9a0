"""Kills beside a purchase: while a window ends that Redis still has, and while what is over is erased."""

import json

from trial import get, note


def test_G5_a_drop_that_is_killed_before_redis_hears_is_a_drop(trial_of, store, kills, results):
    """CP26: who asks next is not told what was dropped, whoever has it still."""
    count = max(kills // 4, 1)
    with trial_of(redis=True) as trial:
        for address in trial.fresh_addresses(count):
            bought = trial.run(command=get(address))
            trial.expect(bought.rc == 0, bought.err)
            trial.dies("CP26", ("entry", "drop", address, "--country", "US"))
            next_told = trial.run(command=get(address, "--json"))
            trial.expect(next_told.rc == 0, next_told.err)
            trial.expect(
                json.loads(next_told.out)["cache"] == "paid", f"a dropped answer is told: {next_told.out}"
            )
        found = trial.judge_what_is_there()
        trial.expect(found["calls"] == 2 * count, f"{found['calls']} calls for {count} drops")
        note(results, fault="kill", point="CP26", store=store, guarantee="G5", **found)


def test_G23_a_sweep_that_is_killed_erases_no_more_and_the_next_no_less(trial_of, store, kills, results):
    """CP19."""
    with trial_of() as trial:
        trial.finish()
        trial.change("UPDATE entry SET erase_after = 1 WHERE gen = 1")
        alive = trial.ask("SELECT count(*) FROM entry")
        for _ in range(kills):
            trial.dies("CP19", ("sweep",))
            trial.change("UPDATE lease SET until = 1")  # of who was killed; time would end it
        left = int(trial.ask("SELECT count(*) FROM entry")[0][0])
        trial.expect(store == "postgres" or left == int(alive[0][0]), f"{left} entries after kills")
        swept = trial.run(command=("sweep",))
        trial.expect(swept.rc == 0, swept.err)
        trial.expect(int(trial.ask("SELECT count(*) FROM entry")[0][0]) == 0, "not all was erased")
        calls = len(trial.provider.bill())
        trial.expect(calls == trial.addresses, f"{calls} calls for {trial.addresses} addresses")
        note(results, fault="kill", point="CP19", store=store, guarantee="G23", kills=kills, calls=calls,
             seed=trial.seed)  # fmt: skip
