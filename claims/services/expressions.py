"""What Kubernetes says of a CEL selector: whether it is accepted, and what it picks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from claims.domain.draft import alternative_field
from claims.domain.spec import MAX_EXPRESSION_BYTES
from claims.services.near import nearest_misses
from inventory.services.engines import async_engine_for, engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from claims.domain.draft import AlternativeDraft, Draft
    from inventory.domain.engine import Checked, Evaluated, RuntimeFault
    from inventory.gateways.engine import Engine
    from inventory.models import Cluster

# Characters shown around a faulty place; lines can be 10 KiB long.
_SEEN_BEFORE = 44
_SEEN_AFTER = 24


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict in words and numbers.

    Attributes:
        problem: why the API server refuses it, or why nothing can be said; "".
        is_unknown: `problem` is about us, not about the expression.
        line, column: 1-based, in code points; None where no place is at fault.
        source, caret: the faulty line, and the mark to stand under it.
        scheduler: why the scheduler refuses what the API server accepts; "".
        total: devices of the class; None where they were not counted, and
            `uncounted` says why.
        nearest: where nothing matches, what devices have instead, in words.
    """

    problem: str = ""
    is_unknown: bool = False
    line: int | None = None
    column: int | None = None
    source: str = ""
    caret: str = ""
    scheduler: str = ""
    cost: int | None = None
    limit: int = 0
    total: int | None = None
    match: int = 0
    nodes_match: int = 0
    nodes_total: int = 0
    errors: tuple[RuntimeFault, ...] = ()
    uncounted: str = ""
    nearest: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether devices were counted; none counted is not none matching."""
        return self.total is not None


def judge_draft(
    cluster: Cluster, draft: Draft, classes: Mapping[str, tuple[str, ...]]
) -> dict[str, Verdict]:
    """Judge every selector of a draft, and an alternative's selectors together.

    Returns:
        Field name → verdict; `…-together` for an alternative with several.
    """
    fields = dict(_fields(draft))
    if not fields:
        return {}
    try:
        engine = engine_for(cluster)
        checks = engine.check([text for text, _class in fields.values()])
    except PortalError as error:
        return {name: _unknown(error) for name in fields}
    verdicts = {
        name: _verdict(
            check, text, _counted(engine, check, (text,), classes.get(owner))
        )
        for (name, (text, owner)), check in zip(fields.items(), checks, strict=True)
    }
    verdicts |= dict(_together(engine, draft, classes))
    texts = {name: text for name, (text, _class) in fields.items()}
    return {
        name: with_nearest(cluster, texts.get(name, ""), verdict)
        for name, verdict in verdicts.items()
    }


def with_nearest(cluster: Cluster, text: str, verdict: Verdict) -> Verdict:
    """Return the verdict with the nearest misses, where nothing matches."""
    if not text or not verdict.total or verdict.match or verdict.errors:
        return verdict
    return replace(verdict, nearest=nearest_misses(cluster, text))


async def ajudge(
    cluster: Cluster, expression: str, within: tuple[str, ...] | None
) -> Verdict | None:
    """Judge one selector among the devices of a class; None for a blank one.

    A browser that leaves cancels the engine's work.

    Args:
        cluster: whose devices are counted.
        expression: what was typed.
        within: the selectors of the class, or None for a class that is not there.
    """
    text = expression.rstrip()
    if not text.strip():
        return None
    if long := _too_long(text):
        return long
    try:
        engine = async_engine_for(cluster)
        check = (await engine.check([text]))[0]
        counted: Evaluated | PortalError | None = None
        if check.scheduler.ok and within is not None:
            counted = await engine.evaluate([text], within=within)
    except PortalError as error:
        return _unknown(error)
    return _verdict(check, text, counted)


def _fields(draft: Draft) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield field name and (expression, class) of every selector that says something."""
    for i, j, row in _alternatives(draft):
        for k, text in enumerate(row.selectors):
            if text.strip() and not _too_long(text):
                name = alternative_field(i, j, f"selectors-{k}")
                yield name, (text.rstrip(), row.device_class)


