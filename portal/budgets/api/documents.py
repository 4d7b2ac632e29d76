"""What the API says of budgets and quotas, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import GIB
from portal.budgets.domain.amounts import UNITS, Measure
from portal.budgets.domain.limits import Level
from portal.budgets.domain.quotas import NAME, differences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portal.budgets.domain.limits import Figure
    from portal.budgets.models import AppliedQuota, Budget
    from portal.budgets.queries.quotas import QuotaRow
    from portal.budgets.services.ledger import BudgetRow
    from portal.budgets.services.previewing import Asked, Charge
    from portal.budgets.services.quota_writing import QuotaPlan

Json = dict[str, Any]

_NAMES = {
    Measure.VRAM: "GiB",
    Measure.CARDS: "cards",
    Measure.SLICES: "slices",
    Measure.HOURS: "hours",
}


def budget_document(row: BudgetRow) -> Json:
    """Return a budget and how it stands."""
    return {
        **_named(row.budget),
        "figures": [figure_document(each, each.stands) for each in row.figures],
        "changedBy": row.budget.changed_by,
        "changedAt": row.budget.changed_at,
    }


def etag_of(budget: Budget) -> str:
    """Return what changes whenever a budget's limits do."""
    return f'"{budget.public_id}-{budget.version}"'


def _named(budget: Budget) -> Json:
    return {
        "id": str(budget.public_id),
        "tenant": budget.tenant.name,
        "cluster": budget.cluster or None,
        "namespace": budget.namespace or None,
    }


def figure_document(figure: Figure, level: Level) -> Json:
    """Return one measure of a budget, in the unit that limits are in."""
    unit = UNITS.get(figure.measure, 1)
    return {
        "measure": figure.measure.value,
        "unit": _NAMES[figure.measure],
        "used": round(figure.used / unit, 3),
        "counted": round(figure.taken / unit, 3),
        "countedAtLeast": figure.at_least,
        "soft": figure.limit.soft,
        "hard": figure.limit.hard,
        "left": None if figure.left is None else round(figure.left / unit, 3),
        "level": level.value,
    }


def asked_document(figure: Figure) -> Json:
    """Return one measure of a budget with what is asked of it."""
    return {
        **figure_document(figure, figure.level),
        "asked": round(figure.asked / UNITS.get(figure.measure, 1), 3),
        "askedUnknown": figure.asked_unknown,
    }


def quota_document(row: QuotaRow) -> Json:
    """Return a ResourceQuota's lines on devices."""
    return {
        "namespace": row.namespace,
        "name": row.name,
        "tenant": row.tenant or None,
        "lines": [
            {
                "key": line.key,
                "kind": line.kind,
                "subject": line.subject or None,
                "used": line.used,
                "hard": line.hard,
            }
            for line in row.lines
        ],
    }


def preview_document(asked: Asked) -> Json:
    """Return what a claim would take, and whether it may."""
    need = asked.need.amounts
    over = any(
        figure.level is Level.HARD for _budget, each in asked.judged for figure in each
    )
    return {
        "passes": not over and not any(each.is_over for each in asked.charges),
        "need": {
            "vramGiB": round(need.vram / GIB, 3),
            "vramAtLeast": need.vram_at_least,
            "cards": need.cards,
            "slices": need.slices,
            "gpus": need.gpus,
            "problem": asked.need.problem or None,
        },
        "budgets": [
            {**_named(budget), "figures": [asked_document(each) for each in figures]}
            for budget, figures in asked.judged
        ],
        "charges": [_charge(each) for each in asked.charges],
    }


def _charge(charge: Charge) -> Json:
    return {
        "quota": charge.quota,
        "key": charge.line.key,
        "charged": charge.charged,
        "used": charge.used,
        "hard": charge.line.hard,
        "left": charge.left,
        "isOver": charge.is_over,
    }


def plan_document(plan: QuotaPlan) -> Json:
    """Return what a quota would change."""
    return _plan(plan.namespace, plan.changes, seen=plan.seen, applied=False)


def applied_document(row: AppliedQuota) -> Json:
    """Return what a quota changed."""
    changes = differences(row.hard_before, row.hard)
    return _plan(row.namespace, changes, seen="", applied=True)


def _plan(
    namespace: str, changes: Sequence[tuple[str, str, str]], *, seen: str, applied: bool
) -> Json:
    return {
        "namespace": namespace,
        "name": NAME,
        "applied": applied,
        "seen": seen,
        "changes": [
            {"key": key, "before": before or None, "after": after or None}
            for key, before, after in changes
        ],
    }
