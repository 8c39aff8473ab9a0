"""geonce serve: what an application sees over HTTP, and what it costs."""

import re
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from geonce_fixtures import Gateway, Geonce, Postgres, point_of

ADDRESS = "5 Main Street, Austin, TX 78701"


@pytest.fixture
def gateway(tmp_path, provider):
    with Gateway(Geonce(tmp_path / "g", provider.url)) as running:
        yield running


def ask(gateway, text=ADDRESS, headers=None, **more):
    return gateway.get("/v1/geocode", headers, q=text, country="US", **more)


def test_an_address_is_bought_once_and_then_remembered(gateway, provider):
    status, fields, first = ask(gateway)
    assert status == 200 and first["status"] == "match" and first["cache"] == "paid", first
    assert (first["lat"], first["lng"]) == pytest.approx(point_of(ADDRESS))
    assert fields["Geonce-Billed"] == "1" and fields["Cache-Status"] == "geonce; fwd=miss; stored"
    assert re.fullmatch("[0-9a-f-]{36}", fields["Geonce-Intent"])
    status, fields, again = ask(gateway, "5 MAIN ST., Austin TX 78701")
    assert status == 200 and again["cache"] == "l1" and again["key"] == first["key"]
    assert fields["Geonce-Key"] == first["key"] and fields["Geonce-Billed"] == "0" and int(fields["Age"]) >= 0
    assert re.fullmatch(r"geonce; hit; ttl=\d+; detail=l1", fields["Cache-Status"])
    for name in ("lat", "lng", "precision", "answered_at", "expires_at", "provider"):
        assert first[name] == again[name], name
    assert len(provider.bill()) == 1


def test_many_clients_of_one_address_share_one_call(gateway, provider):
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda _: ask(gateway), range(64)))
    assert {status for status, _, _ in answers} == {200}
    assert len({answer["lat"] for _, _, answer in answers}) == 1
    assert len(provider.bill()) == 1
    assert sum(fields["Geonce-Billed"] == "1" for _, fields, _ in answers) == 1


def test_fields_instead_of_text_and_many_queries_in_one_request(gateway, provider):
    queries = [
        {"house_number": "5", "street": "Main Street", "city": "Austin", "state": "TX", "postcode": "78701", "country": "US"},
        "6 Main Street, Austin, TX 78701, USA",
        {"q": "7 Main Street, Austin, TX 78701", "country": "XQ"},
        {"q": ""},
        "6 Main Street, Austin, TX 78701, USA",
    ]
    status, _, answer = gateway.request("POST", "/v1/geocode", queries)
    assert status == 200
    assert [item["status"] for item in answer["results"]] == ["match", "match", "error", "error", "match"]
    assert [item["error"] for item in answer["results"] if item["status"] == "error"] == ["unknown_country", "invalid_address"]
    assert answer["results"][1]["key"] == answer["results"][4]["key"]
    assert len(provider.bill()) == 2
    status, _, single = gateway.request("POST", "/v1/geocode", queries[0])
    assert status == 200 and single["key"] == answer["results"][0]["key"] and single["cache"] == "l1"
    assert gateway.request("POST", "/v1/geocode", {"queries": queries})[2]["results"][0]["cache"] == "l1"
    assert gateway.request("POST", "/v1/geocode", [])[2] == {"results": []}


def test_ten_thousand_queries_in_one_request_and_one_more(gateway, provider):
    queries = [f"{n % 500 + 1} Main Street, Austin, TX 78701, USA" for n in range(10_000)]
    status, _, answer = gateway.request("POST", "/v1/geocode", queries)
    assert status == 200 and len(answer["results"]) == 10_000
    assert {item["status"] for item in answer["results"]} == {"match"}
    assert len(provider.bill()) == 500
    status, _, problem = gateway.request("POST", "/v1/geocode", [*queries, "x"])
    assert status == 400 and "at most 10000" in problem["detail"]


