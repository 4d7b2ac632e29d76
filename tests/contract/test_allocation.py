"""What scheduler and controllers make of pods and claims."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.cluster.client import Client, Object, Refused
from tests.contract import objects

PROTECTION = "resource.kubernetes.io/delete-protection"
FORCE = {"gracePeriodSeconds": 0}


@dataclass(frozen=True)
class Fleet:
    """One node with two devices of a driver that no other test uses."""

    admin: Client
    node: str
    driver: str
    device_class: str

    def request(self, **fields: object) -> Object:
        return objects.exactly(deviceClassName=self.device_class, **fields)


@pytest.fixture
def fleet(admin: Client, unique: Callable[[str], str]) -> Fleet:
    node, driver, name = (
        unique("node"),
        f"{unique('driver')}.example.com",
        unique("class"),
    )
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    ready["allocatable"] = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": node}
    manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node, "labels": labels},
    }
    stored = admin.create(manifest)
    admin.patch(stored, {"status": ready}, "status")
    admin.patch(stored, {"spec": {"taints": None}})
    devices = [{"name": f"gpu-{number}", "attributes": {}} for number in range(2)]
    admin.create(
        objects.resource_slice(node, driver=driver, node=node, devices=devices)
    )
    admin.create(objects.device_class(name, f'device.driver == "{driver}"'))
    return Fleet(admin, node, driver, name)


@pytest.fixture
def allocated(admin, namespace, eventually):
    """Return a function that waits for a claim's allocation and returns the claim."""

    def wait(name: str) -> Object:
        def claim() -> Object | None:
            stored = admin.get("ResourceClaim", name, namespace)
            return stored if stored["status"].get("reservedFor") else None

        return eventually(claim)

    return wait


def devices_of(claim: Object) -> list[str]:
    return [
        each["device"] for each in claim["status"]["allocation"]["devices"]["results"]
    ]


def test_a_claim_alone_is_not_allocated(admin, namespace, fleet, allocated):
    admin.create(objects.claim("idle", namespace, fleet.request()))
    admin.create(objects.claim("used", namespace, fleet.request()))
    admin.create(
        objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "used"})
    )

    allocated("used")

    assert admin.get("ResourceClaim", "idle", namespace)["status"] == {}


def test_a_pod_gets_its_claim_allocated_and_reserved(
    admin, namespace, fleet, allocated
):
    admin.create(objects.claim("c", namespace, fleet.request(count=2)))
    pod = admin.create(
        objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "c"})
    )

    claim = allocated("c")

    results = claim["status"]["allocation"]["devices"]["results"]
    assert [
        {key: each[key] for key in ("request", "driver", "pool", "device")}
        for each in results
    ] == [
        {
            "request": "gpu",
            "driver": fleet.driver,
            "pool": fleet.node,
            "device": f"gpu-{n}",
        }
        for n in range(2)
    ]
    assert claim["status"]["reservedFor"] == [
        {"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}
    ]
    assert claim["metadata"]["finalizers"] == [PROTECTION]
    terms = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert terms[0]["matchFields"] == [
        {"key": "metadata.name", "operator": "In", "values": [fleet.node]}
    ]


def test_a_pod_with_its_claim_is_bound_to_the_node(
    admin, namespace, fleet, allocated, eventually
):
    admin.create(objects.claim("c", namespace, fleet.request()))
    admin.create(objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "c"}))
    allocated("c")

    eventually(
        lambda: admin.get("Pod", "p", namespace)["spec"].get("nodeName") == fleet.node
    )


def test_a_template_makes_a_claim_for_each_pod(
    admin, namespace, fleet, eventually, allocated
):
    admin.create(
        objects.template(
            "t", namespace, fleet.request(), labels={"app": "x"}, annotations={"a": "b"}
        )
    )
    pod = admin.create(
        objects.pod("p", namespace, {"name": "gpu", "resourceClaimTemplateName": "t"})
    )

    statuses = eventually(
        lambda: admin.get("Pod", "p", namespace)["status"].get("resourceClaimStatuses")
    )
    claim = allocated(statuses[0]["resourceClaimName"])

    assert statuses[0]["name"] == "gpu"
    metadata = claim["metadata"]
    assert re.fullmatch(r"p-gpu-[a-z0-9]{5}", metadata["name"])
    assert metadata["labels"]["app"] == "x"
    assert metadata["annotations"] == {
        "a": "b",
        "resource.kubernetes.io/pod-claim-name": "gpu",
    }
    owner = metadata["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "Pod",
        "p",
        pod["metadata"]["uid"],
        True,
    )


