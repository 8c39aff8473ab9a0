"""Asks a gateway what its own description allows and what it does not, and holds each answer against it.

    /usr/bin/python3 ask_anything.py PORT COUNT SEED

Prints a line for each answer that is not described, and at the end how many there were of each status. Needs python3-jsonschema.
"""

import http.client
import json
import random
import sys
import urllib.parse

import jsonschema

PORT, COUNT, SEED = (int(word) for word in sys.argv[1:])
dice = random.Random(SEED)
connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)


def fetch(method, target, body=None, headers=None):
    connection.request(method, target, body, headers or {})
    response = connection.getresponse()
    return response.status, response.headers, response.read()


DESCRIPTION = json.loads(fetch("GET", "/openapi.json")[2])
PARAMETERS = [name for name, row in DESCRIPTION["components"]["parameters"].items() if row["in"] == "query"]
MEMBERS = list(DESCRIPTION["components"]["schemas"]["query"]["properties"])
WORDS = ["1 Main St", "Austin", "TX", "78701", "US", "us", "Germany", "XQ", "", " ", "12", "-1", "ü", "北京", "a" * 3000, "Nowhere St", "%", "\u0000",
         "PO Box 7", "1600 Amphitheatre Parkway, Mountain View, CA 94043", '"', "\\", "<>", "'; --", "0", "1e9", "fr", "Main & 1st"]  # fmt: skip
CONTROLS = ["", "only-if-cached", "no-cache", "max-age=60", "max-age=", "max-age=x", "stale-if-error=0", "private, max-age=1", ",", "="]
ACCEPTS = ["", "application/json", "application/geo+json", "*/*", "text/html"]


def validator(schema):
    return jsonschema.Draft202012Validator({**schema, "components": DESCRIPTION["components"]})


CHECKS = {}


def described(path, method, status, media):
    """The schema of that answer; None where the description does not know it."""
    at = (path, method, status, media)
    if at not in CHECKS:
        response = DESCRIPTION["paths"][path][method]["responses"].get(str(status))
        if response and "$ref" in response:
            response = DESCRIPTION["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
        content = response and response["content"].get(media)
        CHECKS[at] = content and validator(content["schema"])
    return CHECKS[at]


def text():
    word = dice.choice(WORDS)
    return word if dice.random() < 0.7 else word + " " + dice.choice(WORDS)


def query():
    kind = dice.random()
    if kind < 0.3:
        return text()
    if kind < 0.35:
        return dice.choice([None, 7, True, [], {"q": 1}, {"other": "x"}])
    return {name: text() if dice.random() < 0.95 else None for name in dice.sample(MEMBERS, dice.randint(0, 5))}


def request():
    headers = {"Cache-Control": dice.choice(CONTROLS), "Accept": dice.choice(ACCEPTS)}
    headers = {name: value for name, value in headers.items() if value}
    if dice.random() < 0.5:
        pairs = [(dice.choice([*PARAMETERS, "q", "country"]), text()) for _ in range(dice.randint(0, 5))]
        if dice.random() < 0.05:
            pairs.append((dice.choice(["unknown", "Q", ""]), "x"))
        target = "/v1/geocode?" + urllib.parse.urlencode(pairs, errors="surrogatepass")
        if dice.random() < 0.03:
            target += dice.choice(["%", "&&", "=", "&q=%ff", "%zz"])
        return "get", target, None, headers
    headers["Content-Type"] = dice.choice(["application/json"] * 20 + ["text/plain", "application/json; charset=utf-8", "json"])
    body = dice.choice([query, lambda: [query() for _ in range(dice.randint(0, 4))], lambda: {"queries": [query()]}])()
    encoded = json.dumps(body).encode()
    if dice.random() < 0.05:
        encoded = encoded[: dice.randint(0, len(encoded))] + dice.choice([b"", b"\xff", b"}", b"["])
    return "post", "/v1/geocode", encoded, headers


statuses = {}
for n in range(COUNT):
    method, target, body, headers = request()
    status, fields, answer = fetch(method.upper(), target, body, headers)
    statuses[status] = statuses.get(status, 0) + 1
    where = f"{n}: {method} {target[:200]} {body[:300] if body else ''} {headers}"
    media = (fields["Content-Type"] or "").split(";")[0]
    check = described("/v1/geocode", method, status, media)
    if check is None:
        print(f"not described: {status} {media} of {where}")
        continue
    error = jsonschema.exceptions.best_match(check.iter_errors(json.loads(answer)))
    if error:
        print(f"otherwise described: {error.message[:300]} in {answer[:300]} of {where}")
print(json.dumps(statuses))
