"""Kills and trouble for hours. Each round is a trial with a seed of its own; its verdict is a line of JSON.

scripts/campaign --hours 8 --results build/faults.jsonl
scripts/campaign --round random-kills --seed 4711      one round again
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "support")]

from geonce_fixtures import Postgres  # noqa: E402
from trial import Broken, Trial, get, note  # noqa: E402

MOMENTS = (
    "CP01 CP02 CP03 CP04 CP05 CP06 CP07 CP08 CP09 CP10 CP11 CP12 commit.open CP13 CP14 CP16 CP17 CP20 CP21 "
    "output.named batch.closed spool.write spool.sync"
).split()
ONCE_A_LIFE = ("CP01", "CP16", "CP20", "CP21", "output.named", "batch.closed")
KILLS_A_ROUND = 20
# What the provider does with some calls while processes are killed.
HOSTILE = [
    {"do": "close"}, {"do": "close", "reset": True}, {"do": "cut_head"}, {"do": "cut_body"}, {"do": "half_body"},
    {"do": "wrong_length", "delta": 10}, {"do": "twice"}, {"do": "text"}, {"do": "status", "status": 503},
    {"do": "status", "status": 429}, {"do": "in_body_error", "code": "OVER_QUERY_LIMIT"}, {"then_close": True},
]  # fmt: skip
BRISK = 'max_unknown_retries = 1000\ncool_down = "20ms"'


class NotHere(Exception):
    """What this machine does not allow."""


def moment(trial, point):
    trial.kill_batches(point, KILLS_A_ROUND, most=1 if point in ONCE_A_LIFE else 4)


def count_kill(trial, life):
    """Whoever comes to the end begins something new."""
    if life.rc == -signal.SIGKILL:
        trial.kills += 1
    elif life.rc == 0:
        trial.begin_batch()


def one_moment(trial):
    point = trial.dice.choice(MOMENTS)
    moment(trial, point)
    return {"point": point}


def pair(trial):
    """Two moments; whichever comes first kills."""
    first, second = trial.dice.sample(MOMENTS, 2)
    for _ in range(KILLS_A_ROUND):
        orders = (f"{first}=kill@{trial.dice.randint(1, 5)}", f"{second}=kill@{trial.dice.randint(1, 5)}")
        life = trial.run(";".join(orders))
        if life.rc == -signal.SIGKILL:
            trial.kills += 1
        else:
            trial.expect(life.rc == 0, f"a life ended with {life.rc}: {life.err}")
            trial.begin_batch()
    trial.finish()
    return {"point": f"{first} + {second}"}


def random_kills(trial):
    """Two processes over one store; one of them is killed at any moment."""
    trial.finish()
    trial.provider.script({"latency_ms": [1, 20]})
    for _ in range(KILLS_A_ROUND // 2):
        trial.begin_batch(48)
        running = [trial.start(), trial.start(output="other.csv")]
        bought = len(trial.provider.bill())
        wanted = bought + trial.dice.randint(0, 30)
        until = time.monotonic() + 5
        while len(trial.provider.bill()) < wanted and time.monotonic() < until:
            if all(life.poll() is not None for life in running):
                break
            time.sleep(0.002)
        for life in trial.dice.sample(running, 2):
            if life.poll() is None:
                life.kill()
                trial.kills += 1
            life.communicate()
        trial.finish_patiently()
    return {}


def pauses(trial):
    """A process stands still until its claim is over and another has taken it, and then goes on."""
    trial.provider.script({"latency_ms": 300})
    address = trial.fresh_addresses(1)[0]
    sleeper = trial.start(command=get(address))
    trial.provider.wait(in_flight=1)
    sleeper.send_signal(signal.SIGSTOP)
    try:
        other = trial.run(command=get(address))
        trial.expect(other.rc in (0, 3, 6), f"the other ended with {other.rc}: {other.err}")
    finally:
        sleeper.send_signal(signal.SIGCONT)
        sleeper.communicate()
    trial.finish()
    return {"pauses": 1}


def hostile_provider(trial):
    fault = trial.dice.choice(HOSTILE)
    trial.provider.rules({"when": {"probability": 0.2}, **fault}, seed=trial.seed % 1000)
    for _ in range(KILLS_A_ROUND // 2):
        point = trial.dice.choice(MOMENTS[:15])
        life = trial.run(f"{point}=kill@{trial.dice.randint(1, 6)}")
        count_kill(trial, life)
    trial.provider.script({})
    trial.finish_patiently()
    return {"provider": fault.get("do", "then_close")}


def postgres_restarts(trial):
    """Postgres crashes under a batch that is then killed itself."""
    if not trial.postgres:
        raise NotHere("only with Postgres")
    trial.finish()
    trial.provider.script({"latency_ms": [1, 20]})
    for _ in range(3):
        trial.begin_batch(48)
        life = trial.start()
        trial.provider.wait(items=len(trial.provider.bill()) + trial.dice.randint(1, 10))
        trial.postgres.crash()
        trial.postgres.start()
        if trial.dice.random() < 0.5:
            life.kill()
            trial.kills += 1
        life.communicate()
        trial.finish_patiently()
    return {"restarts": 3}


def clock_jumps(trial):
    """Each life at another time, up to a day off: nothing of what is bought ends by that. The store of Postgres has a clock of
    its own, SQLite has the process's. (Over years what is erased begins with window 1 again, and no record tells the
    two apart.)"""
    library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if not library:
        raise NotHere("faketime is not installed")
    for _ in range(KILLS_A_ROUND // 2):
        jump = trial.dice.choice(["+1h", "-1h", "+5m", "-5m", "+1d", "-1d"])
        point = trial.dice.choice(MOMENTS[:15])
        under = ("env", f"LD_PRELOAD={library}", f"FAKETIME={jump}")
        life = trial.run(f"{point}=kill@{trial.dice.randint(1, 6)}", under=under)
        count_kill(trial, life)
    trial.finish_patiently()
    return {}


def full_disk(trial):
    """All that the program writes lies on 8 MiB, which somebody else fills up and frees again."""
    trial.finish()
    filler = trial.geonce.directory / "filler"
    for _ in range(5):
        trial.begin_batch(48)
        try:
            with open(filler, "wb") as file:
                while True:
                    file.write(b"\0" * 65_536)
                    file.flush()
        except OSError:
            pass
        life = trial.run()
        trial.expect(life.rc != -signal.SIGABRT and life.rc != -signal.SIGSEGV, f"it died of {life.rc}")
        filler.unlink()
        trial.finish_patiently()
    return {}


ROUNDS = {
    "moment": one_moment, "pair": pair, "random-kills": random_kills, "pause": pauses,
    "hostile-provider": hostile_provider, "postgres-restarts": postgres_restarts, "clock-jumps": clock_jumps,
    "full-disk": full_disk,
}  # fmt: skip
WEIGHTS = [8, 4, 4, 1, 3, 1, 1, 1]


class SmallDisk:
    """8 MiB at `folder`, for as long as it is open."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.folder.mkdir(parents=True)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(self.folder)], capture_output=True, check=False
        )
        if mounted.returncode != 0:
            raise NotHere("no tmpfs may be mounted")

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", str(self.folder)], check=False)


