"""What lies in the cluster when it is new: namespaces, and fleets from files."""

from __future__ import annotations

import uuid
from typing import Any

from simcluster.defaults import fill_in
from simcluster.kinds import NAMESPACE, NODE, Kind
from simcluster.registry import moment
from simcluster.storage import Store

SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


def place(store: Store, kind: Kind, body: dict[str, Any]) -> None:
    """Store an object as it is, without admission, unless one of its name is there."""
    metadata = {
        "uid": str(uuid.uuid4()),
        "creationTimestamp": moment(),
        **body["metadata"],
    }
    if store.get(kind, metadata["name"], metadata.get("namespace", "")):
        return
    if kind.has_generation:
        metadata.setdefault("generation", 1)
    kept = {
        key: value for key, value in body.items() if key not in ("kind", "apiVersion")
    }
    new = {**kept, "metadata": metadata}
    if kind != NODE:
        fill_in(kind, new, moment())
    store.put(kind, new)


def begin(store: Store) -> None:
    """Make the namespaces that every cluster has."""
    for name in SYSTEM_NAMESPACES:
        place(store, NAMESPACE, {"metadata": {"name": name}})
