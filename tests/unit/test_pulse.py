"""When a server is asked for its gates again."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from inventory.services.watching import pulse as module
from inventory.services.watching.pulse import Pulse


class Server:
    """Answers as one server; what it is asked for its gates is counted."""

    def __init__(self) -> None:
        self.asked = 0

    def get(self, _kind, _name):
        return {"metadata": {"uid": "u"}}

    def version(self):
        return "v1.34.4"

    def pages(self, _kind, limit):
        assert limit == 1
        return [SimpleNamespace(resource_version="7")]


@pytest.fixture
def server(monkeypatch):
    found = Server()

    def gates(kube):
        kube.asked += 1
        return {"DRADeviceTaints": False}

    monkeypatch.setattr(module, "feature_gates", gates)
    return found


def test_gates_are_asked_again_only_after_a_reader_lost_the_server(server):
    told = []
    inbox = SimpleNamespace(hear=lambda: None, put=told.append)
    pulse = Pulse(lambda: server, inbox, uid="", highest=0)

    pulse.confirm(time.monotonic())
    pulse.confirm(time.monotonic())
    assert server.asked == 1
    assert told[1].gates is None

    pulse.lost()
    pulse.confirm(time.monotonic())
    assert server.asked == 2
    assert told[2].gates == {"DRADeviceTaints": False}
