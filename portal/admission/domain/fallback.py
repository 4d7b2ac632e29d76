"""A claim's `exactly` turned into a list that ends with an admin's fallback.

Source: RFC 6902 JSON Patch. In v1 and v1beta2 a request holds `exactly`, in v1beta1
its fields stand beside its name; a list of alternatives has one shape in all three,
so that a request is replaced whole. A `test` comes first: what is no longer as it
was is not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from claims.domain.manifest import asks_admin_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portal.admission.domain.review import Review

Json = dict[str, Any]

OPT_OUT_LABEL = "slicewise.io/fallback"
OPT_OUT = "off"
TIER_LABEL = "slicewise.io/workload-tier"
BATCH = "batch-offline"
ONLINE = "online"
TIERS = (BATCH, ONLINE)
ASKED_NAME = "asked"
MOST_ALTERNATIVES = 7  # a list has at most 8, and the first is what was asked
_KEYS = frozenset(
    {"name", "deviceClassName", "selectors", "count", "tolerations", "capacity"}
)
_NOT_IN_A_LIST = frozenset({"adminAccess"})


class BadFallback(ValueError):
    """A fallback cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """What an admin lets a class fall back to.

    Attributes:
        device_class: the class that is asked for.
        alternatives: DeviceSubRequests in order; a `count` is per device asked for.
        namespaces: patterns; all where it is empty.
        needs_advice: whether only the advisor may bring it about; else the preview
            alone does, where what was asked fits nowhere.
    """

    name: str
    device_class: str
    alternatives: tuple[Json, ...]
    namespaces: tuple[str, ...] = ()
    needs_advice: bool = True

    def covers(self, namespace: str) -> bool:
        """Return whether it is for a namespace."""
        return any(fnmatchcase(namespace, each) for each in self.namespaces or ("*",))


def check_alternatives(value: Any) -> list[Json]:
    """Return alternatives as they are stored.

    Raises:
        BadFallback: There is none, too many, or one is not as it must be.
    """
    if not isinstance(value, list) or not 0 < len(value) <= MOST_ALTERNATIVES:
        raise BadFallback(
            f"alternatives must be a list of 1 to {MOST_ALTERNATIVES} subrequests."
        )
    names = {ASKED_NAME}
    for each in value:
        if not isinstance(each, dict) or set(each) - _KEYS:
            raise BadFallback(
                f"An alternative is an object of {', '.join(sorted(_KEYS))}."
            )
        for key in ("name", "deviceClassName"):
            if not isinstance(each.get(key), str) or not each[key]:
                raise BadFallback(f"Each alternative needs {key}.")
        count = each.get("count", 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise BadFallback("count must be a whole number from 1.")
        if each["name"] in names:
            raise BadFallback(f"Two alternatives are called {each['name']}.")
        names.add(each["name"])
    return value


@dataclass(frozen=True, slots=True)
class Changed:
    """A claim as it would be after a fallback was put into it.

    Attributes:
        patch: JSON Patch against the object as it was sent.
        body: the claim in v1 shape.
        pairs: (request, alternative) of each alternative that was added.
    """

    patch: tuple[Json, ...]
    body: Json
    pairs: tuple[tuple[str, str], ...] = field(default=())


def refusal(review: Review) -> str:
    """Return why a claim is never changed, as a code, or "" where it may be."""
    devices = (review.body.get("spec") or {}).get("devices") or {}
    requests = devices.get("requests") or []
    reasons = {
        "fallback.portal": bool(review.request_id),
        "fallback.opted_out": review.labels.get(OPT_OUT_LABEL) == OPT_OUT,
        "fallback.admin_access": asks_admin_access(review.body),
        "fallback.has_alternatives": any(r.get("firstAvailable") for r in requests),
        "fallback.has_config": bool(devices.get("config")),
    }
    return next((code for code, holds in reasons.items() if holds), "")


def changed(review: Review, fallbacks: Sequence[Fallback]) -> Changed | None:
    """Return the claim with fallbacks in it, or None where no request has one.

    The argument is not changed. The first fallback of a class and namespace counts.
    """
    spec = review.body["spec"]
    requests = list((spec.get("devices") or {}).get("requests") or [])
    patch: list[Json] = []
    pairs: list[tuple[str, str]] = []
    for index, request in enumerate(requests):
        found = _for(request, review.namespace, fallbacks)
        if found is None:
            continue
        new = _with_list(request, found)
        path = f"/spec/devices/requests/{index}"
        original = review.raw["spec"]["devices"]["requests"][index]
        patch += [
            {"op": "test", "path": path, "value": original},
            {"op": "replace", "path": path, "value": new},
        ]
        pairs += [(request["name"], each["name"]) for each in found.alternatives]
        requests[index] = new
    if not patch:
        return None
    devices = {**spec["devices"], "requests": requests}
    body = {**review.body, "spec": {**spec, "devices": devices}}
    return Changed(tuple(patch), body, tuple(pairs))


def _for(
    request: Json, namespace: str, fallbacks: Sequence[Fallback]
) -> Fallback | None:
    exactly = request.get("exactly") or {}
    if exactly.get("allocationMode", "ExactCount") != "ExactCount":
        return None
    wanted = exactly.get("deviceClassName")
    return next(
        (f for f in fallbacks if f.device_class == wanted and f.covers(namespace)),
        None,
    )


def _with_list(request: Json, fallback: Fallback) -> Json:
    exactly = request["exactly"]
    asked = {k: v for k, v in exactly.items() if k not in _NOT_IN_A_LIST}
    count = int(exactly.get("count") or 1)
    others = [
        {
            **each,
            "allocationMode": "ExactCount",
            "count": count * int(each.get("count", 1)),
        }
        for each in fallback.alternatives
    ]
    return {
        "name": request["name"],
        "firstAvailable": [{"name": ASKED_NAME, **asked}, *others],
    }


def tier_of(review: Review, namespace_labels: dict[str, str]) -> str:
    """Return the workload's tier: the claim's label, else its namespace's, else online."""
    for labels in (review.labels, namespace_labels):
        if TIER_LABEL in labels:
            return labels[TIER_LABEL] if labels[TIER_LABEL] in TIERS else ONLINE
    return ONLINE
