"""Which taints are tolerated, and which of a node keep a pod away.

Source: core/v1 Toleration.ToleratesTaint; resource/v1 DeviceToleration is the same.
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
        and not any(tolerates(each, taint) for each in rows)
    ]


def tolerates(toleration: Json, taint: Json) -> bool:
    """Return whether a toleration covers a taint, of a node or of a device.

    An empty key with Exists matches every key, an empty effect every effect; Equal
    is the default.
    """
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    key = toleration.get("key") or ""
    if key and key != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")
