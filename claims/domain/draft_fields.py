"""A draft as the fields that a browser would send of it: the reverse of `from_fields`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claims.domain.draft import (
    PAIRS,
    alternative_field,
    config_field,
    constraint_field,
    pair_field,
    request_field,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.draft import (
        AlternativeDraft,
        ConfigDraft,
        Draft,
        RequestDraft,
    )

Field = tuple[str, str]


def to_fields(draft: Draft) -> dict[str, list[str]]:
    """Return every field of a draft with its values, in the form's order."""
    lists: dict[str, list[str]] = {}
    for name, value in _all(draft):
        lists.setdefault(name, []).append(value)
    return lists


def _all(draft: Draft) -> Iterator[Field]:
    for name in ("kind", "namespace", "name", "base", "justification"):
        yield name, getattr(draft, name)
    if draft.hours is not None:
        yield "hours", draft.hours
    for i, request in enumerate(draft.requests):
        yield from _request(i, request)
    yield from _constraints(draft)
    for i, config in enumerate(draft.configs):
        yield from _config(i, config)
    for attribute, group in PAIRS.items():
        for k, (key, value) in enumerate(getattr(draft, attribute)):
            yield pair_field(group, k, "key"), key
            yield pair_field(group, k, "value"), value


def _constraints(draft: Draft) -> Iterator[Field]:
    for i, constraint in enumerate(draft.constraints):
        yield constraint_field(i, "kind"), constraint.kind
        yield constraint_field(i, "attribute"), constraint.attribute
        for place in constraint.binds:
            yield constraint_field(i, "binds"), place


def _request(i: int, request: RequestDraft) -> Iterator[Field]:
    yield request_field(i, "name"), request.name
    yield request_field(i, "mode"), request.mode
    for j, alternative in enumerate(request.alternatives):
        for part, value in _alternative(alternative):
            yield alternative_field(i, j, part), value


def _alternative(row: AlternativeDraft) -> Iterator[Field]:
    yield "name", row.name
    yield "class", row.device_class
    yield "mode", row.allocation_mode
    yield "count", row.count
    for k, text in enumerate(row.selectors):
        yield f"selectors-{k}", text
    for k, (key, amount) in enumerate(row.capacity):
        yield f"capacity-{k}-key", key
        yield f"capacity-{k}-value", amount
    for k, each in enumerate(row.tolerations):
        for part in ("key", "operator", "value", "effect", "seconds"):
            yield f"tolerations-{k}-{part}", getattr(each, part)
    for k, (name, expression) in enumerate(row.derived):
        yield f"derived-{k}-name", name
        yield f"derived-{k}-expression", expression
    if row.admin_access:
        yield "admin", "true"


def _config(i: int, row: ConfigDraft) -> Iterator[Field]:
    yield config_field(i, "driver"), row.driver
    yield config_field(i, "form"), row.form
    for name, value in row.values:
        yield config_field(i, f"value-{name}"), value
    yield config_field(i, "json"), row.json
    for place in row.binds:
        yield config_field(i, "binds"), place
