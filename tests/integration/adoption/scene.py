"""A cluster on the way to DRA, and the hands that change it.

Nodes and DaemonSets are plain objects, and what drivers, device plugins and kubelets do
is done by the scene: so it is the same on the simulated API server and on real ones.
"""

from __future__ import annotations

import time
from contextlib import suppress

import yaml
from django.utils import timezone

from inventory.domain.kinds import WATCHED
from inventory.domain.trim import trimmed
from inventory.gateways.errors import NotFound
from inventory.gateways.kube import AS_ITSELF, Kube
from inventory.gateways.kubeconfig import connect
from inventory.models import Cluster
from inventory.services.store import replace_kinds
from portal.adoption.domain.phase_manifests import MANIFESTS
from portal.core.secrets import encrypt
from tests.cluster.client import PATHS, Client, Object, Refused
from tests.cluster.kubelet import end_deleted_pods

NAME = "walked"
# Seconds within which what is observed must be so.
PATIENCE = 60
PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
CANARY_LABEL = "nvidia.com/dra-enabled"
GPU = "nvidia.com/gpu"
PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"
DRIVER = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0"
NEW, OLD = "containerd://2.1.4", "containerd://1.7.2"
SPACE = "ai-training"
KINDS = {
    "whole": {"nvidia.com/gpu.count": "2"},
    "mig": {"nvidia.com/gpu.count": "1", "nvidia.com/mig.config": "all-1g.10gb"},
    "shared": {
        "nvidia.com/gpu.count": "1",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
    },
}
# What a pod of each kind of pool asks for natively.
REQUESTS = {
    "whole": {"deviceClassName": "gpu.nvidia.com"},
    "mig": {"deviceClassName": "mig.nvidia.com"},
    "shared": {
        "deviceClassName": "gpu.nvidia.com",
        "selectors": [{"cel": {"expression": "device.allowMultipleAllocations"}}],
        "capacity": {"requests": {"memory": "16Gi"}},
    },
}


def text(value):
    return {"string": value}


def devices_of(kind, node):
    """Return what the driver publishes of a node of a kind."""
    base = {"driverVersion": {"version": "580.95.5"}}
    if kind == "whole":
        return [
            {
                "name": f"gpu-{n}",
                "attributes": {
                    **base,
                    "type": text("gpu"),
                    "uuid": text(f"GPU-{node}-{n}"),
                },
                "capacity": {"memory": {"value": "81559Mi"}},
            }
            for n in range(2)
        ]
    if kind == "mig":
        return [
            {
                "name": f"gpu-0-mig-{n}",
                "attributes": {
                    **base,
                    "type": text("mig"),
                    "profile": text("1g.10gb"),
                    "uuid": text(f"MIG-{node}-{n}"),
                    "parentUUID": text(f"GPU-{node}-0"),
                },
                "capacity": {"memory": {"value": "9984Mi"}},
            }
            for n in range(7)
        ]
    return [
        {
            "name": "gpu-0",
            "allowMultipleAllocations": True,
            "attributes": {
                **base,
                "type": text("gpu"),
                "uuid": text(f"GPU-{node}-0"),
            },
            "capacity": {
                "memory": {
                    "value": "81559Mi",
                    "requestPolicy": {
                        "default": "1Gi",
                        "validRange": {"min": "1Gi", "step": "1Mi"},
                    },
                }
            },
        }
    ]


