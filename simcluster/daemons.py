"""What the DaemonSet controller and kubelets say of DaemonSets: how many pods are ready.

Every pod of a DaemonSet is ready at once; the pods themselves are not made.
"""

from __future__ import annotations

from simcluster.kinds import DAEMON_SET, NODE, Object
from simcluster.placing import refuses
from simcluster.storage import Store


def count_daemons(store: Store) -> None:
    """Write the status of each DaemonSet that the nodes have made untrue."""
    for body in store.items(DAEMON_SET):
        pod = {"spec": body["spec"].get("template", {}).get("spec", {})}
        count = sum(not refuses(_open(node), pod) for node in store.items(NODE))
        status = {
            "observedGeneration": body["metadata"].get("generation", 1),
            "desiredNumberScheduled": count,
            "currentNumberScheduled": count,
            "updatedNumberScheduled": count,
            "numberReady": count,
            "numberAvailable": count,
            "numberMisscheduled": 0,
        }
        if body.get("status") != status:
            store.put(DAEMON_SET, {**body, "status": status})


def _open(node: Object) -> Object:
    """Return a node as daemons see it: cordons do not keep them away."""
    spec = node.get("spec", {})
    taints = [
        each
        for each in spec.get("taints", [])
        if not each["key"].startswith("node.kubernetes.io/")
    ]
    return {**node, "spec": {**spec, "unschedulable": False, "taints": taints}}
