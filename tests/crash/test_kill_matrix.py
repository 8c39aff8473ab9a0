"""Every moment of a purchase, killed there again and again on either store: the bill knows what it cost.

Lives that ask for one address have one thing under way, so the price of their kill is known to the call: nothing before the
first byte and after the spool, one further call in between. Lives of a batch have many, and the judge says what they may cost.
The guarantee a test is about stands in its name.
"""

import pytest
from trial import KILLS, RESULTS, get, note

# What a kill costs: calls on the bill beyond one per address, and calls that stay in doubt.
FREE = (0, 0)
NEVER_SENT = (0, 1)
MAYBE_PAID = (1, 1)
PRICES = {
    "CP02": FREE, "CP03": FREE, "CP04": FREE, "CP05": FREE, "CP06": NEVER_SENT, "CP07": NEVER_SENT,
    "CP08": MAYBE_PAID, "CP09": MAYBE_PAID, "CP10": MAYBE_PAID, "CP11": MAYBE_PAID,
    "CP12": FREE, "commit.open": FREE, "CP13": FREE, "CP14": FREE,
}  # fmt: skip
OF_A_BATCH = ("CP01", "CP16", "CP17", "CP20", "CP21", "output.named", "batch.closed")
GUARANTEE = {
    **dict.fromkeys(("CP01", "CP02", "CP03", "CP04"), "G1"),
    **dict.fromkeys(("CP05", "CP06", "CP07", "CP08", "CP09", "CP10"), "G3"),
    **dict.fromkeys(("CP11", "CP12", "commit.open", "CP13", "CP14"), "G4"),
    **dict.fromkeys(OF_A_BATCH[1:], "G16"),
}


def named(points):
    return pytest.mark.parametrize("point", points, ids=lambda point: f"{GUARANTEE[point]}-{point}")


def costs(trial, point, store, guarantee, calls=0, **ends):
    """Nothing is broken, and the bill has `calls` beyond one for each address."""
    found = trial.judge()
    note(RESULTS, fault="kill", point=point, store=store, guarantee=guarantee, **found)
    trial.expect(
        found["calls"] == trial.addresses + calls,
        f"{found['calls']} calls for {trial.addresses} addresses, and {calls} were to be paid twice",
    )
    for name, wanted in {"unknown": 0, "refused": 0, "redundant": 0, **ends}.items():
        trial.expect(found[name] == wanted, f"{found[name]} {name} instead of {wanted}")


@named(PRICES)
def test_a_single_look_up_that_is_killed_costs_what_its_moment_says(trial_of, store, point):
    kills = KILLS // 2
    calls, unknown = PRICES[point]
    with trial_of() as trial:
        trial.kill_singly(point, kills)
        costs(trial, point, store, GUARANTEE[point], calls * kills, unknown=unknown * kills)


@named(PRICES)
def test_a_batch_that_is_killed_is_bought_once_but_for_what_is_in_doubt(trial_of, store, point):
    with trial_of(concurrency=4) as trial:
        trial.kill_batches(point, KILLS - KILLS // 2)
        found = trial.judge()
        note(RESULTS, fault="kill", point=point, store=store, guarantee=GUARANTEE[point], **found)
        trial.expect(found["redundant"] == 0, f"{found['redundant']} answers were bought for nothing")


@named(OF_A_BATCH)
def test_a_batch_that_is_killed_where_no_call_is_under_way_costs_nothing(trial_of, store, point):
    with trial_of() as trial:
        trial.kill_batches(point, KILLS, most=3 if point == "CP17" else 1)
        costs(trial, point, store, GUARANTEE[point])


def test_G1_a_takeover_that_is_killed_is_no_further_call(trial_of, store):
    """CP18: the claim of a call in doubt has a new owner, who dies before he knows."""

    def deed(address):
        trial.dies("CP08", get(address))
        trial.dies("CP18", get(address))

    with trial_of() as trial:
        trial.one_by_one(KILLS // 2, deed)
        costs(trial, "CP18", store, "G1", KILLS // 2, unknown=KILLS // 2)


def test_G4_an_adoption_that_is_killed_is_done_by_the_next(trial_of, store):
    def deed(address):
        trial.dies("CP12", get(address))
        trial.dies("adoption.begins", get(address))
        trial.dies("adoption.done", get(address))

    with trial_of() as trial:
        trial.one_by_one(max(KILLS // 3, 1), deed)
        costs(trial, "adoption", store, "G4")


def test_G4_a_record_of_the_spool_that_is_half_written_is_none(trial_of, store):
    """The first is the file's head, the second the mark, the third the answer."""
    kills = max(KILLS // 3, 1)

    def deed(address):
        trial.dies("spool.write", get(address), 1)
        trial.dies("spool.write", get(address), 2)
        trial.dies("spool.write", get(address), 3)

    with trial_of() as trial:
        trial.one_by_one(kills, deed)
        costs(trial, "spool.write", store, "G4", kills, unknown=kills)


def test_G10_a_refusal_that_is_killed_is_written_down_once(trial_of, store):
    kills = KILLS // 2
    with trial_of(resolver='cool_down = "20ms"\nmax_unknown_retries = 1000') as trial:
        trial.provider.rules({"when": {"request": [1, 1_000_000]}, "times": kills, "do": "status", "status": 503})
        trial.one_by_one(kills, lambda address: trial.dies("release.done", get(address)))
        costs(trial, "release.done", store, "G10", kills, refused=kills)


def test_G4_the_first_of_two_providers_is_not_asked_again(trial_of, store):
    with trial_of(chain=("google", "geocodio")) as trial:
        trial.provider.rules({"when": {"dialect": "google"}, "do": "empty_results"})
        trial.one_by_one(KILLS // 2, lambda address: trial.dies("advance.done", get(address)))
        costs(trial, "advance.done", store, "G4", trial.addresses)


def test_G18_a_kill_between_redis_and_what_follows_costs_nothing(trial_of, store):
    """CP15."""
    with trial_of(redis=True) as trial:
        trial.kill_singly("CP15", KILLS)
        costs(trial, "CP15", store, "G18")


@pytest.mark.parametrize("point", ["CP06", "CP08", "CP11"])
def test_G1_with_takeover_never_a_window_costs_one_call_whatever_dies(trial_of, store, point):
    with trial_of(resolver='takeover = "never"') as trial:
        addresses = []
        for address in trial.fresh_addresses(KILLS // 2):
            trial.dies(point, get(address))
            again_asked = trial.run(command=get(address))
            trial.expect(again_asked.rc != 0, "a call in doubt was followed by an answer")
            addresses.append(address)
        found = trial.judge_what_is_there()
        trial.expect(found["calls"] <= len(addresses), f"{found['calls']} calls for {len(addresses)} addresses")
        note(RESULTS, fault="kill, takeover never", point=point, store=store, guarantee="G1", **found)
