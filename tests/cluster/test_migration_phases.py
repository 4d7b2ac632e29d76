"""The five phases on a real control plane, forth and back, with a pool of each kind.

Nodes are plain objects and so are DaemonSets, whose controller makes pods for them;
their kubelets are played by the scene. The GPU operator's kinds are bare CRDs.
"""

from __future__ import annotations

import pytest

from portal.adoption.domain.phase_manifests import gpu_cluster, guard
from tests.cluster.client import Refused
from tests.cluster.controlplane import ControlPlane
from tests.integration.adoption.walking import Guide, Scene, walk
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures

pytestmark = [pytest.mark.cluster, pytest.mark.django_db]
CRDS = (
    ("ClusterPolicy", "clusterpolicies", "v1"),
    ("GPUCluster", "gpuclusters", "v1alpha1"),
)


def custom(kind, plural, version):
    """Return a CRD that takes any spec."""
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.nvidia.com"},
        "spec": {
            "group": "nvidia.com",
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


@pytest.fixture(scope="module")
def plane():
    with ControlPlane("1.37.2") as found:
        for crd in CRDS:
            found.admin.create(custom(*crd))
        yield found


@pytest.fixture
def scene(plane, db):
    config = plane.kubeconfig().read_text()
    found = Scene(plane.admin, config, is_real=True)
    found.until(lambda: found.row.sees("ClusterPolicy", "GPUCluster"))
    return found


def test_a_real_cluster_is_walked_forth_and_back(scene, call, dora):  # noqa: F811
    walk(scene, Guide(scene, call(dora), dora))


def test_the_guard_refuses_both_objects_at_once(plane, scene):
    """The policy that the plan offers is the API server's own refusal."""
    client = plane.admin
    scene.delete("GPUCluster", "gpu-cluster")
    scene.delete("ClusterPolicy", "cluster-policy")
    scene.policy()
    [wanted] = gpu_cluster()

    def refused():
        try:
            client.delete(client.create(wanted))
        except Refused as error:
            return error.message
        return ""

    made = [client.create(body) for body in guard()]
    try:
        said = scene.until(refused)
        assert "A ClusterPolicy is still there" in said
        scene.delete("ClusterPolicy", "cluster-policy")
        scene.until(lambda: not refused())
        scene.policy()
        scene.until(refused)
    finally:
        for body in made:
            client.delete(body)
    scene.until(lambda: not refused())
    scene.delete("ClusterPolicy", "cluster-policy")
