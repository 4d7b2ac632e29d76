"""What lies in the cluster when it is new: namespaces, and fleets from files."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path

from ruamel.yaml import YAML

from inventory.domain.convert import to_v1
from simcluster.defaults import fill_in
from simcluster.kinds import BY_NAME, NAMESPACE, NODE, SLICE, Kind, Object
from simcluster.registry import moment
from simcluster.storage import Store

_ROOT = Path(__file__).parents[1]
DEMO = (_ROOT / "deploy" / "rbac.yaml", *sorted(_ROOT.glob("simcluster/fleets/*.yaml")))
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_GPU_DRIVER = "gpu.nvidia.com"
_RUNTIME = "containerd://2.0.6"
_ROOM = {"cpu": "128", "memory": "1Ti", "pods": "110"}


def read(paths: Iterable[Path]) -> list[tuple[Kind, Object]]:
    """Return the objects of YAML files, in their v1 shape.

    Raises:
        OSError, YAMLError: A file cannot be read.
        ValueError: It holds something that is not served.
    """
    found = []
    loader = YAML(typ="safe")
    for path in paths:
        for document in filter(None, loader.load_all(path.read_text())):
            body = to_v1(document) if isinstance(document, dict) else {}
            kind = BY_NAME.get((body.get("apiVersion", ""), body.get("kind", "")))
            if kind is None or not body.get("metadata", {}).get("name"):
                raise ValueError(
                    f"{path} holds something that is no object of a served kind."
                )
            found.append((kind, body))
    return found


def begin(store: Store, documents: list[tuple[Kind, Object]]) -> None:
    """Fill a new store: the namespaces of every cluster, the objects, and their nodes."""
    for name in _NAMESPACES:
        _place(store, NAMESPACE, {"metadata": {"name": name}})
    for kind, body in documents:
        _place(store, kind, body)
    for kind, body in documents:
        if kind == SLICE and body["spec"].get("nodeName"):
            _place(store, NODE, _node(body))


def _place(store: Store, kind: Kind, body: Object) -> None:
    """Store an object without admission, unless one of its name is there."""
    metadata = {
        "uid": str(uuid.uuid4()),
        "creationTimestamp": moment(),
        **body["metadata"],
    }
    if store.get(kind, metadata["name"], metadata.get("namespace", "")):
        return
    if kind.has_generation:
        metadata.setdefault("generation", 1)
    new = {**body, "metadata": metadata}
    new = {
        key: value for key, value in new.items() if key not in ("kind", "apiVersion")
    }
    if kind != NODE:
        fill_in(kind, new, moment())
    store.put(kind, new)


def _node(body: Object) -> Object:
    """Return the node that a slice is on, with the uid that the slice knows."""
    name = body["spec"]["nodeName"]
    metadata: Object = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    if body["spec"]["driver"] == _GPU_DRIVER:
        metadata["labels"]["nvidia.com/gpu.present"] = "true"
    owners = body["metadata"].get("ownerReferences", [])
    if uids := [owner["uid"] for owner in owners if owner["kind"] == NODE.name]:
        metadata["uid"] = uids[0]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    info = {"containerRuntimeVersion": _RUNTIME}
    status = {"capacity": _ROOM, "allocatable": _ROOM, "conditions": [ready]}
    return {"metadata": metadata, "spec": {}, "status": {**status, "nodeInfo": info}}
