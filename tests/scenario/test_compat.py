"""Clients of other APIs are given another host and nothing else, whichever provider really answers."""

import http.client
import json
import subprocess
import urllib.parse

import pytest
from geonce_fixtures import Gateway, Geonce, point_of

ADDRESS = "5 Main Street, Austin, TX 78701"
NOWHERE = "7 Nowhere St, Reno, NV 89501"
# Debian's own, which has geopy (python3-geopy).
PYTHON = "/usr/bin/python3"

# A client as its users make it, and a question as they put it.
CLIENTS = {
    "google": ("GoogleV3(api_key='k', domain=host, scheme='http')", "components={'country': 'US'}"),
    "nominatim": ("Nominatim(domain=host, scheme='http', user_agent='test')", "country_codes='us'"),
    "photon": ("Photon(domain=host, scheme='http')", ""),
    "pelias": ("Pelias(host, scheme='http')", "countries=['USA']"),
    "opencage": ("OpenCage('k', domain=host, scheme='http')", "country='us'"),
    "geocodio": ("Geocodio('k', scheme='http')", ""),
}


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """Prints what geopy makes of each address: a point and a line, none, or the exception's name."""
    path = tmp_path_factory.mktemp("geopy") / "ask.py"
    path.write_text("""
import json, sys
from geopy.geocoders import *
from geopy import exc
host, make, options, *texts = sys.argv[1:]
Geocodio.domain = host
client = eval(make)
for text in texts:
    try:
        found = eval(f"client.geocode(text, timeout=30, {options})")
        print(json.dumps(found and [found.latitude, found.longitude, found.address]))
    except exc.GeocoderServiceError as error:
        print(json.dumps(type(error).__name__))
""")
    return path


def ask(script, gateway, name, *texts):
    make, options = CLIENTS[name]
    done = subprocess.run([PYTHON, script, f"127.0.0.1:{gateway.port}", make, options, *texts],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def us(tmp_path, provider):
    """A gateway in front of a provider that lets everything be kept."""
    with Gateway(Geonce(tmp_path / "g", provider.url, chain=("opencage",), extra='\n[batch]\ndefault_country = "US"\n')) as running:
        yield running


@pytest.mark.parametrize("name", CLIENTS)
def test_geopy_finds_an_address_and_does_not_find_another(us, provider, script, name):
    found, again, nothing = ask(script, us, name, ADDRESS, ADDRESS.upper(), NOWHERE)
    assert found[:2] == pytest.approx(point_of(ADDRESS), abs=1e-6)
    assert again[:2] == found[:2]
    assert "main street" in found[2].lower(), found
    assert nothing is None
    assert len(provider.bill()) == 2, "the second spelling is the same address"


@pytest.mark.parametrize("name", CLIENTS)
def test_geopy_raises_what_it_raises_for_the_provider(tmp_path, script, name):
    with Gateway(Geonce(tmp_path / "g", "http://127.0.0.1:9", chain=("opencage",), extra='\n[batch]\ndefault_country = "US"\n')) as gateway:
        down, empty = ask(script, gateway, name, ADDRESS, " , ")
    assert down in ("GeocoderUnavailable", "GeocoderServiceError", "GeocoderTimedOut"), down
    assert empty in ("GeocoderQueryError", "GeocoderServiceError"), empty


@pytest.mark.parametrize("name", ["google", "nominatim", "opencage", "geocodio"])
def test_geonce_itself_reads_what_it_says_in_the_words_of_a_provider(tmp_path, provider, us, name):
    """A gateway behind a gateway: what the spec file of the provider reads is what the first one knows."""
    behind = Geonce(tmp_path / "behind", f"http://127.0.0.1:{us.port}", chain=(name,))
    behind.environment["GEONCE_PROVIDERS_NOMINATIM_USER_AGENT"] = "test@example.org"
    done = behind.run("get", ADDRESS, "--country", "US", "--json")
    assert done.rc == 0, done.err
    first = us.get("/v1/geocode", q=ADDRESS, country="US")[2]
    second = json.loads(done.out)
    for member in ("key", "status", "lat", "lng", "precision"):
        assert second[member] == pytest.approx(first[member]) if member in ("lat", "lng") else first[member], member
    assert behind.run("get", NOWHERE, "--country", "US").rc == 6
    assert "no_match" in behind.run("get", NOWHERE, "--country", "US").out
    assert len(provider.bill()) == 2


def fetch(gateway, target):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
    connection.request("GET", target)
    response = connection.getresponse()
    return response.status, response.headers, json.loads(response.read())


Q, NOT = urllib.parse.quote(ADDRESS), urllib.parse.quote(NOWHERE)


@pytest.mark.parametrize("target, lat, lng, none, bad, status", [
    ("/api/v1/geocode?country=US&q=", ("results", 0, "location", "lat"), ("results", 0, "location", "lng"), ("results",), "error", 400),
    ("/maps/api/geocode/json?components=country:US&address=", ("results", 0, "geometry", "location", "lat"),
     ("results", 0, "geometry", "location", "lng"), ("results",), "error_message", 400),
    ("/search/geocode/v6/forward?country=us&q=", ("features", 0, "properties", "coordinates", "latitude"),
     ("features", 0, "geometry", "coordinates", 0), ("features",), "message", 422),
    ("/search?format=jsonv2&countrycodes=us&q=", (0, "lat"), (0, "lon"), (), "error", 400),
    ("/search?format=json&countrycodes=us&q=", (0, "lat"), (0, "lon"), (), "error", 400),
    ("/search?format=geocodejson&countrycodes=us&q=", ("features", 0, "geometry", "coordinates", 1),
     ("features", 0, "geometry", "coordinates", 0), ("features",), "error", 400),
    ("/api/?countrycode=us&q=", ("features", 0, "geometry", "coordinates", 1), ("features", 0, "geometry", "coordinates", 0),
     ("features",), "message", 400),
    ("/v1/search?boundary.country=USA&text=", ("features", 0, "geometry", "coordinates", 1),
     ("features", 0, "geometry", "coordinates", 0), ("features",), "geocoding", 400),
    ("/geocode/v1/json?countrycode=us&q=", ("results", 0, "geometry", "lat"), ("results", 0, "geometry", "lng"), ("results",), "status", 400),
    ("/v1.9/geocode?q=", ("results", 0, "location", "lat"), ("results", 0, "location", "lng"), ("results",), "error", 422),
])  # fmt: skip
def test_each_api_has_its_shape_of_an_answer_of_none_and_of_an_error(us, target, lat, lng, none, bad, status):
    def at(value, path):
        for step in path:
            value = value[step]
        return value

    seen, fields, answer = fetch(us, target + Q)
    assert seen == 200 and fields["Geonce-Key"].startswith("n1_") and fields["Cache-Status"].startswith("geonce; ")
    assert (float(at(answer, lat)), float(at(answer, lng))) == pytest.approx(point_of(ADDRESS))
    seen, fields, answer = fetch(us, target + NOT)
    assert seen == 200 and at(answer, none) == [], answer
    seen, _, answer = fetch(us, target)
    assert seen == status and answer[bad], answer
