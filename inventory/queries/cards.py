"""The cards of a cluster and their use, kept in memory and brought up to date.

What is derived from 100,000 device rows is kept per process; when the cluster's
revision has moved on, only the pools whose slices changed are read again. A read
of an unchanged cluster makes no query, of a changed one six.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inventory.domain import gates
from inventory.domain.cards import Card, derive_cards
from inventory.domain.gpus import DeviceFacts, Taint, counter_sets_of
from inventory.domain.holds import Hold, Reason
from inventory.domain.occupancy import Occupancy, occupancy_of
from inventory.domain.taints import TaintRule, parse_rule
from inventory.domain.totals import Totals, totals_of
from inventory.models import Allocation, Cluster, Device, KubeObject, Pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.domain.gpus import CounterSet

CLUSTERS_KEPT = 8
# Above this many pools, reading every device is cheaper than naming pools.
MOST_NAMED_POOLS = 400

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


@dataclass
class Fleet:
    """Every card of a cluster with its use, at one revision."""

    revision: int = -1
    pools: dict[PoolKey, PoolFacts] = field(default_factory=dict)
    units: dict[str, list[Card]] = field(default_factory=dict)
    occupancies: list[Occupancy] = field(default_factory=list)
    # Allocations of devices that no slice publishes now.
    unpublished: list[Hold] = field(default_factory=list)
    rules: tuple[TaintRule, ...] = ()
    use: dict[int, tuple[Any, Occupancy]] = field(default_factory=dict)
    by_device: dict[DeviceKey, Occupancy] = field(default_factory=dict)
    # Pool → device → whether a taint keeps claims without tolerations out.
    published: dict[PoolKey, dict[str, bool]] = field(default_factory=dict)
    # (driver, its own `type` or "") of every device.
    kinds: set[tuple[str, str]] = field(default_factory=set)
    # Holds of devices that are no part of a card.
    others: dict[DeviceKey, tuple[Hold, ...]] = field(default_factory=dict)

    def is_free(self, driver: str, pool: str, device: str) -> bool:
        """Return whether a claim without tolerations could get a device now."""
        occupancy = self.by_device.get((driver, pool, device))
        if occupancy:
            return occupancy.state_of(driver, pool, device) == "possible"
        facts = self.pools.get((driver, pool))
        blocked = self.published.get((driver, pool), {}).get(device, True)
        held = any(not h.admin for h in self.others.get((driver, pool, device), ()))
        return bool(facts) and not blocked and not held

    @cached_property
    def totals(self) -> Totals:
        """What all cards sum up to."""
        return totals_of(self.occupancies, complete=self.complete)

    @cached_property
    def products(self) -> dict[str, Totals]:
        """Product → what its cards sum up to, by name."""
        groups: dict[str, list[Occupancy]] = defaultdict(list)
        for occupancy in self.occupancies:
            groups[occupancy.card.product].append(occupancy)
        return {name: totals_of(groups[name]) for name in sorted(groups)}

    @property
    def complete(self) -> bool:
        """Whether every pool has all its slices: else there may be more cards."""
        return all(pool.verdict != "incomplete" for pool in self.pools.values())


_fleets: OrderedDict[int, Fleet] = OrderedDict()
_lock = threading.Lock()


def fleet_of(cluster: Cluster) -> Fleet:
    """Return the cards of a cluster, at its revision or a newer one."""
    with _lock:
        fleet = _fleets.get(cluster.pk)
        if fleet is None or fleet.revision < cluster.revision:
            fleet = _brought_up_to_date(cluster, fleet or Fleet())
            _fleets[cluster.pk] = fleet
        _fleets.move_to_end(cluster.pk)
        while len(_fleets) > CLUSTERS_KEPT:
            _fleets.popitem(last=False)
        return fleet


def _brought_up_to_date(cluster: Cluster, old: Fleet) -> Fleet:
    pools = _pools(cluster)
    changed = _changed_pools(cluster, old.revision)
    rules = _rules(cluster)
    stale = _stale_units(old, pools, changed, everything=rules != old.rules)
    units = {name: cards for name, cards in old.units.items() if name not in stale}
    published = {key: names for key, names in old.published.items() if key in pools}
    again = {key: pool for key, pool in pools.items() if pool.unit in stale}
    published |= {key: {} for key in again}
    kinds = set(old.kinds)
    units |= _derive(cluster, again, rules, published, kinds)
    present = {pool.unit for pool in pools.values()}
    units = {name: units[name] for name in sorted(units) if name in present}
    fleet = Fleet(cluster.revision, pools, units, rules=rules)
    fleet.published, fleet.kinds = published, kinds
    _occupy(cluster, fleet, old)
    return fleet


def _pools(cluster: Cluster) -> dict[PoolKey, PoolFacts]:
    rows = Pool.objects.filter(cluster=cluster).values_list(
        "driver", "name", "node_name", "generation", "verdict", "problem"
    )
    return {(row[0], row[1]): PoolFacts(*row) for row in rows}


def _changed_pools(cluster: Cluster, revision: int) -> set[str]:
    """Return `driver/pool` of the slices that changed after a revision."""
    if revision < 0:
        return set()
    return set(
        KubeObject.objects.filter(cluster=cluster, revision__gt=revision)
        .exclude(pool="")
        .values_list("pool", flat=True)
    )


def _stale_units(
    old: Fleet, pools: dict[PoolKey, PoolFacts], changed: set[str], *, everything: bool
) -> set[str]:
    if everything or old.revision < 0:
        return {pool.unit for pool in pools.values()}
    both = [*old.pools.values(), *pools.values()]
    return {pool.unit for pool in both if f"{pool.driver}/{pool.name}" in changed}


def _rules(cluster: Cluster) -> tuple[TaintRule, ...]:
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="DeviceTaintRule", deleted_at=None
    ).values_list("name", "body__spec")
    found = (parse_rule(name, spec) for name, spec in rows.order_by("name"))
    return tuple(rule for rule in found if rule)


def _derive(
    cluster: Cluster,
    pools: dict[PoolKey, PoolFacts],
    rules: tuple[TaintRule, ...],
    published: dict[PoolKey, dict[str, bool]],
    kinds: set[tuple[str, str]],
) -> dict[str, list[Card]]:
    """Return unit → its cards, for some pools; fills in the names they publish."""
    devices: dict[str, list[DeviceFacts]] = defaultdict(list)
    for device in _devices(cluster, pools, rules):
        key = device.driver, device.pool
        devices[pools[key].unit].append(device)
        kinds.add((device.driver, device.attribute("type")))
        published[key][device.name] = any(t.blocks for t in device.taints)
    sets: dict[str, list[CounterSet]] = defaultdict(list)
    for cs in _counter_sets(cluster, pools):
        sets[pools[cs.driver, cs.pool].unit].append(cs)
    units = {pool.unit for pool in pools.values()}
    return {
        unit: derive_cards(devices.get(unit, []), sets.get(unit, [])) for unit in units
    }


def _devices(
    cluster: Cluster, pools: dict[PoolKey, PoolFacts], rules: tuple[TaintRule, ...]
) -> Iterable[DeviceFacts]:
    rows = Device.objects.filter(cluster=cluster).order_by("pk")
    if len(pools) <= MOST_NAMED_POOLS:
        rows = rows.filter(pool__in={name for _driver, name in pools})
    columns = rows.values_list(
        "driver",
        "pool",
        "name",
        "node_name",
        "attributes",
        "capacity",
        "consumes_counters",
        "taints",
        "allow_multiple_allocations",
    )
    for row in columns.iterator(chunk_size=5_000):
        if row[:2] in pools:
            yield _facts(row, rules)


def _facts(row: tuple[Any, ...], rules: tuple[TaintRule, ...]) -> DeviceFacts:
    driver, pool, name, node, attributes, capacity, counters, taints, shared = row
    own = [
        Taint(str(t.get("key", "")), str(t.get("value") or ""), str(t.get("effect")))
        for t in taints
    ]
    added = [rule.taint for rule in rules if rule.selects(driver, pool, name)]
    return DeviceFacts(
        driver,
        pool,
        name,
        node,
        attributes,
        capacity,
        counters,
        tuple(own + added),
        shared,
    )


def _counter_sets(
    cluster: Cluster, pools: dict[PoolKey, PoolFacts]
) -> Iterable[CounterSet]:
    rows = KubeObject.objects.filter(
        cluster=cluster,
        kind="ResourceSlice",
        deleted_at=None,
        body__spec__has_key="sharedCounters",
    )
    if len(pools) <= MOST_NAMED_POOLS:
        rows = rows.filter(pool__in=[f"{driver}/{name}" for driver, name in pools])
    columns = rows.order_by("name").values_list(
        "pool", "body__spec__pool__generation", "body__spec__sharedCounters"
    )
    for key, generation, shared_counters in columns:
        driver, _slash, name = key.partition("/")
        pool = pools.get((driver, name))
        if pool and pool.generation == generation:
            yield from counter_sets_of(driver, name, pool.node, shared_counters)


def _occupy(cluster: Cluster, fleet: Fleet, old: Fleet) -> None:
    """Fill in what of each card is held; cards whose holds stayed keep theirs."""
    holds = _holds(cluster)
    lenient = gates.supported_minor(cluster.kubernetes_version) == gates.OLDEST_MINOR
    problems = {
        key: Reason(*_problem(pool))
        for key, pool in fleet.pools.items()
        if pool.verdict == "invalid" or (pool.verdict != "complete" and not lenient)
    }
    for card in (card for cards in fleet.units.values() for card in cards):
        held = tuple(h for p in card.parts for h in holds.pop(_key(p), ()))
        troubled = tuple(problems[key] for key in card.pools if key in problems)
        before = old.use.get(id(card))
        if before is None or before[0] != (held, troubled):
            before = (held, troubled), occupancy_of(card, held, troubled)
        fleet.use[id(card)] = before
        fleet.occupancies.append(before[1])
        for part in card.parts:
            fleet.by_device[_key(part)] = before[1]
    fleet.others = holds
    fleet.unpublished = [
        hold
        for (driver, pool, device), of in holds.items()
        if device not in fleet.published.get((driver, pool), ())
        for hold in of
    ]


def _key(part: Any) -> DeviceKey:
    return part.driver, part.pool, part.name


def _problem(pool: PoolFacts) -> tuple[str, str]:
    code, _colon, detail = pool.problem.partition(": ")
    return code or f"pool.{pool.verdict}", detail


def _holds(cluster: Cluster) -> dict[DeviceKey, tuple[Hold, ...]]:
    found: dict[DeviceKey, list[Hold]] = defaultdict(list)
    rows = Allocation.objects.filter(cluster=cluster).order_by(
        "claim_namespace", "claim_name", "pk"
    )
    for row in rows.values_list(
        "claim_namespace",
        "claim_name",
        "device_request",
        "driver",
        "pool",
        "device",
        "share_id",
        "consumed_capacity",
        "admin_access",
    ):
        consumed = tuple((str(k), str(v)) for k, v in row[7].items())
        found[row[3:6]].append(Hold(*row[:7], consumed, row[8]))
    return {key: tuple(of) for key, of in found.items()}
