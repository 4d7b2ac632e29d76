"""Where the cursor belongs after a button of the composer, so that the keyboard can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claims.domain.draft import (
    FIRST_AVAILABLE,
    PAIRS,
    alternative_field,
    config_field,
    constraint_field,
    pair_field,
    request_field,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claims.domain.draft import Draft


def focus_after(action: str, draft: Draft) -> str:
    """Return the field that should have the cursor after a button, or "".

    Args:
        action: what the button was worth.
        draft: after it.
    """
    verb, *texts = action.split(":")
    at = [int(text) for text in texts if text.isdecimal()]
    if added := _added(verb, at, draft):
        return added
    if not at or at[0] >= len(draft.requests):
        return request_field(0, "name") if verb.startswith("remove-") else ""
    return _inside(verb, at, draft)


def _added(verb: str, at: Sequence[int], draft: Draft) -> str:
    """Return the first field of a new part of the whole claim, or ""."""
    if verb == "add-pair" and at and at[0] < len(PAIRS):
        attribute, group = list(PAIRS.items())[at[0]]
        return pair_field(group, len(getattr(draft, attribute)) - 1, "key")
    last = {
        "add-request": request_field(len(draft.requests) - 1, "name"),
        "add-constraint": constraint_field(len(draft.constraints) - 1, "attribute"),
        "add-config": config_field(len(draft.configs) - 1, "form"),
    }
    return last.get(verb, "")


_STEPS = {"up-alternative": -1, "down-alternative": 1, "remove-alternative": -1}


def _inside(verb: str, at: Sequence[int], draft: Draft) -> str:
    """Return the new part of a request, or the neighbour of what moved or went."""
    request = draft.requests[at[0]]
    j = at[1] if len(at) > 1 else 0
    part = "name" if request.mode == FIRST_AVAILABLE else "class"
    last = len(request.alternatives) - 1
    if verb == "add-alternative":
        return alternative_field(at[0], last, "name")
    if verb == "move-alternative":
        return alternative_field(at[0], min(at[2], last) if len(at) > 2 else 0, part)
    if verb in _STEPS:
        return alternative_field(at[0], max(0, min(j + _STEPS[verb], last)), part)
    row = request.alternatives[min(j, last)]
    parts = {
        "add-selector": f"selectors-{len(row.selectors) - 1}",
        "add-toleration": f"tolerations-{len(row.tolerations) - 1}-key",
        "add-derived": f"derived-{len(row.derived) - 1}-name",
        "remove-derived": "class",
        "remove-selector": "class",
        "remove-toleration": "class",
    }
    if verb in parts:
        return alternative_field(at[0], j, parts[verb])
    return request_field(0, "name") if verb.startswith("remove-") else ""
