"""Is the simulator what the tests of money take it for? Every dialect, every fault, the bill.

FAKEGEO_BIN names the built program.
"""

import csv
import email.utils
import gzip
import http.client
import io
import json
import signal
import socket
import subprocess
import time
import urllib.parse
import zlib

import pytest
from geonce_fixtures import Fakegeo, point_of, us_addresses
from geonce_fixtures.fakegeo import find_binary

HERE = "1100 Congress Ave, Austin, TX 78701"


class Client:
    """One keep-alive connection."""

    def __init__(self, provider, timeout_s=10):
        self.http = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=timeout_s)

    def get(self, path, **query):
        self.http.request("GET", path + "?" + urllib.parse.urlencode(query))
        return self.answer()

    def post(self, path, body, content_type="application/json"):
        self.http.request("POST", path, body, {"Content-Type": content_type})
        return self.answer()

    def answer(self):
        response = self.http.getresponse()
        response.text = response.read().decode(
            response.headers.get_content_charset("utf-8"), "strict"
        )
        return response

    def google(self, text, **more):
        return self.get("/maps/api/geocode/json", address=text, **more)


@pytest.fixture
def client(provider):
    return Client(provider)


def multipart(*parts):
    """(name, content) pairs; returns body and content type."""
    boundary = "----fakegeo-test"
    body = b""
    for name, content in parts:
        disposition = f'form-data; name="{name}"'
        if name in ("addressFile", "data"):
            disposition += '; filename="rows.csv"'
        body += f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode()
        body += content.encode() + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def census_batch(client, rows):
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    body, kind = multipart(("addressFile", file.getvalue()), ("benchmark", "Public_AR_Current"))
    response = client.post("/geocoder/locations/addressbatch", body, kind)
    return response, list(csv.reader(io.StringIO(response.text)))


def ban_batch(client, text, *more):
    body, kind = multipart(("data", text), *more)
    return client.post("/geocodage/search/csv", body, kind)


def raw(provider, target, timeout_s=10, until_bytes=None):
    """Sends one GET and returns what comes until the server closes: bytes as they are."""
    with socket.create_connection(("127.0.0.1", provider.port), timeout=timeout_s) as wire:
        wire.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        received = b""
        while until_bytes is None or len(received) < until_bytes:
            piece = wire.recv(65536)
            if not piece:
                break
            received += piece
        return received


GOOGLE = "/maps/api/geocode/json?address=1+Elm+St"

# ------------------------------------------------------------------ dialects: a match and its point


def google_point(client, text):
    result = json.loads(client.google(text).text)["results"][0]
    return result["geometry"]["location"]["lat"], result["geometry"]["location"]["lng"]


def geocodio_point(client, text):
    result = json.loads(client.get("/v1.9/geocode", q=text).text)["results"][0]
    return result["location"]["lat"], result["location"]["lng"]


def nominatim_point(client, text):
    result = json.loads(client.get("/search", q=text, format="jsonv2").text)[0]
    assert isinstance(result["lat"], str)
    return float(result["lat"]), float(result["lon"])


def opencage_point(client, text):
    result = json.loads(client.get("/geocode/v1/json", q=text).text)["results"][0]
    return result["geometry"]["lat"], result["geometry"]["lng"]


def census_point(client, text):
    path = "/geocoder/locations/onelineaddress"
    body = json.loads(client.get(path, address=text, benchmark="4", format="json").text)
    found = body["result"]["addressMatches"][0]["coordinates"]
    return found["y"], found["x"]


