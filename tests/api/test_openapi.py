"""api/openapi.yaml says what the gateway does, all of it."""

import json
import os
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
PYTHON = "/usr/bin/python3"  # Debian's own, which has what python3-jsonschema and python3-yaml bring


def test_the_description_in_json_is_the_one_in_yaml():
    done = subprocess.run([PYTHON, ROOT / "scripts/openapi", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_is_served_and_has_every_route_of_the_program(gateway):
    status, fields, served = gateway.get("/openapi.json")
    assert status == 200 and fields["Content-Type"] == "application/json"
    assert served == json.loads((ROOT / "api/openapi.json").read_text())
    source = (ROOT / "src/gateway/gateway.cc").read_text()
    own, others = source.split("// The paths that other APIs have")
    routes = re.findall(r'Route\{HttpMethod::(\w+), "([^"]+)"', own)
    described = [(method, path) for path, methods in served["paths"].items() for method in methods]
    assert sorted((method, path.replace("/problems/", "/problems/{name}")) for method, path in routes) == sorted(described)
    assert len(re.findall(r"Route\{", others)) >= 8


def test_its_parameters_and_members_are_those_that_are_taken(gateway, provider):
    served = gateway.get("/openapi.json")[2]
    names = [row["name"] for row in served["components"]["parameters"].values() if row["in"] == "query"]
    status, _, problem = gateway.get("/v1/geocode", nothing="x")
    assert status == 400
    assert sorted(problem["detail"].split("known are ")[1].split(", ")) == sorted(names)
    members = served["components"]["schemas"]["query"]["properties"]
    assert sorted(members) == sorted(set(names) - {"timeout_ms"})
    for name in members:
        assert gateway.request("POST", "/v1/geocode", {name: "US"})[0] in (200, 422), name


def test_whatever_is_asked_the_answer_is_described(gateway):
    """Ten thousand requests of all kinds; GEONCE_SEED repeats a run."""
    seed = int(os.environ.get("GEONCE_SEED") or random.SystemRandom().getrandbits(32))
    print(f"GEONCE_SEED={seed}")
    done = subprocess.run([PYTHON, pathlib.Path(__file__).with_name("ask_anything.py"), str(gateway.port), "10000", str(seed)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    *wrong, counts = done.stdout.splitlines()
    assert wrong == [], "\n".join(wrong[:20])
    counts = {int(status): count for status, count in json.loads(counts).items()}
    assert sum(counts.values()) == 10_000
    assert all(counts.get(status, 0) > 100 for status in (200, 400, 422)), counts
    assert not [status for status in counts if status >= 500 and status != 504], counts
