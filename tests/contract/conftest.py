"""Fixtures that start each API server once, however many tests ask for it.

`api` runs a test against the simulated server and every real one, `real` against the real
ones alone. Real ones carry the mark `cluster`; SLICEWISE_API=sim,1.37.2 chooses by name.
"""

from __future__ import annotations

import contextlib
import importlib.util
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.build import supported_versions
from tests.cluster.client import Client, Object
from tests.contract import objects
from tests.contract.servers import SIMULATED, RealServer, Server, start, wanted

REAL = [
    pytest.param(version, marks=pytest.mark.cluster)
    for version in wanted(list(supported_versions().values()))
]
Starter = Callable[[str], Any]


@pytest.fixture(scope="package")
def start_once() -> Iterator[Starter]:
    """Return a function that gives the one server of a name."""
    running: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:

        def get(name: str) -> Any:
            if name not in running:
                running[name] = stack.enter_context(start(name))
            return running[name]

        yield get


@pytest.fixture(scope="package", params=[*wanted([SIMULATED]), *REAL])
def api(request: pytest.FixtureRequest, start_once: Starter) -> Server:
    """Return each server in turn."""
    if request.param == SIMULATED and not importlib.util.find_spec(
        "simcluster.__main__"
    ):
        pytest.skip("there is no simulated API server yet")
    return start_once(request.param)


@pytest.fixture(scope="package", params=REAL)
def real(request: pytest.FixtureRequest, start_once: Starter) -> RealServer:
    """Return each real server in turn: for what the simulated one does not check."""
    return start_once(request.param)


@pytest.fixture
def admin(api: Server) -> Client:
    """Return the client that may do everything."""
    return api.client()


@pytest.fixture
def real_admin(real: RealServer) -> Client:
    """Return the client that may do everything, on a real server."""
    return real.client()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Return a maker of names that no other test uses."""
    return unique_name


def unique_name(prefix: str = "t") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def namespace(admin: Client) -> str:
    """Return a namespace of the test's own."""
    return admin.create(objects.namespace(unique_name("ns")))["metadata"]["name"]


@pytest.fixture
def real_namespace(real_admin: Client) -> str:
    """Return a namespace of the test's own, on a real server."""
    return real_admin.create(objects.namespace(unique_name("ns")))["metadata"]["name"]


@pytest.fixture
def stored_claim(admin: Client, namespace: str) -> Object:
    """Return a claim as it is stored."""
    return admin.create(objects.claim("stored", namespace))


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], Any]:
    """Return a function that calls until the answer is true, for a minute at most."""

    def wait(condition: Callable[[], Any], seconds: float = 60) -> Any:
        deadline = time.monotonic() + seconds
        while not (answer := condition()):
            if time.monotonic() > deadline:
                pytest.fail(f"not true after {seconds} s")
            time.sleep(0.1)
        return answer

    return wait