def _alternatives(draft: Draft) -> Iterator[tuple[int, int, AlternativeDraft]]:
    for i, request in enumerate(draft.requests):
        for j, row in enumerate(request.alternatives):
            yield i, j, row


def _together(
    engine: Engine, draft: Draft, classes: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Verdict]]:
    for i, j, row in _alternatives(draft):
        texts = tuple(text.rstrip() for text in row.selectors if text.strip())
        if len(texts) < 2 or any(_too_long(text) for text in texts):
            continue
        counted = _evaluated(engine, texts, classes.get(row.device_class))
        if not isinstance(counted, PortalError) and counted and counted.devices:
            yield alternative_field(i, j, "together"), _with_counts(Verdict(), counted)


def _too_long(text: str) -> Verdict | None:
    size = len(text.encode())
    if size <= MAX_EXPRESSION_BYTES:
        return None
    values = {"size": f"{size:,}", "limit": f"{MAX_EXPRESSION_BYTES:,}"}
    return Verdict(
        problem=_("%(size)s bytes long; Kubernetes takes at most %(limit)s.") % values
    )


def _unknown(error: PortalError) -> Verdict:
    return Verdict(problem=error.message, is_unknown=True)


def _counted(
    engine: Engine,
    check: Checked,
    texts: tuple[str, ...],
    within: tuple[str, ...] | None,
) -> Evaluated | PortalError | None:
    return _evaluated(engine, texts, within) if check.scheduler.ok else None


def _evaluated(
    engine: Engine, texts: tuple[str, ...], within: tuple[str, ...] | None
) -> Evaluated | PortalError | None:
    """Return the counts, or the error that says why there are none."""
    if within is None:
        return None
    try:
        return engine.evaluate(texts, within=within)
    except PortalError as error:
        return error


def _verdict(
    check: Checked, text: str, counted: Evaluated | PortalError | None
) -> Verdict:
    if not check.apiserver.ok:
        return _refused(check, text)
    verdict = Verdict(
        cost=check.cost,
        limit=check.limit,
        scheduler="" if check.scheduler.ok else check.scheduler.error or "",
        uncounted=_("Choose a class to see what it matches.")
        if counted is None
        else "",
    )
    if isinstance(counted, PortalError):
        return Verdict(cost=check.cost, limit=check.limit, uncounted=counted.message)
    if counted is None or counted.devices is None:
        return verdict
    return _with_counts(verdict, counted)


def _refused(check: Checked, text: str) -> Verdict:
    found = check.apiserver
    if found.reason == "cost" and check.cost is not None:
        values = {"cost": f"{check.cost:,}", "limit": f"{check.limit:,}"}
        return Verdict(
            problem=_(
                "too complex: estimated cost %(cost)s, Kubernetes takes at most %(limit)s."
            )
            % values
        )
    lines = text.split("\n")
    problem = (found.error or "").strip()
    if found.line is None or found.column is None or not 0 < found.line <= len(lines):
        return Verdict(problem=problem)
    source, caret = _marked(lines[found.line - 1], found.column)
    return Verdict(
        problem, line=found.line, column=found.column, source=source, caret=caret
    )


def _marked(line: str, column: int) -> tuple[str, str]:
    """Return the part of a line around a column, and the mark to stand under it."""
    start = max(0, column - 1 - _SEEN_BEFORE)
    before, after = line[start : column - 1], line[column - 1 :]
    before = ("…" if start else "") + before.replace("\t", " ")
    more = "…" if len(after) > _SEEN_AFTER else ""
    return f"{before}{after[:_SEEN_AFTER]}{more}", " " * len(before) + "^"


def _with_counts(verdict: Verdict, counted: Evaluated) -> Verdict:
    devices = counted.devices
    return Verdict(
        cost=verdict.cost,
        limit=verdict.limit,
        scheduler=verdict.scheduler,
        total=counted.total,
        match=devices.match if devices else 0,
        nodes_match=sum(tally.match > 0 for tally in counted.nodes.values()),
        nodes_total=len(counted.nodes),
        errors=counted.errors,
    )