@pytest.mark.parametrize("method, path, body, headers, status, name", [
    ("GET", "/v1/geocode?q=", None, {}, 422, "invalid-address"),
    ("GET", "/v1/geocode?q=a&contry=US", None, {}, 400, "usage"),
    ("GET", "/v1/geocode?q=a&q=b", None, {}, 400, "usage"),
    ("GET", "/v1/geocode?q=%zz", None, {}, 400, "usage"),
    ("GET", "/v1/geocode?q=%ff%fe", None, {}, 422, "invalid-address"),
    ("GET", "/v1/geocode?q=1+Main+St&country=XQ", None, {}, 422, "unknown-country"),
    ("GET", "/v1/geocode?q=1+Main+St&timeout_ms=soon", None, {}, 400, "usage"),
    ("GET", "/v1/geocode?q=1+Main+St", None, {"Cache-Control": "max-age=long"}, 400, "usage"),
    ("GET", "/v1/nothing", None, {}, 404, "no-such-path"),
    ("DELETE", "/v1/geocode", None, {}, 405, "method-not-allowed"),
    ("POST", "/v1/geocode", b"{", {"Content-Type": "application/json"}, 400, "bad-json"),
    ("POST", "/v1/geocode", b"a,b", {"Content-Type": "text/csv"}, 415, "unsupported-media-type"),
    ("POST", "/v1/geocode", b"7", {"Content-Type": "application/json"}, 400, "usage"),
    ("POST", "/v1/geocode", b'{"adress": "a"}', {"Content-Type": "application/json"}, 400, "usage"),
    ("POST", "/v1/geocode", b'["a", 7]', {"Content-Type": "application/json"}, 400, "usage"),
])  # fmt: skip
def test_what_cannot_be_asked_is_a_problem_with_a_type_that_says_more(gateway, provider, method, path, body, headers, status, name):
    seen, fields, problem = gateway.request(method, path, body, headers)
    assert (seen, problem["type"], problem["status"]) == (status, f"/problems/{name}", status)
    assert fields["Content-Type"] == "application/problem+json" and problem["detail"]
    assert gateway.get(problem["type"])[0] == 200
    assert provider.bill() == []
    if status == 405:
        assert fields["Allow"] == "GET, HEAD, POST"


def test_who_may_not_pay_is_told_what_is_remembered(gateway, provider):
    only = {"Cache-Control": "only-if-cached"}
    status, fields, problem = ask(gateway, headers=only)
    assert (status, problem["type"], fields["Geonce-Billed"]) == (504, "/problems/cache-only-miss", "0")
    assert provider.bill() == []
    ask(gateway)
    assert ask(gateway, headers=only)[0] == 200
    assert ask(gateway, headers={"Cache-Control": "max-age=3600, no-transform"})[2]["cache"] == "l1"
    assert ask(gateway, headers={"Cache-Control": "no-cache"})[2]["cache"] == "paid"
    assert len(provider.bill()) == 2


def test_geojson_and_head(gateway, provider):
    status, fields, feature = ask(gateway, headers={"Accept": "application/geo+json"})
    assert status == 200 and fields["Content-Type"] == "application/geo+json"
    lat, lng = point_of(ADDRESS)
    assert feature["geometry"] == {"type": "Point", "coordinates": pytest.approx([lng, lat])}
    assert feature["properties"]["status"] == "match"
    status, fields, text = gateway.request("HEAD", "/v1/geocode", q=ADDRESS, country="US")
    assert status == 200 and text == "" and int(fields["Content-Length"]) > 100
    assert len(provider.bill()) == 1


def test_a_provider_that_is_down_is_503_with_a_time_to_wait(tmp_path, provider):
    with Gateway(Geonce(tmp_path / "g", "http://127.0.0.1:9")) as gateway:
        status, fields, problem = ask(gateway)
        assert status == 503 and int(fields["Retry-After"]) >= 1 and problem["retryable"], problem
        assert "Main" not in problem["detail"]
        assert gateway.get("/healthz")[0] == gateway.get("/readyz")[0] == 200


