"""Make and change budgets: by compare-and-set, audited."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from portal.accounts.models import Tenant, TenantNamespace
from portal.audit.context import acting
from portal.budgets.models import MOST, Budget
from portal.core.errors import FieldRefused, PortalError

if TYPE_CHECKING:
    from portal.accounts.models import User

MEASURES = ("vram", "cards", "slices", "hours")
FIELDS = tuple(f"{name}_{kind}" for name in MEASURES for kind in ("soft", "hard"))

Limits = Mapping[str, int | None]


class BudgetRefused(FieldRefused):
    """A budget that cannot be; the message says why.

    Attributes:
        field: of the form, or "".
    """

    code = "budget.invalid"


class BudgetChanged(PortalError):
    """Somebody changed it since it was read."""

    code = "budget.changed"


def make_budget(  # noqa: PLR0913  each is one fact of the budget
    *,
    tenant: str,
    cluster: str,
    namespace: str,
    limits: Limits,
    user: User,
    request_id: str,
    now: datetime,
) -> Budget:
    """Give a tenant a budget: everywhere, in a cluster, or in a namespace of it.

    Raises:
        BudgetRefused: There is no such tenant or namespace, there is one already, or
            the limits cannot be.
    """
    row = Tenant.objects.filter(name=tenant).first()
    if row is None:
        raise BudgetRefused(
            _("There is no tenant named “%(name)s”: choose one that there is.")
            % {"name": tenant},
            "tenant",
        )
    _check_scope(row, cluster, namespace)
    _check(limits, namespace)
    try:
        with (
            transaction.atomic(),
            acting(actor=user.username, request_id=request_id),
        ):
            return Budget.objects.create(
                tenant=row,
                cluster=cluster,
                namespace=namespace,
                changed_by=user.username,
                changed_at=now,
                **{name: limits.get(name) for name in FIELDS},
            )
    except IntegrityError as error:
        if "budgets_budget_scope" not in str(error):
            raise
        raise BudgetRefused(
            _("There is a budget of that tenant for that already: change that one."),
            "tenant",
        ) from error


def change_budget(  # noqa: PLR0913  each is one fact of the change
    budget: Budget,
    *,
    version: int,
    limits: Limits,
    reason: str,
    user: User,
    request_id: str,
    now: datetime,
) -> Budget:
    """Set all limits of a budget; what is not named is no limit.

    Args:
        budget: which.
        version: the one that the person saw.
        limits: field → number, or None for none.
        reason: for the audit trail.
        user: who changes it.
        request_id: of the HTTP request, for the audit trail.
        now: the moment.

    Raises:
        BudgetRefused: The limits cannot be.
        BudgetChanged: Somebody was first.
    """
    _check(limits, budget.namespace)
    rows = Budget.objects.filter(pk=budget.pk, version=version)
    with acting(actor=user.username, reason=reason, request_id=request_id):
        changed = rows.update(
            version=F("version") + 1,
            changed_by=user.username,
            changed_at=now,
            **{name: limits.get(name) for name in FIELDS},
        )
    if not changed:
        budget.refresh_from_db()
        raise BudgetChanged(
            _(
                "%(who)s changed this budget meanwhile: look at it, then change it again."
            )
            % {"who": budget.changed_by}
        )
    budget.refresh_from_db()
    return budget


def _check_scope(tenant: Tenant, cluster: str, namespace: str) -> None:
    if namespace and not cluster:
        raise BudgetRefused(_("Name the cluster that the namespace is in."), "cluster")
    own = TenantNamespace.objects.filter(tenant=tenant)
    if cluster and not own.filter(cluster=cluster).exists():
        raise BudgetRefused(
            _("%(tenant)s has no namespace in %(cluster)s: give it one first.")
            % {"tenant": tenant.name, "cluster": cluster},
            "cluster",
        )
    if namespace and not own.filter(cluster=cluster, namespace=namespace).exists():
        raise BudgetRefused(
            _("%(namespace)s in %(cluster)s is not a namespace of %(tenant)s.")
            % {"namespace": namespace, "cluster": cluster, "tenant": tenant.name},
            "namespace",
        )


def _check(limits: Limits, namespace: str) -> None:
    for name in FIELDS:
        value = limits.get(name)
        if value is not None and not 0 <= value <= MOST:
            raise BudgetRefused(
                _("A limit is a whole number from 0 to %(most)s, or empty for none.")
                % {"most": f"{MOST:,}"},
                name,
            )
    for name in MEASURES:
        soft, hard = limits.get(f"{name}_soft"), limits.get(f"{name}_hard")
        if soft is not None and hard is not None and soft > hard:
            raise BudgetRefused(
                _(
                    "The soft limit warns before the hard one refuses: it cannot be higher."
                ),
                f"{name}_soft",
            )
    if namespace and (limits.get("hours_soft"), limits.get("hours_hard")) != (
        None,
        None,
    ):
        raise BudgetRefused(
            _(
                "Hours are counted for a whole team, not for one namespace: leave them out."
            ),
            "hours_hard",
        )
