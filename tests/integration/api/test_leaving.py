"""A client that leaves takes its question with it: the engine stops, no thread waits."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.utils import timezone

from inventory.gateways.engine_process import pid_at
from inventory.gateways.files import read_objects
from inventory.models import Cluster
from inventory.services.engines import engine_for
from inventory.services.loading import load_cluster
from portal.accounts.domain.scopes import Scope
from portal.accounts.models import User
from portal.accounts.tokens import make_token
from portal.core.handler import Handler

pytestmark = pytest.mark.django_db(transaction=True)

DATA = Path(__file__).resolve().parents[2] / "data"
SECOND = os.sysconf("SC_CLK_TCK")
ALL = tuple(scope.value for scope in Scope)


def ticks() -> int:
    """Return what the engine has worked so far, in clock ticks."""
    pid = pid_at(Path(settings.SLICEWISE_RUN_DIR) / "engine-1.37.sock")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def hard_question() -> tuple[dict, str]:
    """Load a cluster where the search explodes; return the claim, and a token."""
    files = ["fleets/nvidia-h100-dynamic-mig-k8s135.yaml", "claims/deviceclasses.yaml"]
    load_cluster(
        "hard",
        [body for name in files for body in read_objects(str(DATA / name))],
        kubernetes_version="1.37.2",
        feature_gates={},
        now=timezone.now(),
    )
    user = User.objects.create_user("root", roles=["admin"])
    _row, token = make_token(
        user=user, name="t", scopes=ALL, days=1, now=timezone.now()
    )
    (claim,) = read_objects(str(DATA / "cases" / "58-allocator-timeout.yaml"))
    return claim, token


def warm() -> None:
    """Have the engine there and filled, so that what it works later is the search."""
    engine_for(Cluster.objects.get(name="hard")).evaluate(["true"])


def request(path: str, token: str, body: bytes) -> ApplicationCommunicator:
    """Return a POST that is about to be sent."""
    headers = {
        "host": "localhost",
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "content-length": str(len(body)),
    }
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": f"/api/v1/clusters/hard/{path}",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
        "server": ("localhost", 80),
    }
    return ApplicationCommunicator(Handler(), scope)


@pytest.mark.parametrize("path", ["preview", "check", "what-if"])
async def test_who_leaves_ends_the_search(path, settings):
    settings.SLICEWISE_PREVIEW_BUDGET_SECONDS = 60
    claim, token = await sync_to_async(hard_question)()
    supposed = {"kind": "add", "target": "gpu-h100-mig"}
    body = (
        {"manifest": claim, "suppose": supposed}
        if path == "what-if"
        else {"objects": [claim]}
    )
    await sync_to_async(warm)()
    began = ticks()
    content = json.dumps(body).encode()
    sent = request(path, token, content)
    await sent.send_input({"type": "http.request", "body": content})
    for _ in range(100):
        if ticks() - began > SECOND:
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the engine was never busy")
    assert sent.output_queue.empty()

    await sent.send_input({"type": "http.disconnect"})
    await sent.wait(timeout=5)

    await asyncio.sleep(0.3)
    stopped = ticks()
    await asyncio.sleep(1)
    assert ticks() - stopped < SECOND / 5
