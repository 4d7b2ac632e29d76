"""Readiness as real API servers of the oldest and newest minor show it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from inventory.domain.kinds import BY_NAME
from inventory.gateways.kube import AS_ITSELF, Kube
from inventory.gateways.kubeconfig import connect
from inventory.gateways.transport import Call
from inventory.gateways.transport import call as send
from inventory.models import Cluster
from inventory.services.store import replace_kinds
from portal.adoption.services.reading import readiness_of
from portal.core.secrets import encrypt
from tests.cluster import credentials
from tests.cluster.controlplane import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.django_db]
KINDS = ("Node", "DaemonSet", "ResourceSlice")
DROPPED, KEPT = ("no", "dropped"), ("yes", "kept")
EXPECTED = {
    # 1.34 drops the fields without a word: their gates are alpha there.
    "1.34.4": {
        **dict.fromkeys(("mapping.on", "partitions.on", "shares.on"), DROPPED),
        "mapping.stable": ("no", "is"),
    },
    "1.37.2": {
        **dict.fromkeys(("mapping.on", "partitions.on", "shares.on"), KEPT),
        "mapping.stable": ("yes", "is"),
    },
}


def bind(kube: Kube, username: str) -> None:
    """Let a person try to make classes."""
    rbac = "rbac.authorization.k8s.io"
    body = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "trier"},
        "subjects": [{"kind": "User", "name": username, "apiGroup": rbac}],
        "roleRef": {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": rbac},
    }
    path = f"/apis/{rbac}/v1/clusterrolebindings"
    send(kube.connection, Call("POST", path, body=body), ())


@pytest.mark.parametrize("version", sorted(EXPECTED))
def test_what_a_real_server_shows(version, dora):
    with ControlPlane(version) as plane:
        config = plane.kubeconfig(credentials.ADMIN).read_text()
        kube = Kube(connect("ready", config), AS_ITSELF)
        row = Cluster.objects.create(
            name="ready",
            kind=Cluster.Kind.LIVE,
            kubernetes_version=kube.version(),
            kubeconfig_encrypted=encrypt(config),
            kinds={kind: {"state": "watching"} for kind in KINDS},
        )
        lists = {kind: kube.list(BY_NAME[kind]).items for kind in KINDS}
        replace_kinds(row, lists, now=timezone.now())
        bind(kube, dora.username)
        read = readiness_of(row, dora, probe=True)
        for kind in ("DeviceClass", "ResourceSlice", "ResourceClaim"):
            assert not kube.list(BY_NAME[kind]).items
    found = {each.code: (each.answer.value, each.why) for each in read.cluster}
    for code, expected in EXPECTED[version].items():
        assert found[code] == expected
    assert found["resource.v1"] == ("yes", "served")
    assert found["server.version"] == ("yes", "is")
    assert found["driver.ready"] == ("no", "none")
    assert found["plugin.limited"] == ("yes", "none")
    assert found["operator.one"] == ("unknown", "unread")
