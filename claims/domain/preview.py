"""What the scheduler would do with claims, node by node, as a value.

Outcomes are kept apart: no match is not an error, an error on one node is not
one for the pod, and undecided is neither. The document is that of
`manage.py preview` and of the stored plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from inventory.domain.engine import Outcome

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodePreview:
    """One node's answer.

    Attributes:
        results: one AllocationResult per claim, in the claims' order; None where
            the node cannot hold them.
        score: raw sum of 8 − i over firstAvailable requests; None before 1.35.
        crash: how the allocator breaks down in some order of the node's pools,
            whatever the outcome is in another; "" where none was found.
    """

    outcome: Outcome
    message: str
    results: list[Json] | None
    score: int | None
    crash: str = ""

    def device_results(self, claim: int = 0) -> list[Json]:
        """Return the devices given to a claim, as DeviceRequestAllocationResults."""
        if not self.results:
            return []
        return list((self.results[claim].get("devices") or {}).get("results") or [])

    def alternatives(self, claim: int = 0) -> list[str]:
        """Return the `request` or `request/subrequest` names that got devices."""
        names = [str(result.get("request")) for result in self.device_results(claim)]
        return list(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Preview:
    """The answer for every node, and which allocator gave it on what snapshot."""

    revision: int
    engine: Json
    nodes: dict[str, NodePreview]
    # (claim, request) → node → outcome of that request alone, where undecided.
    alone: dict[tuple[str, str], dict[str, Outcome]] = field(default_factory=dict)
    micros: int = 0

    @property
    def fitting(self) -> list[str]:
        """The names of the nodes that can hold the claims, sorted."""
        return sorted(
            name for name, node in self.nodes.items() if node.outcome == Outcome.FITS
        )

    @property
    def order_is_arbitrary(self) -> bool:
        """Whether devices of several pools could come in another order next time.

        Source: k8s.io/dynamic-resource-allocation: pools are sorted from 1.36 on,
        and not in its stable allocator.
        """
        return self.engine.get("allocator") == "stable" or (
            self.engine.get("minor") in {"1.34", "1.35"}
        )

    @property
    def pod_error(self) -> str:
        """The first error that ends scheduling on every node, or empty."""
        return next(
            (n.message for n in self.nodes.values() if n.outcome == Outcome.ERROR), ""
        )

    @property
    def crash(self) -> str:
        """How the allocator can break down, and kube-scheduler with it; "" if not.

        Source: engine/crash.go, which lives on where the scheduler does not.
        """
        return next((n.crash for n in self.nodes.values() if n.crash), "")

    def document(self) -> Json:
        """Return the JSON document that commands print and plans store."""
        return {
            "revision": self.revision,
            "engine": self.engine,
            "nodes": {
                name: {
                    "outcome": node.outcome.value,
                    "message": node.message,
                    "results": node.results,
                    "score": node.score,
                }
                for name, node in sorted(self.nodes.items())
            },
        }


@dataclass(frozen=True, slots=True)
class AlternativePreview:
    """One alternative of a firstAvailable request, asked as if it were the only one."""

    request: str
    subrequest: str
    preview: Preview


def claim_of(manifest: Json) -> Json:
    """Return the ResourceClaim that a claim or template manifest stands for.

    What is allocated stays allocated; a template's claim has its labels and spec.
    """
    if manifest.get("kind") != "ResourceClaimTemplate":
        return manifest
    outer = manifest.get("metadata") or {}
    inner = manifest.get("spec") or {}
    metadata = {
        **(inner.get("metadata") or {}),
        "name": outer.get("name"),
        "namespace": outer.get("namespace"),
    }
    return {
        "apiVersion": manifest.get("apiVersion"),
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": inner.get("spec") or {},
    }


def is_allocated(manifest: Json) -> bool:
    """Return whether a manifest is a claim that already holds devices."""
    status = manifest.get("status")
    return isinstance(status, dict) and bool(status.get("allocation"))


def only_alternative(claim: Json, request: str, subrequest: str) -> Json:
    """Return the claim with one alternative left in one request's list.

    Constraints and config that name only alternatives that went go with them.
    """
    devices = (claim.get("spec") or {}).get("devices") or {}
    gone: set[str] = set()
    requests = []
    for item in devices.get("requests") or []:
        if item.get("name") == request:
            listed = item.get("firstAvailable") or []
            gone |= {f"{request}/{s.get('name')}" for s in listed} - {
                f"{request}/{subrequest}"
            }
            kept = [s for s in listed if s.get("name") == subrequest]
            item = {**item, "firstAvailable": kept}
        requests.append(item)
    changed = {**devices, "requests": requests}
    for key in ("constraints", "config"):
        if key in devices:
            changed[key] = _without(devices[key] or [], gone)
    return {**claim, "spec": {**claim["spec"], "devices": changed}}


def _without(items: list[Json], gone: set[str]) -> list[Json]:
    """Return constraints or config without the names that went."""
    kept = []
    for item in items:
        names = item.get("requests") or []
        left = [name for name in names if name not in gone]
        if left or not names:
            kept.append({**item, "requests": left} if names else item)
    return kept
