"""What the controller of ComputeDomains does: templates made, members told, all undone.

The two daemons of a node are not played: a node is a ready member as soon as a claim
of the domain holds a channel there.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/compute-domain-controller.
"""

from __future__ import annotations

import uuid

from simcluster.kinds import CLAIM, COMPUTE_DOMAIN, NAMESPACE, NODE, TEMPLATE, Object
from simcluster.registry import moment
from simcluster.storage import Store

FINALIZER = OWNED = "resource.nvidia.com/computeDomain"
TARGET = "resource.nvidia.com/computeDomainTarget"
CLIQUE = "nvidia.com/gpu.clique"
DRIVER = "compute-domain.nvidia.com"
_DRIVER_SPACE = "dra-driver-nvidia-gpu"


def tend_domains(store: Store) -> None:
    """Bring each ComputeDomain one step on."""
    for body in store.items(COMPUTE_DOMAIN):
        if "deletionTimestamp" in body["metadata"]:
            _end(store, body)
        else:
            _tend(store, body)


def _tend(store: Store, body: Object) -> None:
    metadata = body["metadata"]
    finalizers = metadata.get("finalizers", [])
    if FINALIZER not in finalizers:
        metadata = {**metadata, "finalizers": [*finalizers, FINALIZER]}
    _make_templates(store, body)
    nodes = [_member(store, node) for node in _nodes_of(store, metadata["uid"])]
    is_ready = len(nodes) >= max(body["spec"].get("numNodes", 0), 1)
    status: Object = {"status": "Ready" if is_ready else "NotReady"}
    status |= {"nodes": nodes} if nodes else {}
    new = {**body, "metadata": metadata, "status": status}
    if new != body:
        store.put(COMPUTE_DOMAIN, new)


def _make_templates(store: Store, body: Object) -> None:
    uid, channel = body["metadata"]["uid"], body["spec"]["channel"]
    mode = channel.get("allocationMode", "Single")
    parameters: Object = {"domainID": uid, "allocationMode": mode}
    name = channel["resourceClaimTemplate"]["name"]
    own = body["metadata"]["namespace"]
    _make(store, own, name, _spec("channel", "default-channel", parameters), uid)
    if store.get(NAMESPACE, _DRIVER_SPACE):
        spec = _spec("daemon", "daemon", {"domainID": uid})
        _make(store, _DRIVER_SPACE, f"computedomain-daemon-{uid}", spec, uid)


def _make(store: Store, namespace: str, name: str, spec: Object, uid: str) -> None:
    """Make a template; one of that name that is another's is left alone."""
    if store.get(TEMPLATE, name, namespace):
        return
    target = "Workload" if "channel" in str(spec["requests"]) else "Daemon"
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": str(uuid.uuid4()),
        "creationTimestamp": moment(),
        "finalizers": [FINALIZER],
        "labels": {OWNED: uid, TARGET: target},
    }
    store.put(TEMPLATE, {"metadata": metadata, "spec": {"spec": {"devices": spec}}})


def _spec(request: str, kind: str, parameters: Object) -> Object:
    asked = {
        "deviceClassName": f"compute-domain-{kind}.nvidia.com",
        "allocationMode": "ExactCount",
        "count": 1,
    }
    known = {"apiVersion": "resource.nvidia.com/v1beta1"}
    known["kind"] = f"ComputeDomain{request.title()}Config"
    opaque = {"driver": DRIVER, "parameters": {**known, **parameters}}
    return {
        "requests": [{"name": request, "exactly": asked}],
        "config": [{"requests": [request], "opaque": opaque}],
    }


def _nodes_of(store: Store, uid: str) -> list[str]:
    """Return the nodes on which claims hold a channel for a domain."""
    found = set()
    for claim in store.items(CLAIM):
        allocation = claim.get("status", {}).get("allocation", {}).get("devices", {})
        named = [
            each.get("opaque", {}).get("parameters", {}).get("domainID")
            for each in claim["spec"]["devices"].get("config", [])
        ]
        if uid in named:
            results = allocation.get("results", [])
            found |= {each["pool"] for each in results if each["driver"] == DRIVER}
    return sorted(found)


def _member(store: Store, name: str) -> Object:
    node = store.get(NODE, name) or {"metadata": {}}
    clique = node["metadata"].get("labels", {}).get(CLIQUE, "")
    return {"name": name, "cliqueID": clique, "index": 0, "status": "Ready"}


def _end(store: Store, body: Object) -> None:
    """Take away the templates of a domain that is being deleted, then the domain."""
    uid = body["metadata"]["uid"]
    for template in store.items(TEMPLATE):
        if template["metadata"].get("labels", {}).get(OWNED) == uid:
            store.remove(TEMPLATE, template)
    metadata = dict(body["metadata"])
    left = [each for each in metadata.pop("finalizers", []) if each != FINALIZER]
    if left:
        metadata["finalizers"] = left
        if metadata != body["metadata"]:
            store.put(COMPUTE_DOMAIN, {**body, "metadata": metadata})
    else:
        store.remove(COMPUTE_DOMAIN, body)
