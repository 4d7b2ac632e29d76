"""Why a node takes no such pod, in the scheduler's words."""

from __future__ import annotations

from collections import Counter

from inventory.domain.node_selectors import selects
from inventory.domain.tolerations import repelling
from simcluster.kinds import Object


def refuses(node: Object, pod: Object) -> str:
    """Return why a node takes no such pod, or an empty text."""
    if node.get("spec", {}).get("unschedulable"):
        return "node(s) were unschedulable"
    if not _is_chosen(node["metadata"], pod["spec"]):
        return "node(s) didn't match Pod's node affinity/selector"
    taints = node.get("spec", {}).get("taints", [])
    for taint in repelling(taints, pod["spec"].get("tolerations", [])):
        return f"node(s) had untolerated taint(s) {{{taint['key']}}}"
    return ""


def _is_chosen(metadata: Object, spec: Object) -> bool:
    """Return whether a pod's node selector and required affinity take a node."""
    labels = metadata.get("labels", {})
    if not spec.get("nodeSelector", {}).items() <= labels.items():
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return not required or selects(required, metadata["name"], labels)


def sentence(why: Counter[str]) -> str:
    """Return the scheduler's sentence on why no node takes a pod."""
    total = why.total()
    if not total:
        return "no nodes available to schedule pods"
    reasons = ", ".join(f"{count} {text}" for text, count in sorted(why.items()))
    available = f"0/{total} nodes are available"
    unhelpful = f"{total} Preemption is not helpful for scheduling"
    return f"{available}: {reasons}. preemption: {available}: {unhelpful}."
