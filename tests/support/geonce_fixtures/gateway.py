"""Starts `geonce serve` and asks it."""

import http.client
import json
import re
import signal
import urllib.parse


class Gateway:
    """`with Gateway(geonce) as gateway: gateway.get("/v1/geocode", q="…")`"""

    def __init__(self, geonce, *args):
        self._geonce, self._args = geonce, args

    def __enter__(self):
        self.process = self._geonce.start("serve", "--listen", "127.0.0.1:0", *self._args)
        said = self.process.stderr.readline().decode()
        found = re.fullmatch(r"geonce: listening on http://127\.0\.0\.1:(\d+)\n", said)
        assert found, said + self.process.stderr.read().decode()
        self.port = int(found[1])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)

    def request(self, method, path, body=None, headers=None, **parameters):
        """Status, fields and JSON (or text) of the response."""
        target = path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            if body is not None and not isinstance(body, (bytes, str)):
                body, headers = json.dumps(body), {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, target, body, headers or {})
            response = connection.getresponse()
            text = response.read().decode()
            is_json = "json" in (response.getheader("Content-Type") or "")
            return response.status, response.headers, json.loads(text) if is_json and text else text
        finally:
            connection.close()

    def get(self, path, headers=None, **parameters):
        return self.request("GET", path, None, headers, **parameters)
