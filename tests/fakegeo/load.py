"""How many requests per second does fakegeo answer over keep-alive connections?

    FAKEGEO_BIN=build/release/bin/fakegeo PYTHONPATH=tests/support \\
        python3 tests/fakegeo/load.py CONNECTIONS LATENCY_MS SECONDS

2026-11-30, release build on two cores shared with other work, answers/s: 512 connections and 50 ms 9,850 (of
10,240 possible); 64 and 50 ms 1,249 (of 1,280); 256 without latency 34,047, where this client is the limit.
"""

import pathlib
import selectors
import socket
import sys
import tempfile
import time

from geonce_fixtures import Fakegeo

REQUEST = b"GET /maps/api/geocode/json?address=1100+Congress+Ave,+Austin,+TX HTTP/1.1\r\nHost: x\r\n\r\n"


def main(connections, latency_ms, seconds):
    with (
        tempfile.TemporaryDirectory() as directory,
        Fakegeo(pathlib.Path(directory), latency_ms=latency_ms) as provider,
        selectors.EpollSelector() as selector,
    ):
        for _ in range(connections):
            wire = socket.create_connection(("127.0.0.1", provider.port))
            selector.register(wire, selectors.EVENT_READ)
            wire.sendall(REQUEST)
        start = time.monotonic()
        answers = 0
        while time.monotonic() < start + seconds:
            for key, _ in selector.select(1):
                if key.fileobj.recv(65536).endswith(b"}"):
                    answers += 1
                    key.fileobj.sendall(REQUEST)
        took = time.monotonic() - start
        print(f"{connections} connections, {latency_ms} ms: {answers / took:,.0f} answers/s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
