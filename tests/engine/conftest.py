"""Engines for tests: real processes, built when they are not there yet."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from inventory.gateways.engine import Engine
from inventory.gateways.engine_process import EngineProcess, stop
from inventory.gateways.engine_wire import Call, exchange
from tests.engine.problems import GATES


@pytest.fixture(scope="session")
def run_dir():
    """Return a short folder for sockets; its engines end with the session."""
    path = Path(tempfile.mkdtemp(prefix="slicewise-engine-"))
    yield path
    stop(path)
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def process(run_dir):
    """Return a function from a minor to its engine, running."""

    def start(minor: str) -> EngineProcess:
        engine = EngineProcess(minor, run_dir, idle="10m")
        engine.ensure()
        return engine

    return start


@pytest.fixture
def engine(process):
    """Return the newest engine without a cluster, its usual gates on."""
    return Engine(process("1.37"), gates=GATES)


@pytest.fixture
def post(process):
    """Return a function that posts JSON to the newest engine: status and body."""

    def send(path: str, body: dict, method: str = "POST") -> tuple[int, dict]:
        reply = exchange(process("1.37"), Call(method, path, body, 30.0))
        return reply.status, reply.body

    return send
