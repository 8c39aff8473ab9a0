"""A redis-server of a test's own."""

import pathlib
import signal
import socket
import subprocess
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Redis:
    """`with Redis(tmp_path) as redis: …`, a server on a free port, its files in `directory`."""

    def __init__(self, directory, *options):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.options = [str(option) for option in options]
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    @property
    def config(self):
        """The part of geonce.toml that names it. Patient: no test hangs on the speed of a machine."""
        return f'\n[redis]\nurl = "{self.url}"\ntimeout = "5s"\n'

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir",
             str(self.directory), "--save", "", "--appendonly", "no", *self.options],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + 30
        while not self.command("PING").startswith(("PONG", "NOAUTH")):
            assert self.process.poll() is None, "redis-server has ended"
            assert time.monotonic() < until, "redis-server does not answer"

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def command(self, *words):
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), *map(str, words)], capture_output=True, check=False
        )
        return done.stdout.decode(errors="replace").strip()

    def keys(self):
        return int(self.command("DBSIZE"))

    def dump(self):
        """The digests of all values."""
        script = (
            "local out = {} for _, key in ipairs(redis.call('KEYS', '*')) do"
            " out[#out + 1] = redis.sha1hex(redis.call('GET', key)) end return out"
        )
        return set(self.command("EVAL", script, 0).split())
