"""A live object as somebody would write it: without what the cluster added.

Source: Kubernetes API conventions, ObjectMeta; batch/v1 Job; core/v1 Pod admission.
"""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]

_KEPT = ("name", "generateName", "namespace", "labels", "annotations")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_REVISION = "deployment.kubernetes.io/revision"
_JOB_LABELS = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    }
)
# The token's volume, which admission puts into every pod.
_TOKEN = "kube-api-access-"  # noqa: S105  a volume's name
_UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_OF_POD = ("nodeName", "priority", "serviceAccount", "preemptionPolicy")


def as_written(body: Json) -> Json:
    """Return a live workload as a manifest; what is given is not changed."""
    body = copy.deepcopy(body)
    kind = str(body.get("kind"))
    spec = body.get("spec")
    metadata = _own(body.get("metadata") or {})
    if isinstance(spec, dict):
        if kind == "Pod":
            _without_admission(spec)
        elif kind == "Job":
            _without_controller(metadata, spec)
    return {
        "apiVersion": body.get("apiVersion"),
        "kind": kind,
        "metadata": metadata,
        **{k: v for k, v in body.items() if k not in _HEAD},
    }


_HEAD = frozenset({"apiVersion", "kind", "metadata", "status"})


def _own(metadata: Json) -> Json:
    kept = {key: metadata[key] for key in _KEPT if metadata.get(key)}
    if "name" in kept:
        kept.pop("generateName", None)
    notes = kept.get("annotations")
    if isinstance(notes, dict):
        for key in (_LAST_APPLIED, _REVISION):
            notes.pop(key, None)
        if not notes:
            del kept["annotations"]
    return kept


def _without_admission(spec: Json) -> None:
    for key in _OF_POD:
        spec.pop(key, None)
    _drop(spec, "tolerations", lambda row: row.get("key") in _UNREACHABLE)
    _drop(spec, "volumes", _is_token)
    for key in ("initContainers", "containers"):
        for container in spec.get(key) or ():
            if isinstance(container, dict):
                _drop(container, "volumeMounts", _is_token)


def _is_token(row: Json) -> bool:
    return str(row.get("name")).startswith(_TOKEN)


def _drop(holder: Json, key: str, is_added: Any) -> None:
    """Take rows out of a list, and the list where none is left."""
    rows = holder.get(key)
    if not isinstance(rows, list):
        return
    left = [row for row in rows if not (isinstance(row, dict) and is_added(row))]
    if left:
        holder[key] = left
    else:
        del holder[key]


def _without_controller(metadata: Json, spec: Json) -> None:
    if not spec.get("manualSelector"):
        spec.pop("selector", None)
    template = spec.get("template")
    inner = template.get("metadata") if isinstance(template, dict) else None
    for each in (metadata, inner):
        labels = each.get("labels") if isinstance(each, dict) else None
        if isinstance(each, dict) and isinstance(labels, dict):
            each["labels"] = {k: v for k, v in labels.items() if k not in _JOB_LABELS}
            if not each["labels"]:
                del each["labels"]