DIALECTS = {
    "google": google_point,
    "geocodio": geocodio_point,
    "nominatim": nominatim_point,
    "opencage": opencage_point,
    "census": census_point,
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_answers_the_point_of_the_text_and_bills_the_text(provider, client, dialect):
    assert DIALECTS[dialect](client, HERE) == pytest.approx(point_of(HERE), abs=1e-7)
    (line,) = provider.bill()
    assert (line.dialect, line.mode, line.item, line.text) == (dialect, "single", 0, HERE)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_zero_is_a_point(client, dialect):
    assert DIALECTS[dialect](client, "zero island, Chicago, IL") == (0, 0)


def test_ban_answers_the_point_of_the_text_longitude_first(provider, client):
    text = "5 avenue Anatole France 75007 Paris"
    feature = json.loads(client.get("/geocodage/search", q=text).text)["features"][0]
    lon, lat = feature["geometry"]["coordinates"]
    assert (lat, lon) == pytest.approx(point_of(text, "FR"), abs=1e-7)
    assert feature["properties"]["type"] == "housenumber"
    assert provider.bill()[0].text == text


@pytest.mark.parametrize(
    "path, query, none",
    [
        ("/maps/api/geocode/json", "address", {"results": [], "status": "ZERO_RESULTS"}),
        ("/v1.9/geocode", "q", {"results": []}),
        ("/search", "q", []),
        ("/geocode/v1/json", "q", {"results": [], "total_results": 0}),
        ("/geocodage/search", "q", {"features": []}),
    ],
)
def test_nowhere_is_no_match_in_the_dialects_own_form(client, path, query, none):
    response = client.get(path, **{query: "9 Nowhere Ln, Chicago, IL"})
    assert response.status == 200
    body = json.loads(response.text)
    assert body == none if isinstance(none, list) else none.items() <= body.items()


def test_nowhere_is_no_match_for_census(client):
    path = "/geocoder/locations/onelineaddress"
    body = json.loads(client.get(path, address="9 Nowhere Ln", benchmark="4").text)
    assert body["result"]["addressMatches"] == []


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1 Elm St", ("ROOFTOP", "street_address", None)),
        ("1 Elm St midblock", ("RANGE_INTERPOLATED", "street_address", None)),
        ("1 Elm St streetonly", ("GEOMETRIC_CENTER", "route", None)),
        ("1 Elm St postcodeonly", ("APPROXIMATE", "postal_code", None)),
        ("1 Elm St locality", ("APPROXIMATE", "locality", None)),
        ("1 Elm St regiononly", ("APPROXIMATE", "administrative_area_level_1", None)),
        ("1 Elm St partial", ("ROOFTOP", "street_address", True)),
        ("1 Partially St", ("ROOFTOP", "street_address", None)),  # markers are whole words
    ],
)
def test_google_precision_follows_the_marker(client, text, expected):
    result = json.loads(client.google(text).text)["results"][0]
    found = result["geometry"]["location_type"], result["types"][0], result.get("partial_match")
    assert found == expected
    assert result["formatted_address"] == text.upper()


@pytest.mark.parametrize(
    "path, query, field, words",
    [
        (
            "/v1.9/geocode",
            "q",
            lambda body: body["results"][0]["accuracy_type"],
            ("rooftop", "range_interpolation", "street_center", "place", "place", "state"),
        ),
        (
            "/search",
            "q",
            lambda body: (body[0]["addresstype"], body[0]["place_rank"]),
            (
                ("building", 30),
                ("place", 30),
                ("road", 26),
                ("postcode", 21),
                ("city", 16),
                ("state", 8),
            ),
        ),
        (
            "/geocode/v1/json",
            "q",
            lambda body: body["results"][0]["components"]["_type"],
            ("building", "building", "road", "postcode", "city", "state"),
        ),
        (
            "/geocodage/search",
            "q",
            lambda body: body["features"][0]["properties"]["type"],
            ("housenumber", "housenumber", "street", "municipality", "municipality", "municipality"),
        ),
    ],
)
def test_precision_follows_the_marker_in_every_dialect(client, path, query, field, words):
    markers = ("", "midblock", "streetonly", "postcodeonly", "locality", "regiononly")
    for marker, word in zip(markers, words, strict=True):
        body = json.loads(client.get(path, **{query: f"1 Elm St {marker}"}).text)
        assert field(body) == word, marker


def test_abroad_names_another_country_than_was_asked(client):
    def country(text, asked):
        body = json.loads(client.google(text, components=f"country:{asked}").text)
        components = body["results"][0]["address_components"]
        return next(c["short_name"] for c in components if "country" in c["types"])

    assert country("1 Elm St", "US") == "US"
    assert country("1 Elm St", "NO") == "NO"
    assert country("1 Elm St abroad", "US") == "DE"
    assert country("1 Elm St abroad", "DE") == "FR"


def test_badcoord_is_a_text_with_a_comma(client):
    result = json.loads(client.google("1 Elm St badcoord").text)["results"][0]
    assert result["geometry"]["location"]["lat"] == "48,85"
    feature = json.loads(client.get("/geocodage/search", q="badcoord").text)["features"][0]
    assert feature["geometry"]["coordinates"][1] == "48,85"


def test_a_tie_has_two_candidates_at_different_points(client):
    results = json.loads(client.google("1 Elm St tie").text)["results"]
    points = {(r["geometry"]["location"]["lat"], r["geometry"]["location"]["lng"]) for r in results}
    assert len(results) == len(points) == 2


