"""100 reviews a second through a real API server, against a webhook that does nothing."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
from django.utils import timezone

from inventory.services.loading import load_cluster
from portal.admission.domain.manifests import NAME, Address, manifests
from portal.admission.queries.rules import rules_in_force
from portal.admission.services.certificates import (
    ca_bundle,
    renew,
    serving_certificate,
    write_files,
)
from tests.cluster.client import Refused
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import free_ports

VERSION = "1.37.2"
RATE = 100
SECONDS = 10
WARM_UP = 100
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "example.com"'}}]},
}
ROOT = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def measured() -> tuple[float, float]:
    """Ask for claims at a rate with one webhook, then the other; p99 of ours, theirs."""
    now = timezone.now()
    renew(now=now, force=True)
    load_cluster(
        "bench", [CLASS], kubernetes_version=VERSION, feature_gates={}, now=now
    )
    noop, ours = free_ports(2)
    with ControlPlane(VERSION) as plane, tempfile.TemporaryDirectory() as folder:
        plane.apply([CLASS])
        chain, key = write_files(Path(folder), serving_certificate(now=now))
        server = [sys.executable, "manage.py", "serve_admission"]
        serving = [sys.executable, "-m", "tests.bench.noop_webhook"]
        with (
            _started([*serving, str(noop), str(chain), str(key)], noop),
            _started([*server, "--host", "127.0.0.1", "--port", str(ours)], ours),
        ):
            theirs = _p99(plane, noop)
            own = _p99(plane, ours)
            theirs = min(theirs, _p99(plane, noop))
    return own, theirs


@contextmanager
def _started(command: list[str], port: int) -> Iterator[None]:
    env = {**os.environ, "SLICEWISE_ADMISSION": "true"}
    with subprocess.Popen(command, env=env) as process:
        try:
            deadline = time.monotonic() + 60
            while True:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"{command[1:3]} does not serve")
                time.sleep(0.1)
            yield
        finally:
            process.terminate()


def _p99(plane: ControlPlane, port: int) -> float:
    """Install one webhook and return the 99th percentile of creating claims, seconds."""
    address = Address(
        url=f"https://127.0.0.1:{port}",
        cluster="bench",
        ca_bundle=ca_bundle(now=timezone.now()),
    )
    body = next(
        each
        for each in manifests(rules_in_force(), address)
        if each["kind"] == "ValidatingWebhookConfiguration"
    )
    with suppress(Refused):
        plane.admin.call("DELETE", f"{ROOT}/{NAME}")
    plane.admin.call("POST", ROOT, body)
    time.sleep(2)
    taken = sorted(asyncio.run(_load(plane)))
    return taken[int(len(taken) * 0.99)]


async def _load(plane: ControlPlane) -> list[float]:
    headers = {"Authorization": f"Bearer {plane.credentials.tokens['admin']}"}
    async with httpx.AsyncClient(
        base_url=plane.server, headers=headers, verify=str(plane.ca_file), timeout=30
    ) as client:
        for index in range(WARM_UP):
            await _create(client, f"w{index}")
        start = time.perf_counter()
        calls = []
        for index in range(RATE * SECONDS):
            await asyncio.sleep(max(0, start + index / RATE - time.perf_counter()))
            calls.append(asyncio.create_task(_create(client, f"c{index}")))
        return await asyncio.gather(*calls)


async def _create(client: httpx.AsyncClient, name: str) -> float:
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "devices": {
                "requests": [
                    {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
                ]
            }
        },
    }
    started = time.perf_counter()
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims?dryRun=All"
    response = await client.post(path, json=body)
    response.raise_for_status()
    return time.perf_counter() - started
