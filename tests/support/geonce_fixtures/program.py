"""Runs the built geonce in a directory and an environment of its own."""

import os
import pathlib
import subprocess
from dataclasses import dataclass

from .fakegeo import find_binary


@dataclass(frozen=True)
class Finished:
    rc: int
    out: str
    err: str


def write_config(directory, base_url, chain=("google",), extra="", store=None):
    """The one place that knows how geonce is told where its providers are.

    Every provider of the chain is at `base_url` (fakegeo tells dialects apart by their paths) and
    reads its key from a file; the rates that the real ones ask for do not hold here. `extra` is
    TOML text put at the end; `store` another store than a file in `directory`. Returns the path of geonce.toml.
    """
    directory = pathlib.Path(directory)
    secret = directory / "provider.key"
    secret.write_text("key-for-tests\n")
    secret.chmod(0o600)
    names = ", ".join(f'"{name}"' for name in chain)
    text = f'store = "{store or directory / "geonce.db"}"\n\n[chain]\ndefault = [{names}]\n'
    for name in chain:
        if name == "places":  # the built-in one has nothing to be told
            continue
        text += f'\n[providers.{name}]\nbase_url = "{base_url}"\nsecret_file = "{secret}"\n'
        text += "rate_per_s = 0\n"
    file = directory / "geonce.toml"
    file.write_text(text + extra)
    return file


class Geonce:
    """`geonce = Geonce(tmp_path, provider.url); geonce.run("batch", "in.csv", "-o", "out.csv")`.

    Runs in `directory`, with a home directory inside it, nothing of the caller's environment but
    the search path, and the configuration of `write_config`.
    """

    def __init__(self, directory, base_url, chain=("google",), extra="", store=None):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.binary = find_binary("geonce").resolve()
        self.config = write_config(self.directory, base_url, chain, extra, store)
        home = self.directory / "home"
        home.mkdir(exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(self.directory),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "GEONCE_CONFIG": str(self.config),
        }
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def start(self, *args, **popen):
        """Starts it and returns the process, for killing and for running two at once."""
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(
            [self.binary, *map(str, args)], cwd=self.directory, env=self.environment, **popen
        )

    def run(self, *args, input=None, timeout_s=120, under=()):
        """Runs it to its end: exit code and what it said, as text. `under`: words in front of the command."""
        done = subprocess.run(
            [*under, self.binary, *map(str, args)],
            cwd=self.directory,
            env=self.environment,
            input=input.encode() if input is not None else None,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())
