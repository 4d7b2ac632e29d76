"""The watcher on Kubernetes itself: after each upset Postgres equals the cluster.

What is asked of both servers is in test_upsets.py; here is what only a real one does, or
does otherwise.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from inventory.models import Allocation, Cluster, Device, KubeObject, Pool
from inventory.services import engines
from portal.core import secrets
from tests.cluster import credentials
from tests.cluster.build import supported_versions
from tests.cluster.client import path_of
from tests.cluster.controlplane import ControlPlane
from tests.contract import objects
from tests.integration.watcher.conftest import assert_same, eventually
from tests.integration.watcher.proxy import Proxy
from tests.integration.watcher.servers import RealServer
from tests.integration.watcher.test_upsets import fill, slice_of, state

pytestmark = pytest.mark.cluster
OLDEST, NEWEST = list(supported_versions().values())
SLICES, DEVICES = 2000, 20
SERVED = "resource.k8s.io/{}"


@pytest.fixture(params=[OLDEST, NEWEST])
def real(request, planes) -> Iterator[RealServer]:
    """Return each version's server in turn, emptied afterwards."""
    server = planes(request.param)
    yield server
    server.empty()


def test_lists_then_follows_any_version(real, add, watch):
    client = real.client()
    fill(client)
    cluster = add(real)
    watch()
    assert_same(cluster)
    fill(client, 1, "late")
    client.delete(slice_of("node-3"))
    stored = client.get("ResourceSlice", "node-0")
    stored["spec"]["devices"].append({"name": "gpu-9"})
    client.replace({"kind": "ResourceSlice", **stored})
    assert_same(cluster)
    assert Device.objects.filter(cluster=cluster, pool="node-0").count() == 4
    row = Cluster.objects.get(pk=cluster.pk)
    assert row.kubernetes_version == f"v{real.name}"
    assert state(cluster, "ResourceSlice") == "watching"
    # DeviceTaintRule is on by itself from 1.37 on.
    served = "watching" if real.name == NEWEST else "not-served"
    assert state(cluster, "DeviceTaintRule") == served


def test_a_driver_restarts(real, add, watch):
    """Slices go and come back a generation on; what is allocated outlives them."""
    client = real.client()
    fill(client, 2)
    cluster = add(real)
    watch()
    assert_same(cluster)
    allocate(client, "node-claim", "node-0", "gpu-1")
    eventually(lambda: Allocation.objects.filter(cluster=cluster).count() == 1)
    client.call("DELETE", path_of("ResourceSlice"))
    eventually(lambda: not Device.objects.filter(cluster=cluster).exists())
    assert Allocation.objects.filter(cluster=cluster, device="gpu-1").count() == 1
    for node in ("node-0", "node-1"):
        client.create(slice_of(node, generation=2))
    assert_same(cluster)
    assert set(Pool.objects.values_list("name", "generation")) == {
        ("node-0", 2),
        ("node-1", 2),
    }
    assert Device.objects.filter(cluster=cluster).count() == 6
    assert Allocation.objects.filter(cluster=cluster, device="gpu-1").count() == 1


def allocate(client, name, pool, device) -> None:
    claim = client.get("ResourceClaim", name, "lab")
    driver = "gpu.example.com"
    result = {"request": "gpu", "driver": driver, "pool": pool, "device": device}
    claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    client.replace({"kind": "ResourceClaim", **claim}, "status")


def test_connections_are_cut_again_and_again(real, add, watch):
    """Watches end in the middle of what they were saying."""
    client = real.client()
    proxy = Proxy(real.port)
    cluster = add(real)
    config = json.loads(secrets.decrypt(cluster.kubeconfig_encrypted))
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    cluster.kubeconfig_encrypted = secrets.encrypt(json.dumps(config))
    cluster.save()
    fill(client, 2)
    watch()
    with contextlib.closing(proxy):
        for number in range(60):
            change(client, number)
            if number % 10 == 5:
                proxy.cut()
            time.sleep(0.02)
        proxy.cut()
        assert_same(cluster, 30)
        body = KubeObject.objects.get(cluster=cluster, name="node-claim").body
        assert body["metadata"]["labels"] == {"n": "59"}


def change(client, number: int) -> None:
    metadata = {"name": "node-claim", "namespace": "lab"}
    target = {"kind": "ResourceClaim", "metadata": metadata}
    client.patch(target, {"metadata": {"labels": {"n": str(number)}}})


