"""An API server that answers for real, and Postgres filled from it on demand."""

from __future__ import annotations

import base64
import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from django.utils import timezone

from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import AlreadyExists, NotFound
from inventory.gateways.kube import AS_ITSELF, Kube
from inventory.gateways.kubeconfig import connect
from inventory.gateways.transport import Call, call
from tests.cluster import credentials
from tests.cluster.controlplane import ControlPlane
from tests.integration.watcher.servers import SimServer

ROLES = Path(__file__).parents[3] / "deploy" / "rbac.yaml"
OBSERVED = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "Pod")
GROUPS = {"ai-serving": "slicewise:orchid", "maple-lab": "slicewise:maple"}


def kubeconfig_of(address: str, token: str, ca: Path | None = None) -> str:
    """Return a kubeconfig for one server and one token."""
    cluster: dict[str, str] = {"server": address}
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(
            ca.read_bytes()
        ).decode()
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "admin",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [
                {"name": "admin", "context": {"cluster": "it", "user": "admin"}}
            ],
        }
    )


@pytest.fixture(scope="session")
def kubeconfigs(tmp_path_factory):
    """Yield the kubeconfigs of an API server's administrator and of the portal.

    SLICEWISE_CLAIMS_API chooses: `sim` (the default), a version of Kubernetes, or
    the path of an administrator's kubeconfig.
    """
    chosen = os.environ.get("SLICEWISE_CLAIMS_API", "sim")
    if "/" in chosen:
        yield Path(chosen).read_text(), Path(chosen).read_text()
    elif chosen == "sim":
        server = SimServer(tmp_path_factory.mktemp("simcluster"))
        names = (credentials.ADMIN, "slicewise")
        yield tuple(server.kubeconfig(name).read_text() for name in names)
        server.close()
    else:
        with ControlPlane(chosen) as plane:
            names = (credentials.ADMIN, "slicewise")
            yield tuple(plane.kubeconfig(name).read_text() for name in names)


@pytest.fixture(scope="session")
def admin(kubeconfigs):
    """Return the server as its administrator, with what the tests need in it."""
    connection = connect("demo", kubeconfigs[0])
    for body in [*_namespaces(), *_classes()]:
        _post(connection, BY_NAME[body["kind"]].path("v1"), body)
    for body in [*_roles(), *map(_binding, GROUPS)]:
        _post(connection, _rbac_path(body), body)
    _add_node(connection)
    return Kube(connection, AS_ITSELF)


def _add_node(connection):
    """Add a ready node with eight devices."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "claims-node"}}
    _post(connection, BY_NAME["Node"].path("v1"), node)
    room = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    kube = Kube(connection, AS_ITSELF)
    # Admission taints new nodes, and no controller of these servers lifts it.
    kube.patch(BY_NAME["Node"], "claims-node", {"spec": {"taints": None}})
    kube.patch(
        BY_NAME["Node"],
        "claims-node",
        {"status": {"allocatable": room, "capacity": room, "conditions": [ready]}},
        subresource="status",
    )
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "claims-node-example.com"},
        "spec": {
            "driver": "example.com",
            "nodeName": "claims-node",
            "pool": {"name": "claims-node", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{index}"} for index in range(8)],
        },
    }
    _post(connection, BY_NAME["ResourceSlice"].path("v1"), body)


def _post(connection, path, body):
    with suppress(AlreadyExists):
        call(connection, Call("POST", path, body=body), ())


def _namespaces():
    for name in (*GROUPS, "ai-training"):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _roles():
    """Yield the roles as they are deployed, bound to the user `slicewise`."""
    user = {
        "kind": "User",
        "name": "slicewise",
        "apiGroup": "rbac.authorization.k8s.io",
    }
    for body in yaml.safe_load_all(ROLES.read_text()):
        if body["kind"] == "ClusterRole":
            yield body
        elif body["kind"] == "ClusterRoleBinding":
            yield {**body, "subjects": [user]}


def _rbac_path(body):
    namespace = body["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{body['apiVersion']}{within}/{body['kind'].lower()}s"


def _binding(namespace):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "tenant", "namespace": namespace},
        "subjects": [
            {
                "kind": "Group",
                "name": GROUPS[namespace],
                "apiGroup": "rbac.authorization.k8s.io",
            }
        ],
        "roleRef": {
            "kind": "ClusterRole",
            "name": "slicewise:tenant",
            "apiGroup": "rbac.authorization.k8s.io",
        },
    }


def _classes():
    for name in ("gpu.example.com", "changing.example.com"):
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {
                "selectors": [{"cel": {"expression": 'device.driver == "example.com"'}}]
            },
        }


@pytest.fixture
def cluster(db, admin, kubeconfigs):
    """Return the server as a cluster of the portal, observed once."""
    from inventory.models import Cluster
    from portal.core.secrets import encrypt

    row = Cluster.objects.create(
        name="demo",
        kind=Cluster.Kind.LIVE,
        kubernetes_version="v1.37.2",
        kubeconfig_encrypted=encrypt(kubeconfigs[1]),
    )
    observe_now(row, admin)
    return row


@pytest.fixture
def observe(cluster, admin):
    """Return a function that does what the watcher does, once."""
    return lambda: observe_now(cluster, admin)


def observe_now(cluster, admin):
    from inventory.services.store import replace_kinds

    lists = {kind: admin.list(BY_NAME[kind]).items for kind in OBSERVED}
    replace_kinds(cluster, lists, now=timezone.now())
    type(cluster).objects.filter(pk=cluster.pk).update(heard_at=timezone.now())


@pytest.fixture
def template():
    """Return a function that makes a template's manifest under a new name."""

    def make(
        *,
        namespace="ai-serving",
        device_class="gpu.example.com",
        kind="Template",
        **asked,
    ):
        spec = {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {"deviceClassName": device_class, **asked},
                    }
                ]
            }
        }
        is_template = kind == "Template"
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate" if is_template else "ResourceClaim",
            "metadata": {"name": f"t-{uuid.uuid4().hex[:8]}", "namespace": namespace},
            "spec": {"spec": spec} if is_template else spec,
        }

    return make


@pytest.fixture
def active(submitted, observe):
    """Return a function that submits and applies, and lets the portal see it."""
    from claims.services.working import work_on

    def do(manifest):
        claim_request = submitted(manifest)
        assert work_on(claim_request.pk, now=timezone.now())
        observe()
        claim_request.refresh_from_db()
        assert claim_request.state == "Active", claim_request.message
        return claim_request

    return do


@pytest.fixture
def no_pods(admin):
    """Leave no pods behind, so that the devices are free again."""
    yield
    for body in admin.list(BY_NAME["Pod"], "ai-serving").items:
        with suppress(NotFound):
            admin.delete(
                BY_NAME["Pod"],
                body["metadata"]["name"],
                "ai-serving",
                gracePeriodSeconds=0,
            )


@pytest.fixture
def until(admin, observe):
    """Return a function that observes until something is true, for 20 seconds."""

    def wait(condition, *, tick=lambda: None):
        deadline = time.monotonic() + 20
        while True:
            observe()
            if found := condition():
                return found
            assert time.monotonic() < deadline, "not within 20 s"
            tick()
            time.sleep(0.2)

    return wait


@pytest.fixture
def submitted(cluster, ada, now):
    """Return a function that submits a manifest as Ada."""
    from claims.services.submit import submit

    def do(manifest, *, user=ada, preview=None, key=None):
        return submit(
            user=user,
            cluster=cluster,
            manifest=manifest,
            preview=preview,
            submission_key=key or uuid.uuid4(),
            request_id="test-request-id",
            now=timezone.now(),
        )

    return do
