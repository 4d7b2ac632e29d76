"""A change that was offered, made in the form: by way of the manifest and back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from claims.domain.compose import to_manifest
from claims.domain.pasted import take
from claims.domain.why.changes import changed

if TYPE_CHECKING:
    from claims.domain.draft import Draft


def with_change(draft: Draft, path: str, text: str) -> Draft:
    """Return the draft with the value at a path of its manifest replaced.

    What names no such place, or would make what the form cannot hold, leaves the
    draft as it is.

    Args:
        draft: the form as it stands.
        path: as in `spec.spec.devices.requests[0].exactly.count`.
        text: the new value as JSON; `null` removes.
    """
    try:
        body = changed(to_manifest(draft), path, json.loads(text))
    except (ValueError, RecursionError):
        return draft
    after = take(body).draft
    if after is None:
        return draft
    return replace(
        after, base=draft.base, justification=draft.justification, hours=draft.hours
    )
