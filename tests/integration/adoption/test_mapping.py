"""Mapping an extended resource: shown, tried, written as the admin, taken away."""

from __future__ import annotations

from contextlib import suppress

import pytest

from inventory.domain.kinds import DEVICE_CLASS
from inventory.gateways.errors import AlreadyExists
from inventory.gateways.transport import Call
from inventory.gateways.transport import call as send
from portal.adoption.models import AppliedMapping
from tests.integration.adoption.test_readiness import node
from tests.integration.budgets.conftest import GPU_CLASS, gpus  # noqa: F401  fixture
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    admin,
    cluster,
    kubeconfigs,
)

PATH = "/c/demo/adoption/mapping/"
RESOURCE = "nvidia.com/gpu"
FORM = {"class": GPU_CLASS, "resource": RESOURCE}


@pytest.fixture
def may_write(admin):  # noqa: F811
    """Let Dora change classes."""
    rbac = "rbac.authorization.k8s.io"
    body = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "class-managers"},
        "subjects": [{"kind": "User", "name": "dora@platform", "apiGroup": rbac}],
        "roleRef": {
            "kind": "ClusterRole",
            "name": "slicewise:class-manager",
            "apiGroup": rbac,
        },
    }
    path = f"/apis/{rbac}/v1/clusterrolebindings"
    with suppress(AlreadyExists):
        send(admin.connection, Call("POST", path, body=body), ())
    yield
    send(admin.connection, Call("DELETE", f"{path}/class-managers"), ())


def seen_in(page: str) -> str:
    return page.split('name="seen" value="')[1].split('"')[0]


def mapped(admin) -> str:  # noqa: F811
    found = admin.get(DEVICE_CLASS, GPU_CLASS)
    return found["spec"].get("extendedResourceName", "")


def test_a_class_is_mapped_and_unmapped_as_the_admin(
    client,
    dora,
    gpus,  # noqa: F811
    admin,  # noqa: F811
    may_write,
):
    client.force_login(dora)
    tried = client.post(PATH, {**FORM, "action": "try"})
    assert tried.status_code == 200, tried.text
    assert "The class selects 8 devices." in tried.text
    assert f"+ extendedResourceName: {RESOURCE}" in tried.text
    assert not mapped(admin)
    seen = seen_in(tried.text)
    written = client.post(PATH, {**FORM, "action": "apply", "seen": seen})
    assert written.status_code == 302, written.text
    assert mapped(admin) == RESOURCE
    stale = client.post(PATH, {**FORM, "action": "remove", "seen": seen})
    assert stale.status_code == 409
    assert "has changed since you looked" in stale.text
    tried = client.post(PATH, {**FORM, "action": "try-remove"})
    form = {**FORM, "action": "remove", "seen": seen_in(tried.text)}
    assert client.post(PATH, form).status_code == 302
    assert not mapped(admin)
    rows = AppliedMapping.objects.order_by("pk").values_list("before", "after")
    assert list(rows) == [("", RESOURCE), (RESOURCE, "")]
    assert {row.applied_by for row in AppliedMapping.objects.all()} == {dora.username}


def test_the_cluster_has_the_last_word_on_classes(client, dora, gpus):  # noqa: F811
    client.force_login(dora)
    answer = client.post(PATH, {**FORM, "action": "try"})
    assert answer.status_code == 409
    assert "deviceclasses" in answer.text


@pytest.mark.django_db
def test_who_asks_what_clashes_and_where_a_plugin_is_are_told(
    load_fleets, client, dora
):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old", "namespace": "ai-training"},
        "spec": {
            "nodeName": "gpu-l40s-a",
            "containers": [{"name": "c", "resources": {"limits": {RESOURCE: "2"}}}],
        },
    }
    rival = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "rival"},
        "spec": {"extendedResourceName": RESOURCE},
    }
    both = node("gpu-l40s-a", runtime="containerd://2.0.1", gpus=4)
    load_fleets("nvidia-t4-l40s", extra=[pod, rival, both])
    client.force_login(dora)
    page = client.get(PATH, {"class": "gpu.nvidia.com", "resource": RESOURCE}).text
    assert "Also mapped by hami-core-gpu.project-hami.io, rival:" in page
    assert "ai-training/old" in page
    assert "1 node still has a device plugin" in page
    assert "Offered twice, by slices and by a device plugin: gpu-l40s-a" in page
    wrong = client.get(PATH, {"class": "gpu.nvidia.com", "resource": "gpu"})
    assert wrong.status_code == 409
    assert "is no extended resource" in wrong.text
    offline = client.post(
        PATH, {"class": "gpu.nvidia.com", "resource": RESOURCE, "action": "try"}
    )
    assert offline.status_code == 409
    assert "loaded from files" in offline.text
