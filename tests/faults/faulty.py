"""An HTTP server in front of an API server that does it wrong, by a seed."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import ssl
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SLOW = "slow"
BUSY = "429"
BROKEN = "500"
CUT_BEFORE = "cut before"
CUT_AFTER = "cut after"
CUT_WITHIN = "cut within"
SLOW_SECONDS = 0.5
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class FaultyServer:
    """Forwards to a port on loopback; each request has a fault, or none, by chance.

    Attributes:
        faults: those that may happen now; none: everything is passed on.
        share: how many of the requests have one, 0 to 1.
        seen: how often each has happened.
    """

    def __init__(self, target: int, *, seed: int) -> None:
        self.target = target
        self.faults: tuple[str, ...] = ()
        self.share = 0.5
        self.seen: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        methods = {f"do_{name}": _Handler.handle_any for name in METHODS}
        handler = type("Handler", (_Handler,), {"faulty": self, **methods})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port = self._server.server_address[1]
        self._plain = self._server.socket
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def use_certificate(self, certificate: Path, key: Path) -> None:
        """Speak TLS from the next connection on, with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        earlier = self._server.socket
        self._server.socket = context.wrap_socket(
            self._plain.dup(), server_side=True, do_handshake_on_connect=False
        )
        if earlier is not self._plain:
            earlier.close()

    def fate(self) -> str:
        """Return what happens to one request, "" for nothing."""
        with self._lock:
            if not self.faults or self._chance.random() >= self.share:
                return ""
            chosen = self._chance.choice(self.faults)
            self.seen[chosen] += 1
            return chosen

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._plain.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faulty: FaultyServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def handle_any(self) -> None:
        """Answer one request, as chance has it."""
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        fate = self.faulty.fate()
        if fate == SLOW:
            time.sleep(SLOW_SECONDS)
        if fate in {BUSY, BROKEN}:
            return self._refuse(int(fate))
        if fate == CUT_BEFORE:
            return self._cut()
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._forward(body, fate)
        return self._cut()

    def _forward(self, body: bytes | None, fate: str) -> None:
        link = http.client.HTTPConnection("127.0.0.1", self.faulty.target)
        try:
            link.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():
                link.putheader(name, value)
            link.endheaders(body)
            answer = link.getresponse()
            if fate == CUT_AFTER:
                answer.read1()
                return self._cut()
            return self._pass_on(answer, fate)
        finally:
            link.close()

    def _pass_on(self, answer: http.client.HTTPResponse, fate: str) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := answer.read1(65536):
            if fate == CUT_WITHIN:
                data = data[: len(data) // 2]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if data else b"")
            self.wfile.flush()
            if fate == CUT_WITHIN:
                return self._cut()
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _refuse(self, status: int) -> None:
        reason = "TooManyRequests" if status == 429 else "InternalError"
        body = json.dumps(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "message": "played by a test",
                "reason": reason,
                "code": status,
            }
        ).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(body)

    def _cut(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
