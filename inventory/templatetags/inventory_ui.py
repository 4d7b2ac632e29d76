"""Words for what the inventory knows in codes."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from django import template
from django.utils.html import format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from inventory.models import Cluster
from inventory.services.unseen import state_words, unseen_sentences
from portal.core.templatetags.portal_ui import gib

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from inventory.domain.fragmentation import Fragmentation
    from inventory.domain.gpus import Taint
    from inventory.domain.holds import Reason
    from inventory.domain.topology import Group
    from inventory.queries.history import Chart
    from inventory.queries.rows import CardRow, Piece

register = template.Library()
_DOTS = re.compile(r"[^.]*\.|[^.]+")


@register.filter
def at_least(size: str | int, unsure: bool | None) -> str:  # noqa: FBT001  template filter
    """Return a size or a count as a lower bound ("≥ 80 GiB") where it is one."""
    return f"≥ {size}" if unsure else str(size)


@register.filter
def minus(number: int, less: int) -> int:
    """Return a difference."""
    return number - less


@register.filter
def breakable(name: str) -> SafeString:
    """Return a name that a narrow column breaks behind its dots."""
    return format_html_join("", "{}<wbr>", ((part,) for part in _DOTS.findall(name)))


@register.filter
def gib_number(size_bytes: int | None) -> str:
    """Return bytes as "29.6", the number of GiB alone."""
    return gib(size_bytes).removesuffix(" GiB")


@register.filter
def pool_problem(problem: str) -> str:
    """Return one sentence for a pool's `code: detail`, "" where nothing is wrong."""
    code, _colon, detail = problem.partition(": ")
    return problem_sentence(code, detail) if code else ""


def problem_sentence(code: str, detail: str) -> str:
    """Return what is wrong with a pool and what it means."""
    seen, _slash, expected = detail.partition("/")
    sentences = {
        "pool.incomplete": _(
            "%(seen)s of %(expected)s slices are published; until the rest arrive,"
            " there may be more devices, and these cannot be relied on."
        )
        % {"seen": seen, "expected": expected},
        "pool.duplicate_device": _(
            "The device %(name)s is published twice; nothing of this pool is"
            " allocated until its driver publishes it once."
        )
        % {"name": detail},
        "pool.inconsistent_count": _(
            "Its slices disagree about how many there are (%(counts)s); its driver"
            " must publish them again."
        )
        % {"counts": detail},
        "pool.combined_slice": _(
            "The slice %(name)s holds counters and devices at once, which Kubernetes"
            " 1.35 and later do not allocate; update its driver."
        )
        % {"name": detail},
        "pool.invalid_counterset": _counter_sentence(detail),
    }
    return sentences.get(code) or _(
        "Its driver publishes it in a way that cannot be used."
    )


def _counter_sentence(detail: str) -> str:
    """Return what is wrong with a pool's counter sets; see `inventory.domain.parse`."""
    first, _comma, again = detail.partition(", ")
    if again:
        return _(
            "Two of its slices have a counter set %(name)s; nothing of this pool is"
            " allocated until its driver publishes it once."
        ) % {"name": first}
    name, _slash, counter = detail.partition("/")
    if counter:
        return _(
            "A device uses the counter %(counter)s, which the counter set %(name)s"
            " does not have; update its driver."
        ) % {"counter": counter, "name": name}
    return _(
        "A device uses the counter set %(name)s, which no slice publishes;"
        " update its driver."
    ) % {"name": detail}


@register.filter
def reason_words(reason: Reason) -> str:
    """Return why a card cannot be had, short."""
    if reason.taint:
        return taint_words(reason.taint)
    if reason.code == "pool.incomplete":
        return _("pool incomplete (%(slices)s slices)") % {"slices": reason.detail}
    return _("pool invalid")


@register.filter
def taint_words(taint: Taint) -> str:
    """Return a taint as `key=value:effect`, with the rule that adds it."""
    text = f"{taint.key}={taint.value}" if taint.value else taint.key
    text = f"{text}:{taint.effect}"
    return (
        _("%(taint)s by rule %(rule)s") % {"taint": text, "rule": taint.rule}
        if (taint.rule)
        else text
    )


@register.filter
def place_kind(kind: str) -> str:
    """Return what makes cards near each other."""
    return {
        "pcie": _("PCIe root"),
        "numa": _("NUMA node"),
        "link": _("NVLink or fabric"),
    }[kind]


@register.filter
def topology_words(groups: list[Group]) -> str:
    """Return how many places of each kind there are: "2 NUMA nodes, 8 PCIe roots"."""
    counts = Counter(group.kind for group in groups)
    words = {
        "link": ngettext(
            "%d NVLink or fabric", "%d NVLinks or fabrics", counts["link"]
        ),
        "numa": ngettext("%d NUMA node", "%d NUMA nodes", counts["numa"]),
        "pcie": ngettext("%d PCIe root", "%d PCIe roots", counts["pcie"]),
    }
    return ", ".join(
        text % counts[kind] for kind, text in words.items() if counts[kind]
    )


@register.filter
def card_kind(kind: str) -> str:
    """Return how a card is cut up, in words."""
    return {
        "whole": _("whole card"),
        "dynamic": _("partitions on demand"),
        "static": _("fixed partitions"),
        "shares": _("shares"),
    }[kind]