def test_geocodio_answers_422_where_it_cannot_read_the_address(client):
    response = client.get("/v1.9/geocode", q="unreadable")
    assert response.status == 422
    assert json.loads(response.text)["error"].startswith("Could not geocode address")


def test_structured_queries_are_billed_as_one_line(provider, client):
    client.get("/v1.9/geocode", street="1 Elm St", city="Austin", state="TX", postal_code="78701")
    client.get("/search", street="1 Elm St", city="Austin", format="jsonv2")
    client.get("/geocoder/locations/address", street="1 Elm St", zip="78701", benchmark="4")
    assert [line.text for line in provider.bill()] == [
        "1 Elm St, Austin, TX, 78701",
        "1 Elm St, Austin",
        "1 Elm St, 78701",
    ]


def test_a_request_without_an_address_is_refused_as_the_provider_does(provider, client):
    response = client.get("/maps/api/geocode/json", key="k")
    assert response.status == 400
    assert json.loads(response.text)["status"] == "INVALID_REQUEST"
    assert client.get("/v1.9/geocode").status == 422
    assert client.get("/geocodage/search", q="x" * 201).status == 413
    assert len(provider.bill()) == 3


def test_a_path_that_no_provider_has_is_404_and_not_billed(provider, client):
    assert client.get("/maps/api/geocode/xml", address="1 Elm St").status == 404
    assert client.get("/v2/geocode", q="1 Elm St").status == 404
    assert provider.bill() == []
    assert provider.stats()["unknown_requests"] == 2


# ------------------------------------------------------------------ batches


def test_geocodio_batch_keeps_the_order_of_an_array(provider, client):
    sent = [HERE, "9 Nowhere Ln, Austin, TX", "unreadable", {"street": "1 Elm St", "city": "Austin"}]
    results = json.loads(client.post("/v1.9/geocode", json.dumps(sent)).text)["results"]
    assert [r["query"] for r in results] == [*sent[:3], "1 Elm St, Austin"]
    location = results[0]["response"]["results"][0]["location"]
    assert (location["lat"], location["lng"]) == pytest.approx(point_of(HERE), abs=1e-7)
    assert results[1]["response"]["results"] == []
    assert results[2]["response"]["error"].startswith("Could not geocode")
    lines = provider.bill()
    assert [(line.mode, line.item, line.request) for line in lines] == [
        ("batch", i, 1) for i in range(4)
    ]
    assert [line.text for line in lines] == [*sent[:3], "1 Elm St, Austin"]


def test_geocodio_batch_answers_under_the_callers_keys(client):
    sent = {"a": HERE, "b/1": "9 Nowhere Ln", "": "1 Elm St"}
    results = json.loads(client.post("/v1.9/geocode", json.dumps(sent)).text)["results"]
    assert {key: result["query"] for key, result in results.items()} == sent


def test_geocodio_refuses_more_than_ten_thousand(provider, client):
    response = client.post("/v1.9/geocode", json.dumps([str(i) for i in range(10_001)]))
    assert response.status == 422
    stats = provider.stats()
    assert (stats["requests"], stats["billed_items"]) == (1, 10_001)


CENSUS_ROWS = [
    ("1", "1100 Congress Ave", "Austin", "TX", "78701"),
    ("2", "9 Nowhere Loop", "Austin", "TX", ""),
    ("3", "400 Tie St", "Houston", "TX", ""),
    ("4", "1 Señora St", "Austin", "TX", ""),
    ("5", "5 Locality Rd", "Austin", "TX", ""),
]


def test_census_batch_answers_out_of_order_with_short_rows_in_latin_1(client):
    response, rows = census_batch(client, CENSUS_ROWS)
    assert response.headers["Content-Type"] == "text/csv;charset=ISO-8859-1"
    assert sorted(row[0] for row in rows) == ["1", "2", "3", "4", "5"]
    assert [row[0] for row in rows] != ["1", "2", "3", "4", "5"]
    by_id = {row[0]: row for row in rows}
    lat, lon = point_of(HERE)
    match = by_id["1"]
    assert match[1:5] == [
        "1100 Congress Ave, Austin, TX, 78701",
        "Match",
        "Exact",
        "1100 CONGRESS AVE, AUSTIN, TX, 78701",
    ]
    assert [float(x) for x in match[5].split(",")] == pytest.approx([lon, lat], abs=1e-7)
    assert len(match) == 8 and match[7] == "L"
    assert by_id["2"] == ["2", "9 Nowhere Loop, Austin, TX, ", "No_Match"]
    assert by_id["3"][2:] == ["Tie"]
    assert by_id["4"][1].startswith("1 Señora St")
    assert by_id["5"][2:] == ["No_Match"]  # Census knows nothing coarser than a range


