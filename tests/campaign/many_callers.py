"""Processes of many callers on one store, what happens to them meanwhile, and the sums at the end."""

import pathlib
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from geonce_fixtures import Geonce, ledger_sums  # noqa: E402
from geonce_fixtures.fakegeo import find_binary  # noqa: E402

import told  # noqa: E402


@dataclass(frozen=True)
class Phase:
    name: str
    start: int
    end: int


class Load:
    """`with Load(folder, provider, store) as load: with load.phase("healthy"): …`

    Every process has a folder, a home and a spool of its own, as on a machine of its own.
    """

    def __init__(self, folder, provider, store, *, processes=4, callers=64, keys=100_000, extra="", pause_ms=50,
                 deadline_ms=10_000, hasty=False, seed=1):  # fmt: skip
        self.provider = provider
        self.machines = [
            Geonce(pathlib.Path(folder) / f"machine{n}", provider.url, store=store, extra=extra)
            for n in range(processes)
        ]
        for machine in self.machines:  # beside what write_config says of the provider
            text = machine.config.read_text()
            machine.config.write_text(text.replace("rate_per_s = 0\n", "rate_per_s = 0\nconcurrency = 256\n"))
        self._arguments = ["--callers", str(callers), "--keys", str(keys), "--pause-ms", str(pause_ms),
                           "--deadline-ms", str(deadline_ms), *(["--hasty"] if hasty else [])]  # fmt: skip
        self._seed = seed
        self.running = {}
        self.phases = []
        self.kills = 0

    def __enter__(self):
        self.machines[0].run("migrate")  # the schema is there before they race for it
        for n in range(len(self.machines)):
            self.start(n)
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.kill()
            process.wait()

    def start(self, n):
        machine = self.machines[n]
        self._seed += 1
        self.running[n] = subprocess.Popen(
            [find_binary("callers"), "--config", machine.config, "--history", self.file(n), "--seed",
             str(self._seed), "--seconds", "1000000", *self._arguments],
            cwd=machine.directory, env=machine.environment, stderr=open(machine.directory / "log", "a"),
        )  # fmt: skip

    def kill(self, n):
        self.running[n].kill()
        self.running[n].wait()
        self.kills += 1

    def file(self, n):
        return self.machines[n].directory / "history.tsv"

    @contextmanager
    def phase(self, name):
        start = time.monotonic_ns()
        yield
        self.phases.append(Phase(name, start, time.monotonic_ns()))

    def finish(self):
        """Every caller hears its last answer, and every call is committed."""
        for n, process in self.running.items():
            assert process.poll() is None, (self.machines[n].directory / "log").read_text()
            process.send_signal(signal.SIGTERM)
        for n, process in self.running.items():
            assert process.wait(timeout=120) == 0, (self.machines[n].directory / "log").read_text()
        self.running = {}

    def histories(self):
        """What each process told, by itself."""
        return [told.read([self.file(n)]) for n in range(len(self.machines))]

    def history(self):
        return told.read([self.file(n) for n in range(len(self.machines)) if self.file(n).exists()])

    def sums(self):
        return ledger_sums(self.machines[0])


def print_waits(load):
    """How long questions took whose answer was held, by phase, and p99 beside the last healthy phase."""
    history, healthy = load.history(), 0.0
    for phase in load.phases:
        waited = told.waits_of_held_keys(history, phase.start, phase.end)
        p50, p99 = told.percentile(waited, 0.5), told.percentile(waited, 0.99)
        healthy = p99 if phase.name == "healthy" else healthy
        beside = f"{p99 / healthy:5.1f} x healthy" if healthy else ""
        print(f"{phase.name:22} {len(waited):8,} held  p50 {p50:7.2f} ms  p99 {p99:7.2f} ms  {beside}")
