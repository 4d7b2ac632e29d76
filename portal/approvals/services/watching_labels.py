"""Namespaces that get the label of administrative access: noted, and told of.

Kubernetes itself does not keep tenants from labelling a namespace that they may
write, so whoever watches over access is told when one appears.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.urls import reverse

from claims.domain.manifest import ADMIN_LABEL
from inventory.models import Cluster, KubeObject
from portal.accounts.domain.roles import GRANTS, Permission
from portal.accounts.models import User
from portal.accounts.queries import tenant_of
from portal.approvals.models import LabelledSpace
from portal.notices.services.announce import announce

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Says that a cluster was looked at before.
LOOKED = ""


def note_labels(*, now: datetime) -> int:
    """Note which namespaces are labelled; tell of each that appeared. Count those."""
    live = Cluster.objects.exclude(kind=Cluster.Kind.OFFLINE).exclude(heard_at=None)
    return sum(
        _note(cluster, now)
        for cluster in live.defer("kubeconfig_encrypted")
        if cluster.sees("Namespace")
    )


def _note(cluster: Cluster, now: datetime) -> int:
    labelled = set(
        KubeObject.objects.filter(
            cluster=cluster,
            kind="Namespace",
            deleted_at=None,
            body__metadata__labels__contains={ADMIN_LABEL: "true"},
        ).values_list("name", flat=True)
    )
    rows = LabelledSpace.objects.filter(cluster=cluster)
    known = set(rows.values_list("namespace", flat=True))
    rows.exclude(namespace__in={*labelled, LOOKED}).delete()
    is_first = LOOKED not in known
    for name in sorted({*labelled, LOOKED} - known):
        _row, made = LabelledSpace.objects.get_or_create(
            cluster=cluster,
            namespace=name,
            defaults={"seen_at": now, "is_new": not is_first},
        )
        if made and not is_first:
            _tell(cluster, name, now)
    return 0 if is_first else len(labelled - known)


def _tell(cluster: Cluster, namespace: str, now: datetime) -> None:
    announce(
        "exposure.appeared",
        subject=f"{namespace} ({cluster.name})",
        tenant=tenant_of(cluster.name, namespace),
        people=_watchful(),
        payload={"cluster": cluster.name, "namespace": namespace, "label": ADMIN_LABEL},
        url=reverse("approvals:exposure", args=[cluster.name]),
        at=now,
    )


def _watchful() -> QuerySet[User]:
    named = [r.value for r, may in GRANTS.items() if Permission.SEE_EXPOSURE in may]
    return User.objects.filter(is_active=True, roles__overlap=named)
