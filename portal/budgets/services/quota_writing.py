"""Write a ResourceQuota from a budget: tried, shown, then written as the admin.

Kubernetes counts devices and claims, never memory, and in each namespace by
itself. So what is written is a number of devices a class; memory stays with the
portal and its webhook.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.translation import gettext as _

from claims.domain.manifest import MANAGED_BY, MANAGED_BY_LABEL
from inventory.domain.kinds import RESOURCE_QUOTA
from inventory.gateways.audit_ids import gathered, gathering
from inventory.gateways.errors import NotFound
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.models import Cluster
from inventory.services.connections import kube_for
from portal.accounts.models import TenantNamespace
from portal.accounts.queries import groups_of
from portal.audit.context import acting
from portal.budgets.domain.quotas import API_VERSION, NAME, differences
from portal.budgets.models import AppliedQuota, Budget
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from portal.accounts.models import User

Json = dict[str, Any]


class QuotaRefused(PortalError):
    """The quota cannot be written; the message says why."""

    code = "quota.refused"


class QuotaChanged(PortalError):
    """The object in the cluster is not the one that was shown."""

    code = "quota.changed"


@dataclass(frozen=True, slots=True)
class QuotaPlan:
    """What would be written, as the server answered to a dry run.

    Attributes:
        before: `spec.hard` that is there; None where the object is not.
        seen: resourceVersion of what is there, or "".
    """

    cluster: Cluster
    namespace: str
    before: Json | None
    after: Json
    seen: str

    @property
    def changes(self) -> list[tuple[str, str, str]]:
        """(key, before, after) of each line that changes."""
        return differences(self.before, self.after)


def try_quota(
    budget: Budget,
    cluster: Cluster,
    namespace: str,
    hard: Mapping[str, str],
    user: User,
) -> QuotaPlan:
    """Have the API server check a quota as a person, and say what it would change.

    Raises:
        QuotaRefused: It would say nothing, or stands where the budget does not.
        KubeError: The API server says no.
    """
    _check(budget, cluster, namespace, hard)
    found = _found(cluster, namespace)
    answer = _write(cluster, namespace, hard, found, user, dry_run=True)
    return QuotaPlan(
        cluster=cluster,
        namespace=namespace,
        before=(found["spec"].get("hard") or {}) if found else None,
        after=dict(answer["spec"].get("hard") or {}),
        seen=str(found["metadata"].get("resourceVersion", "")) if found else "",
    )


def apply_quota(  # noqa: PLR0913  each is one fact of the act
    budget: Budget,
    cluster: Cluster,
    namespace: str,
    hard: Mapping[str, str],
    *,
    seen: str,
    user: User,
    request_id: str,
    now: datetime,
) -> AppliedQuota:
    """Write a quota as a person, if what is there is what the person was shown.

    Args:
        budget: that it comes from.
        cluster: where to.
        namespace: of the budget's tenant.
        hard: key → quantity.
        seen: resourceVersion of what was shown, "" for nothing.
        user: an admin; Kubernetes has the last word on whether they may.
        request_id: of the HTTP request, for the audit trail.
        now: the moment.

    Raises:
        QuotaRefused, QuotaChanged: The portal says no.
        KubeError: The API server says no.
    """
    _check(budget, cluster, namespace, hard)
    found = _found(cluster, namespace)
    there = str(found["metadata"].get("resourceVersion", "")) if found else ""
    if there != seen:
        raise QuotaChanged(
            _("The quota in %(namespace)s has changed since you looked: look again.")
            % {"namespace": namespace}
        )
    with gathering():
        made = _write(cluster, namespace, hard, found, user, dry_run=False)
        written = gathered()
    with (
        transaction.atomic(),
        acting(actor=user.username, request_id=request_id, audit_ids=written),
    ):
        return AppliedQuota.objects.create(
            budget=budget,
            cluster=cluster.name,
            namespace=namespace,
            name=NAME,
            hard_before=(found["spec"].get("hard") or {}) if found else None,
            hard=made["spec"].get("hard") or {},
            object_uid=made["metadata"]["uid"],
            applied_by=user.username,
            applied_at=now,
        )


def _check(
    budget: Budget, cluster: Cluster, namespace: str, hard: Mapping[str, str]
) -> None:
    own = TenantNamespace.objects.filter(
        tenant=budget.tenant_id, cluster=cluster.name, namespace=namespace
    )
    if not budget.covers(cluster.name, namespace) or not own.exists():
        raise QuotaRefused(
            _("%(namespace)s in %(cluster)s is no namespace of this budget.")
            % {"namespace": namespace, "cluster": cluster.name},
            code="quota.namespace",
        )
    if cluster.kind == Cluster.Kind.OFFLINE:
        raise QuotaRefused(
            _("%(cluster)s was loaded from files, so nothing can be applied there.")
            % {"cluster": cluster.name}
        )
    if not hard:
        raise QuotaRefused(
            _("The quota would limit nothing: give at least one class a number.")
        )


def _found(cluster: Cluster, namespace: str) -> Json | None:
    try:
        found = kube_for(cluster, AS_ITSELF).get(RESOURCE_QUOTA, NAME, namespace)
    except NotFound:
        return None
    labels = found["metadata"].get("labels") or {}
    if labels.get(MANAGED_BY_LABEL) != MANAGED_BY:
        raise QuotaRefused(
            _(
                "A ResourceQuota named %(name)s that the portal did not make is in"
                " %(namespace)s: rename or remove it there first."
            )
            % {"name": NAME, "namespace": namespace}
        )
    return found


def _write(
    cluster: Cluster,
    namespace: str,
    hard: Mapping[str, str],
    found: Json | None,
    user: User,
    *,
    dry_run: bool,
) -> Json:
    person = kube_for(cluster, Identity(user.username, tuple(groups_of(user)), {}))
    if found is None:
        metadata: Json = {
            "name": NAME,
            "namespace": namespace,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY},
        }
        body = _body(metadata, {"hard": dict(hard)})
        return person.create(body, dry_run=dry_run)
    body = _body(found["metadata"], {**found["spec"], "hard": dict(hard)})
    return person.update(body, dry_run=dry_run)


def _body(metadata: Json, spec: Json) -> Json:
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {
        "apiVersion": API_VERSION,
        "kind": RESOURCE_QUOTA.kind,
        "metadata": kept,
        "spec": spec,
    }
