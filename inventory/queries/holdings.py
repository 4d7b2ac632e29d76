"""Who holds which part of a card, since when, and which pods use it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from inventory.models import KubeObject
from inventory.queries.rows import Holder, holder_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inventory.domain.holds import Hold
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster


@dataclass(frozen=True, slots=True)
class Holding:
    """One part of a card that a claim holds.

    Attributes:
        since: when it was allocated, or, where the server does not keep that, None.
        made_at: when its claim was made, or None.
        pods: names of the pods that the claim is reserved for.
    """

    device: str
    holder: Holder
    since: dt.datetime | None
    made_at: dt.datetime | None
    pods: tuple[str, ...]


def holdings(cluster: Cluster, holds: Sequence[Hold], viewer: Viewer) -> list[Holding]:
    """Return holds as a person may see them, by device; one query.

    Of a claim whose name may not be seen, only that it is there is told.
    """
    named = {
        (hold.namespace, hold.claim) for hold in holds if viewer.sees(hold.namespace)
    }
    bodies = _claims(cluster, named)
    return [
        _holding(hold, bodies.get((hold.namespace, hold.claim), {}), viewer)
        for hold in sorted(holds, key=lambda h: (h.device, h.admin, h.namespace))
    ]


def _claims(
    cluster: Cluster, names: set[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    where = Q(pk__in=[])
    for namespace, name in names:
        where |= Q(namespace=namespace, name=name)
    rows = KubeObject.objects.filter(
        where, cluster=cluster, kind="ResourceClaim", deleted_at=None
    ).values_list("namespace", "name", "body__metadata", "body__status")
    return {
        (namespace, name): {"metadata": metadata, "status": status}
        for namespace, name, metadata, status in rows
    }


def _holding(hold: Hold, body: dict[str, Any], viewer: Viewer) -> Holding:
    status = body.get("status") or {}
    allocation = status.get("allocation") or {}
    return Holding(
        device=hold.device,
        holder=holder_of(hold, viewer),
        since=_moment(allocation.get("allocationTimestamp")),
        made_at=_moment((body.get("metadata") or {}).get("creationTimestamp")),
        pods=tuple(
            str(user.get("name", ""))
            for user in status.get("reservedFor") or []
            if user.get("resource", "pods") == "pods"
        ),
    )


def _moment(text: Any) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
