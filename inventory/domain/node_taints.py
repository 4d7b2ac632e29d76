"""Which taints of a node keep a pod away.

Source: core/v1 Toleration.ToleratesTaint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
_SOFT = "PreferNoSchedule"


def repelling(taints: Iterable[Json], tolerations: Iterable[Json]) -> list[Json]:
    """Return the taints that keep out a pod with some tolerations."""
    rows = list(tolerations)
    return [
        taint
        for taint in taints
        if taint.get("effect") != _SOFT
        and not any(_tolerates(each, taint) for each in rows)
    ]


def _tolerates(toleration: Json, taint: Json) -> bool:
    exists = toleration.get("operator") == "Exists"
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if not toleration.get("key"):
        return exists
    if toleration["key"] != taint.get("key"):
        return False
    return exists or (toleration.get("value") or "") == (taint.get("value") or "")