@pytest.mark.parametrize("count", [2, 3, 50])
def test_census_batch_never_happens_to_keep_the_order(client, count):
    sent = [(str(i), f"{i} Elm St", "Austin", "TX", "") for i in range(count)]
    _, rows = census_batch(client, sent)
    got = [row[0] for row in rows]
    assert got != [row[0] for row in sent]
    assert sorted(got, key=int) == [row[0] for row in sent]


def test_census_batch_bills_every_row(provider, client):
    census_batch(client, CENSUS_ROWS)
    assert [(line.item, line.text) for line in provider.bill()][:2] == [
        (0, "1100 Congress Ave, Austin, TX, 78701"),
        (1, "9 Nowhere Loop, Austin, TX"),
    ]
    assert len(provider.bill()) == 5


def test_ban_batch_appends_its_columns_and_keeps_the_order(provider, client):
    text = 'id,adresse,note\na1,"5 avenue Anatole France, Paris","x;""y"""\na2,rue nowhere,\n'
    response = ban_batch(client, text, ("columns", "adresse"))
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["id"] for row in rows] == ["a1", "a2"]
    assert rows[0]["note"] == 'x;"y"'
    lat, lon = point_of("5 avenue Anatole France, Paris", "FR")
    assert float(rows[0]["latitude"]) == pytest.approx(lat, abs=1e-7)
    assert float(rows[0]["longitude"]) == pytest.approx(lon, abs=1e-7)
    assert rows[0]["result_type"] == "housenumber"
    assert rows[1]["latitude"] == rows[1]["result_score"] == ""
    assert [line.text for line in provider.bill()] == [
        "5 avenue Anatole France, Paris",
        "rue nowhere",
    ]


def test_ban_batch_fails_as_a_whole_for_one_long_row(client):
    response = ban_batch(client, "adresse\nok\n" + "x" * 201 + "\n")
    assert response.status == 413
    assert "row number 2" in response.text


def test_ban_batch_takes_the_delimiter_it_is_told(client):
    response = ban_batch(client, "id;adresse\na1;1 rue, Paris\n", ("delimiter", ";"))
    (row,) = csv.DictReader(io.StringIO(response.text), delimiter=";")
    assert row["adresse"] == "1 rue, Paris" and row["latitude"]


def test_a_large_upload_waits_for_100_continue(provider):
    body = json.dumps([HERE] * 5000).encode()
    with socket.create_connection(("127.0.0.1", provider.port), timeout=10) as wire:
        wire.sendall(
            b"POST /v1.9/geocode HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)
        )
        assert wire.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert provider.bill() == []
        wire.sendall(body)
        assert wire.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(provider.bill()) == 5000


def test_an_upload_that_is_cut_is_not_billed(provider):
    with socket.create_connection(("127.0.0.1", provider.port), timeout=10) as wire:
        wire.sendall(b'POST /v1.9/geocode HTTP/1.1\r\nContent-Length: 100\r\n\r\n["1 Elm St"')
        wire.shutdown(socket.SHUT_WR)
        assert wire.recv(100) == b""
    assert provider.bill() == []


# ------------------------------------------------------------------ the bill


def test_the_bill_is_written_before_the_reply_and_before_the_latency(tmp_path):
    with Fakegeo(tmp_path, latency_ms=60_000) as provider:
        with socket.create_connection(("127.0.0.1", provider.port)) as wire:
            before = time.monotonic_ns()
            wire.sendall(b"GET /maps/api/geocode/json?address=1+Elm HTTP/1.1\r\n\r\n")
            stats = provider.wait(in_flight=1)
            (line,) = provider.bill()
            assert stats["requests"] == 1
            assert (line.request, line.text) == (1, "1 Elm")
            assert before < line.ns < time.monotonic_ns()
            wire.setblocking(False)
            with pytest.raises(BlockingIOError):
                wire.recv(1)


