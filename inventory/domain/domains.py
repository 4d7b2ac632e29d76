"""ComputeDomains: nodes that share memory over NVLink, and how ready they are.

Source: resource.nvidia.com/v1beta1 ComputeDomain of NVIDIA's DRA driver. Members
are in its status alone; `numNodes` 0 means that the domain grows with its pods.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Member:
    """A node of a domain; `clique` is "" where it has none."""

    node: str
    clique: str
    state: str  # Ready | NotReady | "" where it is not told

    @property
    def ready(self) -> bool:
        """Whether the node's daemon is ready."""
        return self.state == "Ready"


@dataclass(frozen=True, slots=True)
class ComputeDomain:
    """A domain, as far as its controller has told.

    Attributes:
        state: Ready, NotReady, or "" where the controller has not told yet.
        wanted: how many nodes it was asked to have; 0 for as many as there are pods.
        template: the ResourceClaimTemplate by which pods ask for a channel.
        channels: Single or All, what each claim gets.
    """

    namespace: str
    name: str
    state: str
    wanted: int
    template: str
    channels: str
    members: tuple[Member, ...]

    @property
    def healthy(self) -> bool:
        """Whether it is ready with all of its members."""
        complete = len(self.members) >= max(self.wanted, 1)
        return self.state == "Ready" and complete and all(m.ready for m in self.members)

    @property
    def ready_members(self) -> int:
        """How many members are ready."""
        return sum(member.ready for member in self.members)

    @property
    def cliques(self) -> dict[str, list[Member]]:
        """Clique → its members, both by name; "" holds those that have none."""
        found: dict[str, list[Member]] = defaultdict(list)
        for member in sorted(self.members, key=lambda m: (m.clique, m.node)):
            found[member.clique].append(member)
        return dict(found)


def parse_domain(namespace: str, name: str, body: Any) -> ComputeDomain:
    """Return a ComputeDomain; a field of the wrong type is skipped."""
    spec, status = _dict(_dict(body).get("spec")), _dict(_dict(body).get("status"))
    channel = _dict(spec.get("channel"))
    nodes = status.get("nodes")
    wanted = spec.get("numNodes")
    return ComputeDomain(
        namespace=namespace,
        name=name,
        state=str(status.get("status") or ""),
        wanted=wanted if isinstance(wanted, int) else 0,
        template=str(_dict(channel.get("resourceClaimTemplate")).get("name") or ""),
        channels=str(channel.get("allocationMode") or "Single"),
        members=tuple(
            Member(
                str(node.get("name") or ""),
                str(node.get("cliqueID") or ""),
                str(node.get("status") or ""),
            )
            for node in (nodes if isinstance(nodes, list) else [])
            if isinstance(node, dict)
        ),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
