"""What a cluster would save if pods asked for memory instead of whole cards.

Amounts are in bytes. A pod whose need nobody told counts as unknown: it is in no
sum of needs, and it is never taken to need nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from inventory.domain.quantity import BadQuantity, parse_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Json = dict[str, Any]
# namespace, kind and name of what makes pods, or of a pod that nothing made.
Workload = tuple[str, str, str]
# `measured` is the most that was in use, which may be less than what is needed.
Source = Literal["annotation", "owner", "measured", ""]
NEEDS_MEMORY = "slicewise.dev/needs-memory"
# Labels that say what a node is made of; all others say how it was set up.
HARDWARE = frozenset({"nvidia.com/gpu.product", "nvidia.com/gpu.count"})


@dataclass(frozen=True, slots=True)
class PodUse:
    """A pod that holds whole cards through a device plugin.

    Attributes:
        product: of its node's cards; "" where no label tells.
        cards: how many it holds.
        card_memory: bytes of one card, or None where it is not published.
        need: bytes that it needs of each card, or None where nobody told.
        node: that it runs on.
        source: who told what it needs.
        owner: kind and name of what made it, "" where it was made by itself.
    """

    namespace: str
    name: str
    product: str
    cards: int
    card_memory: int | None
    need: int | None
    node: str = ""
    source: Source = "annotation"
    owner: tuple[str, str] = ("", "")

    @property
    def workload(self) -> Workload:
        """What its owner is asked about."""
        kind, name = self.owner
        return (
            (self.namespace, kind, name) if kind else (self.namespace, "Pod", self.name)
        )

    @property
    def stranded(self) -> int | None:
        """Bytes that it holds and does not need; None where that is not known."""
        if self.card_memory is None or self.need is None:
            return None
        return self.cards * (self.card_memory - min(self.need, self.card_memory))

    @property
    def is_known(self) -> bool:
        """Whether both what it holds and what it needs are known."""
        return self.card_memory is not None and self.need is not None


@dataclass(frozen=True, slots=True)
class ProductSaving:
    """What the pods on one product hold, need and strand.

    Attributes:
        pods, cards: all of them.
        unknown_pods: of which what they need, or hold, is not known.
        held, needed: bytes over the pods of which both are known.
        whole_cards: cards that the known needs would fill, if packed at best.
        known_cards: how many those pods hold now.
    """

    product: str
    pods: int
    cards: int
    unknown_pods: int
    held: int
    needed: int
    whole_cards: int | None
    known_cards: int = 0

    @property
    def efficiency(self) -> float | None:
        """η: needed of held, or None where nothing is known."""
        return self.needed / self.held if self.held else None

    @property
    def stranded(self) -> int | None:
        """Bytes that are held and not needed; None where nothing is known."""
        return self.held - self.needed if self.held else None

    @property
    def at_least(self) -> bool:
        """Whether more may be stranded than is known."""
        return bool(self.unknown_pods)


def need_of(annotations: Mapping[str, str]) -> int | None:
    """Return the bytes that a pod's annotation says it needs; None if it says none.

    What is no amount, or not more than nothing, is not known either.
    """
    try:
        found = parse_bytes(annotations.get(NEEDS_MEMORY, ""))
    except BadQuantity:
        return None
    return found if found and found > 0 else None


def total_of(savings: Iterable[ProductSaving]) -> ProductSaving:
    """Return the sum over products; cards that would do are added up by product."""
    rows = list(savings)
    whole = [each.whole_cards for each in rows if each.whole_cards is not None]
    return ProductSaving(
        product="",
        pods=sum(each.pods for each in rows),
        cards=sum(each.cards for each in rows),
        unknown_pods=sum(each.unknown_pods for each in rows),
        held=sum(each.held for each in rows),
        needed=sum(each.needed for each in rows),
        whole_cards=sum(whole) if whole else None,
        known_cards=sum(each.known_cards for each in rows),
    )


def savings_of(uses: Iterable[PodUse]) -> list[ProductSaving]:
    """Return what is stranded on each product, the most first."""
    by_product: dict[str, list[PodUse]] = defaultdict(list)
    for use in uses:
        by_product[use.product].append(use)
    found = [_saving(product, rows) for product, rows in by_product.items()]
    return sorted(found, key=lambda each: (-(each.stranded or 0), each.product))


def _saving(product: str, rows: Sequence[PodUse]) -> ProductSaving:
    held = needed = known = 0
    largest = 0
    for row in rows:
        if row.card_memory is None or row.need is None:
            continue
        # More than a card has cannot be had of it.
        need = min(row.need, row.card_memory)
        known += row.cards
        held += row.cards * row.card_memory
        needed += row.cards * need
        largest = max(largest, row.card_memory)
    return ProductSaving(
        product=product,
        pods=len(rows),
        cards=sum(row.cards for row in rows),
        unknown_pods=sum(not row.is_known for row in rows),
        held=held,
        needed=needed,
        whole_cards=math.ceil(needed / largest) if largest else None,
        known_cards=known,
    )


def pool_count(axes: Mapping[str, Iterable[str]]) -> int:
    """Return C_pool = Π|A_p|: the node pools that serve every combination of labels.

    An axis without values is none; without axes there is one pool.
    """
    return math.prod(len(set(values)) or 1 for values in axes.values())


@dataclass(frozen=True, slots=True)
class Pools:
    """Node pools that labels make.

    Attributes:
        axes: label → its values on nodes.
        possible: C_pool, every combination of those values.
        present: combinations that nodes have.
        selected: combinations that pods select by.
        hardware: combinations that are left where only what nodes are made of counts.
    """

    axes: Mapping[str, tuple[str, ...]]
    possible: int
    present: int
    selected: int
    hardware: int

    @property
    def collapse(self) -> int:
        """How many of the present pools need not be apart any more."""
        return self.present - self.hardware


def pools_of(
    nodes: Iterable[Mapping[str, str]],
    selectors: Iterable[Mapping[str, str]],
    keys: Iterable[str],
) -> Pools:
    """Return the pools that labels on nodes make, beside those that pods select by.

    Args:
        nodes: labels of each GPU node.
        selectors: node selectors of each pod that asks for GPUs.
        keys: the labels that are taken for axes.
    """
    rows, wanted, names = list(nodes), list(selectors), sorted(keys)
    axes = {
        key: tuple(sorted({row[key] for row in rows if key in row}))
        for key in names
        if any(key in row for row in rows)
    }
    return Pools(
        axes=axes,
        possible=pool_count(axes) if rows else 0,
        present=len({_part(row, names) for row in rows}),
        selected=len({part for row in wanted if any(part := _part(row, names))}),
        hardware=len({_part(row, sorted(HARDWARE)) for row in rows}),
    )


def _part(row: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.get(key, "") for key in keys)


def node_labels_of(spec: Json) -> dict[str, str]:
    """Return the labels that a pod's node must have, by its spec; others have none.

    Several values that would all do are one text, joined by "|".
    """
    found = {str(k): str(v) for k, v in (spec.get("nodeSelector") or {}).items()}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or []
    if len(terms) != 1:
        return found
    for row in terms[0].get("matchExpressions") or []:
        if row.get("operator") == "In" and row.get("values"):
            found.setdefault(str(row["key"]), "|".join(sorted(map(str, row["values"]))))
    return found
