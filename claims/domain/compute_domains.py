"""A ComputeDomain asked for like a claim: the form, its manifest, what is wrong with it.

What a person writes is little: how many nodes, which channels, and the name of the
template that the domain's controller makes for the pods. `numNodes` 0 lets a domain
grow with its pods; other numbers are deprecated by the driver, and still taken.

Source: resource.nvidia.com/v1beta1 ComputeDomain of NVIDIA's DRA driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding
from claims.domain.manifest import DOMAIN, DOMAIN_API_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Json = dict[str, Any]

CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
MODES = ("Single", "All")
MOST_NODES = 10_000
# On every object that the controller made for a domain: the domain's uid.
OWNED_LABEL = "resource.nvidia.com/computeDomain"
# Set on nodes by GPU feature discovery: those of one value reach each other by NVLink.
CLIQUE_LABEL = "nvidia.com/gpu.clique"
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
NAME = "metadata.name"
NODES = "spec.numNodes"
MODE = "spec.channel.allocationMode"
TEMPLATE = "spec.channel.resourceClaimTemplate.name"


@dataclass(frozen=True, slots=True)
class DomainDraft:
    """The form as typed; `template` "" stands for the domain's name with “-channel”."""

    name: str = ""
    namespace: str = ""
    nodes: str = "0"
    mode: str = "Single"
    template: str = ""
    justification: str = ""
    hours: str = ""

    @property
    def template_name(self) -> str:
        """The template's name as it is sent."""
        return self.template or (f"{self.name}-channel" if self.name else "")


def domain_draft(lists: Mapping[str, Sequence[str]]) -> DomainDraft:
    """Return the form that a browser sent; what it did not send has its default."""
    empty = DomainDraft()
    given = {
        field: (lists.get(field) or [getattr(empty, field)])[-1].strip()
        for field in DomainDraft.__dataclass_fields__
    }
    return DomainDraft(**given)


def to_manifest(draft: DomainDraft) -> Json:
    """Return the manifest of a draft; what is typed wrong is written as typed."""
    whole = draft.nodes.isascii() and draft.nodes.isdecimal() and len(draft.nodes) < 10
    return {
        "apiVersion": DOMAIN_API_VERSION,
        "kind": DOMAIN,
        "metadata": {"name": draft.name, "namespace": draft.namespace},
        "spec": {
            "numNodes": int(draft.nodes) if whole else draft.nodes,
            "channel": {
                "allocationMode": draft.mode,
                "resourceClaimTemplate": {"name": draft.template_name},
            },
        },
    }


def drafted(body: Json) -> DomainDraft | None:
    """Return the form that makes a manifest; None where no form makes just that."""
    try:
        metadata, spec = body["metadata"], body["spec"]
        draft = DomainDraft(
            name=metadata["name"],
            namespace=metadata.get("namespace", ""),
            nodes=str(spec["numNodes"]),
            mode=spec["channel"].get("allocationMode", MODES[0]),
            template=spec["channel"]["resourceClaimTemplate"]["name"],
        )
        whole = {
            **body,
            "metadata": {"namespace": "", **metadata},
            "spec": {
                **spec,
                "channel": {"allocationMode": MODES[0], **spec["channel"]},
            },
        }
        return draft if to_manifest(draft) == whole else None
    except (AttributeError, KeyError, TypeError):
        return None


def shape_findings(body: Json) -> list[Finding]:
    """Return what the API server, or the domain's controller, would refuse."""
    return list(_shape(body))


def _shape(body: Json) -> Iterator[Finding]:
    spec = body.get("spec")
    if not isinstance(spec, dict):
        yield _invalid("spec", "fields")
        return
    yield from _named(NAME, body["metadata"].get("name"))
    yield from _unknown(spec, "spec", ("numNodes", "channel"))
    count = spec.get("numNodes")
    if type(count) is not int or not 0 <= count <= MOST_NODES:
        yield _invalid(NODES, "nodes", value=str(count)[:40], most=MOST_NODES)
    channel = spec.get("channel")
    if not isinstance(channel, dict):
        yield _invalid("spec.channel", "fields")
        return
    known = ("allocationMode", "resourceClaimTemplate")
    yield from _unknown(channel, "spec.channel", known)
    if channel.get("allocationMode", MODES[0]) not in MODES:
        yield _invalid(MODE, "mode")
    template = channel.get("resourceClaimTemplate")
    if not isinstance(template, dict):
        yield _invalid("spec.channel.resourceClaimTemplate", "fields")
        return
    yield from _unknown(template, "spec.channel.resourceClaimTemplate", ("name",))
    yield from _named(TEMPLATE, template.get("name"))


def _named(path: str, name: object) -> Iterator[Finding]:
    if not isinstance(name, str) or not name:
        yield _invalid(path, "no_name")
    elif len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        yield _invalid(path, "name", value=name[:80])