def test_the_bill_line_is_there_whenever_the_first_byte_of_a_reply_is(provider):
    with socket.create_connection(("127.0.0.1", provider.port)) as wire:
        for i in range(1, 300):
            wire.sendall(f"GET {GOOGLE}+{i} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert wire.recv(1) == b"H"
            assert len(provider.bill()) == i
            while not wire.recv(65536).endswith(b"}"):
                pass


def test_the_bill_survives_kill_9_and_goes_on_after_a_restart(tmp_path):
    with Fakegeo(tmp_path) as provider:
        provider.rules({"do": "hang"})
        with socket.create_connection(("127.0.0.1", provider.port)) as wire:
            wire.sendall(f"GET {GOOGLE} HTTP/1.1\r\n\r\n".encode())
            provider.wait(requests=1)
            provider.kill()
        assert [line.text for line in provider.bill()] == ["1 Elm St"]
        port = provider.port
        provider.start()
        assert provider.port == port
        Client(provider).google("2 Elm St")
        assert [line.text for line in provider.bill()] == ["1 Elm St", "2 Elm St"]


def test_every_byte_of_a_text_comes_back_from_the_bill(provider, client):
    text = "1 Elm\tSt\r\n\\n back\\slash \0 Åsgård % + & ="
    client.google(text)
    assert [line.text for line in provider.bill()] == [text]


def test_stats_count_requests_items_and_connections(provider, client):
    client.google("1 Elm St")
    client.post("/v1.9/geocode", json.dumps(["1 Elm St", "2 Elm St"]))
    stats = provider.stats()
    assert (stats["requests"], stats["billed_items"], stats["in_flight"]) == (2, 3, 0)
    assert stats["max_in_flight"] == 1
    assert stats["open"] == 2  # the client's and the one that asks for the stats


def test_sigterm_ends_it_with_0_and_the_port_file_names_the_port(tmp_path):
    port_file = tmp_path / "port"
    command = [find_binary("fakegeo"), "--bill", tmp_path / "bill", "--port-file", port_file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.readline()) == int(port_file.read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


# ------------------------------------------------------------------ faults: whole replies


def test_a_rule_fires_for_its_request_numbers_only(provider, client):
    provider.rules({"when": {"request": [2, 3]}, "do": "status", "status": 503})
    assert [client.google("1 Elm St").status for _ in range(4)] == [200, 503, 503, 200]


def test_a_rule_fires_for_its_text_and_no_more_often_than_told(provider, client):
    provider.rules({"when": {"text": "ELM"}, "times": 2, "do": "status", "status": 500})
    texts = ["1 Oak St", "1 Elm St", "2 elm st", "3 Elm St"]
    assert [client.google(text).status for text in texts] == [200, 500, 500, 200]


def test_a_rule_fires_every_nth_time(provider, client):
    provider.rules({"when": {"every": 3}, "do": "status", "status": 500})
    assert [client.google("1 Elm St").status for _ in range(6)] == [200, 200, 500, 200, 200, 500]


def test_a_rule_can_name_dialect_and_mode(provider, client):
    provider.rules({"when": {"dialect": "geocodio", "mode": "batch"}, "do": "status", "status": 500})
    assert client.google("1 Elm St").status == 200
    assert client.get("/v1.9/geocode", q="1 Elm St").status == 200
    assert client.post("/v1.9/geocode", '["1 Elm St"]').status == 500


def statuses(provider, seed, texts):
    provider.rules({"when": {"probability": 0.3}, "do": "status", "status": 500}, seed=seed)
    client = Client(provider)
    return {text: client.google(text).status for text in texts}


def test_probability_depends_on_seed_and_text_and_not_on_the_order(provider):
    texts = [f"{i} Elm St" for i in range(400)]
    first = statuses(provider, 7, texts)
    assert statuses(provider, 7, texts[::-1]) == first
    assert statuses(provider, 8, texts) != first
    assert 80 <= list(first.values()).count(500) <= 160


def test_a_repeated_text_draws_again(provider, client):
    provider.rules({"when": {"probability": 0.5}, "do": "status", "status": 500})
    assert {client.google("1 Elm St").status for _ in range(40)} == {200, 500}


@pytest.mark.parametrize("status", [401, 402, 429, 503])
def test_a_status_comes_with_the_dialects_error_body(provider, client, status):
    provider.rules({"do": "status", "status": status, "message": "so it is"})
    response = client.get("/geocode/v1/json", q="1 Elm St")
    assert response.status == status
    assert json.loads(response.text)["status"] == {"code": status, "message": "so it is"}
    assert response.headers["Retry-After"] is None


def test_google_names_the_error_that_goes_with_the_status(provider, client):
    provider.rules({"do": "status", "status": 401})
    assert json.loads(client.google("1 Elm St").text)["status"] == "REQUEST_DENIED"
    provider.rules({"do": "status", "status": 503})
    assert json.loads(client.google("1 Elm St").text)["status"] == "UNKNOWN_ERROR"


def test_retry_after_comes_in_seconds_as_a_date_or_as_nonsense(provider, client):
    provider.rules({"do": "status", "status": 429, "retry_after": 7})
    assert client.google("1 Elm St").headers["Retry-After"] == "7"
    provider.rules({"do": "status", "status": 503, "retry_after": "date:+90"})
    when = email.utils.parsedate_to_datetime(client.google("1 Elm St").headers["Retry-After"])
    assert 80 < when.timestamp() - time.time() < 100
    provider.rules({"do": "status", "status": 429, "retry_after": "soon"})
    assert client.google("1 Elm St").headers["Retry-After"] == "soon"


@pytest.mark.parametrize("status", [403, 500])
def test_a_status_can_come_as_html(provider, client, status):
    provider.rules({"do": "status", "status": status, "html": True})
    response = client.google("1 Elm St")
    assert response.status == status
    assert response.headers.get_content_type() == "text/html"
    assert response.text.startswith("<html>")


@pytest.mark.parametrize("code", ["OVER_QUERY_LIMIT", "REQUEST_DENIED", "UNKNOWN_ERROR"])
def test_google_hides_an_error_in_a_200(provider, client, code):
    provider.rules({"do": "in_body_error", "code": code, "message": "daily request quota"})
    response = client.google("1 Elm St")
    assert response.status == 200
    assert json.loads(response.text) == {
        "error_message": "daily request quota",
        "results": [],
        "status": code,
    }


def test_other_dialects_hide_their_errors_in_a_200_too(provider, client):
    provider.rules({"do": "in_body_error", "status": 402, "message": "no more"})
    assert json.loads(client.get("/v1.9/geocode", q="x").text) == {"error": "no more"}
    response = client.get("/geocoder/locations/onelineaddress", address="x", benchmark="4")
    assert (response.status, json.loads(response.text)["errors"]) == (200, ["no more"])


def test_empty_results_are_a_false_no_match(provider, client):
    provider.rules({"do": "empty_results"})
    assert json.loads(client.google(HERE).text)["status"] == "ZERO_RESULTS"
    _, rows = census_batch(client, CENSUS_ROWS[:2])
    assert [row[2] for row in rows] == ["No_Match", "No_Match"]


def test_a_proxy_answers_200_with_plain_text(provider, client):
    provider.rules({"do": "text"})
    response = client.google("1 Elm St")
    assert (response.status, response.text) == (200, "PROXY_OVER_QUERY_LIMIT")
    provider.rules({"do": "text", "body": ""})
    assert client.google("1 Elm St").text == ""


def test_half_json_is_a_whole_reply(provider, client):
    provider.rules({"do": "half_body"})
    response = client.google("1 Elm St")
    with pytest.raises(json.JSONDecodeError):
        json.loads(response.text)
    provider.script({})
    assert client.google("1 Elm St").status == 200  # on the same connection


def test_answers_drift_between_versions_of_the_data(provider, client):
    before = google_point(client, HERE)
    provider.rules({"do": "answer", "version": 2})
    assert google_point(client, HERE) != before


@pytest.mark.parametrize(
    "rule, refs",
    [
        ({"do": "items_missing"}, "ab"),
        ({"do": "items_missing", "items": [0, 2]}, "b"),
        ({"do": "items_doubled"}, "aabc"),
        ({"do": "items_doubled", "items": [1]}, "abbc"),
        ({"do": "items_reordered"}, "cba"),
    ],
)
def test_items_of_a_batch_go_missing_twice_or_astray(provider, client, rule, refs):
    provider.rules(rule)
    results = json.loads(client.post("/v1.9/geocode", '["a", "b", "c"]').text)["results"]
    assert "".join(result["query"] for result in results) == refs
    assert len(provider.bill()) == 3
    rows = csv.DictReader(io.StringIO(ban_batch(client, "adresse\na\nb\nc\n").text))
    assert "".join(row["adresse"] for row in rows) == refs
    _, rows = census_batch(client, [(ref, "1 Elm St", "", "", "") for ref in "abc"])
    assert sorted(row[0] for row in rows) == sorted(refs)


# ------------------------------------------------------------------ faults: broken replies


@pytest.mark.parametrize("latency, least_ms", [(80, 80), ([80, 120], 80)])
def test_latency_holds_the_reply_back(provider, client, latency, least_ms):
    provider.rules({"latency_ms": latency})
    start = time.monotonic_ns()
    client.google("1 Elm St")
    assert time.monotonic_ns() - start >= least_ms * 1_000_000


def test_a_declared_length_may_be_too_long(provider, client):
    provider.rules({"do": "wrong_length", "delta": 10})
    with pytest.raises(http.client.IncompleteRead) as error:
        client.google("1 Elm St")
    assert json.loads(error.value.partial)["status"] == "OK"  # only the length is wrong


def test_a_declared_length_may_be_too_short(provider):
    provider.rules({"do": "wrong_length", "delta": -20})
    head, _, body = raw(provider, GOOGLE).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body) - 20}".encode() in head


