"""Reasons in words: one sentence for each ask on a node, with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from claims.domain.why.reasons import Cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claims.domain.preview import Preview
    from claims.domain.why.reasons import AskReason, Loss
    from claims.services.explaining import Blame

MOST_HOLDERS = 3


def reason_sentence(reason: AskReason, *, hide: frozenset[str] = frozenset()) -> str:
    """Return why an ask finds too little, in the language that is active.

    Args:
        reason: of one ask on one node.
        hide: namespaces whose claims are only "in use" to the reader.
    """
    pieces = [_loss(loss, hide) for loss in reason.losses]
    if pieces or reason.left:
        pieces += _rest(reason)
    text = _head(reason)
    if pieces:
        text = f"{text}: {', '.join(pieces)}"
    if reason.nearest:
        near = ", ".join(
            _("%(count)s with %(key)s %(value)s")
            % {"count": f"{each.count:,}", "key": each.key, "value": each.value}
            for each in reason.nearest
        )
        text += "; " + _("nearest: %(near)s") % {"near": near}
    return f"{text}."


def first_cause(reason: AskReason) -> str:
    """Return the first thing that leaves too few devices, in a few words; "" for none."""
    loss = reason.first
    if loss is None:
        return ""
    words = {
        Cause.CLASS: _("class"),
        Cause.SELECTOR: _("selector %(number)s") % {"number": loss.detail},
        Cause.POOL: _("pool"),
        Cause.HELD: _("in use"),
        Cause.TAINT: _("taint"),
        Cause.COUNTERS: _("counters"),
        Cause.CAPACITY: _("capacity"),
        Cause.CONSTRAINT: _("constraint"),
    }
    return words[loss.cause]


def pod_error_sentence(preview: Preview) -> str:
    """Return what ends scheduling everywhere; "" where nothing does.

    It is the allocator's own text, but where that broke down.
    """
    if not preview.crash:
        return preview.pod_error
    return _(
        "Kubernetes %(minor)s’s own allocator can crash at this claim, and kube-scheduler"
        " with it (%(error)s)."
    ) % {"minor": preview.engine.get("minor"), "error": preview.crash}


def blame_sentence(blame: Blame) -> str:
    """Return what keeps apart requests that would each fit alone."""
    if blame.kind == "constraint":
        return _(
            "Each request alone finds enough; the constraint on %(name)s cannot be met."
        ) % {"name": blame.name}
    if blame.kind == "request":
        return _(
            "Each request alone finds enough, but not together: without %(name)s the rest fits."
        ) % {"name": blame.name}
    return _(
        "By itself each request finds enough; taken together they leave too little for one another."
    )


def _head(reason: AskReason) -> str:
    values = {"class": reason.device_class, "count": f"{reason.of_class:,}"}
    if not reason.known_class:
        return _("there is no DeviceClass %(class)s") % values
    if not reason.reachable:
        return _("the node reaches no device")
    if not reason.of_class:
        values["count"] = f"{reason.reachable:,}"
        return (
            ngettext(
                "the node’s %(count)s device is not of class %(class)s",
                "none of the node’s %(count)s devices is of class %(class)s",
                reason.reachable,
            )
            % values
        )
    return (
        ngettext(
            "%(count)s device of class %(class)s",
            "%(count)s devices of class %(class)s",
            reason.of_class,
        )
        % values
    )


def _rest(reason: AskReason) -> Iterator[str]:
    if reason.is_all:
        yield _("and All takes every match")
    elif reason.left or reason.wanted > 1:
        values = {"left": f"{reason.left:,}", "wanted": f"{reason.wanted:,}"}
        yield _("%(left)s left, %(wanted)s needed") % values


def _loss(loss: Loss, hide: frozenset[str]) -> str:
    text = _WORDS[loss.cause](loss) % {
        "count": f"{loss.count:,}",
        "detail": loss.detail,
        "more": loss.more,
        "examples": _blocked(loss, hide) or ", ".join(loss.examples),
    }
    holders = shown_holders(loss.holders, hide)
    if not holders or loss.blocked:
        return text
    return _("%(what)s (held by %(holders)s)") % {"what": text, "holders": holders}


def _blocked(loss: Loss, hide: frozenset[str]) -> str:
    """Return placements, each with the claims that block it."""
    return "; ".join(
        _("%(name)s by %(holders)s")
        % {"name": name, "holders": shown_holders(holders, hide)}
        for name, holders in loss.blocked
    )


def shown_holders(holders: tuple[str, ...], hide: frozenset[str]) -> str:
    """Return claims by name where the reader may see them, and how many others."""
    seen = [each for each in holders if each.partition("/")[0] not in hide]
    more = len(seen) - MOST_HOLDERS
    names = seen[:MOST_HOLDERS]
    if more > 0:
        names.append(_("%(count)s more") % {"count": f"{more:,}"})
    others = len(holders) - len(seen)
    if others:
        words = ngettext(
            "%(count)s claim of others", "%(count)s claims of others", others
        )
        names.append(words % {"count": f"{others:,}"})
    return ", ".join(names)


def _selector(loss: Loss) -> str:
    if not loss.more:
        return ngettext(
            "%(count)s fails selector %(detail)s",
            "%(count)s fail selector %(detail)s",
            loss.count,
        )
    return ngettext(
        "%(count)s fails selector %(detail)s (%(more)s)",
        "%(count)s fail selector %(detail)s (%(more)s)",
        loss.count,
    )


_INVALID = {
    "pool.combined_slice": gettext_lazy(
        "a slice holds counters and devices both, as Kubernetes 1.34 wanted it"
    ),
    "pool.duplicate_device": gettext_lazy("a device is there twice"),
    "pool.inconsistent_count": gettext_lazy("its slices disagree about their number"),
    "pool.invalid_counterset": gettext_lazy(
        "a device consumes counters that are not there, or a counter set is there twice"
    ),
}


def _pool(loss: Loss) -> str:
    if loss.detail == "incomplete":
        return ngettext(
            "%(count)s is in the pool %(more)s, which is being updated: some of its slices are yet to come",
            "%(count)s are in the pool %(more)s, which is being updated: some of its slices are yet to come",
            loss.count,
        )
    text = ngettext(
        "%(count)s is in the pool %(more)s, which is invalid",
        "%(count)s are in the pool %(more)s, which is invalid",
        loss.count,
    )
    why = _INVALID.get(loss.detail)
    return f"{text}: {why}" if why else text


def _held(loss: Loss) -> str:
    return ngettext("%(count)s is in use", "%(count)s are in use", loss.count)


def _taint(loss: Loss) -> str:
    return ngettext(
        "%(count)s is tainted (%(detail)s)",
        "%(count)s are tainted (%(detail)s)",
        loss.count,
    )


def _counters(loss: Loss) -> str:
    return ngettext(
        "%(count)s placement is blocked (%(examples)s)",
        "%(count)s placements are blocked (%(examples)s)",
        loss.count,
    )


def _capacity(loss: Loss) -> str:
    if not loss.more:
        return ngettext(
            "%(count)s publishes no capacity “%(detail)s”",
            "%(count)s publish no capacity “%(detail)s”",
            loss.count,
        )
    return ngettext(
        "%(count)s has too little %(detail)s left (%(more)s)",
        "%(count)s have too little %(detail)s left (%(more)s)",
        loss.count,
    )


def _constraint(loss: Loss) -> str:
    return ngettext(
        "%(count)s lacks %(detail)s, which a constraint compares",
        "%(count)s lack %(detail)s, which a constraint compares",
        loss.count,
    )


def _class(loss: Loss) -> str:
    return ngettext(
        "%(count)s is of another class", "%(count)s are of other classes", loss.count
    )


_WORDS: dict[Cause, Callable[[Loss], str]] = {
    Cause.CLASS: _class,
    Cause.SELECTOR: _selector,
    Cause.POOL: _pool,
    Cause.HELD: _held,
    Cause.TAINT: _taint,
    Cause.COUNTERS: _counters,
    Cause.CAPACITY: _capacity,
    Cause.CONSTRAINT: _constraint,
}
