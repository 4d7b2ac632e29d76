"""The whole demo: started, killed, taken over, and stopped with a page open."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest

from portal.demo import memory, people
from tests.folders import state_folder

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slow


@pytest.fixture
def state():
    with state_folder() as path:
        yield path
        code = "from portal import embedded; embedded.stop()"
        env = {**os.environ, "SLICEWISE_STATE_DIR": str(path)}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True)


class Supervisor:
    def __init__(self, state, *arguments):
        self.log = state / "supervisor.log"
        self.log.write_text("")
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "portal.supervisor", *arguments],
                cwd=ROOT,
                env={**os.environ, "SLICEWISE_STATE_DIR": str(state)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def ready(self):
        deadline = time.monotonic() + 120
        while "is ready at" not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)
        return re.search(r"ready at (\S+)", self.log.read_text())[1]

    def children(self):
        """Return its descendants; Valkey is started apart and is none of them."""
        pids = memory.family(self.process.pid)[1:]
        return [pid for pid in pids if "valkey" not in _command(pid)]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _signed_in(address):
    client = httpx.Client(base_url=address, timeout=30)
    form = client.get("/sign-in/").text
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)[1]
    ada = people.PEOPLE[0]
    answer = client.post(
        "/sign-in/",
        data={
            "username": ada.username,
            "password": ada.password,
            "csrfmiddlewaretoken": token,
        },
    )
    assert answer.status_code == 302
    return client


def _hold_open(client, opened):
    with suppress(httpx.HTTPError), client.stream("GET", "/c/demo/events") as stream:
        for line in stream.iter_lines():
            if line == ": open":
                opened.set()


def test_the_demo_starts_survives_and_stops(state):
    first = Supervisor(state, "--port", "0")
    try:
        first.ready()
        children = first.children()
        assert len(children) >= 6

        again = Supervisor(state, "--port", "0")
        assert again.process.wait(30) == 0
    finally:
        first.process.kill()
        first.process.wait()
    time.sleep(0.5)
    assert [pid for pid in children if _command(pid)] == []
    left = json.loads((state / "run" / "supervisor.json").read_text())
    assert left["owns"] == ["postgres", "valkey"]

    second = Supervisor(state, "--port", "0")
    try:
        with closing(_signed_in(second.ready())) as client:
            opened = threading.Event()
            page = threading.Thread(target=_hold_open, args=(client, opened))
            page.start()
            assert opened.wait(20)

            second.process.send_signal(signal.SIGINT)
            # An open page does not keep it.
            assert second.process.wait(20) == 0
            page.join(10)
    finally:
        second.process.kill()
        second.process.wait()

    assert not (state / "postgres" / "postmaster.pid").exists()
    assert not (state / "run" / "supervisor.json").exists()