def test_a_reply_is_cut_inside_its_head(provider):
    provider.rules({"do": "cut_head"})
    received = raw(provider, GOOGLE)
    assert received.startswith(b"HTTP/1.1 200") and b"\r\n\r\n" not in received


def test_a_reply_is_cut_inside_its_body(provider, client):
    provider.rules({"do": "cut_body"})
    with pytest.raises(http.client.IncompleteRead) as error:
        client.google("1 Elm St")
    with pytest.raises(json.JSONDecodeError):
        json.loads(error.value.partial)


def test_a_connection_closes_before_the_reply_and_the_call_is_billed(provider):
    provider.rules({"do": "close"})
    assert raw(provider, GOOGLE) == b""
    assert [line.text for line in provider.bill()] == ["1 Elm St"]


def test_a_connection_resets_before_the_reply(provider):
    provider.rules({"do": "close", "reset": True})
    with pytest.raises(ConnectionResetError):
        raw(provider, GOOGLE)
    assert len(provider.bill()) == 1


def test_only_a_reused_connection_closes_without_a_byte(provider):
    provider.rules({"when": {"reused": True}, "do": "close"})
    client = Client(provider)
    assert client.google("1 Elm St").status == 200
    with pytest.raises(http.client.RemoteDisconnected):
        client.google("2 Elm St")
    assert Client(provider).google("3 Elm St").status == 200
    assert [line.text for line in provider.bill()] == ["1 Elm St", "2 Elm St", "3 Elm St"]


