"""How much of each DeviceClass there is: what its selectors match, and what is free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog
from django.utils.translation import gettext as _

from inventory.domain.fragmentation import fragmentation_of
from inventory.gateways.engine_process import EngineUnavailable
from inventory.gateways.engine_wire import EngineDeadline, EngineRefused
from inventory.services.engines import engine_for
from inventory.services.unseen import unseen_sentence

if TYPE_CHECKING:
    from inventory.domain.engine import Evaluated
    from inventory.domain.fleet import Fleet
    from inventory.domain.fragmentation import Fragmentation
    from inventory.gateways.engine import Engine
    from inventory.models import Cluster
    from inventory.queries.classes import ClassRow

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClassUse:
    """What a class matches now; counts are None where the engine could not say."""

    row: ClassRow
    match: int | None = None
    free: int | None = None
    # Whether there may be more of both: a pool lacks slices.
    at_least: bool = False
    failing: int = 0
    # One sentence: why there is no count, or what its selectors stumble over.
    problem: str = ""
    fragmentation: Fragmentation | None = None
    # (driver, pool, device) of those that match.
    devices: frozenset[tuple[str, str, str]] | None = None


def class_uses(cluster: Cluster, fleet: Fleet, rows: list[ClassRow]) -> list[ClassUse]:
    """Return each class with what it matches; asks the engine once a class.

    Where the engine cannot answer, the rest is not asked, and all say why.
    """
    engine = engine_for(cluster)
    blind = unseen_sentence(cluster, "ResourceClaim")
    uses: list[ClassUse] = []
    for row in rows:
        try:
            use = _use(engine, fleet, row)
            uses.append(_without_use(use, blind) if blind else use)
        except EngineRefused as error:
            uses.append(ClassUse(row, problem=error.message))
        except (EngineUnavailable, EngineDeadline) as error:
            logger.warning("classes not counted", cluster=cluster.name, code=error.code)
            left = rows[len(uses) :]
            return [*uses, *(ClassUse(each, problem=error.message) for each in left)]
    return uses


def _without_use(use: ClassUse, why: str) -> ClassUse:
    """Return a class of which it is not known what is in use, so neither what is free."""
    return replace(use, free=None, fragmentation=None, problem=use.problem or why)


def devices_of_class(
    cluster: Cluster, name: str, rows: list[ClassRow]
) -> tuple[frozenset[tuple[str, str, str]] | None, str]:
    """Return the devices that a class selects, or None and why that is not known."""
    row = next((row for row in rows if row.facts.name == name), None)
    if row is None:
        return None, _("There is no class of the name “%(name)s”.") % {"name": name}
    try:
        answer = engine_for(cluster).evaluate(_expressions(row), listing=True)
    except (EngineUnavailable, EngineDeadline, EngineRefused) as error:
        return None, error.message
    if answer.devices is None:
        return None, _problem(answer)
    return frozenset(map(device_key, answer.matches)), ""


def _expressions(row: ClassRow) -> tuple[str, ...]:
    return row.facts.selectors or ("true",)


def _use(engine: Engine, fleet: Fleet, row: ClassRow) -> ClassUse:
    answer = engine.evaluate(_expressions(row), listing=True)
    problem = _problem(answer)
    if answer.devices is None:
        return ClassUse(row, problem=problem)
    keys = frozenset(map(device_key, answer.matches))
    return ClassUse(
        row,
        answer.devices.match,
        free=sum(fleet.is_free(device_key(match)) for match in answer.matches),
        at_least=not fleet.complete,
        failing=answer.devices.error,
        problem=problem,
        fragmentation=fragmentation_of(fleet.occupancies, fleet.needs, within=keys),
        devices=keys,
    )


def device_key(match: str) -> tuple[str, str, str]:
    """Return (driver, pool, device) of `driver/pool/device`; a pool may hold slashes."""
    driver, _slash, rest = match.partition("/")
    pool, _slash, device = rest.rpartition("/")
    return driver, pool, device


def _problem(answer: Evaluated) -> str:
    for verdict in answer.compile:
        if not verdict.ok:
            return verdict.error or ""
    return answer.errors[0].message if answer.errors else ""
