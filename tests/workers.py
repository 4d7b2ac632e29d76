"""Give each parallel test process servers of its own, and the next test when it is free.

Loaded by name (`addopts = "-p tests.workers"`), since settings, which start the
embedded servers, are read before any conftest.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from xdist.scheduler.load import LoadScheduling

WORKER = os.environ.get("PYTEST_XDIST_WORKER")

if WORKER:
    from portal import embedded

    _own = embedded.state_dir() / WORKER
    _own.mkdir(parents=True, exist_ok=True)
    _own.chmod(0o755)  # Postgres, started by root, runs as another user
    os.environ["SLICEWISE_STATE_DIR"] = str(_own)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Stop what this process' tests started; the main process' own is `make stop`'s."""
    if WORKER:
        from inventory.gateways import engine_process
        from portal import embedded

        run: Path = embedded.run_dir()
        engine_process.stop(run)
        embedded.stop()


class NextOne(LoadScheduling):
    """Give whoever is free the next test: little waits behind what takes long."""

    def check_schedule(self, node, duration: float = 0) -> None:
        """Keep two tests at a process: it begins one when it knows of another."""
        if node.shutting_down:
            return
        if self.pending:
            self._send_tests(node, max(0, 2 - len(self.node2pending[node])))
        else:
            node.shutdown()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log) -> NextOne | None:
    """Have processes take tests in their order, unless another way is asked for."""
    return NextOne(config, log) if config.getoption("dist") == "load" else None
