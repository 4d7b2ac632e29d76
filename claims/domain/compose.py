"""A draft as the manifest that is sent, deterministic: equal drafts, equal text.

What is typed wrong is written as it was typed; whether it may be sent is what
`claims.domain.reading` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.draft import (
    EXACTLY,
    MATCH,
    places,
)
from claims.domain.opaque import parameters_of
from claims.domain.spec import AllocationMode, Kind

if TYPE_CHECKING:
    from claims.domain.draft import (
        AlternativeDraft,
        ConfigDraft,
        ConstraintDraft,
        Draft,
        Pairs,
        RequestDraft,
        TolerationDraft,
    )

API_VERSION = "resource.k8s.io/v1"

Json = dict[str, Any]


def to_manifest(draft: Draft) -> Json:
    """Return the manifest of a draft, keys in Kubernetes' documented order."""
    spec: Json = {"devices": _devices(draft)}
    if draft.kind == Kind.TEMPLATE:
        inner = _metadata(draft.claim_labels, draft.claim_annotations)
        spec = {"metadata": inner, "spec": spec} if inner else {"spec": spec}
    named = {"name": draft.name, "namespace": draft.namespace}
    return {
        "apiVersion": API_VERSION,
        "kind": draft.kind,
        "metadata": {
            **{key: value for key, value in named.items() if value},
            **_metadata(draft.labels, draft.annotations),
        },
        "spec": spec,
    }


def _metadata(labels: Pairs, annotations: Pairs) -> Json:
    body = {"labels": dict(labels), "annotations": dict(annotations)}
    for pairs in body.values():
        pairs.pop("", None)
    return {key: value for key, value in body.items() if value}


def _devices(draft: Draft) -> Json:
    names = places(draft)
    devices: Json = {"requests": [_request(row) for row in draft.requests]}
    if draft.constraints:
        devices["constraints"] = [_constraint(r, names) for r in draft.constraints]
    if draft.configs:
        devices["config"] = [_config(row, names) for row in draft.configs]
    return devices


def _request(row: RequestDraft) -> Json:
    if row.mode == EXACTLY and len(row.alternatives) == 1:
        asked = _asked(row.alternatives[0])
        if row.alternatives[0].admin_access:
            asked["adminAccess"] = True
        return {"name": row.name, "exactly": asked}
    return {
        "name": row.name,
        "firstAvailable": [
            {"name": each.name, **_asked(each)} for each in row.alternatives
        ],
    }


def _asked(row: AlternativeDraft) -> Json:
    body: Json = {"deviceClassName": row.device_class}
    if texts := [text.rstrip() for text in row.selectors if text.strip()]:
        body["selectors"] = [{"cel": {"expression": text}} for text in texts]
    body["allocationMode"] = row.allocation_mode
    if row.allocation_mode != AllocationMode.ALL:
        body["count"] = whole(row.count)
    if row.tolerations:
        body["tolerations"] = [_toleration(each) for each in row.tolerations]
    if row.derived:
        body["derivedAttributes"] = [
            {"name": name, "expression": expression} for name, expression in row.derived
        ]
    if row.capacity:
        body["capacity"] = {"requests": dict(sorted(row.capacity))}
    return body


def whole(text: str) -> int | str:
    """Return a whole number as typed as a number, and anything else as it is."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else text


def _toleration(row: TolerationDraft) -> Json:
    body: Json = {
        "key": row.key,
        "operator": row.operator,
        "value": row.value,
        "effect": row.effect,
    }
    if row.seconds:
        body["tolerationSeconds"] = whole(row.seconds)
    return {key: value for key, value in body.items() if value != ""}


def _constraint(row: ConstraintDraft, names: dict[str, str]) -> Json:
    kind = "matchAttribute" if row.kind == MATCH else "distinctAttribute"
    return {**_bound(row.binds, names), kind: row.attribute}


def _config(row: ConfigDraft, names: dict[str, str]) -> Json:
    opaque = {"driver": row.driver, "parameters": parameters_of(row)}
    return {**_bound(row.binds, names), "opaque": opaque}


def _bound(binds: tuple[str, ...], names: dict[str, str]) -> Json:
    bound = [names[place] for place in binds if place in names]
    return {"requests": bound} if bound else {}
