"""A CEL expression as a filter of devices: which match, how many, and what fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.services.engines import engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from inventory.domain.engine import Evaluated, RuntimeFault
    from inventory.models import Cluster


@dataclass(frozen=True, slots=True)
class Asked:
    """What the engine says of an expression.

    Attributes:
        matches: driver/pool/device of each match; None where nothing was filtered,
            since the expression cannot be used or the engine does not answer.
        problem: why not, in a sentence; with the place, from 1, where one is named.
        errors: what fails on how many devices, when it is evaluated.
    """

    expression: str
    matches: tuple[str, ...] | None = None
    match: int = 0
    no_match: int = 0
    error: int = 0
    errors: tuple[RuntimeFault, ...] = ()
    problem: str = ""
    line: int | None = None
    column: int | None = None


def ask(cluster: Cluster, expression: str) -> Asked | None:
    """Return what an expression says of a cluster's devices, None of no expression."""
    if not expression:
        return None
    try:
        return _asked(
            expression, engine_for(cluster).evaluate([expression], listing=True)
        )
    except PortalError as error:
        return Asked(expression, problem=error.message)


def _asked(expression: str, found: Evaluated) -> Asked:
    (verdict,) = found.compile
    if found.devices is None:
        return Asked(
            expression,
            problem=(verdict.error or "").strip(),
            line=verdict.line,
            column=verdict.column,
        )
    tally = found.devices
    return Asked(
        expression,
        found.matches,
        tally.match,
        tally.no_match,
        tally.error,
        errors=found.errors,
    )
