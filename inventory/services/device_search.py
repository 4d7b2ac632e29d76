"""Devices for which a CEL selector holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from inventory.services.engines import engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from inventory.models import Cluster


class CelRefused(PortalError):
    """The scheduler cannot use an expression.

    Attributes:
        line, column: of the first error, from 1; None where no place is named.
    """

    code = "cel.compile"
    line: int | None = None
    column: int | None = None


def devices_matching(cluster: Cluster, expression: str) -> tuple[str, ...]:
    """Return `driver/pool/device` of every device for which the expression is true.

    Raises:
        CelRefused: It does not compile.
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    found = engine_for(cluster).evaluate([expression], listing=True)
    (verdict,) = found.compile
    if not verdict.ok:
        error = CelRefused(
            _("The expression cannot be used: %(error)s")
            % {"error": (verdict.error or "").strip()}
        )
        error.line, error.column = verdict.line, verdict.column
        raise error
    return found.matches
