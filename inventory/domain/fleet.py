"""The cards of one cluster as a value: by unit, with their use and their sums."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from inventory.domain.fragmentation import Fragmentation, fragmentation_of
from inventory.domain.holds import Hold, Reason
from inventory.domain.totals import Totals, totals_of

if TYPE_CHECKING:
    from inventory.domain.cards import Card
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.taints import TaintRule

PoolKey = tuple[str, str]
DeviceKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """A pool, as far as its cards need it."""

    driver: str
    name: str
    node: str
    generation: int
    verdict: str
    problem: str

    @property
    def key(self) -> PoolKey:
        """Driver and name."""
        return self.driver, self.name

    @property
    def unit(self) -> str:
        """What is derived together: all pools of a node, or a pool of no one node."""
        return self.node or f"{self.driver}/{self.name}"


@dataclass(frozen=True, slots=True)
class Unit:
    """Cards that were derived together."""

    cards: list[Card]
    by_device: dict[DeviceKey, Card]
    # Device → whether a taint keeps claims without tolerations out.
    published: dict[DeviceKey, bool]
    # (driver, its own `type` or "") of the devices.
    kinds: frozenset[tuple[str, str]]


Used = tuple[tuple[Hold, ...], tuple[Reason, ...]]


@dataclass
class Fleet:
    """Every card of a cluster with its use, at one revision."""

    revision: int = -1
    pools: dict[PoolKey, PoolFacts] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    rules: tuple[TaintRule, ...] = ()
    # By the identity of a card, with what it was worked out from.
    use: dict[int, tuple[Used, Occupancy]] = field(default_factory=dict)
    # Holds of devices that are no part of a card, or that no slice publishes.
    others: dict[DeviceKey, tuple[Hold, ...]] = field(default_factory=dict)
    # (namespace, claim, request) → bytes that each of its devices needs.
    needs: dict[tuple[str, str, str], int | None] = field(default_factory=dict)

    @cached_property
    def occupancies(self) -> list[Occupancy]:
        """Every card with its use, by unit."""
        return [
            self.use[id(card)][1] for unit in self.units.values() for card in unit.cards
        ]

    @cached_property
    def totals(self) -> Totals:
        """What all cards sum up to."""
        return totals_of(self.occupancies, complete=self.complete)

    @cached_property
    def by_product(self) -> dict[str, list[Occupancy]]:
        """Product → its cards, by name."""
        groups: dict[str, list[Occupancy]] = defaultdict(list)
        for occupancy in self.occupancies:
            groups[occupancy.card.product].append(occupancy)
        return {name: groups[name] for name in sorted(groups)}

    @cached_property
    def products(self) -> dict[str, Totals]:
        """Product → what its cards sum up to, by name."""
        return {
            name: totals_of(cards, complete=self.complete)
            for name, cards in self.by_product.items()
        }

    @cached_property
    def fragmentation(self) -> Fragmentation:
        """How broken up all cards are."""
        return fragmentation_of(self.occupancies, self.needs)

    @cached_property
    def fragmentation_by_product(self) -> dict[str, Fragmentation]:
        """Product → how broken up its cards are, by name."""
        return {
            name: fragmentation_of(cards, self.needs)
            for name, cards in self.by_product.items()
        }

    @cached_property
    def fragmentation_by_pool(self) -> dict[PoolKey, Fragmentation]:
        """Pool → how broken up its cards are, by its own devices alone."""
        groups: dict[PoolKey, list[Occupancy]] = defaultdict(list)
        for occupancy in self.occupancies:
            for key in occupancy.card.pools:
                groups[key].append(occupancy)
        return {
            key: fragmentation_of(
                of,
                self.needs,
                within={p.key for o in of for p in o.card.parts if p.key[:2] == key},
            )
            for key, of in groups.items()
        }

    @cached_property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """(driver, type) of every device; a driver without types has ""."""
        return frozenset().union(*(unit.kinds for unit in self.units.values()))

    @property
    def complete(self) -> bool:
        """Whether every pool has all its slices: else there may be more cards."""
        return all(pool.verdict != "incomplete" for pool in self.pools.values())

    @property
    def device_count(self) -> int:
        """How many devices are published, a name that is published twice once."""
        return sum(len(unit.published) for unit in self.units.values())

    @property
    def unpublished(self) -> list[Hold]:
        """Holds of devices that no slice publishes now."""
        return [
            hold
            for key, holds in self.others.items()
            if self._blocked(key) is None
            for hold in holds
        ]

    def occupancy(self, key: DeviceKey) -> Occupancy | None:
        """Return the card that a device is a part of, with its use."""
        unit = self.unit_of(key)
        card = unit.by_device.get(key) if unit else None
        return self.use[id(card)][1] if card else None

    def is_free(self, key: DeviceKey) -> bool:
        """Return whether a claim without tolerations could get a device now."""
        occupancy = self.occupancy(key)
        if occupancy:
            return occupancy.state_of(*key) == "possible"
        pool = self.pools.get(key[:2])
        held = any(not hold.admin for hold in self.others.get(key, ()))
        usable = pool is not None and pool.verdict == "complete"
        return usable and not held and self._blocked(key) is False

    def unit_of(self, key: DeviceKey) -> Unit | None:
        """Return the unit that a device of a known pool belongs to."""
        pool = self.pools.get(key[:2])
        return self.units.get(pool.unit) if pool else None

    def _blocked(self, key: DeviceKey) -> bool | None:
        """Whether a taint keeps claims out; None where no slice publishes it."""
        unit = self.unit_of(key)
        return unit.published.get(key) if unit else None