def test_pods_share_a_claim(admin, namespace, fleet, allocated, eventually):
    admin.create(objects.claim("c", namespace, fleet.request()))
    for name in ("p", "q"):
        admin.create(
            objects.pod(name, namespace, {"name": "gpu", "resourceClaimName": "c"})
        )
    allocated("c")

    def reserved() -> set[str]:
        status = admin.get("ResourceClaim", "c", namespace)["status"]
        return {each["name"] for each in status.get("reservedFor", [])}

    eventually(lambda: reserved() == {"p", "q"})


def test_what_is_allocated_is_not_given_twice(
    admin, namespace, fleet, allocated, eventually
):
    for number in range(3):
        admin.create(objects.claim(f"c{number}", namespace, fleet.request()))
    for number in range(2):
        use = {"name": "gpu", "resourceClaimName": f"c{number}"}
        admin.create(objects.pod(f"p{number}", namespace, use))
    held = [
        device for number in range(2) for device in devices_of(allocated(f"c{number}"))
    ]
    admin.create(
        objects.pod("p2", namespace, {"name": "gpu", "resourceClaimName": "c2"})
    )

    def says_why() -> bool:
        events = admin.list("Event", namespace, fieldSelector="involvedObject.name=p2")[
            "items"
        ]
        return any(event["reason"] == "FailedScheduling" for event in events)

    assert sorted(held) == ["gpu-0", "gpu-1"]
    eventually(says_why)
    assert admin.get("ResourceClaim", "c2", namespace)["status"] == {}


def test_a_device_that_is_given_back_goes_to_who_waits(
    admin, namespace, fleet, allocated
):
    admin.create(objects.claim("first", namespace, fleet.request(count=2)))
    admin.create(objects.claim("second", namespace, fleet.request(count=2)))
    pod = admin.create(
        objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "first"})
    )
    allocated("first")
    admin.create(
        objects.pod("q", namespace, {"name": "gpu", "resourceClaimName": "second"})
    )

    admin.delete(pod, FORCE)

    assert devices_of(allocated("second")) == ["gpu-0", "gpu-1"]
    assert admin.get("ResourceClaim", "first", namespace)["status"] == {}


def test_a_generated_claim_goes_with_its_pod(
    admin, namespace, fleet, eventually, allocated
):
    admin.create(objects.template("t", namespace, fleet.request()))
    pod = admin.create(
        objects.pod("p", namespace, {"name": "gpu", "resourceClaimTemplateName": "t"})
    )
    statuses = eventually(
        lambda: admin.get("Pod", "p", namespace)["status"].get("resourceClaimStatuses")
    )
    allocated(statuses[0]["resourceClaimName"])

    admin.delete(pod, FORCE)

    eventually(lambda: admin.list("ResourceClaim", namespace)["items"] == [])


def test_a_claim_in_use_outlives_its_delete_until_the_pod_is_gone(
    admin, namespace, fleet, allocated, eventually
):
    claim = admin.create(objects.claim("c", namespace, fleet.request()))
    pod = admin.create(
        objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "c"})
    )
    allocated("c")

    admin.delete(claim)
    kept = admin.get("ResourceClaim", "c", namespace)
    admin.delete(pod, FORCE)

    assert kept["metadata"]["deletionTimestamp"]
    assert kept["status"]["allocation"]
    eventually(lambda: is_gone(admin, "c", namespace))


def is_gone(admin: Client, name: str, namespace: str) -> bool:
    try:
        admin.get("ResourceClaim", name, namespace)
    except Refused as refused:
        return refused.code == 404
    return False


def test_the_first_alternative_that_fits_is_taken(admin, namespace, fleet, allocated):
    request = {
        "name": "gpu",
        "firstAvailable": [
            {"name": "many", "deviceClassName": fleet.device_class, "count": 3},
            {"name": "one", "deviceClassName": fleet.device_class},
        ],
    }
    admin.create(objects.claim("c", namespace, request))
    admin.create(objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "c"}))

    results = allocated("c")["status"]["allocation"]["devices"]["results"]

    assert [each["request"] for each in results] == ["gpu/one"]


