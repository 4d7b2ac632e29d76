"""The portal as it is served, for rows that measure end to end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
from django.conf import settings
from django.utils import timezone

from portal.accounts.domain.scopes import Scope
from portal.accounts.models import ApiToken, User
from portal.accounts.tokens import make_token

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 60.0


@contextmanager
def served() -> Iterator[httpx.Client]:
    """Serve the portal in a process of its own; give an admin's client of its API."""
    with serving() as (client, _pid):
        yield client


@contextmanager
def serving() -> Iterator[tuple[httpx.Client, int]]:
    """Serve the portal so; give the client, and the id of the process."""
    user, _made = User.objects.get_or_create(
        username="bench", defaults={"roles": ["admin"]}
    )
    scopes = [scope.value for scope in Scope]
    row, token = make_token(
        user=user, name="bench", scopes=scopes, days=1, now=timezone.now()
    )
    with uvicorn() as (address, pid):
        with httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60
        ) as client:
            yield client, pid
        ApiToken.objects.filter(pk=row.pk).delete()


@contextmanager
def uvicorn(env: dict[str, str] | None = None) -> Iterator[tuple[str, int]]:
    """Serve the portal on a free port; give its address and the id of the process."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    command = ["uvicorn", "portal.asgi:application", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--log-level", "warning"],
        cwd=settings.BASE_DIR,
        env={**os.environ, "SLICEWISE_DATABASE_POOL": "30", **(env or {})},
    )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


def _wait(address: str) -> None:
    ends = time.monotonic() + START_SECONDS
    while True:
        try:
            httpx.get(f"{address}/healthz").raise_for_status()
        except httpx.HTTPError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)
        else:
            return
