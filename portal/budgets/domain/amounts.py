"""How much of the cards something takes: memory, whole cards, memory slices.

A whole card counts as a card, a partition by its memory slices, a share by the
memory that it consumes; memory counts in all three. Devices that are no cards,
such as IMEX channels, count nothing, and neither does administrative access,
which takes nothing away from anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Measure(StrEnum):
    """What a budget limits; the spelling is stored and part of the API."""

    VRAM = "vram"  # bytes here, GiB in limits
    CARDS = "cards"
    SLICES = "slices"
    HOURS = "gpu-hours"  # of this month


UNITS = {Measure.VRAM: GIB}


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What something takes.

    Attributes:
        vram: bytes; a lower bound where `vram_at_least`.
        cards: whole cards.
        slices: memory slices of partitions.
        gpus: cards that it has any part of, for hours.
        vram_at_least: more may be taken than `vram`.
    """

    vram: int = 0
    cards: int = 0
    slices: int = 0
    gpus: int = 0
    vram_at_least: bool = False

    def __add__(self, other: Amounts) -> Amounts:
        """Return both together."""
        return Amounts(
            vram=self.vram + other.vram,
            cards=self.cards + other.cards,
            slices=self.slices + other.slices,
            gpus=self.gpus + other.gpus,
            vram_at_least=self.vram_at_least or other.vram_at_least,
        )

    def __mul__(self, count: int) -> Amounts:
        """Return `count` times as much."""
        return Amounts(
            vram=self.vram * count,
            cards=self.cards * count,
            slices=self.slices * count,
            gpus=self.gpus * count,
            vram_at_least=self.vram_at_least,
        )

    def of(self, measure: Measure) -> int:
        """Return one measure; hours are not known here.

        Raises:
            KeyError: It is the hours.
        """
        return {
            Measure.VRAM: self.vram,
            Measure.CARDS: self.cards,
            Measure.SLICES: self.slices,
        }[measure]


NOTHING = Amounts()


def largest(each: Iterable[Amounts]) -> Amounts:
    """Return the most of every measure: what one of several can take at worst."""
    found = list(each)
    if not found:
        return NOTHING
    return Amounts(
        vram=max(one.vram for one in found),
        cards=max(one.cards for one in found),
        slices=max(one.slices for one in found),
        gpus=max(one.gpus for one in found),
        vram_at_least=any(one.vram_at_least for one in found),
    )


def total(each: Iterable[Amounts]) -> Amounts:
    """Return all together."""
    whole = NOTHING
    for one in each:
        whole = whole + one
    return whole


@dataclass(frozen=True, slots=True)
class Size:
    """A device that a request may be given.

    Attributes:
        node: "" where several nodes reach it.
        amounts: what it takes whole.
        shared: it is given away by the amount.
        capacity: key as published → {"value", "requestPolicy"}.
    """

    node: str
    amounts: Amounts
    shared: bool = False
    capacity: Mapping[str, Any] | None = None
