"""Budgets in sentences: what is asked, what is left, who says no."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from inventory.domain.quantity import GIB
from portal.budgets.domain.amounts import Measure

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from portal.budgets.domain.limits import Figure
    from portal.budgets.models import Budget

NAMES: dict[Measure, _StrPromise] = {
    Measure.VRAM: gettext_lazy("VRAM"),
    Measure.CARDS: gettext_lazy("Whole cards"),
    Measure.SLICES: gettext_lazy("Memory slices of partitions"),
    Measure.HOURS: gettext_lazy("GPU-hours this month"),
}


def amount_text(measure: Measure, amount: float) -> str:
    """Return an amount in its measure's own unit, with the unit that people read."""
    shown = amount / GIB if measure is Measure.VRAM else amount
    many = 1 if shown == 1 else 2
    unit = {
        Measure.VRAM: _("%(n)s GiB"),
        Measure.CARDS: ngettext("%(n)s card", "%(n)s cards", many),
        Measure.SLICES: ngettext("%(n)s memory slice", "%(n)s memory slices", many),
        Measure.HOURS: ngettext("%(n)s GPU-hour", "%(n)s GPU-hours", many),
    }[measure]
    return unit % {"n": number_text(shown)}


def number_text(number: float) -> str:
    """Return a number with at most one decimal."""
    text = f"{number:,.1f}"
    return text.removesuffix(".0")


def scope_text(budget: Budget) -> str:
    """Return what a budget is over: the team, in a cluster, in a namespace."""
    if budget.namespace:
        return _("the namespace %(namespace)s in %(cluster)s") % {
            "namespace": budget.namespace,
            "cluster": budget.cluster,
        }
    if budget.cluster:
        return _("your team %(tenant)s in %(cluster)s") % {
            "tenant": budget.tenant.name,
            "cluster": budget.cluster,
        }
    return _("your team %(tenant)s") % {"tenant": budget.tenant.name}


def asks_text(budget: Budget, figure: Figure) -> str:
    """Return what a request asks, and what is left of what there is."""
    values = {
        "asks": amount_text(figure.measure, figure.asked),
        "left": amount_text(figure.measure, figure.left or 0),
        "most": amount_text(figure.measure, figure.most or 0),
        "whose": scope_text(budget),
    }
    if figure.asked_unknown:
        return (
            _(
                "How much memory this takes is not known, at least %(asks)s;"
                " %(left)s of the %(most)s of %(whose)s remain."
            )
            % values
        )
    return (
        _("This asks %(asks)s; %(left)s of the %(most)s of %(whose)s remain.") % values
    )


def over_hard_text(budget: Budget, figure: Figure, problem: str) -> str:
    """Return that a request is refused, with the figures, and what helps."""
    said = asks_text(budget, figure)
    if figure.asked_unknown:
        if problem:
            return f"{said} {problem}"
        help_text = _(
            "A limit of memory cannot be kept by what may take any amount: ask for"
            " devices that are there now and publish their memory, or say how much"
            " with a capacity request."
        )
        return f"{said} {help_text}"
    help_text = _(
        "That is over the hard limit: ask for less or for a shorter time, release"
        " something, or have an administrator raise the budget."
    )
    return f"{said} {help_text}"


def over_soft_text(budget: Budget, figure: Figure) -> str:
    """Return that a request passes, and that it goes over the soft limit."""
    soft = amount_text(figure.measure, figure.soft or 0)
    over = _("It passes, and goes over the soft limit of %(soft)s.") % {"soft": soft}
    return f"{asks_text(budget, figure)} {over}"
