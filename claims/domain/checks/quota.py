"""Kubernetes' own quota for devices, evaluated before the server does.

Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core resource_claims.go: a
request charges the maximum over its alternatives per class, `All` counts 32,
adminAccess is charged too. Templates are never charged, their claims are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.checks.asks import asked_of
from claims.domain.checks.findings import Finding
from claims.domain.checks.shape import shape_findings
from claims.domain.checks.world import name_of, namespace_of
from inventory.domain.quantity import quantity_or_zero

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.asks import Asked
    from claims.domain.checks.world import World

Json = dict[str, Any]

COUNT = "count/resourceclaims.resource.k8s.io"
ALL_COUNTS = 32
_SUFFIX = ".deviceclass.resource.k8s.io/devices"
_EXTENDED = "requests.deviceclass.resource.kubernetes.io/"


def charges(asked: Asked, world: World) -> Counter[str]:
    """Return quota key → what one claim is charged."""
    charged: Counter[str] = Counter({COUNT: 1})
    extended = {
        name_of(body): str((body.get("spec") or {}).get("extendedResourceName") or "")
        for body in world.classes().values()
    }
    for _name, _path, asks in asked.requests:
        most: dict[str, int] = {}
        for ask in asks:
            count = ALL_COUNTS if ask.is_all else ask.count
            most[ask.class_name] = max(count, most.get(ask.class_name, 0))
        for name, count in most.items():
            charged[name + _SUFFIX] += count
            if "DRAExtendedResource" in world.gates:
                charged[f"requests.deviceclass.resource.kubernetes.io/{name}"] += count
                if extended.get(name):
                    charged[f"requests.{extended[name]}"] += count
    return charged


def quota_findings(
    asked: Asked, world: World, standing: Json | None = None
) -> Iterator[Finding]:
    """Yield each quota of the namespace that a claim would exceed.

    Args:
        asked: the claim.
        world: the cluster; it may have the claim already.
        standing: the claim as it stands, where that is known from elsewhere.
    """
    wanted = charges(asked, world)
    for quota in world.objects.get("ResourceQuota", []):
        if namespace_of(quota) != asked.namespace:
            continue
        hard = (quota.get("spec") or {}).get("hard") or {}
        for key, limit in hard.items():
            if not wanted[key]:
                continue
            used = used_of(quota, key, asked, world, standing)
            left = int(quantity_or_zero(limit)) - used
            if wanted[key] > left:
                values = {
                    "quota": name_of(quota),
                    "key": key,
                    "charged": wanted[key],
                    "left": max(left, 0),
                    "limit": str(limit),
                }
                yield Finding("quota.exceeded", f"{asked.base}.requests", values)


@dataclass(frozen=True, slots=True)
class QuotaLeft:
    """What one quota leaves of one thing; `left` is never below 0."""

    quota: str
    key: str
    limit: int
    left: int

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left."""
        return self.left == 0


def quotas_left(namespace: str, world: World) -> list[QuotaLeft]:
    """Return what the quotas of a namespace leave of devices and claims."""
    nothing = asked_of(
        {"kind": "ResourceClaimTemplate", "metadata": {"namespace": namespace}}
    )
    found = []
    for quota in world.objects.get("ResourceQuota", []):
        if namespace_of(quota) != namespace:
            continue
        for key, limit in ((quota.get("spec") or {}).get("hard") or {}).items():
            if _SUFFIX in key or key == COUNT or key.startswith(_EXTENDED):
                most = int(quantity_or_zero(limit))
                left = max(most - used_of(quota, key, nothing, world), 0)
                found.append(QuotaLeft(name_of(quota), key, most, left))
    return sorted(found, key=lambda each: (each.key, each.quota))


def used_of(
    quota: Json, key: str, asked: Asked, world: World, standing: Json | None = None
) -> int:
    """Return what others use: as the server says, else summed over known claims.

    What the claim itself is charged already, where it stands, is not among it.
    """
    mine = (
        name_of(asked.manifest) if asked.manifest.get("kind") == "ResourceClaim" else ""
    )
    said = ((quota.get("status") or {}).get("used") or {}).get(key)
    if said is not None:
        stored = standing or world.find("ResourceClaim", asked.namespace, mine)
        own = _charged(stored, key, world) if mine and stored else 0
        return max(int(quantity_or_zero(said)) - own, 0)
    return sum(
        _charged(claim, key, world)
        for claim in world.objects.get("ResourceClaim", [])
        if namespace_of(claim) == asked.namespace and name_of(claim) != mine
    )


def _charged(claim: Json, key: str, world: World) -> int:
    """Return what a claim that stands is charged; 0 where it could not stand."""
    return 0 if shape_findings(claim) else charges(asked_of(claim), world)[key]
