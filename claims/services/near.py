"""The nearest misses of a selector that matches nothing: what devices have instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from claims.domain.why.conjuncts import conjuncts
from claims.domain.why.values import by_distance, comparison_in, shown
from claims.services.catalogue import counted_values, seen_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.why.values import Comparison
    from inventory.models import Cluster

MOST_PARTS = 4
MOST_NEAR = 3


def nearest_misses(cluster: Cluster, expression: str) -> str:
    """Return what devices publish nearest to what is compared; "" where none is.

    One query, and one more for each comparison.
    """
    compared = [
        found for part in conjuncts(expression) if (found := comparison_in(part))
    ]
    return ", ".join(_near(cluster, compared[:MOST_PARTS]))


def _near(cluster: Cluster, compared: list[Comparison]) -> Iterator[str]:
    if not compared:
        return
    seen = {(each.space, each.domain, each.name): each for each in seen_keys(cluster)}
    for each in compared:
        key = seen.get((each.space, each.domain, each.key))
        counts = {v.text: v.count for v in counted_values(cluster, key)} if key else {}
        for value in by_distance(each, counts)[:MOST_NEAR]:
            yield _("%(count)s with %(key)s %(value)s") % {
                "count": f"{counts[value]:,}",
                "key": each.key,
                "value": shown(each.kind, value),
            }
