"""Words and bars of budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.utils.translation import gettext as _

from portal.budgets.domain.amounts import Measure
from portal.budgets.domain.limits import Level
from portal.budgets.services.wording import NAMES, amount_text, number_text

if TYPE_CHECKING:
    from portal.budgets.domain.limits import Figure
    from portal.budgets.domain.quotas import QuotaLine

register = template.Library()


@register.filter
def measure_name(figure: Figure) -> str:
    """Return what a figure counts."""
    return str(NAMES[figure.measure])


@register.filter
def amount(number: float | None, figure: Figure) -> str:
    """Return a number of a figure's measure, with GiB; a dash for no limit."""
    if number is None:
        return "–"
    if figure.measure is Measure.VRAM:
        return amount_text(figure.measure, number)
    return number_text(number)


def _part(number: float, figure: Figure) -> float:
    most = figure.most or 0
    top = max(most, figure.taken) or 1
    return max(0.0, min(100.0, number / top * 100))


@register.filter
def used_width(figure: Figure) -> str:
    """Return how much of a bar is in use."""
    return f"{_part(figure.used, figure):.1f}%"


@register.filter
def taken_width(figure: Figure) -> str:
    """Return how much of a bar counts against the limit."""
    return f"{_part(figure.taken, figure):.1f}%"


@register.filter
def soft_place(figure: Figure) -> str:
    """Return where on a bar the soft limit is, or "" where it needs no mark."""
    if figure.soft is None or figure.hard is None or figure.soft == figure.hard:
        return ""
    return f"{_part(figure.soft, figure):.1f}%"


@register.filter
def bar_label(figure: Figure) -> str:
    """Return a bar in one sentence, for who does not see it."""
    return _("%(used)s in use, %(taken)s counted, of %(most)s") % {
        "used": amount_text(figure.measure, figure.used),
        "taken": amount_text(figure.measure, figure.taken),
        "most": amount(figure.most, figure),
    }


@register.filter
def level_kind(figure: Figure) -> str:
    """Return the badge's kind for how a limit stands."""
    return {Level.SOFT: "warn", Level.HARD: "bad"}.get(figure.stands, "good")


@register.filter
def level_word(figure: Figure) -> str:
    """Return how a limit stands."""
    return {
        Level.FREE: _("no limit"),
        Level.WITHIN: _("within"),
        Level.SOFT: _("over the soft limit"),
        Level.HARD: _("over the hard limit"),
    }[figure.stands]


@register.filter
def line_words(line: QuotaLine) -> str:
    """Return what a line of a quota counts."""
    return {
        "claims": _("how many claims there are, whatever they ask"),
        "class": _(
            "devices of the class %(name)s: of alternatives the most, All as 32"
        ),
        "implicit": _(
            "devices of the class %(name)s, asked by a claim or as an extended resource"
        ),
        "extended": _(
            "the extended resource %(name)s, asked by a pod or by a claim of its class"
        ),
    }[line.kind] % {"name": line.subject}
