"""Connections that lead nowhere: what was surely not sent costs nothing, what may have been sent is in doubt."""

import socket
import ssl
import subprocess
import threading

import pytest
from geonce_fixtures import (
    Geonce,
    check_points,
    check_rows_are_the_input,
    check_the_ledger_against_the_bill,
    read_rows,
    statuses,
    us_addresses,
    write_csv,
)

ROWS = 40
TEXT = ("--address", "address")
FIELDS = ("--map", "street=street,city=city,state=state,postcode=zip")


def batch(source, output, *more, address=TEXT):
    return (
        "batch", source, "-o", output, *address, "--default-country", "US", "--concurrency", 8, "--rate", 100_000,
        "--max-retries", 0, *more,
    )  # fmt: skip


def check_the_rest_is_bought(geonce, provider, source, output, address=TEXT):
    done = geonce.run(*batch(source, output, "--retry-failed", address=address))
    assert done.rc == 0, done.err
    rows = read_rows(output)
    check_rows_are_the_input(source, rows)
    check_points(rows)
    assert statuses(rows) == {"match": ROWS}
    assert len(provider.bill()) == ROWS
    return check_the_ledger_against_the_bill(geonce, provider)


@pytest.mark.parametrize("name, address", [("google", TEXT), ("census", FIELDS)])
def test_calls_that_nobody_reads_are_in_doubt_and_the_run_ends(tmp_path, provider, make_geonce, name, address):
    """The bytes left this machine, so who knows; the bill does: it has none of them."""
    geonce = make_geonce(provider, chain=(name,), extra="\n[resolver]\nbulk_size = 10\nmax_unknown_retries = 10\n")
    geonce.environment[f"GEONCE_PROVIDERS_{name.upper()}_BULK_TIMEOUT"] = "1s"
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    provider.script({"welcome": "never_read"})
    done = geonce.run(*batch(source, output, "--timeout", "1s", address=address))
    assert done.rc in (3, 6), done.err
    assert provider.bill() == []
    if output.exists():
        assert statuses(read_rows(output)) == {"error": ROWS}
    sums = check_the_ledger_against_the_bill(geonce, provider)
    assert sums.unknown > 0 and sums.answered == 0
    provider.script({})
    check_the_rest_is_bought(geonce, provider, source, output, address)


@pytest.fixture
def stranger(tmp_path):
    """A TLS server whose certificate nobody vouches for. `port`, and `heard`: what it was told in confidence."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Stranger:
        handshakes = 0
        heard = b""

    listener = socket.create_server(("127.0.0.1", 0))
    Stranger.port = listener.getsockname()[1]

    def serve():
        while True:
            try:
                wire, _ = listener.accept()
            except OSError:  # closed: the test is over
                return
            Stranger.handshakes += 1
            wire.settimeout(5)
            try:
                with context.wrap_socket(wire, server_side=True) as trusted:
                    Stranger.heard += trusted.recv(65536)
            except OSError:
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield Stranger
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def unsent(program, source, output, *more):
    """Runs a batch of which no call gets through. Returns what it said."""
    done = program.run(*batch(source, output, *more))
    assert done.rc == 3, (done.rc, done.err)
    assert not output.exists()
    return done.err


@pytest.mark.parametrize("welcome", ["cut", "never_read", "serve"])
def test_a_handshake_that_fails_sends_nothing_and_costs_nothing(tmp_path, provider, welcome):
    """Cut off, never answered, or answered in clear by something that speaks no TLS."""
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    secure = Geonce(tmp_path / "geonce", provider.url.replace("http:", "https:"))
    provider.script({"welcome": welcome})
    err = unsent(secure, source, output)
    assert "Run the same command again" in err and "0 calls, $0.00" in err
    assert provider.bill() == []
    sums = check_the_ledger_against_the_bill(secure, provider)
    assert (sums.answered, sums.refused, sums.unknown) == (0, 0, 0)
    assert sums.void > 0
    provider.script({})
    plain = Geonce(tmp_path / "geonce", provider.url)
    check_the_rest_is_bought(plain, provider, source, output)


def test_a_provider_whose_certificate_nobody_vouches_for_is_told_nothing(tmp_path, provider, stranger):
    source = write_csv(tmp_path / "in.csv", us_addresses(ROWS))
    output = tmp_path / "out.csv"
    program = Geonce(tmp_path / "geonce", f"https://127.0.0.1:{stranger.port}")
    err = unsent(program, source, output)
    assert "certificate" in err and "0 calls, $0.00" in err
    assert stranger.handshakes > 0
    assert stranger.heard == b""
    sums = check_the_ledger_against_the_bill(program, provider)
    assert sums.unknown == 0