def test_a_connection_closes_after_an_answer_without_saying_so(provider):
    provider.rules({"then_close": True})
    received = raw(provider, GOOGLE)  # returns, so the server closed
    assert received.endswith(b"}") and b"Connection: close" not in received


def test_a_hanging_reply_never_comes(provider):
    provider.rules({"do": "hang"})
    with socket.create_connection(("127.0.0.1", provider.port)) as wire:
        wire.sendall(f"GET {GOOGLE} HTTP/1.1\r\n\r\n".encode())
        assert provider.wait(in_flight=1)["in_flight"] == 1
        wire.settimeout(0.3)
        with pytest.raises(TimeoutError):
            wire.recv(1)
    assert len(provider.bill()) == 1


def test_connections_that_are_never_read_cost_nothing_and_can_be_ended(provider):
    provider.script({"welcome": "never_read"})
    with socket.create_connection(("127.0.0.1", provider.port)) as wire:
        wire.sendall(f"GET {GOOGLE} HTTP/1.1\r\n\r\n".encode())
        wire.settimeout(0.3)
        with pytest.raises(TimeoutError):
            wire.recv(1)
        assert provider.stats()["open"] >= 1
    assert provider.bill() == []
    assert provider.stats()["requests"] == 0
    provider.script({})
    assert Client(provider).google(HERE).status == 200
    assert len(provider.bill()) == 1


def test_connections_that_are_cut_end_without_a_reply_or_a_bill(provider):
    open_before = Client(provider)
    assert open_before.google(HERE).status == 200
    provider.script({"welcome": "cut"})
    with socket.create_connection(("127.0.0.1", provider.port)) as wire:
        wire.sendall(f"GET {GOOGLE} HTTP/1.1\r\n\r\n".encode())
        assert wire.recv(1) == b""
    assert len(provider.bill()) == 1
    assert open_before.google(HERE).status == 200  # it is served as before


def test_a_slow_reply_drips(provider):
    provider.rules({"do": "slow", "bytes_per_s": 20})
    start = time.monotonic()
    received = raw(provider, GOOGLE, until_bytes=6)
    assert received == b"HTTP/1"
    assert time.monotonic() - start >= 5 / 20


