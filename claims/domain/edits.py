"""The buttons of the composer: a draft and an action make another draft.

An action is what a submit button is worth, `up-alternative:0:1`; so the form
works without script. What names nothing that is there changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from claims.domain.draft import (
    FIRST_AVAILABLE,
    PAIRS,
    AlternativeDraft,
    ConfigDraft,
    ConstraintDraft,
    Draft,
    RequestDraft,
    TolerationDraft,
)
from claims.domain.spec import (
    MAX_ALTERNATIVES,
    MAX_CONFIGS,
    MAX_CONSTRAINTS,
    MAX_DERIVED,
    MAX_PAIRS,
    MAX_REQUESTS,
    MAX_SELECTORS,
    MAX_TOLERATIONS,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claims.domain.draft import Pairs

T = TypeVar("T")


def edited(draft: Draft, action: str) -> Draft:
    """Return the draft after one button; unknown actions leave it as it is."""
    verb, *texts = action.split(":")
    if verb not in _VERBS or not all(text.isdecimal() for text in texts):
        return draft
    edit, places = _VERBS[verb]
    if len(texts) != places:
        return draft
    try:
        return edit(draft, *(int(text) for text in texts))
    except IndexError:
        return draft


def _swapped(rows: tuple[T, ...], at: int, row: T) -> tuple[T, ...]:
    return (*rows[:at], row, *rows[at + 1 :])


def _without(rows: tuple[T, ...], at: int) -> tuple[T, ...]:
    return (*rows[:at], *rows[at + 1 :])


def _capped(rows: tuple[T, ...], row: T, most: int) -> tuple[T, ...]:
    return rows if len(rows) >= most else (*rows, row)


def _with_request(
    draft: Draft, i: int, change: Callable[[RequestDraft], RequestDraft]
) -> Draft:
    row = change(draft.requests[i])
    return replace(draft, requests=_swapped(draft.requests, i, row))


def _with_alternative(
    draft: Draft, i: int, j: int, change: Callable[[AlternativeDraft], AlternativeDraft]
) -> Draft:
    def inside(request: RequestDraft) -> RequestDraft:
        row = change(request.alternatives[j])
        return replace(request, alternatives=_swapped(request.alternatives, j, row))

    return _with_request(draft, i, inside)


def _rebound(draft: Draft, moved: Callable[[str], str | None]) -> Draft:
    """Let constraints and configs follow what they bound to its new position."""

    def follow(binds: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new for old in binds if (new := moved(old)) is not None)

    return replace(
        draft,
        constraints=tuple(
            replace(row, binds=follow(row.binds)) for row in draft.constraints
        ),
        configs=tuple(replace(row, binds=follow(row.binds)) for row in draft.configs),
    )


def _unused_name(stem: str, taken: set[str]) -> str:
    numbers = range(len(taken) + 1, 2 * len(taken) + 3)
    return next(name for n in numbers if (name := f"{stem}-{n}") not in taken)


def _add_request(draft: Draft) -> Draft:
    name = _unused_name("request", {row.name for row in draft.requests})
    row = RequestDraft(name=name)
    return replace(draft, requests=_capped(draft.requests, row, MAX_REQUESTS))


def _remove_request(draft: Draft, i: int) -> Draft:
    if len(draft.requests) == 1:
        return draft
    left = replace(draft, requests=_without(draft.requests, i))

    def moved(old: str) -> str | None:
        head, slash, tail = old.partition("/")
        at = int(head)
        return None if at == i else f"{at - (at > i)}{slash}{tail}"

    return _rebound(left, moved)


def _add_alternative(draft: Draft, i: int) -> Draft:
    def change(request: RequestDraft) -> RequestDraft:
        names = {row.name for row in request.alternatives}
        row = AlternativeDraft(
            name=_unused_name("alternative", names),
            device_class=request.alternatives[-1].device_class,
        )
        rows = tuple(
            old if old.name else replace(old, name=f"alternative-{at + 1}")
            for at, old in enumerate(request.alternatives)
        )
        rows = _capped(rows, row, MAX_ALTERNATIVES)
        return replace(request, mode=FIRST_AVAILABLE, alternatives=rows)

    return _with_request(draft, i, change)


def _remove_alternative(draft: Draft, i: int, j: int) -> Draft:
    if len(draft.requests[i].alternatives) == 1:
        return draft
    left = _with_request(
        draft, i, lambda r: replace(r, alternatives=_without(r.alternatives, j))
    )

    def moved(old: str) -> str | None:
        head, slash, tail = old.partition("/")
        if not slash or int(head) != i:
            return old
        at = int(tail)
        return None if at == j else f"{head}/{at - (at > j)}"

    return _rebound(left, moved)


def _move_alternative(draft: Draft, i: int, j: int, to: int) -> Draft:
    rows = list(draft.requests[i].alternatives)
    if not (0 <= to < len(rows) and j < len(rows)):
        return draft
    order = list(range(len(rows)))
    order.insert(to, order.pop(j))
    left = _with_request(
        draft, i, lambda r: replace(r, alternatives=tuple(rows[at] for at in order))
    )
    moved = {f"{i}/{at}": f"{i}/{new}" for new, at in enumerate(order)}
    return _rebound(left, lambda old: moved.get(old, old))


def _add_selector(draft: Draft, i: int, j: int) -> Draft:
    return _with_alternative(
        draft,
        i,
        j,
        lambda a: replace(a, selectors=_capped(a.selectors, "", MAX_SELECTORS)),
    )


def _remove_selector(draft: Draft, i: int, j: int, k: int) -> Draft:
    return _with_alternative(
        draft, i, j, lambda a: replace(a, selectors=_without(a.selectors, k))
    )


def _add_toleration(draft: Draft, i: int, j: int) -> Draft:
    def change(row: AlternativeDraft) -> AlternativeDraft:
        rows = _capped(row.tolerations, TolerationDraft(), MAX_TOLERATIONS)
        return replace(row, tolerations=rows)

    return _with_alternative(draft, i, j, change)


def _remove_toleration(draft: Draft, i: int, j: int, k: int) -> Draft:
    return _with_alternative(
        draft, i, j, lambda a: replace(a, tolerations=_without(a.tolerations, k))
    )


def _add_derived(draft: Draft, i: int, j: int) -> Draft:
    return _with_alternative(
        draft,
        i,
        j,
        lambda a: replace(a, derived=_capped(a.derived, ("", ""), MAX_DERIVED)),
    )


def _remove_derived(draft: Draft, i: int, j: int, k: int) -> Draft:
    return _with_alternative(
        draft, i, j, lambda a: replace(a, derived=_without(a.derived, k))
    )


def _add_constraint(draft: Draft) -> Draft:
    rows = _capped(draft.constraints, ConstraintDraft(), MAX_CONSTRAINTS)
    return replace(draft, constraints=rows)


def _remove_constraint(draft: Draft, i: int) -> Draft:
    return replace(draft, constraints=_without(draft.constraints, i))


def _add_config(draft: Draft) -> Draft:
    row = ConfigDraft(driver="gpu.nvidia.com", form="GpuConfig")
    return replace(draft, configs=_capped(draft.configs, row, MAX_CONFIGS))


def _remove_config(draft: Draft, i: int) -> Draft:
    return replace(draft, configs=_without(draft.configs, i))


_GROUPS = tuple(PAIRS)


def _with_pairs(draft: Draft, group: int, pairs: Pairs) -> Draft:
    changed: dict[str, Any] = {_GROUPS[group]: pairs}
    return replace(draft, **changed)


def _add_pair(draft: Draft, group: int) -> Draft:
    rows: Pairs = getattr(draft, _GROUPS[group])
    return _with_pairs(draft, group, _capped(rows, ("", ""), MAX_PAIRS))


def _remove_pair(draft: Draft, group: int, k: int) -> Draft:
    rows: Pairs = getattr(draft, _GROUPS[group])
    return _with_pairs(draft, group, _without(rows, k))


_VERBS: dict[str, tuple[Callable[..., Draft], int]] = {
    "add-request": (_add_request, 0),
    "remove-request": (_remove_request, 1),
    "add-alternative": (_add_alternative, 1),
    "remove-alternative": (_remove_alternative, 2),
    "up-alternative": (lambda d, i, j: _move_alternative(d, i, j, j - 1), 2),
    "down-alternative": (lambda d, i, j: _move_alternative(d, i, j, j + 1), 2),
    "move-alternative": (_move_alternative, 3),
    "add-selector": (_add_selector, 2),
    "remove-selector": (_remove_selector, 3),
    "add-toleration": (_add_toleration, 2),
    "remove-toleration": (_remove_toleration, 3),
    "add-derived": (_add_derived, 2),
    "remove-derived": (_remove_derived, 3),
    "add-constraint": (_add_constraint, 0),
    "remove-constraint": (_remove_constraint, 1),
    "add-config": (_add_config, 0),
    "remove-config": (_remove_config, 1),
    "add-pair": (_add_pair, 1),
    "remove-pair": (_remove_pair, 2),
}


def with_selector(draft: Draft, i: int, j: int, text: str) -> Draft:
    """Return the draft with one more selector, in the first blank place there is."""

    def change(row: AlternativeDraft) -> AlternativeDraft:
        texts = list(row.selectors)
        blank = next((k for k, each in enumerate(texts) if not each.strip()), None)
        if blank is None:
            return replace(row, selectors=_capped(row.selectors, text, MAX_SELECTORS))
        texts[blank] = text
        return replace(row, selectors=tuple(texts))

    return _with_alternative(draft, i, j, change)


def tolerating(draft: Draft, i: int, j: int, row: TolerationDraft) -> Draft:
    """Return the draft with one more toleration, unless it is there or is too much."""

    def change(old: AlternativeDraft) -> AlternativeDraft:
        if row in old.tolerations:
            return old
        rows = _capped(old.tolerations, row, MAX_TOLERATIONS)
        return replace(old, tolerations=rows)

    try:
        return _with_alternative(draft, i, j, change)
    except IndexError:
        return draft


_FIXABLE = re.compile(
    r"requests-(\d{1,3})-alternatives-(\d{1,3})-(?:selectors-(\d{1,3})|capacity-(.+))"
)


def repaired(draft: Draft, name: str, replacement: str) -> Draft:
    """Return the draft with a field put right: a selector's text, or a capacity's key.

    What names no such field leaves the draft as it is.
    """
    found = _FIXABLE.fullmatch(name)
    if not found:
        return draft

    def change(row: AlternativeDraft) -> AlternativeDraft:
        if found[3] is not None:
            at = int(found[3])
            texts = [replacement if k == at else t for k, t in enumerate(row.selectors)]
            return replace(row, selectors=tuple(texts))
        pairs = [(replacement if k == found[4] else k, v) for k, v in row.capacity]
        return replace(row, capacity=tuple(pairs))

    try:
        return _with_alternative(draft, int(found[1]), int(found[2]), change)
    except IndexError:
        return draft