def test_another_etcd_behind_the_same_address(add, watch):
    with ControlPlane(NEWEST) as plane:
        server = RealServer(plane)
        fill(server.client(), 6)
        cluster = add(server)
        watch()
        assert_same(cluster)
        before = Cluster.objects.get(pk=cluster.pk).kube_system_uid
        server.become_another()
        fill(server.client(), 1, "new")
        assert_same(cluster, 60)
        row = Cluster.objects.get(pk=cluster.pk)
        assert row.kube_system_uid not in {"", before}
        assert Device.objects.filter(cluster=cluster).count() == 3


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("served", ["v1beta1", "v1beta2"])
def test_older_api_versions_alone(add, watch, version, served):
    """Written in their own shape, read into v1's."""
    config = {
        SERVED.format(each): each == served for each in ("v1", "v1beta1", "v1beta2")
    }
    with ControlPlane(version, runtime_config=config) as plane:
        client = plane.admin
        make_in(client, served)
        cluster = add(RealServer(plane))
        watch()
        assert_same(cluster)
        devices = Device.objects.filter(cluster=cluster)
        assert set(devices.values_list("name", flat=True)) == {"gpu-0", "gpu-1"}
        stored = KubeObject.objects.get(cluster=cluster, kind="ResourceSlice").body
        attributes = {"gpu.example.com/model": {"string": "x"}}
        assert [each["attributes"] for each in stored["spec"]["devices"]] in (
            [{"model": {"string": "x"}}] * 2,
            [attributes] * 2,
        )
        claim = KubeObject.objects.get(cluster=cluster, kind="ResourceClaim").body
        assert claim["apiVersion"] == "resource.k8s.io/v1"
        (request,) = claim["spec"]["devices"]["requests"]
        assert request["exactly"]["deviceClassName"] == "gpu.example.com"


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_older_api_versions_beside_v1(add, watch, version):
    config = {SERVED.format(each): True for each in ("v1beta1", "v1beta2")}
    with ControlPlane(version, runtime_config=config) as plane:
        fill(plane.admin, 2)
        make_in(plane.admin, "v1beta1")
        cluster = add(RealServer(plane))
        watch()
        assert_same(cluster)
        assert Device.objects.filter(cluster=cluster).count() == 8


def make_in(client, version: str) -> None:
    """Make a namespace, a slice of two devices and a claim in an older version."""
    with contextlib.suppress(Exception):
        client.create(objects.namespace("lab"))
    is_first = version == "v1beta1"
    attributes = {"attributes": {"model": {"string": "x"}}}
    body = {"basic": attributes} if is_first else attributes
    devices = [{"name": f"gpu-{n}", **body} for n in range(2)]
    made = objects.resource_slice(
        "old", driver="gpu.example.com", node="old", devices=devices
    )
    fields = {"deviceClassName": "gpu.example.com"}
    request = {"name": "gpu", **(fields if is_first else {"exactly": fields})}
    claim = objects.claim("old", "lab", request)
    root = f"/apis/resource.k8s.io/{version}"
    api_version = {"apiVersion": f"resource.k8s.io/{version}"}
    client.call("POST", f"{root}/resourceslices", made | api_version)
    client.call("POST", f"{root}/namespaces/lab/resourceclaims", claim | api_version)


@pytest.mark.timeout(600)
def test_two_thousand_slices(add, watch, capsys):
    """All are read, and all of what a restart of the server and of drivers leaves."""
    with ControlPlane(NEWEST) as plane:
        server = RealServer(plane)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(server.client().create, map(big_slice, range(SLICES))))
        cluster = add(server)
        began = time.monotonic()
        watch()
        wanted = SLICES * DEVICES
        eventually(lambda: Device.objects.filter(cluster=cluster).count() == wanted, 90)
        took = time.monotonic() - began
        with capsys.disabled():
            print(f"\n{SLICES} slices, {wanted} devices read in {took:.1f} s")
        assert_same(cluster, 60)
        server.kill()
        eventually(lambda: Cluster.objects.get(pk=cluster.pk).failure)
        server.start()
        for number in range(0, SLICES, 10):
            server.client().delete(big_slice(number))
        server.forget_history()
        for number in range(0, SLICES, 20):
            server.client().create(big_slice(number, generation=2))
        assert_same(cluster, 90)
        left = SLICES - SLICES // 20
        assert Pool.objects.filter(cluster=cluster).count() == left
        assert Device.objects.filter(cluster=cluster).count() == left * DEVICES


def big_slice(number: int, generation: int = 1):
    devices = [
        {
            "name": f"gpu-{each}",
            "attributes": {
                "uuid": {"string": f"GPU-{number:05d}-{each:02d}"},
                "productName": {"string": "NVIDIA H100 80GB HBM3"},
                "driverVersion": {"version": "580.95.5"},
            },
            "capacity": {"memory": {"value": "81559Mi"}},
        }
        for each in range(DEVICES)
    ]
    name = f"n-{number:05d}"
    made = objects.resource_slice(
        name, driver="gpu.nvidia.com", node=name, devices=devices
    )
    made["spec"]["pool"]["generation"] = generation
    return made


def test_gates_are_those_of_the_server(add, watch):
    """Read with the rights that we ship, and again when the server was gone."""
    with ControlPlane(OLDEST, gates={"DRAConsumableCapacity": True}) as plane:
        plane.install_rbac()
        cluster = add(RealServer(plane), user=credentials.PORTAL)
        watch()
        gates = eventually(lambda: gates_of(cluster))
        assert gates["DRAConsumableCapacity"]
        assert not gates["DRADeviceTaints"]
        assert gates["DRAPrioritizedList"]
        assert "DRAConsumableCapacity" in engines.gates_of(
            Cluster.objects.get(pk=cluster.pk)
        )

        plane.kill_api_server()
        eventually(lambda: Cluster.objects.get(pk=cluster.pk).failure)
        plane.set_gates({"DRADeviceTaints": True})
        plane.start_api_server()
        eventually(lambda: gates_of(cluster)["DRADeviceTaints"], 60)
        assert not gates_of(cluster)["DRAConsumableCapacity"]


def gates_of(cluster: Cluster) -> dict[str, bool]:
    return Cluster.objects.get(pk=cluster.pk).feature_gates