def test_a_caller_with_little_time_is_answered_in_it_and_the_purchase_goes_on(tmp_path, provider):
    provider.script({"latency_ms": 700})
    with Gateway(Geonce(tmp_path / "g", provider.url)) as gateway:
        status, _, problem = ask(gateway, timeout_ms=50)
        assert (status, problem["type"]) == (504, "/problems/deadline-exceeded")
        assert ask(gateway)[0] == 200
        assert len(provider.bill()) == 1


def test_what_is_under_way_at_sigterm_is_answered_and_new_connections_are_not_taken(tmp_path, provider):
    provider.script({"latency_ms": 700})
    with Gateway(Geonce(tmp_path / "g", provider.url)) as gateway:
        answers = []
        asking = threading.Thread(target=lambda: answers.append(ask(gateway)))
        asking.start()
        while "geonce_flights 1" not in gateway.get("/metrics")[2]:
            pass
        gateway.process.send_signal(signal.SIGTERM)
        asking.join()
        assert answers[0][0] == 200 and answers[0][1]["Connection"] == "close"
        assert gateway.process.wait(timeout=60) == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", gateway.port))
        assert len(provider.bill()) == 1


def test_metrics_count_what_was_answered_and_paid(gateway, provider):
    for _ in range(3):
        ask(gateway)
    lines = gateway.get("/metrics")[2].splitlines()
    assert 'geonce_answers_total{cache="paid"} 1' in lines and 'geonce_answers_total{cache="l1"} 2' in lines
    assert "geonce_provider_lookups_total 1" in lines


def test_two_gateways_on_one_database_buy_once(tmp_path, provider):
    with Postgres() as server:
        machines = [Geonce(tmp_path / name, provider.url, store=server.uri()) for name in "ab"]
        assert machines[0].run("migrate").rc == 0
        with Gateway(machines[0]) as one, Gateway(machines[1]) as two, ThreadPoolExecutor(32) as pool:
            texts = [f"{n % 40 + 1} Main Street, Austin, TX 78701" for n in range(400)]
            asked = zip(texts, [one, two] * 200)
            answers = list(pool.map(lambda pair: ask(pair[1], pair[0])[2]["status"], asked))
    assert set(answers) == {"match"}
    assert len(provider.bill()) == 40


def test_while_the_database_is_away_what_is_remembered_is_told_and_the_rest_refused_at_once(tmp_path, provider):
    quick = '\n[memory]\nlook_every = "100ms"\nmax_age_cut_off = "200ms"\n'
    with Postgres() as server, Gateway(Geonce(tmp_path / "g", provider.url, store=server.uri(), extra=quick)) as gateway:
        assert ask(gateway)[0] == 200
        server.stop()
        until = time.monotonic() + 60
        while ask(gateway)[2].get("cache") != "stale":
            assert time.monotonic() < until
        status, _, held = ask(gateway)
        assert status == 200 and held["cache"] == "stale" and held["stale_because"]
        # Who waited for it in vain is told deadline-exceeded.
        status, fields, problem = ask(gateway, "6 Main Street, Austin, TX 78701")
        assert status == 503 and problem["type"].endswith("/store-unavailable") and fields["Retry-After"] == "1"
        server.start()
        while ask(gateway)[2].get("cache") == "stale":
            assert time.monotonic() < until
        assert ask(gateway, "6 Main Street, Austin, TX 78701")[2]["cache"] == "paid"
        assert len(provider.bill()) == 2


def test_an_address_that_others_can_reach_has_to_be_allowed(geonce):
    done = geonce.run("serve", "--listen", "*:0")
    assert done.rc == 2 and "serve.open" in done.err
    running = geonce.start("--set", "serve.open=true", "serve", "--listen", "*:0")
    assert b"listening on http://0.0.0.0:" in running.stderr.readline()
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=60) == 0
    assert geonce.run("serve", "--listen", "nowhere").rc == 2


def test_a_socket_file(geonce):
    path = geonce.directory / "sock"
    running = geonce.start("serve", "--listen", f"unix:{path}")
    assert running.stderr.readline().decode() == f"geonce: listening on unix:{path}\n"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        seen = b""
        while more := client.recv(4096):
            seen += more
    assert seen.endswith(b"\r\n\r\nok\n")
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=60) == 0 and not path.exists()
