"""`make audit` asks about every pin and every engine, and fails on what is known."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[3]
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==", re.MULTILINE)
WHEN = "2026-11-30T00:00:00Z"
EVENTS = [{"introduced": "0"}, {"fixed": "999.0.0"}]


def known(package, ecosystem, *, identity, **more):
    """Return an entry of OSV: all versions since the first are vulnerable."""
    affected = {
        "package": {"name": package, "ecosystem": ecosystem},
        "ranges": [{"type": "SEMVER", "events": EVENTS}],
        **more,
    }
    return {
        "id": identity,
        "modified": WHEN,
        "published": WHEN,
        "summary": "made up",
        "details": "made up",
        "affected": [affected],
        "database_specific": {"url": "https://example.com"},
    }


class Osv(ThreadingHTTPServer):
    """Answers as OSV does; `bad` are the names of packages with something known."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.bad: set[str] = set()
        self.asked: set[str] = set()
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1/query"


class _Answer(BaseHTTPRequestHandler):
    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = sent["package"]["name"]
        self.server.asked.add(name)
        entry = known(name, "PyPI", identity="PYSEC-2026-1")
        found = {"vulns": [entry]} if name in self.server.bad else {}
        text = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_said):
        pass


@pytest.fixture
def osv():
    server = Osv()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def go_database(tmp_path):
    """Return a database that knows of two functions, of which the engine calls one."""
    module = "k8s.io/dynamic-resource-allocation"
    entries = {
        identity: known(
            module,
            "Go",
            identity=identity,
            ecosystem_specific={
                "imports": [{"path": f"{module}/{package}", "symbols": [symbol]}]
            },
        )
        for identity, package, symbol in (
            ("GO-2026-0001", "structured", "NewAllocator"),
            ("GO-2026-0002", "cel", "NoSuchFunction"),
        )
    }
    vulns = [{"id": identity, "modified": WHEN} for identity in entries]
    for name, body in {
        "index/db.json": {"modified": WHEN},
        "index/modules.json": [{"path": module, "vulns": vulns}],
        "index/vulns.json": [],
        **{f"ID/{identity}.json": entry for identity, entry in entries.items()},
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(body))
    return tmp_path.as_uri()


def audit(osv, *more):
    return subprocess.run(
        [sys.executable, "scripts/audit.py", "--osv-url", osv.url, *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_known_passes_and_every_pin_was_asked_about(osv):
    done = audit(osv, "--engines", "")

    assert done.returncode == 0, done.stdout + done.stderr
    assert osv.asked >= {
        name.lower().replace("_", "-")
        for lock in (ROOT / "requirements").glob("*.lock")
        for name in PIN.findall(lock.read_text())
    }


def test_scripts_that_browsers_are_served_are_asked_about_too(osv):
    osv.bad = {"htmx.org"}

    done = audit(osv, "--engines", "")

    assert {"htmx.org", "swagger-ui-dist"} <= osv.asked
    assert done.returncode == 1
    assert re.search(r"^htmx\.org \S+ PYSEC-2026-1$", done.stdout, re.MULTILINE)


def test_what_is_known_of_a_package_fails_and_is_named(osv):
    osv.bad = {"sqlparse"}

    done = audit(osv, "--engines", "")

    assert done.returncode == 1
    assert re.search(r"^sqlparse +\S+ +PYSEC-2026-1", done.stdout, re.MULTILINE)


def test_what_an_engine_calls_fails_and_is_named(osv, go_database):
    done = audit(osv, "--go-database", go_database, "--engines", "1.34")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "Vulnerability #1: GO-2026-0001" in done.stdout
    assert "affected by 1 vulnerability" in done.stdout
