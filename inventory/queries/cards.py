"""The cards of a cluster and their use, kept in memory and brought up to date.

What is derived from 100,000 device rows is kept per process; when the cluster's
revision has moved on, only the pools whose slices changed are read again. A read
of an unchanged cluster makes no query, of a changed one at most seven.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from django.db import connection

from inventory.domain import gates
from inventory.domain.cards import derive_cards
from inventory.domain.fleet import DeviceKey, Fleet, PoolFacts, PoolKey, Unit, Used
from inventory.domain.gpus import (
    DeviceFacts,
    Taint,
    counter_sets_of,
    needed,
)
from inventory.domain.holds import Hold, Reason
from inventory.domain.needs import needs_of
from inventory.domain.occupancy import occupancy_of
from inventory.domain.taints import TaintRule, parse_rule
from inventory.models import Allocation, Cluster, KubeObject, Pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.domain.gpus import CounterSet

CLUSTERS_KEPT = 8
# Above this many pools, reading every device is cheaper than naming pools.
MOST_NAMED_POOLS = 400
FETCH = 2_000

_fleets: OrderedDict[int, Fleet] = OrderedDict()
_making: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
_lock = threading.Lock()


def fleet_of(cluster: Cluster) -> Fleet:
    """Return the cards of a cluster, at its revision or a newer one.

    One thread at a time brings a cluster up to date; others wait for it.
    """
    with _lock:
        making = _making[cluster.pk]
    with making:
        fleet = _fleets.get(cluster.pk)
        if fleet is None or fleet.revision < cluster.revision:
            fleet = _brought_up_to_date(cluster, fleet or Fleet())
        with _lock:
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
    again = {key: pool for key, pool in pools.items() if pool.unit in stale}
    units = {name: unit for name, unit in old.units.items() if name not in stale}
    units |= _derive(cluster, again, rules) if again else {}
    present = {pool.unit for pool in pools.values()}
    units = {name: units[name] for name in sorted(units) if name in present}
    fleet = Fleet(cluster.revision, pools, units, rules, needs=_needs(cluster))
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
    cluster: Cluster, pools: dict[PoolKey, PoolFacts], rules: tuple[TaintRule, ...]
) -> dict[str, Unit]:
    """Return the units of some pools, which must be all pools of those units."""
    devices: dict[str, list[DeviceFacts]] = defaultdict(list)
    for device in _devices(cluster, pools, rules):
        devices[pools[device.driver, device.pool].unit].append(device)
    sets: dict[str, list[CounterSet]] = defaultdict(list)
    for cs in _counter_sets(cluster, pools):
        sets[pools[cs.driver, cs.pool].unit].append(cs)
    units = {pool.unit for pool in pools.values()}
    return {unit: _unit_of(devices.pop(unit, []), sets[unit]) for unit in units}


def _unit_of(devices: list[DeviceFacts], sets: list[CounterSet]) -> Unit:
    cards = derive_cards(devices, sets)
    return Unit(
        cards,
        {(p.driver, p.pool, p.name): card for card in cards for p in card.parts},
        {
            (d.driver, d.pool, d.name): any(taint.blocks for taint in d.taints)
            for d in devices
        },
        frozenset((d.driver, d.attribute("type")) for d in devices),
    )


_DEVICES = """
    SELECT driver, pool, name, node_name, attributes::text, capacity::text,
           consumes_counters::text, taints::text, allow_multiple_allocations
    FROM inventory_device
    WHERE cluster_id = %s AND (%s OR pool = ANY(%s))
    ORDER BY id
"""


def _devices(
    cluster: Cluster, pools: dict[PoolKey, PoolFacts], rules: tuple[TaintRule, ...]
) -> Iterable[DeviceFacts]:
    names = sorted({name for _driver, name in pools})
    everything = len(names) > MOST_NAMED_POOLS
    with connection.chunked_cursor() as cursor:
        cursor.execute(_DEVICES, [cluster.pk, everything, [] if everything else names])
        while rows := cursor.fetchmany(FETCH):
            yield from (_facts(row, rules) for row in rows if row[:2] in pools)


def _facts(row: tuple[Any, ...], rules: tuple[TaintRule, ...]) -> DeviceFacts:
    driver, pool, name, node = map(sys.intern, row[:4])
    capacity, counters, taints = map(_decoded, row[5:8])
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
        needed(orjson.loads(row[4])),
        capacity,
        counters,
        tuple(own + added),
        row[8],
    )


@lru_cache(maxsize=8_192)
def _decoded(text: str) -> Any:
    """Return JSON that many devices share word for word; it must not be changed."""
    return orjson.loads(text)


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


def _needs(cluster: Cluster) -> dict[tuple[str, str, str], int | None]:
    """Return what each device of an allocated claim's requests needs."""
    rows = KubeObject.objects.filter(
        cluster=cluster,
        kind="ResourceClaim",
        deleted_at=None,
        body__status__has_key="allocation",
    ).values_list("namespace", "name", "body__spec__devices__requests")
    return {
        (namespace, claim, request): need
        for namespace, claim, requests in rows
        for request, need in needs_of(requests).items()
    }


def _occupy(cluster: Cluster, fleet: Fleet, old: Fleet) -> None:
    """Fill in what of each card is held; a card whose holds stayed keeps its use."""
    held, fleet.others = _holds_by_card(cluster, fleet)
    problems = _problems(cluster, fleet)
    for unit in fleet.units.values():
        for card in unit.cards:
            troubled = problems and tuple(
                problems[key] for key in sorted(card.pools) if key in problems
            )
            used: Used = tuple(held.get(id(card), ())), troubled or ()
            known = old.use.get(id(card))
            if known is None or known[0] != used:
                known = used, occupancy_of(card, *used)
            fleet.use[id(card)] = known


def _problems(cluster: Cluster, fleet: Fleet) -> dict[PoolKey, Reason]:
    """Return why pools cannot be used; 1.34 allocates from incomplete ones."""
    lenient = gates.supported_minor(cluster.kubernetes_version) == gates.OLDEST_MINOR
    return {
        key: Reason(*_problem(pool))
        for key, pool in fleet.pools.items()
        if pool.verdict == "invalid" or (pool.verdict != "complete" and not lenient)
    }


def _holds_by_card(
    cluster: Cluster, fleet: Fleet
) -> tuple[dict[int, list[Hold]], dict[DeviceKey, tuple[Hold, ...]]]:
    held: dict[int, list[Hold]] = defaultdict(list)
    others: dict[DeviceKey, tuple[Hold, ...]] = {}
    for key, holds in _holds(cluster).items():
        unit = fleet.unit_of(key)
        card = unit.by_device.get(key) if unit else None
        if card:
            held[id(card)].extend(holds)
        else:
            others[key] = holds
    return held, others


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