def _unknown(body: Json, path: str, known: tuple[str, ...]) -> Iterator[Finding]:
    for key in body.keys() - {*known}:
        yield _invalid(f"{path}.{key}", "unknown", field=str(key)[:80])


def _invalid(path: str, variant: str, **values: str | int) -> Finding:
    return Finding("domain.invalid", path, dict(values), variant)


def wanted_nodes(body: Mapping[str, Any]) -> int:
    """Return how many nodes a domain needs at least: 0 grows with its pods, from one."""
    return max(int(body["spec"]["numNodes"]), 1)


def channel_claim(namespace: str) -> Json:
    """Return a claim such as each pod of a domain gets: one channel of its node."""
    asked = {"deviceClassName": CHANNEL_CLASS}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "channel", "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "channel", "exactly": asked}]}},
    }


@dataclass(frozen=True, slots=True)
class Clique:
    """Nodes that reach each other's memory; `name` is "" for those of unknown clique.

    Attributes:
        free: nodes whose channel is free.
        taken: nodes whose channel is not.
        undecided: nodes on which the search did not end.
    """

    name: str
    free: tuple[str, ...]
    taken: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Room:
    """Whether a domain would find its nodes now.

    Attributes:
        wanted: how many nodes of one clique it needs.
        cliques: those with most free nodes first, the unknown one last.
    """

    wanted: int
    cliques: tuple[Clique, ...]

    @property
    def most(self) -> int:
        """How many free nodes the best known clique has."""
        return max((len(c.free) for c in self.cliques if c.name), default=0)

    @property
    def unknown(self) -> int:
        """How many nodes may join one: of unknown clique, or undecided."""
        return sum(
            len(clique.undecided) + (0 if clique.name else len(clique.free))
            for clique in self.cliques
        )

    @property
    def verdict(self) -> str:
        """`fits`, `no`, or `unknown` where what is not known decides it."""
        any_free = any(clique.free for clique in self.cliques)
        if self.most >= self.wanted or (self.wanted == 1 and any_free):
            return "fits"
        return "unknown" if self.most + self.unknown >= self.wanted else "no"

    def document(self) -> Json:
        """Return it as JSON; a clique of null is unknown."""
        return {
            "wanted": self.wanted,
            "verdict": self.verdict,
            "cliques": [
                {
                    "clique": each.name or None,
                    "free": list(each.free),
                    "taken": list(each.taken),
                    "undecided": list(each.undecided),
                }
                for each in self.cliques
            ],
        }


def room_of(
    wanted: int, outcomes: Mapping[str, str], cliques: Mapping[str, str]
) -> Room:
    """Return the room for a domain.

    Args:
        wanted: nodes of one clique.
        outcomes: of each node that publishes a channel: fits, no or anything else.
        cliques: node → clique, of the nodes whose clique is known.
    """
    by_name: dict[str, list[str]] = {}
    for node in sorted(outcomes):
        by_name.setdefault(cliques.get(node, ""), []).append(node)

    def those(nodes: Iterable[str], *outcome: str) -> tuple[str, ...]:
        return tuple(node for node in nodes if outcomes[node] in outcome)

    found = [
        Clique(
            name,
            those(nodes, "fits"),
            those(nodes, "no"),
            tuple(n for n in nodes if outcomes[n] not in ("fits", "no")),
        )
        for name, nodes in by_name.items()
    ]
    found.sort(key=lambda each: (not each.name, -len(each.free), each.name))
    return Room(wanted, tuple(found))


def findings_of(
    body: Mapping[str, Any],
    room: Room,
    *,
    is_served: bool,
    has_class: bool,
    template_taken: bool,
) -> list[Finding]:
    """Return what stands in a sound domain's way, or is worth knowing.

    Args:
        body: the manifest, without findings of its shape.
        room: for it, now.
        is_served: whether the cluster has the kind at all.
        has_class: whether it has the class of channels.
        template_taken: whether a template of the chosen name is there already.
    """
    found = []
    if not is_served:
        found.append(Finding("domain.not_served"))
    if not has_class:
        found.append(
            Finding("class.missing", "", {"name": CHANNEL_CLASS, "known": "–"})
        )
    if template_taken:
        spec = body["spec"]["channel"]["resourceClaimTemplate"]
        found.append(Finding("domain.template_taken", TEMPLATE, {"name": spec["name"]}))
    if body["spec"]["numNodes"]:
        found.append(Finding("domain.nodes_deprecated", NODES))
    if room.verdict == "no":
        values = {"wanted": room.wanted, "most": room.most}
        variant = "" if room.cliques else "none"
        found.append(Finding("domain.too_few_nodes", NODES, values, variant))
    elif room.verdict == "unknown":
        found.append(Finding("domain.clique_unknown", NODES, {"count": room.unknown}))
    return found
