"""Make, change and offer presets: by compare-and-set, audited, each change a version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from claims.domain.draft_fields import to_fields
from claims.domain.pasted import take
from claims.domain.presets import rule_problem, rules_of
from claims.models import Preset, PresetVersion
from claims.services.sentences import sentence
from portal.accounts.models import Tenant
from portal.audit.context import acting
from portal.core.errors import FieldRefused, PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Json = dict[str, Any]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class PresetInvalid(FieldRefused):
    """A preset that cannot be; `field` names the part of it."""

    code = "preset.invalid"


class PresetChanged(PortalError):
    """Somebody changed it since it was read."""

    code = "preset.changed"


@dataclass(frozen=True, slots=True)
class Content:
    """What one version says; `tenants` are names, None for every tenant."""

    title: str
    description: str
    category: str
    manifest: Json
    fields: Json
    tenants: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Who changes a preset, when, and in which HTTP request."""

    actor: str
    now: datetime
    request_id: str = ""


def check(content: Content) -> None:
    """Raise what is wrong with a version.

    Raises:
        PresetInvalid: Says what, and which part it is.
    """
    for name in ("title", "description", "category"):
        if not getattr(content, name).strip():
            raise PresetInvalid(_("Fill this in: people choose by it."), name)
    fields = fields_of(content.manifest)
    for name, rule in rules_of(content.fields).items():
        if code := rule_problem(fields, name, rule):
            raise PresetInvalid(_rule_sentence(code, name), "fields")


def fields_of(manifest: Json) -> dict[str, list[str]]:
    """Return the fields of the form that a manifest fills.

    Raises:
        PresetInvalid: It is no claim or template that the form shows wholly.
    """
    taken = take(manifest)
    if taken.draft is None:
        raise PresetInvalid(sentence(taken.problems[0]), "manifest")
    if taken.kept or taken.left_out:
        names = ", ".join([*taken.kept, *taken.left_out])
        raise PresetInvalid(
            _("A preset holds what the form shows; leave these out: %(fields)s.")
            % {"fields": names},
            "manifest",
        )
    if taken.draft.namespace:
        raise PresetInvalid(
            _("Leave the namespace out: each person chooses one of their own."),
            "manifest",
        )
    return to_fields(taken.draft)


def _rule_sentence(code: str, name: str) -> str:
    values = {"name": name[:80]}
    return {
        "preset.field": _("The manifest has no field “%(name)s” that could be opened.")
        % values,
        "preset.bound": _("The bounds of “%(name)s” are numbers or quantities.")
        % values,
        "preset.bounds": _("The least of “%(name)s” is more than its most.") % values,
        "preset.default": _(
            "What the manifest says of “%(name)s” lies outside its own bounds."
        )
        % values,
    }[code]


def make_preset(name: str, content: Content, by: Change) -> Preset:
    """Add a preset to the catalogue, offered at once.

    Raises:
        PresetInvalid: Its name or content cannot be.
    """
    if not _NAME.fullmatch(name):
        raise PresetInvalid(
            _("A name is lower-case letters, digits and dashes, at most 63."), "name"
        )
    check(content)
    tenants = _tenants(content)
    with transaction.atomic(), acting(actor=by.actor, request_id=by.request_id):
        row, is_new = Preset.objects.get_or_create(
            name=name,
            defaults={
                "for_all": content.tenants is None,
                "changed_by": by.actor,
                "changed_at": by.now,
            },
        )
        if not is_new:
            raise PresetInvalid(
                _("There is a preset of that name already: change that one."), "name"
            )
        row.tenants.set(tenants)
        row.active = _version(row, content, by)
        row.save(update_fields=["active"])
    return row


def change_preset(row: Preset, version: int, content: Content, by: Change) -> Preset:
    """Give a preset a new version and offer that.

    Raises:
        PresetInvalid: Its content cannot be.
        PresetChanged: Somebody was first.
    """
    check(content)
    tenants = _tenants(content)
    with transaction.atomic(), acting(actor=by.actor, request_id=by.request_id):
        _take(row, version, by, for_all=content.tenants is None)
        row.tenants.set(tenants)
        row.active = _version(row, content, by)
        row.save(update_fields=["active"])
    return row


def activate(row: Preset, version: int, number: int | None, by: Change) -> Preset:
    """Offer one of a preset's versions, or none.

    Raises:
        PresetInvalid: There is no such version.
        PresetChanged: Somebody was first.
    """
    chosen = row.versions.filter(number=number).first() if number else None
    if number is not None and chosen is None:
        raise PresetInvalid(
            _("There is no version %(number)s of this preset.") % {"number": number},
            "version",
        )
    with transaction.atomic(), acting(actor=by.actor, request_id=by.request_id):
        _take(row, version, by, active=chosen)
    return row


def _take(row: Preset, version: int, by: Change, **values: object) -> None:
    changed = Preset.objects.filter(pk=row.pk, version=version).update(
        version=F("version") + 1, changed_by=by.actor, changed_at=by.now, **values
    )
    row.refresh_from_db()
    if not changed:
        raise PresetChanged(
            _(
                "%(who)s changed this preset meanwhile: look at it, then change it again."
            )
            % {"who": row.changed_by}
        )


def _version(row: Preset, content: Content, by: Change) -> PresetVersion:
    return PresetVersion.objects.create(
        preset=row,
        number=row.versions.count() + 1,
        title=content.title.strip(),
        description=content.description.strip(),
        category=content.category.strip(),
        manifest=content.manifest,
        fields=content.fields,
        made_by=by.actor,
        made_at=by.now,
    )


def _tenants(content: Content) -> list[Tenant]:
    wanted = content.tenants or ()
    found = {row.name: row for row in Tenant.objects.filter(name__in=wanted)}
    if missing := sorted(set(wanted) - found.keys()):
        raise PresetInvalid(
            _("There is no tenant named “%(name)s”: choose one that there is.")
            % {"name": missing[0]},
            "tenants",
        )
    return list(found.values())


def content_of(body: Mapping[str, Any]) -> Content:
    """Return a version from its plain shape, as it is shipped and sent."""
    tenants = body.get("tenants")
    return Content(
        title=str(body["title"]),
        description=str(body["description"]),
        category=str(body["category"]),
        manifest=dict(body["manifest"]),
        fields=dict(body.get("fields") or {}),
        tenants=None if tenants is None else tuple(tenants),
    )
