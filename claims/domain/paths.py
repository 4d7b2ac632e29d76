"""From a path in a manifest, as Kubernetes writes it, to the field of the form.

`spec.spec.devices.requests[0].exactly.selectors[0].cel.expression` →
`requests-0-alternatives-0-selectors-0`. Kubernetes leaves parts out (the
template's second `spec`, `.exactly`); the deepest field that is meant is found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claims.domain.draft import (
    alternative_field,
    config_field,
    constraint_field,
    request_field,
)
from claims.domain.opaque import FORMS

if TYPE_CHECKING:
    from claims.domain.draft import Draft

_TOP = {
    "metadata.name": "name",
    "metadata.namespace": "namespace",
    "kind": "kind",
    # Beside the claim: why it is privileged, and how long.
    "justification": "justification",
    "hours": "hours",
}
_REQUEST = re.compile(
    r"requests\[(?P<i>\d+)\](?:\.firstAvailable\[(?P<j>\d+)\]|\.exactly)?(?:\.(?P<rest>.*))?"
)
_CONSTRAINT = re.compile(r"constraints\[(?P<i>\d+)\](?:\.(?P<rest>.*))?")
_CONFIG = re.compile(r"config\[(?P<i>\d+)\](?:\.(?P<rest>.*))?")
_PARTS = (
    (re.compile(r"deviceClassName"), "class"),
    (re.compile(r"selectors\[(\d+)\]"), "selectors-{0}"),
    (re.compile(r"count"), "count"),
    (re.compile(r"allocationMode"), "mode"),
    (re.compile(r"tolerations\[(\d+)\]"), "tolerations-{0}-key"),
    (re.compile(r"capacity\.requests[.\[]+([^\]]+)\]?"), "capacity-{0}"),
    (re.compile(r"derivedAttributes\[(\d+)\]"), "derived-{0}-expression"),
    (re.compile(r"adminAccess"), "admin"),
)


def field_of(path: str, draft: Draft) -> str:
    """Return the name of the field that a path is about, or "" for none."""
    if path in _TOP:
        return _TOP[path]
    tail = re.sub(r"^(spec\.){1,2}devices\.", "", path)
    if found := _REQUEST.fullmatch(tail):
        return _of_request(found, draft)
    if found := _CONSTRAINT.fullmatch(tail):
        i, rest = int(found["i"]), found["rest"] or ""
        if i < len(draft.constraints):
            part = "binds" if rest.startswith("requests") else "attribute"
            return constraint_field(i, part)
    if (found := _CONFIG.fullmatch(tail)) and int(found["i"]) < len(draft.configs):
        return _of_config(int(found["i"]), found["rest"] or "", draft)
    return ""


def _of_config(i: int, rest: str, draft: Draft) -> str:
    if rest.startswith("requests"):
        return config_field(i, "binds")
    if rest.startswith("opaque.parameters"):
        shown = draft.configs[i].form in FORMS
        return config_field(i, "form" if shown else "json")
    return config_field(i, "driver")


def _of_request(found: re.Match[str], draft: Draft) -> str:
    i, rest = int(found["i"]), found["rest"] or ""
    if i >= len(draft.requests):
        return ""
    is_sub = found["j"] is not None
    j = int(found["j"] or 0)
    if j >= len(draft.requests[i].alternatives):
        return request_field(i, "name")
    if rest == "name":
        return alternative_field(i, j, "name") if is_sub else request_field(i, "name")
    for pattern, part in _PARTS:
        if hit := pattern.match(rest):
            number = _typed(draft.requests[i].alternatives[j].selectors, part, hit)
            return alternative_field(i, j, part.format(number))
    return (
        alternative_field(i, j, "class") if is_sub or rest else request_field(i, "name")
    )


def _typed(selectors: tuple[str, ...], part: str, hit: re.Match[str]) -> str:
    """Return a position; blank selectors are not sent, so those are counted again."""
    text = hit[1] if hit.groups() else ""
    if part != "selectors-{0}":
        return text
    sent = [k for k, each in enumerate(selectors) if each.strip()]
    return str(sent[int(text)]) if int(text) < len(sent) else text
