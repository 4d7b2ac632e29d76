"""A change that was offered, made in the form: by way of the manifest and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from claims.domain.compose import to_manifest
from claims.domain.pasted import take
from claims.domain.why.changes import changed

if TYPE_CHECKING:
    from claims.domain.draft import Draft
    from claims.domain.spec import Claim


def with_change(draft: Draft, claim: Claim | None, path: str, text: str) -> Draft:
    """Return the draft with the value at a path of its manifest replaced.

    What names no such place, or would make what the form cannot hold, leaves the
    draft as it is.

    Args:
        draft: the form as it stands.
        claim: what it says; None where it is unfinished.
        path: as in `spec.spec.devices.requests[0].exactly.count`.
        text: the new value as JSON; `null` removes.
    """
    if claim is None:
        return draft
    try:
        body = changed(to_manifest(claim), path, json.loads(text))
    except (ValueError, RecursionError):
        return draft
    return take(body).draft or draft
