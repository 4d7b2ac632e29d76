"""The five phases on a real control plane, forth and back, with a pool of each kind.

Nodes are plain objects and so are DaemonSets, whose controller makes pods for them;
their kubelets are played by the scene. The GPU operator's kinds are bare CRDs.
"""

from __future__ import annotations

from functools import partial

import pytest

from inventory.domain.kinds import (
    LOCAL_QUEUE,
    QUEUED_WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from inventory.gateways.errors import NotFound
from inventory.gateways.transport import Call
from inventory.gateways.transport import call as send
from portal.adoption.domain.phase_manifests import gpu_cluster, guard
from portal.adoption.queries.facts import stored_facts
from tests.cluster.client import Refused
from tests.cluster.controlplane import ControlPlane
from tests.cluster.test_adoption import bind
from tests.integration.adoption.scene import PLUGIN, SPACE, Scene, manifest
from tests.integration.adoption.walking import Guide, walk
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.claims.test_waiting import kueue

pytestmark = [pytest.mark.cluster, pytest.mark.django_db]
CRDS = (
    ("ClusterPolicy", "clusterpolicies", "v1"),
    ("GPUCluster", "gpuclusters", "v1alpha1"),
)


QUEUES = (
    (LOCAL_QUEUE, "Namespaced"),
    (QUEUED_WORKLOAD, "Namespaced"),
    (WORKLOAD_PRIORITY_CLASS, "Cluster"),
)


def rule(key, operator, *values):
    found = {"key": key, "operator": operator}
    return {**found, "values": list(values)} if values else found


def labelled(*rules):
    return [{"matchExpressions": list(rules)}]


TERMS = (
    labelled(rule("dra", "In", "yes")),
    labelled(rule("dra", "DoesNotExist")),
    labelled(rule("dra", "Exists")),
    labelled(rule("dra", "NotIn", "yes")),
    labelled(rule("size", "Gt", "8")),
    labelled(rule("size", "Lt", "9")),
    [*labelled(rule("dra", "In", "yes")), *labelled(rule("dra", "In", "no"))],
    labelled(rule("dra", "In", "yes"), rule("size", "Lt", "9")),
)
WAITS, REFUSED = "waits", "insufficient quota for gpus"
NOWHERE = {
    "name": "gpu",
    "exactly": {
        "deviceClassName": "gpu.nvidia.com",
        "selectors": [{"cel": {"expression": "device.driver == 'nobody'"}}],
    },
}


def custom(kind, plural, version, group="nvidia.com", scope="Cluster"):
    """Return a CRD that takes anything, with a status of its own."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


@pytest.fixture(scope="module")
def plane():
    with ControlPlane("1.37.2") as found:
        for crd in CRDS:
            found.admin.create(custom(*crd))
        for kind, scope in QUEUES:
            version = kind.versions[0]
            crd = custom(kind.kind, kind.plural, version, kind.group, scope)
            found.admin.create(crd)
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


def test_a_waiting_claim_tells_its_place_in_kueues_queue(scene, client, dora):
    """The server is real and so are Kueue's kinds; its controller is played."""
    bind(scene.kube, dora.username)
    scene.apply(manifest("Namespace", SPACE))
    scene.client.create(
        {
            **manifest("ResourceClaimTemplate", WAITS, SPACE),
            "spec": {"spec": {"devices": {"requests": [NOWHERE]}}},
        }
    )
    scene.pod(WAITS, template=WAITS)
    uses = [{"name": "gpu", "resourceClaimTemplateName": WAITS}]
    podset = {"template": {"spec": {"resourceClaims": uses}}}
    queue = kueue("LocalQueue", "gpus", SPACE, spec={"clusterQueue": "all"})
    workload = kueue(
        "Workload", "job-train", SPACE, spec={"queueName": "gpus", "podSets": [podset]}
    )
    priority = kueue("WorkloadPriorityClass", "high", value=100)
    bodies = (queue, workload, priority)
    try:
        for (kind, _scope), body in zip(QUEUES, bodies, strict=True):
            scene.until(partial(put, scene.kube, kind, body))
        told(scene.kube, workload, {"type": "QuotaReserved", "message": REFUSED})
        client.force_login(dora)
        name = scene.until(partial(claim_of, scene, WAITS))
        page = f"/c/{scene.row.name}/claims/{SPACE}/{name}/waiting/"

        text = client.get(page).text

        assert "Waits for quota" in text
        assert REFUSED in text
        assert "kueue.x-k8s.io/queue-name: gpus" in text
        told(scene.kube, workload, {"type": "Admitted", "status": "True"})
        assert "Admitted" in client.get(page).text
    finally:
        scene.delete("Pod", WAITS, SPACE)
        scene.delete("ResourceClaimTemplate", WAITS, SPACE)


def test_where_daemons_may_run_is_what_the_controller_counts(scene):
    """Required affinity is judged as Kubernetes does: the same nodes, rule by rule."""
    labels = {"a": {"size": "8"}, "b": {"size": "80", "dra": "yes"}, "c": {"dra": "no"}}
    for name, more in labels.items():
        scene.node(f"judged-{name}", "containerd://2.1.4", {"judged": "yes", **more})
    scene.apply(manifest("Namespace", "gpu-operator"))
    taint = {"key": "pool", "value": "dra", "effect": "NoSchedule"}
    more = {"judged": "yes", "dra": "yes"}
    scene.node("judged-d", "containerd://2.1.4", more, taints=[taint])
    for number, terms in enumerate(TERMS):
        scene.client.create(daemons(f"nvidia-device-plugin-{number}", terms))
    tolerant = daemons(f"nvidia-device-plugin-{len(TERMS)}", TERMS[0])
    pod = tolerant["spec"]["template"]["spec"]
    pod["tolerations"] = [{"key": "pool", "operator": "Equal", "value": "dra"}]
    scene.client.create(tolerant)
    facts = scene.until(partial(counted, scene))
    nodes = [node for node in facts.nodes if node.name.startswith("judged-")]
    found = {
        each.name: (each.desired, sum(each.covers(n) for n in nodes))
        for each in facts.daemon_sets
        if each.name.startswith("nvidia-device-plugin-")
    }
    for name in found:
        scene.delete("DaemonSet", name, "gpu-operator")
    for node in nodes:
        scene.delete("Node", node.name)
    assert len(nodes) == len(labels) + 1
    assert [ours for _theirs, ours in found.values()] == [1, 1, 2, 2, 1, 1, 2, 0, 2]
    assert {name: theirs for name, (theirs, _) in found.items()} == {
        name: ours for name, (_, ours) in found.items()
    }


def daemons(name, terms):
    """Return a DaemonSet of a device plugin that chooses among the judged nodes."""
    required = {"nodeSelectorTerms": terms}
    spec = {
        "nodeSelector": {"judged": "yes"},
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        },
        "containers": [{"name": "main", "image": PLUGIN}],
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    body = manifest("DaemonSet", name, "gpu-operator")
    wanted = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {**body, "spec": wanted}


def counted(scene):
    """Return the facts, once the controller has looked at every DaemonSet."""
    every = scene.client.list("DaemonSet", "gpu-operator")["items"]
    seen = [each for each in every if "observedGeneration" in each["status"]]
    if len(seen) < len(every):
        return None
    scene.observe()
    return stored_facts(scene.row)


def claim_of(scene, pod):
    """Return the claim that the controller-manager made for a pod; "" before."""
    found = scene.client.get("Pod", pod, SPACE)["status"]
    names = [
        each["resourceClaimName"] for each in found.get("resourceClaimStatuses", ())
    ]
    return names[0] if names else ""


def put(kube, kind, body):
    """Create an object of Kueue's; nothing, where its kind is not served yet."""
    namespace = body["metadata"].get("namespace", "")
    path = kind.path(kind.versions[0], namespace)
    try:
        return send(kube.connection, Call("POST", path, body=body), ())
    except NotFound:
        return None


def told(kube, workload, condition):
    """Be Kueue's controller, which writes how far a workload is."""
    metadata = workload["metadata"]
    base = QUEUED_WORKLOAD.path(QUEUED_WORKLOAD.versions[0], metadata["namespace"])
    path = f"{base}/{metadata['name']}"
    found = send(kube.connection, Call("GET", path), ())
    status = {"conditions": [{"status": "False", **condition}]}
    body = {**found, "status": status}
    send(kube.connection, Call("PUT", f"{path}/status", body=body), ())
