"""What the MIG manager was told to make of a node's cards, beside what is published.

Source: mig-parted's config.yaml, `mig-configs: {name: [{devices, mig-enabled,
mig-devices: {profile: count}}]}`, counts being of each card.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.adoption.domain.facts import (
    COUNT_LABEL,
    MIG_CONFIG_LABEL,
    ClusterFacts,
    NodeFacts,
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MigLine:
    """One profile: how many devices were asked for, and how many are published."""

    product: str
    profile: str
    wanted: int
    published: int


@dataclass(frozen=True, slots=True)
class MigSum:
    """One profile of a layout over all nodes that are told to have it.

    Attributes:
        product: of the nodes' cards, as slices name it; "" where they publish none.
        wanted: devices that the layout makes of those nodes' cards.
        published: that their slices publish.
        nodes: how many nodes.
    """

    config: str
    product: str
    profile: str
    wanted: int
    published: int
    nodes: int

    @property
    def difference(self) -> int:
        """How many more are published than were asked for; fewer are below 0."""
        return self.published - self.wanted


@dataclass(frozen=True, slots=True)
class MigLayout:
    """A node's layout; `same` is None where it cannot be told."""

    same: bool | None
    why: str
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[MigLine, ...] = ()


def mig_layout(  # noqa: PLR0911  one a case
    node: NodeFacts, configs: Mapping[str, list[Json]] | None, *, slices_seen: bool
) -> MigLayout | None:
    """Compare a node's label, the ConfigMap and the slices; None without a label."""
    name = node.labels.get(MIG_CONFIG_LABEL, "")
    if not name:
        return None
    values = {"config": name}
    if configs is None or not slices_seen or not node.published:
        return MigLayout(None, "unread", values)
    if name not in configs:
        return MigLayout(False, "missing", values)
    if node.on_demand:
        return MigLayout(False, "on_demand", values)
    wanted = _wanted(configs[name], node.labels.get(COUNT_LABEL, ""))
    if wanted is None:
        return MigLayout(None, "filtered", values)
    lines = _lines(node, wanted)
    different = [each for each in lines if each.wanted != each.published]
    text = ", ".join(f"{e.profile}: {e.published}/{e.wanted}" for e in different)
    why = "differs" if different else "same"
    return MigLayout(not different, why, {**values, "lines": text}, lines)


def mig_sums(facts: ClusterFacts) -> tuple[MigSum, ...]:
    """Return profile × count of each layout and product, beside what is published.

    Nodes of which that cannot be told are left out; their verdicts say why.
    """
    found: dict[tuple[str, str, str], list[MigLine]] = {}
    for node in facts.nodes:
        layout = mig_layout(node, facts.mig_configs, slices_seen=facts.slices_seen)
        config = node.labels.get(MIG_CONFIG_LABEL, "")
        for line in layout.lines if layout else ():
            key = (config, line.product, line.profile)
            found.setdefault(key, []).append(line)
    return tuple(
        MigSum(
            *key,
            wanted=sum(line.wanted for line in lines),
            published=sum(line.published for line in lines),
            nodes=len(lines),
        )
        for key, lines in sorted(found.items())
    )


def _wanted(entries: list[Json], count: str) -> Counter[str] | None:
    """Return profile → devices on the node; None where cards are chosen by model."""
    wanted: Counter[str] = Counter()
    for entry in entries:
        devices = entry.get("devices")
        if entry.get("device-filter"):
            return None
        if devices == "all":
            if not count.isdecimal():
                return None
            cards = int(count)
        elif isinstance(devices, list):
            cards = len(devices)
        else:
            return None
        profiles = entry.get("mig-devices") if entry.get("mig-enabled") else None
        for profile, each in (profiles if isinstance(profiles, dict) else {}).items():
            if not isinstance(each, int):
                return None
            wanted[str(profile)] += each * cards
    return wanted


def _lines(node: NodeFacts, wanted: Counter[str]) -> tuple[MigLine, ...]:
    published: Counter[str] = Counter()
    for profiles in node.fixed.values():
        published.update(profiles)
    product = ", ".join(sorted(node.fixed))
    return tuple(
        MigLine(product, profile, wanted[profile], published[profile])
        for profile in sorted(wanted.keys() | published.keys())
    )
