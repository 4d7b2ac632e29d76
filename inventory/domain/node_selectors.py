"""Which nodes a node selector selects.

Source: k8s.io/component-helpers scheduling/corev1/nodeaffinity: terms of which one
must hold, each of rules that all must.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


def selects(selector: Json, name: str, labels: Mapping[str, Any]) -> bool:
    """Return whether a NodeSelector selects a node of that name and those labels."""
    terms = _dicts(selector.get("nodeSelectorTerms"))
    return any(_term(term, name, labels) for term in terms)


def _term(term: Json, name: str, labels: Mapping[str, Any]) -> bool:
    """Return whether one term selects a node; an empty one selects none."""
    by_label = _dicts(term.get("matchExpressions"))
    by_field = _dicts(term.get("matchFields"))
    return bool(by_label or by_field) and (
        all(_holds(rule, labels) for rule in by_label)
        and all(_holds(rule, {"metadata.name": name}) for rule in by_field)
    )


def _holds(rule: Json, labels: Mapping[str, Any]) -> bool:
    key, operator = str(rule.get("key")), rule.get("operator")
    values = rule.get("values") or []
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if operator == "NotIn":
        return labels.get(key) not in values
    if operator == "In":
        return key in labels and labels[key] in values
    return operator in {"Gt", "Lt"} and _compares(operator, labels.get(key), values)


def _compares(operator: str, label: Any, values: list[Any]) -> bool:
    try:
        have, wanted = int(str(label)), int(str(values[0]))
    except (ValueError, IndexError):
        return False
    return have > wanted if operator == "Gt" else have < wanted


def _dicts(value: Any) -> list[Json]:
    found = value if isinstance(value, list) else []
    return [item for item in found if isinstance(item, dict)]
