"""A network that breaks on command, before a server of a test's own."""

import json
import signal
import socket
import subprocess

from .fakegeo import find_binary


class Gate:
    """`with Gate(server.port) as gate: …`: clients go to `gate.port`; `gate("stall")` and so on,
    see tests/faultgate/README.md."""

    def __init__(self, port, host="127.0.0.1"):
        self._to = f"{host}:{port}"
        self._process = None
        self._control = None
        self.port = 0

    def __enter__(self):
        self._process = subprocess.Popen(
            [find_binary("faultgate"), "--to", self._to], stdout=subprocess.PIPE, text=True
        )
        line = self._process.stdout.readline()  # printed once it listens
        if not line:
            raise RuntimeError(f"faultgate ended with {self._process.wait()} before it listened")
        self.port, control = map(int, line.split())
        self._control = socket.create_connection(("127.0.0.1", control)).makefile("rw", newline="\n")
        return self

    def __exit__(self, *_):
        self._control.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        self._process.stdout.close()

    def __call__(self, *words):
        """One command; what it answers. Errors are ours: ValueError."""
        self._control.write(" ".join(map(str, words)) + "\n")
        self._control.flush()
        answer = self._control.readline().strip()
        if not answer or answer.startswith("error"):
            raise ValueError(answer or "faultgate has ended")
        return answer

    def stats(self):
        return json.loads(self("stats"))
