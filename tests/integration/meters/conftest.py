"""A server of Prometheus' query API with recorded answers, and a cluster that asks it."""

from __future__ import annotations

import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from inventory.services.metering import PEAK, USED, UTILISATION
from tests.conftest import DATA
from tests.integration.pages.conftest import browse, held_claims, held_cluster

__all__ = ["browse", "held_claims", "held_cluster"]
RECORDED = DATA / "prometheus"


class Server:
    """Prometheus, as far as it is asked.

    Attributes:
        answers: expression → (status, body).
        asked: the expressions, in order.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/prom"
        self.asked: list[str] = []
        busy = (RECORDED / "utilisation.json").read_text()
        self.answers = {
            USED: (200, (RECORDED / "used.json").read_text()),
            UTILISATION: (200, busy),
            PEAK: (200, busy),
        }

    def fail(self, expression: str, status: int = 503, body: str = "") -> None:
        """Answer one question with an error, or with anything else."""
        self.answers[expression] = status, body

    def change(self, expression: str, uuid: str, value: str) -> None:
        """Change one card's figure."""
        body = json.loads(self.answers[expression][1])
        for element in body["data"]["result"]:
            if element["metric"]["UUID"] == uuid:
                element["value"][1] = value
        self.answers[expression] = 200, json.dumps(body)


@pytest.fixture
def prometheus(settings):
    """Yield a running server, which an operator has allowed."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            form = urllib.parse.parse_qs(self.rfile.read(size).decode())
            expression = form["query"][0]
            served.asked.append(expression)
            known = served.answers.get(expression, (400, "{}"))
            status, body = known if self.path == "/prom/api/v1/query" else (404, "nix")
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_args):
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    served = Server(httpd.server_port)
    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]
    thread = threading.Thread(
        target=httpd.serve_forever, kwargs={"poll_interval": 0.02}
    )
    thread.start()
    yield served
    httpd.shutdown()
    thread.join()
    httpd.server_close()
