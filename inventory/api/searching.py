"""From checked parameters to a search; a CEL selector is asked of the engine first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inventory.api.parameters import attributes_of, filter_of
from inventory.queries.device_search import DeviceSearch
from inventory.services.device_search import CelRefused, devices_matching
from portal.api.problems import ApiProblem, error_at

if TYPE_CHECKING:
    from inventory.models import Cluster


def search_of(cluster: Cluster, wanted: dict[str, Any]) -> DeviceSearch:
    """Return what checked parameters look for.

    Raises:
        ApiProblem: 422 where the CEL selector does not compile.
    """
    return DeviceSearch(
        filter_of(wanted), attributes_of(wanted), _among(cluster, wanted["cel"])
    )


def _among(cluster: Cluster, expression: str) -> tuple[str, ...] | None:
    if not expression:
        return None
    try:
        return devices_matching(cluster, expression)
    except CelRefused as error:
        place = error_at(
            "parameter",
            "cel",
            error.code,
            error.message,
            line=error.line,
            column=error.column,
        )
        raise ApiProblem(422, error.code, error.message, errors=[place]) from error