def test_chunks_without_end(provider):
    provider.rules({"do": "endless_chunks"})
    received = raw(provider, GOOGLE, until_bytes=20_000)
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert body.startswith(b"400\r\n") and b"\r\n0\r\n" not in body


def test_a_gzip_bomb_inflates_to_what_it_was_told(provider):
    provider.rules({"do": "gzip_bomb", "inflated_mib": 3, "then_close": True})
    head, _, body = raw(provider, GOOGLE).partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert gzip.decompress(body) == b" " * (3 << 20)


def test_the_default_gzip_bomb_holds_a_gibibyte(provider):
    provider.rules({"do": "gzip_bomb", "then_close": True})
    body = raw(provider, GOOGLE).partition(b"\r\n\r\n")[2]
    assert len(body) < 2 << 20
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    total = 0
    while body:
        total += len(inflater.decompress(body, 1 << 24))
        body = inflater.unconsumed_tail
    assert total == 1 << 30


def test_a_reply_comes_twice(provider):
    provider.rules({"do": "twice", "then_close": True})
    assert raw(provider, GOOGLE).count(b"HTTP/1.1 200 OK") == 2


# ------------------------------------------------------------------ scripts and speed


@pytest.mark.parametrize(
    "script, says",
    [
        ("{", "JSON object"),
        ('{"rule": []}', "rule"),
        ('{"rules": [{"do": "explode"}]}', "explode"),
        ('{"rules": [{"when": {"txt": "a"}}]}', "txt"),
        ('{"rules": [{"when": {"dialect": "here"}}]}', "here"),
        ('{"rules": [{"do": "status", "status": "500"}]}', "status"),
        ('{"rules": [{"latency_ms": [9, 1]}]}', "latency_ms"),
    ],
)
def test_a_script_that_is_not_understood_is_refused_and_the_old_one_stays(provider, script, says):
    provider.rules({"do": "status", "status": 500})
    client = Client(provider)
    refused = client.post("/__fakegeo/script", script)
    assert refused.status == 400 and says in refused.text
    assert client.google("1 Elm St").status == 500


def test_a_script_file_rules_from_the_first_request(tmp_path):
    with Fakegeo(tmp_path, script={"rules": [{"do": "status", "status": 402}]}) as provider:
        assert Client(provider).google("1 Elm St").status == 402


def test_a_bad_script_file_stops_the_start(tmp_path):
    (tmp_path / "bad.json").write_text('{"rules": 1}')
    command = [find_binary("fakegeo"), "--bill", tmp_path / "bill", "--script", tmp_path / "bad.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 2 and "rules" in done.stderr


def test_pipelined_requests_are_answered_in_their_order(provider):
    with socket.create_connection(("127.0.0.1", provider.port), timeout=10) as wire:
        wire.sendall(
            b"".join(b"GET /geocodage/search?q=place%d HTTP/1.1\r\n\r\n" % i for i in range(20))
        )
        received = b""
        while received.count(b"HTTP/1.1 200") < 20 or not received.endswith(b"}"):
            received += wire.recv(65536)
    places = [received.find(b'"query":"place%d"' % i) for i in range(20)]
    assert places == sorted(places) and places[0] > 0


def test_waiting_replies_do_not_wait_for_each_other(tmp_path):
    with Fakegeo(tmp_path, latency_ms=50) as provider:
        wires = [socket.create_connection(("127.0.0.1", provider.port)) for _ in range(64)]
        start = time.monotonic()
        for _ in range(5):
            for wire in wires:
                wire.sendall(f"GET {GOOGLE} HTTP/1.1\r\n\r\n".encode())
            for wire in wires:
                while not wire.recv(65536).endswith(b"}"):
                    pass
        took = time.monotonic() - start
        for wire in wires:
            wire.close()
        stats = provider.stats()
        assert (stats["requests"], stats["max_in_flight"]) == (320, 64)
        assert 0.25 <= took < 320 * 0.05 / 4  # one after the other would be 16 s


def test_generated_addresses_are_distinct_and_carry_no_marker():
    rows = us_addresses(20_000)
    assert len(set(rows)) == 20_000
    markers = {"nowhere", "tie", "zero", "abroad", "partial", "locality", "badcoord", "unreadable"}
    assert not markers & {word.lower() for row in rows for cell in row for word in cell.split()}
