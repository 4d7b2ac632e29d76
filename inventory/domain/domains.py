"""ComputeDomains: nodes that share memory over NVLink, and how ready they are.

Source: resource.nvidia.com/v1beta1 ComputeDomain of NVIDIA's DRA driver. Members
are in its status alone; `numNodes` 0 means that the domain grows with its pods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DRIVER = "compute-domain.nvidia.com"


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
class DomainDevice:
    """A channel or a daemon of a domain that a claim holds on a node.

    `namespace` and `claim` are "" where they may not be named.
    """

    node: str
    device: str
    kind: str  # channel | daemon | "" where its name does not say
    namespace: str
    claim: str


@dataclass(frozen=True, slots=True)
class DomainNode:
    """A node of a domain; `member` is None where only claims hold something there."""

    name: str
    member: Member | None
    channels: tuple[DomainDevice, ...]
    daemons: tuple[DomainDevice, ...]

    @property
    def clique(self) -> str:
        """Its NVLink clique, "" where none is told."""
        return self.member.clique if self.member else ""


@dataclass(frozen=True, slots=True)
class ComputeDomain:
    """A domain, as far as its controller has told.

    Attributes:
        state: Ready, NotReady, or "" where the controller has not told yet.
        wanted: how many nodes it was asked to have; 0 for as many as there are pods.
        template: the ResourceClaimTemplate by which pods ask for a channel.
        channels: Single or All, what each claim gets.
        devices: the channels and daemons that claims hold for it.
    """

    namespace: str
    name: str
    state: str
    wanted: int
    template: str
    channels: str
    members: tuple[Member, ...]
    uid: str = ""
    devices: tuple[DomainDevice, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether it is ready with all of its members."""
        complete = len(self.members) >= max(self.wanted, 1)
        return self.state == "Ready" and complete and all(m.ready for m in self.members)

    @property
    def ready_members(self) -> int:
        """How many members are ready."""
        return sum(member.ready for member in self.members)

    def of_node(self, node: str, kind: str) -> list[DomainDevice]:
        """Return the channels, or the daemons, that are held on a node."""
        return [d for d in self.devices if (d.node, d.kind) == (node, kind)]

    @property
    def nodes(self) -> list[str]:
        """The members and every node on which something is held for it, by name."""
        return sorted({m.node for m in self.members} | {d.node for d in self.devices})

    @property
    def rows(self) -> list[DomainNode]:
        """Its nodes, by clique and name; those without a clique first."""
        members = {member.node: member for member in self.members}
        found = [
            DomainNode(
                name,
                members.get(name),
                tuple(self.of_node(name, "channel")),
                tuple(self.of_node(name, "daemon")),
            )
            for name in self.nodes
        ]
        return sorted(found, key=lambda node: (node.clique, node.name))


def domain_ids(body: Any) -> set[str]:
    """Return the uids of the ComputeDomains that a claim's configuration names."""
    status = _dict(_dict(_dict(body).get("status")).get("allocation"))
    places = (_dict(_dict(body).get("spec")).get("devices"), status.get("devices"))
    found: set[str] = set()
    for place in places:
        config = _dict(place).get("config")
        for entry in config if isinstance(config, list) else []:
            opaque = _dict(_dict(entry).get("opaque"))
            if opaque.get("driver") == DRIVER:
                found.add(str(_dict(opaque.get("parameters")).get("domainID") or ""))
    return found - {""}


def device_kind(device: str) -> str:
    """Return what a device of the driver is, by its name: `channel-0`, `daemon-0`."""
    kind = device.partition("-")[0]
    return kind if kind in ("channel", "daemon") else ""


def parse_domain(namespace: str, name: str, body: Any) -> ComputeDomain:
    """Return a ComputeDomain; a field of the wrong type is skipped."""
    spec, status = _dict(_dict(body).get("spec")), _dict(_dict(body).get("status"))
    channel = _dict(spec.get("channel"))
    nodes = status.get("nodes")
    wanted = spec.get("numNodes")
    return ComputeDomain(
        namespace=namespace,
        name=name,
        uid=str(_dict(_dict(body).get("metadata")).get("uid") or ""),
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
