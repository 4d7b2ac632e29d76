"""What a claim would take, asked of the engine and the cards of its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.checks.asks import asked_of
from claims.domain.checks.shape import shape_findings
from claims.domain.manifest import CLAIM
from claims.services.checking import world_of
from inventory.gateways.engine import EngineRefused
from inventory.queries.cards import fleet_of
from inventory.services.engines import engine_for
from portal.budgets.domain.amounts import NOTHING, Amounts, Size
from portal.budgets.domain.needs import UNKNOWN, need_of
from portal.core.cache_by_content import ContentCache, content_key
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from claims.domain.checks.asks import Ask
    from claims.domain.checks.world import World
    from inventory.domain.fleet import Fleet
    from inventory.gateways.engine import Engine
    from inventory.models import Cluster


@dataclass(frozen=True, slots=True)
class Need:
    """What a claim can take at most.

    Attributes:
        amounts: as far as they are known.
        problem: why more is not known.
        passes: more may be known in a moment, as when the engine was away.
    """

    amounts: Amounts
    problem: str = ""
    passes: bool = False


_lately: ContentCache[Need] = ContentCache(seconds=30, most=5_000)


def need_lately(cluster: Cluster, claim: Mapping[str, Any]) -> Need:
    """Return `need_in` of a claim, as it was at most half a minute ago.

    What stands in its way for a moment is kept for none.
    """
    return _lately.get(
        _key(cluster, claim),
        lambda: need_in(cluster, {**claim, "kind": CLAIM}),
        is_worth=lambda need: not need.passes,
    )


def need_known(cluster: Cluster, claim: Mapping[str, Any]) -> Need:
    """Return `need_lately` where it was asked lately, else what the claim says itself.

    Nobody is asked: it is for whoever holds a lock.
    """
    found = _lately.find(content_key(_key(cluster, claim)))
    return found or _said_in({**claim, "kind": CLAIM})


def needs_lately(
    cluster: Cluster, claims: Iterable[Mapping[str, Any]]
) -> Iterator[Need]:
    """Return `need_lately` of each claim.

    Once the engine has failed, the others are not asked for: each would wait as long.
    """
    asks = need_lately
    for claim in claims:
        need = asks(cluster, claim)
        if need.passes:
            asks = need_known
        yield need


def forget() -> None:
    """Ask anew from now on, in this process."""
    _lately.clear()


def _key(cluster: Cluster, claim: Mapping[str, Any]) -> tuple[int, Any]:
    return cluster.pk, claim.get("spec")


def _said_in(body: Mapping[str, Any]) -> Need:
    """Return what a claim says itself of what it takes."""
    body = dict(body)
    return Need(UNKNOWN if shape_findings(body) else need_of(asked_of(body), {}))


def need_in(cluster: Cluster, manifest: Mapping[str, Any]) -> Need:
    """Return what a claim, or one claim of a template, can take at most.

    Where the engine cannot say what matches, only what the claim says itself is known.
    """
    body = dict(manifest)
    if shape_findings(body):
        return Need(UNKNOWN)
    asked = asked_of(body)
    asks = [ask for ask in asked.asks if not ask.is_admin]
    if not asks:
        return Need(need_of(asked, {}))
    try:
        world, engine = world_of(cluster), engine_for(cluster)
        fleet = fleet_of(cluster)
        sizes = {ask.name: _sizes(ask, engine, world, fleet) for ask in asks}
    except PortalError as error:
        return Need(need_of(asked, {}), error.message, passes=not error.permanent)
    return Need(need_of(asked, sizes))


def _sizes(ask: Ask, engine: Engine, world: World, fleet: Fleet) -> list[Size]:
    """Return the different sizes of the devices that match; all of them for `All`."""
    known = world.classes().get(ask.class_name)
    if known is None:
        return []
    within = [
        str(each["cel"]["expression"])
        for each in (known.get("spec") or {}).get("selectors") or []
        if (each.get("cel") or {}).get("expression")
    ]
    own = [expression for _path, expression in ask.selectors]
    try:
        found = engine.evaluate(own or within, within=within, listing=True)
    except EngineRefused:
        return []
    sizes = [_size(device, world, fleet) for device in found.matches]
    return sizes if ask.is_all else _different(sizes)


def _different(sizes: list[Size]) -> list[Size]:
    kept = {
        (s.amounts, s.shared, repr(s.capacity) if s.shared else ""): s for s in sizes
    }
    return list(kept.values())


def _size(device_id: str, world: World, fleet: Fleet) -> Size:
    driver, _slash, rest = device_id.partition("/")
    pool, _slash, name = rest.rpartition("/")
    device = world.devices.get(device_id)
    node = device.node_name if device else ""
    shared = bool(device and device.allow_multiple_allocations)
    unit = fleet.unit_of((driver, pool, name))
    card = unit.by_device.get((driver, pool, name)) if unit else None
    part = (
        next((p for p in card.parts if p.key == (driver, pool, name)), None)
        if card
        else None
    )
    if card is None or part is None:
        return Size(node, NOTHING)
    is_partition = part.role == "partition"
    memory = part.memory if is_partition else part.memory or card.total
    amounts = Amounts(
        vram=memory or 0,
        cards=int(not is_partition),
        slices=len(part.cells) if is_partition else 0,
        gpus=1,
        vram_at_least=memory is None,
    )
    return Size(node, amounts, shared, world.published.get(device_id))