class Scene:
    """A cluster with old nodes on a device plugin, and hands that change it."""

    def __init__(self, client: Client, config: str, *, is_real: bool):
        self.client, self.is_real = client, is_real
        self.kube = Kube(connect(NAME, config), AS_ITSELF)
        self.row = Cluster.objects.create(
            name=NAME,
            kind=Cluster.Kind.LIVE,
            kubernetes_version=self.kube.version(),
            kubeconfig_encrypted=encrypt(config),
        )

    # What the watcher and the kubelets do.

    def observe(self):
        """Store what is in the cluster, as the watcher does; play kubelets first."""
        if self.is_real:
            self._play_kubelets()
        lists, states = {}, {}
        for kind in WATCHED:
            try:
                found = self.kube.list(kind).items
            except NotFound:
                states[kind.kind] = {"state": "not-served"}
                continue
            lists[kind.kind] = [each for each in map(trimmed, found) if each]
            states[kind.kind] = {"state": "watching"}
        replace_kinds(self.row, lists, now=timezone.now(), guard=False)
        Cluster.objects.filter(pk=self.row.pk).update(
            kinds=states, heard_at=timezone.now()
        )
        self.row.refresh_from_db()

    def until(self, condition):
        """Observe until something is so."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.observe()
            if found := condition():
                return found
            assert time.monotonic() < deadline, f"not within {PATIENCE} s"
            time.sleep(0.2)

    def _play_kubelets(self):
        end_deleted_pods(self.client)
        for pod in self.client.list("Pod")["items"]:
            bound = pod["spec"].get("nodeName")
            if not bound or pod["status"].get("phase") != "Pending":
                continue
            ready = [{"type": "Ready", "status": "True"}]
            status = {"phase": "Running", "conditions": ready}
            with suppress(Refused):
                self.client.patch({"kind": "Pod", **pod}, {"status": status}, "status")

    # What people and drivers do.

    def apply(self, body: Object) -> None:
        with suppress(Refused):
            self.client.create(body)

    def manifest(self, name):
        """Create what a file of the plan holds, as its YAML says."""
        for body in MANIFESTS[name]():
            again = yaml.safe_load(yaml.safe_dump(body))
            if again["kind"] in {"Pod", "ResourceClaimTemplate"}:
                again["metadata"]["namespace"] = SPACE
            self.client.create(again)

    def begin(self):
        """Make the old pool: one node of each kind, on a device plugin."""
        for space in (SPACE, "gpu-operator", "dra-driver"):
            self.apply(manifest("Namespace", space))
        for kind, labels in KINDS.items():
            self.node(f"old-{kind}", OLD, {**labels, PLUGIN_LABEL: "true"}, gpus=2)
        self.daemons("plugin", PLUGIN, {PLUGIN_LABEL: "true"}, "gpu-operator")
        self.policy()
        for name, kind in (("gpu.nvidia.com", "gpu"), ("mig.nvidia.com", "mig")):
            of_type = f"device.attributes['gpu.nvidia.com'].type == '{kind}'"
            driver = "device.driver == 'gpu.nvidia.com'"
            body = manifest("DeviceClass", name)
            expression = {"expression": f"{driver} && {of_type}"}
            self.apply({**body, "spec": {"selectors": [{"cel": expression}]}})

    def policy(self):
        body = manifest("ClusterPolicy", "cluster-policy")
        body["metadata"]["labels"] = {"app.kubernetes.io/version": "v26.7.1"}
        spec = {"cdi": {"enabled": True}, "mig": {"strategy": "mixed"}}
        self.client.create({**body, "spec": spec})

    def node(self, name, runtime, labels, gpus=0, taints=()):
        labels = {"nvidia.com/gpu.present": "true", **labels}
        body = manifest("Node", name)
        body["metadata"]["labels"] = {"kubernetes.io/hostname": name, **labels}
        stored = self.client.create(body)
        # Admission taints new nodes, and no controller of these servers lifts it.
        self.client.patch(stored, {"spec": {"taints": list(taints)}})
        self.status(name, runtime, gpus)

    def status(self, name, runtime, gpus):
        """Be a kubelet that tells its runtime, and what a device plugin offers."""
        room = {"cpu": "64", "memory": "512Gi", "pods": "110"}
        both = {**room, GPU: str(gpus) if gpus else None}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"allocatable": both, "capacity": both, "conditions": [ready]}
        if runtime:
            status["nodeInfo"] = {"containerRuntimeVersion": runtime}
        self.patch("Node", name, {"status": status}, "status")

    def label(self, name, **labels):
        self.patch("Node", name, {"metadata": {"labels": labels}})

    def patch(self, kind, name, change, part=""):
        self.client.patch({"kind": kind, "metadata": {"name": name}}, change, part)

    def daemons(self, name, image, selector, namespace):
        pod = {
            "nodeSelector": selector,
            "tolerations": [{"key": CANARY_LABEL, "operator": "Exists"}],
            "containers": [{"name": "main", "image": image}],
        }
        labels = {"app": name}
        body = manifest("DaemonSet", f"nvidia-{name}", namespace)
        template = {"metadata": {"labels": labels}, "spec": pod}
        selector = {"matchLabels": labels}
        self.client.create(
            {**body, "spec": {"selector": selector, "template": template}}
        )

    def publish(self, node, kind):
        """Be the DRA driver of a node."""
        body = manifest("ResourceSlice", f"{node}-gpus")
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool}
        spec["devices"] = devices_of(kind, node)
        self.client.create({**body, "spec": spec})

    def map(self, resource):
        change = {"spec": {"extendedResourceName": resource}}
        self.patch("DeviceClass", "gpu.nvidia.com", change)

    def pod(self, name, *, limits=None, template="", canary=True):
        body = manifest("Pod", name, SPACE)
        container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
        spec = {"containers": [container]}
        if canary:
            spec["nodeSelector"] = {CANARY_LABEL: "true"}
            spec["tolerations"] = [{"key": CANARY_LABEL, "operator": "Exists"}]
        if limits:
            container["resources"] = {"limits": limits, "requests": limits}
        if template:
            claim = {"name": "gpu", "resourceClaimTemplateName": template}
            spec["resourceClaims"] = [claim]
            container["resources"] = {"claims": [{"name": "gpu"}]}
        self.client.create({**body, "spec": spec})

    def native(self, kind):
        """Start a pod that asks by a template for what a kind of pool has."""
        body = manifest("ResourceClaimTemplate", f"one-{kind}", SPACE)
        request = {"name": "gpu", "exactly": REQUESTS[kind]}
        spec = {"spec": {"devices": {"requests": [request]}}}
        self.client.create({**body, "spec": spec})
        self.pod(f"native-{kind}", template=f"one-{kind}")

    def probe(self):
        """Have an unchanged pod until one has its claim.

        A scheduler that hears of the pod before the class takes the resource for a
        device plugin's, and does not look at that pod again for minutes.
        """
        for number in range(6):
            name = f"probe-{number}"
            self.pod(name, limits={GPU: "1"})
            for _ in range(50):
                found = self.client.get("Pod", name, SPACE)
                claim = found["status"].get("extendedResourceClaimStatus")
                if claim and found["spec"].get("nodeName"):
                    return name
                time.sleep(0.1)
            self.delete("Pod", name, SPACE)
        raise AssertionError(found)

    def delete(self, kind, name, namespace=None):
        options = {"gracePeriodSeconds": 0} if kind == "Pod" else None
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
        with suppress(Refused):
            self.client.delete({"kind": kind, "metadata": metadata}, options)


def manifest(kind, name, namespace=""):
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    version = PATHS[kind][0].removeprefix("/apis/").removeprefix("/api/")
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
