"""A draft and its YAML: from a form to the text that is sent, and back, losing nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from claims.domain.compose import to_manifest
from claims.domain.draft import from_fields
from claims.domain.pasted import SERVER_SETS, projected, take
from claims.services import kept_yaml, yaml_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claims.domain.draft import Draft
    from claims.domain.pasted import Problem, Taken

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FromYaml:
    """What a text gave: a draft that keeps it, or problems with their lines."""

    draft: Draft | None
    problems: tuple[tuple[int | None, Problem], ...] = ()
    left_out: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def draft_of(lists: Mapping[str, Sequence[str]]) -> Draft:
    """Return the draft that a browser sent, its YAML brought up to date."""
    return rebased(from_fields(lists))


def rebased(draft: Draft) -> Draft:
    """Return the draft with its YAML saying what the form says; without any, as it is."""
    if not draft.base:
        return draft
    now = to_manifest(draft)
    try:
        old = kept_yaml.plain(yaml_text.load(draft.base).body)
        if not isinstance(old, dict):
            return replace(draft, base="")
        was = to_manifest(projected(old))
        return replace(draft, base=kept_yaml.merged(draft.base, was, now))
    except yaml_text.UnreadableYaml:
        return replace(draft, base="")


def manifest_of(draft: Draft) -> Json:
    """Return what would be sent: of a draft with YAML, what that says.

    Args:
        draft: as `draft_of` or `rebased` gave it.
    """
    if not draft.base:
        return to_manifest(draft)
    return dict(kept_yaml.plain(yaml_text.load(draft.base).body))


def text_of(draft: Draft) -> str:
    """Return the same as YAML text."""
    return draft.base or yaml_text.dump(to_manifest(draft))


def from_yaml(text: str) -> FromYaml:
    """Return what one document of YAML gives the form.

    Raises:
        UnreadableYaml: It is no such document; says why, with a line.
    """
    document = yaml_text.load(text)
    taken: Taken = take(kept_yaml.plain(document.body))
    if taken.draft is None:
        problems = [(document.line_of(each.path), each) for each in taken.problems]
        problems.sort(key=lambda each: each[0] or 0)
        return FromYaml(None, tuple(problems))
    base = kept_yaml.changed(text, _without_the_servers)
    draft = replace(taken.draft, base=base)
    return FromYaml(draft, (), taken.left_out, taken.kept)


def _without_the_servers(body: Json) -> None:
    """Take out what only a server sets."""
    body.pop("status", None)
    for key in SERVER_SETS:
        (body.get("metadata") or {}).pop(key, None)
