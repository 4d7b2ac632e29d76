"""What a claim can take at most, from what it asks and what there is to give.

A request takes the most of its alternatives, an alternative the most of the
devices that match it, as often as it counts; `All` takes what matches now, on the
node where that is most. A share takes what the driver's policy rounds its
request to. What matches nothing now, or publishes no memory, has no known size.

Source: k8s.io/dynamic-resource-allocation structured/internal, for rounding.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from claims.domain.checks.capacity import consumed
from inventory.domain.quantity import parse_quantity, quantity_or_zero
from portal.budgets.domain.amounts import NOTHING, Amounts, largest, total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from claims.domain.checks.asks import Ask, Asked
    from portal.budgets.domain.amounts import Size

UNKNOWN = Amounts(gpus=1, vram_at_least=True)


def need_of(asked: Asked, sizes: Mapping[str, Sequence[Size]]) -> Amounts:
    """Return what a claim can take at most.

    Args:
        asked: the claim, walked.
        sizes: ask's name → the devices that match it; an ask that is missing
            could not be evaluated.
    """
    return total(
        largest(_of_ask(ask, sizes.get(ask.name, ())) for ask in asks)
        for _name, _path, asks in asked.requests
    )


def _of_ask(ask: Ask, sizes: Sequence[Size]) -> Amounts:
    if ask.is_admin:
        return NOTHING
    found = [(size, _taken(ask, size)) for size in sizes]
    usable = [(size, amounts) for size, amounts in found if amounts is not None]
    if ask.is_all:
        return _all(usable) if usable else UNKNOWN
    if not usable:
        return _unmatched(ask)
    return largest(amounts for _size, amounts in usable) * ask.count


def _unmatched(ask: Ask) -> Amounts:
    """Return what is known of an ask that nothing matches: what it says itself."""
    memory = _asked_memory(ask)
    each = Amounts(vram=memory, gpus=1) if memory is not None else UNKNOWN
    return replace(each * ask.count, vram_at_least=True)


def _all(found: Sequence[tuple[Size, Amounts]]) -> Amounts:
    nodes: dict[str, Amounts] = defaultdict(Amounts)
    for size, amounts in found:
        nodes[size.node] = nodes[size.node] + amounts
    everywhere = nodes.pop("", NOTHING)
    return largest(nodes.values()) + everywhere


def _taken(ask: Ask, size: Size) -> Amounts | None:
    """Return what one device costs; None where it cannot give what is asked."""
    if not size.shared:
        return size.amounts
    memory = _shared_memory(ask, size)
    if memory is None:
        return None
    known = memory > 0 or not size.amounts.vram_at_least
    return Amounts(vram=memory, gpus=size.amounts.gpus, vram_at_least=not known)


def _shared_memory(ask: Ask, size: Size) -> int | None:
    for key, capacity in (size.capacity or {}).items():
        if not _is_memory(key) or not isinstance(capacity, dict):
            continue
        if key in ask.capacity:
            wanted = quantity_or_zero(ask.capacity[key])
            takes = consumed(wanted, capacity)
            return None if takes is None else _bytes(takes)
        policy = capacity.get("requestPolicy") or {}
        default = policy.get("default", capacity.get("value", 0))
        return _bytes(quantity_or_zero(default))
    return size.amounts.vram


def _asked_memory(ask: Ask) -> int | None:
    for key, quantity in ask.capacity.items():
        if _is_memory(key):
            try:
                return _bytes(parse_quantity(str(quantity)))
            except ValueError:
                return None
    return None


def _is_memory(key: str) -> bool:
    return key.rpartition("/")[2].lower() == "memory"


def _bytes(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