def play(name, seed, postgres, results):
    """One round; whether all held."""
    dice = random.Random(seed)
    store = "postgres" if name == "postgres-restarts" or (name != "full-disk" and dice.random() < 0.5) else "sqlite"
    facts = {"fault": name, "store": store, "seed": seed}
    again = f"scripts/campaign --round {name} --seed {seed}"
    with tempfile.TemporaryDirectory(prefix="geonce-campaign-") as folder:
        trial = Trial(
            pathlib.Path(folder) / "trial", postgres() if store == "postgres" else "sqlite", seed=seed,
            again=again, resolver=BRISK, concurrency=dice.choice([1, 4, 8]),
        )  # fmt: skip
        try:
            if name == "full-disk":
                with SmallDisk(trial.folder / "geonce"), trial:
                    facts |= ROUNDS[name](trial)
                    facts |= trial.judge()
            else:
                with trial:
                    facts |= ROUNDS[name](trial)
                    facts |= trial.judge(one_clock=name != "clock-jumps")
        except NotHere as why:
            note(results, **facts, not_run=str(why))
            return True
        except AssertionError as broken:
            note(results, **facts, broken=str(broken))
            print(f"{name}: {broken}\n  {again}" if not isinstance(broken, Broken) else broken, file=sys.stderr)
            return False
    note(results, **facts)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--round", choices=ROUNDS, help="this one, once")
    parser.add_argument("--results", default=os.environ.get("GEONCE_RESULTS"))
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else random.SystemRandom().getrandbits(32)
    server = None

    def postgres():
        nonlocal server
        if server is None:
            server = Postgres(["max_connections=60"]).__enter__()
        return server

    held = True
    try:
        if asked.round:
            held = play(asked.round, seed, postgres, asked.results)
        else:
            print(f"seed {seed}", file=sys.stderr)
            dice = random.Random(seed)
            until = time.monotonic() + asked.hours * 3600
            while held and time.monotonic() < until:
                name = dice.choices(list(ROUNDS), WEIGHTS)[0]
                held = play(name, dice.getrandbits(32), postgres, asked.results)
    finally:
        if server:
            server.__exit__(None, None, None)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
