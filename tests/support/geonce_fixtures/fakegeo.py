"""Starts `fakegeo` (tests/fakegeo/README.md) and reads its bill."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass

_BOXES = {  # degrees south, north, west, east; the table of tests/fakegeo/dialects.cc
    "US": (32, 46, -117, -82),
    "CA": (49, 53, -120, -75),
    "GB": (51, 54, -3, 0),
    "FR": (44, 48, 0, 5),
    "DE": (48, 53, 8, 13),
    "NO": (59, 63, 6, 11),
}
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class BillLine:
    """One address that reached the provider."""

    ns: int  # CLOCK_MONOTONIC
    request: int  # counted per run of fakegeo, from 1
    dialect: str
    mode: str  # single, batch
    item: int  # index in its batch
    text: str


def find_binary(name):
    """`name` from <NAME>_BIN, else beside the other built program."""
    named = os.environ.get(f"{name.upper()}_BIN")
    if named:
        return pathlib.Path(named)
    for other in ("GEONCE_BIN", "FAKEGEO_BIN"):
        if os.environ.get(other):
            beside = pathlib.Path(os.environ[other]).with_name(name)
            if beside.exists():
                return beside
    raise RuntimeError(f"set {name.upper()}_BIN to the built program {name}")


def point_of(text, country="US"):
    """The point that fakegeo gives to an address without markers: degrees as (lat, lon)."""
    hash_ = 0xCBF29CE484222325
    for byte in _words_of(text):
        hash_ = ((hash_ ^ byte) * 0x100000001B3) & _MASK
    south, north, west, east = _BOXES.get(country, (40, 50, 10, 20))
    lat_e7 = south * 10**7 + _mixed(hash_) % ((north - south) * 10**7)
    lon_e7 = west * 10**7 + _mixed(hash_ + 1) % ((east - west) * 10**7)
    return lat_e7 / 1e7, lon_e7 / 1e7


def _words_of(text):
    out = bytearray()
    for byte in text.encode():
        if ord("a") <= byte <= ord("z"):
            byte -= 32
        if ord("A") <= byte <= ord("Z") or ord("0") <= byte <= ord("9") or byte >= 0x80:
            out.append(byte)
        elif out and out[-1] != ord(" "):
            out.append(ord(" "))
    return bytes(out).rstrip(b" ")


def _mixed(x):
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Fakegeo:
    """A running provider. `with Fakegeo(tmp_path, latency_ms=50) as provider: …`"""

    def __init__(self, directory, *, script=None, latency_ms=None, seed=1, country=None):
        self.directory = pathlib.Path(directory)
        self.bill_file = self.directory / "bill.tsv"
        self._first_script = script
        self._latency_ms = latency_ms
        self._seed = seed
        self._country = country
        self._process = None
        self.port = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Starts it; after `kill` on the port it had before."""
        command = [find_binary("fakegeo"), "--bill", self.bill_file, "--port", str(self.port)]
        command += ["--seed", str(self._seed)]
        if self._latency_ms is not None:
            bounds = self._latency_ms if isinstance(self._latency_ms, tuple) else (self._latency_ms,)
            command += ["--latency-ms", *map(str, bounds)]
        if self._country:
            command += ["--country", self._country]
        if self._first_script is not None:
            file = self.directory / "script.json"
            file.write_text(json.dumps(self._first_script))
            command += ["--script", file]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()  # printed once it listens
        if not line:
            raise RuntimeError(f"fakegeo ended with {self._process.wait()} before it listened")
        self.port = int(line)

    def stop(self):
        self._end(signal.SIGTERM)

    def kill(self):
        """SIGKILL: connections break, the bill stays."""
        self._end(signal.SIGKILL)

    def _end(self, how):
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait()
        self._process.stdout.close()
        self._process = None

    def script(self, script):
        """Replaces the script; its request numbers and `times` start anew. {} clears it."""
        status, body = self._control("POST", "/__fakegeo/script", json.dumps(script))
        if status != 200:
            raise ValueError(body)

    def rules(self, *rules, **settings):
        """`script` in short: the rules, first fit decides."""
        self.script({"rules": list(rules), **settings})

    def stats(self):
        return json.loads(self._control("GET", "/__fakegeo/stats")[1])

    def wait(self, *, requests=0, items=0, in_flight=0, timeout_s=60):
        """Returns the stats once at least so many requests and items came and are in flight."""
        path = f"/__fakegeo/wait?requests={requests}&items={items}&in_flight={in_flight}"
        return json.loads(self._control("GET", path, timeout_s=timeout_s)[1])

    def _control(self, method, path, body=None, timeout_s=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def bill(self):
        """Every address that was billed, in the order of arrival. Works while it runs and after."""
        if not self.bill_file.exists():
            return []
        data = self.bill_file.read_bytes().decode("utf-8", "surrogateescape")
        if data and not data.endswith("\n"):
            raise AssertionError("the bill ends inside a line")
        return [_parse_line(line) for line in data.split("\n")[:-1]]

    def calls(self):
        """How often each address text was billed."""
        return Counter(line.text for line in self.bill())


_ESCAPES = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r", "0": "\0"}


def _parse_line(line):
    ns, request, dialect, mode, item, text = line.split("\t")
    pieces = []
    rest = iter(text)
    for c in rest:
        pieces.append(_ESCAPES[next(rest)] if c == "\\" else c)
    return BillLine(int(ns), int(request), dialect, mode, int(item), "".join(pieces))
