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


class Sentinel:
    """A master, a replica of it and a sentinel that makes the other one master when it is gone."""

    def __init__(self, directory, *options):
        directory = pathlib.Path(directory)
        self.nodes = [Redis(directory / f"node{n}", *options) for n in range(2)]
        self._directory = directory
        self._sentinel = None
        self.port = free_port()

    def __enter__(self):
        for node in self.nodes:
            node.start()
        self.nodes[1].command("REPLICAOF", "127.0.0.1", self.nodes[0].port)
        file = self._directory / "sentinel.conf"
        file.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self._directory}\n"
            f"sentinel monitor cache 127.0.0.1 {self.nodes[0].port} 1\n"
            "sentinel down-after-milliseconds cache 500\nsentinel failover-timeout cache 3000\n"
        )
        self._sentinel = subprocess.Popen(
            ["redis-server", str(file), "--sentinel"], stdout=subprocess.DEVNULL
        )
        self._wait_for(lambda: self._replicas() == 1)
        return self

    def __exit__(self, *_):
        self._sentinel.kill()
        self._sentinel.wait()
        for node in self.nodes:
            node.kill()

    @property
    def config(self):
        return f'\n[redis]\nurl = "redis+sentinel://127.0.0.1:{self.port}/cache"\n'

    def master(self):
        port = int(self._ask("get-master-addr-by-name", "cache")[1])
        return next(node for node in self.nodes if node.port == port)

    def fail_over(self):
        """The master is killed; returns once the other one is it, and the old one is its replica."""
        old = self.master()
        old.kill()
        self._wait_for(lambda: self.master() is not old)
        old.start()  # the sentinel makes a replica of it

    def _ask(self, *words):
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), "SENTINEL", *words], capture_output=True, check=False, text=True
        )
        return done.stdout.split()

    def _replicas(self):
        words = self._ask("master", "cache")
        return int(words[words.index("num-slaves") + 1]) if "num-slaves" in words else 0

    @staticmethod
    def _wait_for(condition):
        until = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < until
            time.sleep(0.02)


class Cluster:
    """Three masters with a replica each."""

    def __init__(self, directory, *options):
        # A replica may take over after a second; ten is what a server waits by default.
        own = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
               "--repl-diskless-sync-delay", "0", *options)  # fmt: skip
        self.nodes = [Redis(pathlib.Path(directory) / f"node{n}", *own) for n in range(6)]
        for node in self.nodes:
            node.port = _cluster_port()

    def __enter__(self):
        for node in self.nodes:
            node.start()
        done = subprocess.run(
            ["redis-cli", "--cluster", "create", *[f"127.0.0.1:{node.port}" for node in self.nodes],
             "--cluster-replicas", "1", "--cluster-yes"], capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        Sentinel._wait_for(lambda: all("cluster_state:ok" in n.command("CLUSTER", "INFO") for n in self.nodes))
        self._wait_for_copies()
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.kill()

    @property
    def config(self):
        return f'\n[redis]\nurl = "redis+cluster://127.0.0.1:{self.nodes[0].port},127.0.0.1:{self.nodes[3].port}"\n'

    def masters(self):
        return [n for n in self.nodes if n.process and "role:master" in n.command("INFO", "replication")]

    def fail_over(self):
        """A master is killed; returns once its replica has taken its place and it is back."""
        old = self.masters()[0]
        old.kill()
        Sentinel._wait_for(lambda: len(self.masters()) == 3)
        old.start()
        self._wait_for_copies()

    def _wait_for_copies(self):
        """Only a replica that has a copy takes the place of its master."""
        Sentinel._wait_for(
            lambda: sum("master_link_status:up" in n.command("INFO", "replication") for n in self.nodes) == 3
        )


def _cluster_port():
    """Its bus takes the port ten thousand above."""
    while True:
        port = free_port() % 20_000 + 10_000
        try:
            for one in (port, port + 10_000):
                socket.create_server(("127.0.0.1", one)).close()
            return port
        except OSError:
            continue
