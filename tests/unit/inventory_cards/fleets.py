"""Recorded fleets → cards, without a database."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from inventory.domain.cards import Card, derive_cards
from inventory.domain.convert import to_v1
from inventory.domain.gpus import (
    CounterSet,
    DeviceFacts,
    Taint,
    counter_sets_of,
)
from inventory.domain.holds import Hold, Reason
from inventory.domain.occupancy import Occupancy, occupancy_of
from inventory.domain.parse import PoolValue, parse_allocations, parse_pool

DATA = Path(__file__).parents[2] / "data"


def documents(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file in v1 shape."""
    found = [doc for doc in yaml.safe_load_all(path.read_text()) if doc]
    items = [item for doc in found for item in doc.get("items", [doc])]
    return [to_v1(item) for item in items]


class Fleet:
    """The cards of some objects, and their use."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        pools: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for body in objects:
            if body["kind"] == "ResourceSlice":
                spec = body["spec"]
                pools[(spec["driver"], spec["pool"]["name"])].append(body)
        self.pools: list[PoolValue] = []
        devices: list[DeviceFacts] = []
        sets: list[CounterSet] = []
        for slices in pools.values():
            pool, values = parse_pool(slices, combined_allowed=False)
            self.pools.append(pool)
            devices += [
                DeviceFacts(
                    v.driver, v.pool, v.name, v.node_name, v.attributes, v.capacity,
                    v.consumes_counters,
                    tuple(Taint(t["key"], t.get("value", ""), t["effect"]) for t in v.taints),
                    v.allow_multiple_allocations,
                )
                for v in values
            ]  # fmt: skip
            for body in slices:
                if body["spec"]["pool"]["generation"] == pool.generation:
                    sets += counter_sets_of(
                        pool.driver, pool.name, pool.node_name,
                        body["spec"].get("sharedCounters"),
                    )  # fmt: skip
        self.cards = derive_cards(devices, sets)
        self.holds = [
            Hold(
                body["metadata"].get("namespace", "default"), body["metadata"]["name"],
                a.device_request, a.driver, a.pool, a.device, a.share_id,
                tuple(a.consumed_capacity.items()), a.admin_access,
            )
            for body in objects
            if body["kind"] == "ResourceClaim"
            for a in parse_allocations(body)
        ]  # fmt: skip

    def occupancy(self, card: Card) -> Occupancy:
        """Return the use of one card."""
        names = {(p.driver, p.pool, p.name) for p in card.parts}
        holds = [h for h in self.holds if (h.driver, h.pool, h.device) in names]
        problems = [
            Reason(f"pool.{pool.verdict}", pool.problem)
            for pool in self.pools
            if (pool.driver, pool.name) in card.pools and pool.verdict != "complete"
        ]
        return occupancy_of(card, holds, problems)

    def all(self) -> list[Occupancy]:
        """Return the use of every card."""
        return [self.occupancy(card) for card in self.cards]