def test_a_selector_chooses(admin, namespace, unique, eventually, fleet, allocated):
    node = fleet.node
    driver = f"{unique('driver')}.example.com"
    devices = [
        {"name": "small", "attributes": {"model": {"string": "T4"}}},
        {
            "name": "big",
            "attributes": {"model": {"string": "H100"}},
            "capacity": {"memory": {"value": "80Gi"}},
        },
    ]
    name = unique("slice")
    admin.create(
        objects.resource_slice(name, driver=driver, node=node, devices=devices)
    )
    expression = (
        f'device.driver == "{driver}" && '
        f'device.capacity["{driver}"].?memory.orValue(quantity("0")).isGreaterThan(quantity("40Gi"))'
    )
    device_class = unique("class")
    admin.create(objects.device_class(device_class, f'device.driver == "{driver}"'))
    request = objects.exactly(
        deviceClassName=device_class, selectors=[{"cel": {"expression": expression}}]
    )
    admin.create(objects.claim("c", namespace, request))
    admin.create(objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "c"}))

    assert devices_of(allocated("c")) == ["big"]


def test_admin_access_shares_what_is_held(admin, namespace, fleet, allocated):
    label = {"resource.kubernetes.io/admin-access": "true"}
    space = {"kind": "Namespace", "metadata": {"name": namespace}}
    admin.patch(space, {"metadata": {"labels": label}})
    admin.create(objects.claim("all", namespace, fleet.request(count=2)))
    admin.create(
        objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "all"})
    )
    held = devices_of(allocated("all"))
    request = fleet.request(allocationMode="All", adminAccess=True)
    admin.create(objects.claim("watch", namespace, request))
    admin.create(
        objects.pod("q", namespace, {"name": "gpu", "resourceClaimName": "watch"})
    )

    watcher = allocated("watch")

    assert devices_of(watcher) == held
    results = watcher["status"]["allocation"]["devices"]["results"]
    assert all(each["adminAccess"] for each in results)


def claimed_by_a_pod(admin, resource: str, namespace: str) -> dict:
    """Return the status of a pod's claim for an extended resource.

    A scheduler that hears of the pod before the class takes the resource for one of
    a device plugin, and does not look at that pod again for minutes: ask with another.
    """
    for number in range(6):
        name = f"p-{number}"
        pod = objects.pod(name, namespace)
        pod["spec"]["containers"][0]["resources"] = {
            "requests": {resource: "1"},
            "limits": {resource: "1"},
        }
        admin.create(pod)
        for _ in range(50):
            found = admin.get("Pod", name, namespace)["status"]
            if status := found.get("extendedResourceClaimStatus"):
                return status
            time.sleep(0.2)
        admin.delete("Pod", name, namespace)
    raise AssertionError(found)


def mapped(fleet: Fleet, name: str) -> str:
    """Map an extended resource to a class of the fleet's driver; return its name."""
    resource = f"{fleet.driver}/gpu"
    device_class = objects.device_class(name, f'device.driver == "{fleet.driver}"')
    device_class["spec"]["extendedResourceName"] = resource
    fleet.admin.create(device_class)
    return resource


def test_a_pod_that_asks_for_an_extended_resource_gets_a_claim(
    api, fleet, unique, namespace
):
    if api.minor == 34:
        pytest.skip("DRAExtendedResource is off in 1.34")
    resource = mapped(fleet, unique("class"))

    status = claimed_by_a_pod(fleet.admin, resource, namespace)

    claim = fleet.admin.get("ResourceClaim", status["resourceClaimName"], namespace)
    [device] = claim["status"]["allocation"]["devices"]["results"]
    assert device["driver"] == fleet.driver
    [mapping] = status["requestMappings"]
    assert (mapping["resourceName"], mapping["requestName"]) == (
        resource,
        device["request"],
    )
    [owner] = claim["metadata"]["ownerReferences"]
    assert owner["kind"] == "Pod"
    mark = "resource.kubernetes.io/extended-resource-claim"
    assert claim["metadata"]["annotations"] == {mark: "true"}


def test_where_a_device_plugin_offers_the_resource_no_claim_is_made(
    api, fleet, unique, namespace, eventually
):
    if api.minor == 34:
        pytest.skip("DRAExtendedResource is off in 1.34")
    resource = mapped(fleet, unique("class"))
    node = fleet.admin.get("Node", fleet.node)
    both = {**node["status"]["allocatable"], resource: "2"}
    status = {"status": {"allocatable": both, "capacity": both}}
    fleet.admin.patch({"kind": "Node", **node}, status, "status")

    pod = objects.pod("plugged", namespace)
    asked = {"requests": {resource: "1"}, "limits": {resource: "1"}}
    pod["spec"]["containers"][0]["resources"] = asked
    fleet.admin.create(pod)

    def bound():
        found = fleet.admin.get("Pod", "plugged", namespace)
        return found if found["spec"].get("nodeName") else None

    found = eventually(bound)
    assert found["spec"]["nodeName"] == fleet.node
    assert "extendedResourceClaimStatus" not in found["status"]