@register.filter
def role_words(role: str) -> str:
    """Return what a face of a card is."""
    return {
        "whole": _("whole card"),
        "partition": _("partition"),
        "passthrough": _("passthrough (VFIO)"),
    }[role]


@register.filter
def placement_words(state: str) -> str:
    """Return whether a placement can be had."""
    return {
        "possible": _("can be had"),
        "blocked": _("blocked by what is in use"),
        "taken": _("in use"),
        "unavailable": _("unavailable"),
    }[state]


@register.filter
def kind_state(state: str) -> str:
    """Return why a kind is not seen."""
    return state_words(state)


@register.filter
def unseen_words(cluster: Cluster) -> list[str]:
    """Return what of a cluster is not seen, and what follows; nothing mostly."""
    return unseen_sentences(cluster)


@register.filter
def is_blind_to(cluster: Cluster, kind: str) -> bool:
    """Return whether nothing is known of a kind, so that none stored is not none."""
    return cluster.is_blind_to(kind)


@register.filter
def piece_text(piece: Piece) -> str:
    """Return the text on a piece of a bar: what fits there, where it is free."""
    if piece.mark == "free" and piece.label:
        return _("%(profile)s fits") % {"profile": piece.label}
    return piece.label


@register.filter
def bar_words(row: CardRow) -> str:
    """Return a bar in one sentence, for who does not see it."""
    sizes: Counter[str] = Counter()
    for piece in row.pieces:
        share = float(piece.width.rstrip("%")) / 100
        sizes[piece.mark] += round(share * row.cell_count) if row.cell_count else 1
    if row.cell_count:
        head = _("%(count)d memory slices") % {"count": row.cell_count}
        return f"{head}: {', '.join(_slices(sizes))}{_compute(row)}"
    return ", ".join(_marks(sizes)) + _compute(row)


def _compute(row: CardRow) -> str:
    if not row.compute:
        return ""
    taken, count = row.compute
    return "; " + _("%(taken)d of %(count)d compute slices in use") % {
        "taken": taken,
        "count": count,
    }


def _slices(sizes: Counter[str]) -> list[str]:
    words = {
        "mine": _("yours"),
        "other": _("in use"),
        "free": _("free"),
        "blocked": _("free, no placement"),
        "down": _("unavailable"),
    }
    return [f"{sizes[mark]} {word}" for mark, word in words.items() if sizes[mark]]


def _marks(sizes: Counter[str]) -> list[str]:
    held = sizes["mine"] + sizes["other"]
    words = []
    if held:
        words.append(ngettext("%d part in use", "%d parts in use", held) % held)
    if sizes["mine"]:
        words.append(_("%d of them yours") % sizes["mine"])
    if sizes["free"]:
        words.append(_("the rest free") if held else _("all free"))
    if sizes["blocked"]:
        words.append(_("the rest blocked"))
    if sizes["down"]:
        words.append(_("the rest unavailable") if held else _("unavailable"))
    return words


@register.filter
def severity_kind(severity: int) -> str:
    """Return the badge's kind for a severity."""
    return ("good", "info", "warn", "bad")[severity]


@register.filter
def severity_name(severity: int) -> str:
    """Return a severity in a word or two."""
    names = (_("whole"), _("some large pieces"), _("only small pieces"), _("full"))
    return names[severity]


@register.filter
def severity_words(pieces: Fragmentation) -> str:
    """Return what a severity means for who wants to claim something now."""
    if pieces.severity is None:
        return _("How broken up the memory is, is not known: no card publishes any.")
    words = (
        _(
            "At least half of the cards have 40 GiB free in one piece: large claims fit."
        ),
        _(
            "Fewer than half of the cards have 40 GiB free in one piece, but there are"
            " pieces of 16 GiB: medium claims fit."
        ),
        _(
            "No piece of 16 GiB is left, only smaller ones: a large claim would wait"
            " although memory is free."
        ),
        _("Nothing is free, partitions included: every new claim waits."),
    )
    return words[pieces.severity]


@register.filter
def chart_words(chart: Chart) -> str:
    """Return a chart in one sentence, for who does not see it."""
    if not chart.known:
        return _("Nothing was recorded in this time.")
    peaks = [bucket.peak for bucket in chart.buckets if bucket.peak is not None]
    return _("Allocated: %(now)s now, peaks between %(least)s and %(most)s.") % {
        "now": gib(chart.allocated),
        "least": gib(min(peaks)),
        "most": gib(max(peaks)),
    }


@register.filter
def unrecorded_words(cluster: Cluster) -> str:
    """Return why nothing of a cluster's past is kept yet, and when that begins."""
    if cluster.kind == Cluster.Kind.OFFLINE:
        return _("An offline cluster is one snapshot, and has no history.")
    if cluster.heard_at is None:
        return _(
            "The cluster was not read yet. Within a minute after that the first sample"
            " is taken, then one every five minutes."
        )
    return _(
        "Within a minute after a cluster was first read, the first sample is taken, then"
        " one every five minutes. It shows up here by itself; if none comes, no worker"
        " or no beat runs, or the cluster is not read any more."
    )
