"""The client, run against a server that answers over HTTP."""

from __future__ import annotations

import threading

import pytest
from django.db import connections
from django.utils import timezone

from tests.integration.api.conftest import (  # noqa: F401  fixtures
    admin,
    call,
    cluster,
    held_claims,
    held_cluster,
    kubeconfigs,
    no_counts,
    no_pods,
    observe,
    template,
)


@pytest.fixture
def slicewise(live_server, ada, call, monkeypatch, tmp_path, capsys):  # noqa: F811
    """Return a function that runs a command as Ada: (status, output, errors)."""
    from slicewise_cli.main import main

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SLICEWISE_SERVER", live_server.url)
    monkeypatch.setenv("SLICEWISE_TOKEN", call(ada).token)

    def run(*arguments):
        capsys.readouterr()
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def worker():
    """Work on claim requests in the background, as the worker's sweep does."""
    from claims.services.working import sweep

    over = threading.Event()

    def work():
        while not over.wait(0.1):
            sweep(clock=timezone.now)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    over.set()
    thread.join()
