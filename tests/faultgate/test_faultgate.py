"""What the gate promises, word by word: the fault tests stand on it."""

import pathlib
import socket
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from geonce_fixtures import Gate  # noqa: E402


class Echo:
    """Sends back what it hears, and tells how its connections ended."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.heard = b""
        self.ends = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                while data := connection.recv(65_536):
                    self.heard += data
                    connection.sendall(data)
                self.ends.append("closed")
            except OSError:
                self.ends.append("reset")

    def close(self):
        self._listener.close()


@pytest.fixture
def echo():
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def gate(echo):
    with Gate(echo.port) as running:
        yield running


def connect(gate, timeout=20):
    return socket.create_connection(("127.0.0.1", gate.port), timeout=timeout)


def ask(connection, data):
    connection.sendall(data)
    got = b""
    while len(got) < len(data):
        more = connection.recv(65_536)
        assert more, "closed"
        got += more
    return got


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def hears_nothing(connection, seconds=0.3):
    connection.settimeout(seconds)
    try:
        with pytest.raises(TimeoutError):
            connection.recv(1)
    finally:
        connection.settimeout(20)


def test_passes_all_on_and_counts_it(echo, gate):
    data = bytes(range(256)) * 8_000  # more than is held at once
    with connect(gate) as connection:
        sender = threading.Thread(target=connection.sendall, args=(data,))
        sender.start()
        got = b""
        while len(got) < len(data):
            got += connection.recv(65_536)
        sender.join()
        assert got == data
        connection.shutdown(socket.SHUT_WR)  # an end of sending is passed on, and its answer
        assert connection.recv(1) == b""
    until(lambda: echo.ends == ["closed"])
    stats = gate.stats()
    assert (stats["connections"], stats["up"], stats["down"]) == (1, len(data), len(data))


def test_latency_is_each_way_and_delays_a_flood_no_more_than_a_drop(gate):
    gate("latency", 50)
    with connect(gate) as connection:
        begun = time.monotonic()
        ask(connection, b"x")
        assert time.monotonic() - begun >= 0.1
        begun = time.monotonic()
        ask(connection, b"x" * 200_000)
        assert 0.1 <= time.monotonic() - begun < 1.5  # not once for each of its pieces


def test_bandwidth_holds_across_pieces(gate):
    gate("bandwidth", 100_000)
    with connect(gate) as connection:
        begun = time.monotonic()
        ask(connection, b"x" * 50_000)
        assert time.monotonic() - begun >= 0.4


def test_slices(gate):
    with connect(gate) as connection:
        ask(connection, b"abc")
        assert gate.stats()["pieces"] == 2
        gate("slice", 1)
        assert ask(connection, b"def") == b"def"
    assert gate.stats()["pieces"] == 8


@pytest.mark.parametrize(("way", "is_heard"), [((), False), (("up",), False), (("down",), True)])
def test_a_stall_ends_no_connection_and_loses_nothing(echo, gate, way, is_heard):
    with connect(gate) as connection:
        assert ask(connection, b"one") == b"one"
        gate("stall", *way)
        connection.sendall(b"two")
        hears_nothing(connection)
        assert (echo.heard == b"onetwo") == is_heard
        gate("pass")
        assert connection.recv(3) == b"two"


def test_a_stall_holds_new_connections_too(gate):
    gate("stall")
    with connect(gate) as connection:
        connection.sendall(b"x")
        hears_nothing(connection)


def test_refuses_new_connections_alone(gate):
    with connect(gate) as old:
        ask(old, b"x")
        gate("refuse")
        with pytest.raises(OSError), connect(gate) as fresh:
            fresh.sendall(b"x")
            if fresh.recv(1) == b"":
                raise ConnectionResetError
        assert ask(old, b"y") == b"y"
        gate("pass")
        with connect(gate) as fresh:
            assert ask(fresh, b"z") == b"z"
    assert gate.stats()["refused"] == 1


def test_cuts_in_order_and_with_a_reset(echo, gate):
    with connect(gate) as connection:
        ask(connection, b"x")
        gate("cut")
        assert connection.recv(1) == b""
    until(lambda: echo.ends == ["closed"])
    with connect(gate) as connection:
        ask(connection, b"x")
        gate("reset")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    until(lambda: echo.ends == ["closed", "reset"])


def test_half_open_is_not_heard_by_the_client(echo, gate):
    with connect(gate) as connection:
        ask(connection, b"x")
        gate("half-open")
        until(lambda: len(echo.ends) == 1)
        connection.sendall(b"y")
        hears_nothing(connection)
        assert echo.heard == b"x"


def test_the_reply_to_one_turn_is_lost_after_the_server_heard_it(echo, gate):
    gate("drop-reply", 2)
    with connect(gate) as connection:
        assert ask(connection, b"one") == b"one"
        connection.sendall(b"two")
        with pytest.raises(ConnectionResetError):
            connection.recv(3)
        assert echo.heard == b"onetwo"
    with connect(gate) as connection:
        assert ask(connection, b"three") == b"three"
    assert gate.stats()["turns"] == 3


@pytest.mark.parametrize(
    "line", ["", "stal", "latency", "latency x", "latency -1", "slice 0", "stall sideways", "cut 1"]
)
def test_what_is_not_understood_is_refused(gate, line):
    with pytest.raises(ValueError, match="not understood"):
        gate(line)
