"""The kube gateway against the simulated server and a real one."""

from __future__ import annotations

import contextlib

import pytest

from inventory.domain.kinds import (
    DEVICE_TAINT_RULE,
    NAMESPACE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    WATCHED,
    Kind,
)
from inventory.gateways.errors import (
    AlreadyExists,
    ClusterForbidden,
    ClusterUnauthorized,
    ConflictingVersion,
    Invalid,
    NotFound,
    WatchExpired,
)
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.gateways.kube import Kube
from inventory.gateways.kubeconfig import connect
from inventory.models import Cluster
from inventory.services import connections
from portal.core import secrets
from tests.cluster.client import Refused
from tests.contract import objects
from tests.integration.watcher.conftest import kube_of
from tests.integration.watcher.test_upsets import fill

# No server serves it.
GADGET = Kind("Gadget", "gadgets", "example.com", ("v1",), namespaced=False)


@pytest.fixture
def cluster(server, add):
    with contextlib.suppress(Refused):
        server.client().create(objects.namespace("lab"))
    return add(server)


@pytest.fixture
def kube(cluster):
    with kube_of(cluster) as kube:
        yield kube


def test_writing_and_its_refusals(kube):
    claim = objects.claim("a", "lab")
    shown = kube.create(claim, dry_run=True)
    assert shown["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    with pytest.raises(NotFound):
        kube.get(RESOURCE_CLAIM, "a", "lab")
    stored = kube.create(claim)
    with pytest.raises(AlreadyExists):
        kube.create(claim)
    changed = kube.patch(
        RESOURCE_CLAIM, "a", {"metadata": {"labels": {"x": "y"}}}, "lab"
    )
    assert changed["metadata"]["labels"] == {"x": "y"}
    listed = [{"op": "add", "path": "/metadata/labels/z", "value": "w"}]
    changed = kube.patch(RESOURCE_CLAIM, "a", listed, "lab")
    assert changed["metadata"]["labels"] == {"x": "y", "z": "w"}
    with pytest.raises(ConflictingVersion):
        kube.update(stored)
    with pytest.raises(ConflictingVersion):
        kube.delete(RESOURCE_CLAIM, "a", "lab", uid="0000")
    kube.delete(RESOURCE_CLAIM, "a", "lab", uid=stored["metadata"]["uid"])
    with pytest.raises(NotFound):
        kube.delete(RESOURCE_CLAIM, "a", "lab")


def test_what_is_wrong_is_named(kube):
    flat = objects.claim("a", "lab", {"name": "gpu", "deviceClassName": "c"})
    with pytest.raises(Invalid, match="unknown field"):
        kube.create(flat, dry_run=True)
    nothing = objects.claim("a", "lab", {"name": "gpu"})
    with pytest.raises(Invalid) as caught:
        kube.create(nothing, dry_run=True)
    assert "spec.devices.requests[0]" in {cause.field for cause in caught.value.causes}
    for odd in ({"kind": "Secret"}, {"kind": "ResourceClaim", "metadata": {}}):
        with pytest.raises(Invalid):
            kube.create(odd)
    for name in ("../a", "a/b", "..", "a?x=1"):
        with pytest.raises(Invalid):
            kube.get(RESOURCE_CLAIM, name, "lab")


def test_reading(kube, server):
    assert kube.version().startswith("v1.37")
    fill(server.client(), 7)
    served = kube.served_kinds((*WATCHED, GADGET))
    assert served["ResourceSlice"] == "v1"
    assert "Gadget" not in served
    with pytest.raises(NotFound):
        kube.list(GADGET)
    pages = list(kube.pages(RESOURCE_SLICE, limit=3))
    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert len({page.resource_version for page in pages}) == 1
    first = pages[0].items[0]
    assert (first["kind"], first["apiVersion"]) == (
        "ResourceSlice",
        "resource.k8s.io/v1",
    )
    one = kube.list(NAMESPACE, field_selector="metadata.name=lab").items
    assert [each["metadata"]["name"] for each in one] == ["lab"]
    assert kube.list(POD, "lab", label_selector="a=b").items == []
    assert kube.list(DEVICE_TAINT_RULE).items == []


def test_a_watch_from_a_version_that_is_gone(kube, server):
    fill(server.client(), 2)
    old = kube.get(NAMESPACE, "lab")["metadata"]["resourceVersion"]
    fill(server.client(), 2, "more")
    server.forget_history()
    with pytest.raises(WatchExpired), kube.watch(RESOURCE_SLICE, old) as watch:
        list(watch)


def test_people_may_what_rbac_says(kube, server):
    ada = Kube(kube.connection, Identity("ada", ("lab-people", "연구"), {"a/b": "1"}))
    with pytest.raises(ClusterForbidden, match='User "ada" cannot create'):
        ada.create(objects.claim("a", "lab"), dry_run=True)
    assert not ada.review_access("create", RESOURCE_CLAIM, "lab").allowed
    admin = server.client()
    admin.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "claims", "namespace": "lab"},
            "rules": [
                {
                    "apiGroups": ["resource.k8s.io"],
                    "resources": ["resourceclaims"],
                    "verbs": ["create", "get"],
                }
            ],
        }
    )
    admin.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "claims", "namespace": "lab"},
            "subjects": [
                {
                    "kind": "Group",
                    "name": "연구",
                    "apiGroup": "rbac.authorization.k8s.io",
                }
            ],
            "roleRef": {
                "kind": "Role",
                "name": "claims",
                "apiGroup": "rbac.authorization.k8s.io",
            },
        }
    )
    for _ in range(50):
        if ada.review_access("create", RESOURCE_CLAIM, "lab").allowed:
            break
    ada.create(objects.claim("a", "lab"))
    assert not ada.review_access("delete", RESOURCE_CLAIM, "lab").allowed
    assert kube.review_access("delete", RESOURCE_CLAIM, "lab").allowed


def test_a_token_that_is_not_taken(cluster, kube):
    text = secrets.decrypt(cluster.kubeconfig_encrypted)
    bad = connect(
        "demo",
        text.replace('"token": "', '"token": "x').replace('"token":"', '"token":"x'),
    )
    with pytest.raises(ClusterUnauthorized):
        Kube(bad, AS_ITSELF).list(POD)
    assert bad.stale
    bad.close()


def test_connections_are_shared_until_the_kubeconfig_changes(cluster):
    one = connections.kube_for(cluster, AS_ITSELF)
    assert connections.kube_for(cluster, Identity("ada")).connection is one.connection
    cluster.kubeconfig_encrypted = secrets.encrypt(
        secrets.decrypt(cluster.kubeconfig_encrypted)
    )
    assert connections.kube_for(cluster, AS_ITSELF).connection is not one.connection
    with pytest.raises(connections.NoServer):
        connections.kube_for(Cluster(name="files", kind="offline"), AS_ITSELF)
