"""Presets: what is offered and how much of it is free, and the short form of one."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from asgiref.sync import async_to_sync
from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from claims.domain.draft_fields import to_fields
from claims.domain.presets import ALWAYS_FREE, rules_of
from claims.form_parts import Field
from claims.forms import submission_key
from claims.queries.presets import offered_to
from claims.services.composing import read_for
from claims.services.diagnosing import hidden_from
from claims.services.presets import checked, draft_from, room_for
from claims.services.sentences import sentence
from claims.services.writing import draft_of, text_of
from claims.views.checks import checks_of
from claims.views.compose import Said, answered, sent
from claims.views.preview import preview_of
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from django.http import HttpResponse

    from claims.domain.draft import Draft
    from claims.models import Preset, PresetVersion
    from portal.core.http import PortalRequest

_PART = re.compile(r"requests-(\d+)-alternatives-(\d+)-(.+)")


@dataclass(frozen=True, slots=True)
class OpenField:
    """A field that a preset leaves open, as a template shows it."""

    name: str
    label: str
    value: str
    least: str
    most: str
    is_text: bool
    errors: tuple[str, ...]

    @property
    def error_id(self) -> str:
        """The id of the sentences about it."""
        return f"f-{self.name}-error"


@requires(Permission.COMPOSE)
@require_GET
def preset_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the catalogue; what is free comes card by card, or at once when asked for."""
    row = get_object_or_404(Cluster, name=cluster)
    wanted = "free" in request.GET
    hide = hidden_from(request.user, row) if wanted else frozenset()
    rows = [
        (preset, room_for(row, _version(preset), hide=hide) if wanted else None)
        for preset in offered_to(request.user)
    ]
    context = {
        "nav": "presets",
        "cluster": row,
        "rows": rows,
        "asked": wanted,
        "may_change": request.user.may(Permission.MANAGE_PRESETS),
    }
    return render(request, "claims/preset_list.html", context)


@requires(Permission.COMPOSE)
@require_GET
def preset_room(request: PortalRequest, cluster: str, preset: str) -> HttpResponse:
    """Answer with how much of one preset is free now."""
    row = get_object_or_404(Cluster, name=cluster)
    chosen = get_object_or_404(offered_to(request.user), name=preset)
    hide = hidden_from(request.user, row)
    room = room_for(row, _version(chosen), hide=hide)
    context = {"room": room, "cluster": row}
    return render(request, "claims/preset_room.html", context)


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
def preset_compose(request: PortalRequest, cluster: str, preset: str) -> HttpResponse:
    """Show the fields that a preset leaves open, or submit it."""
    row = get_object_or_404(Cluster, name=cluster)
    chosen = get_object_or_404(offered_to(request.user), name=preset)
    version = _version(chosen)
    if request.method == "GET":
        namespace = next(iter(namespaces_of(request.user, row.name)), "")
        draft = draft_from(version, namespace=namespace)
        named = replace(draft, name=f"{draft.name}-{secrets.token_hex(2)}")
        return _shown(request, row, chosen, named, Said())
    draft = draft_of(dict(request.POST.lists()))
    if request.POST.get("preset_version") != str(version.number):
        return _renewed(request, row, chosen, draft)
    return _answered(request, row, chosen, draft)


def _version(preset: Preset) -> PresetVersion:
    if preset.active is None:
        raise Http404
    return preset.active


def _renewed(
    request: PortalRequest, cluster: Cluster, preset: Preset, draft: Draft
) -> HttpResponse:
    """Show the preset as it is now, where it changed since the page was shown."""
    fresh = replace(
        draft_from(_version(preset), namespace=draft.namespace),
        name=draft.name,
        justification=draft.justification,
        hours=draft.hours,
    )
    text = _("This preset was changed meanwhile: look at it, then send it again.")
    return _shown(request, cluster, preset, fresh, Said(on_top=(text,)), status=409)


def _answered(
    request: PortalRequest, cluster: Cluster, preset: Preset, draft: Draft
) -> HttpResponse:
    action = request.POST.get("action", "check")
    if action not in ("submit", "preview", "check"):
        # What only the whole form can do leaves the preset, with all that was typed.
        return answered(request, cluster, draft)
    if refused := checked(_version(preset), draft):
        kept = _locked_again(preset, draft)
        said = Said(by_field=refused)
        return _shown(request, cluster, preset, kept, said, status=422)
    if action == "submit":
        version = _version(preset)
        answer, status = sent(request, cluster, draft, preset_version=version)
        if isinstance(answer, Said):
            return _shown(request, cluster, preset, draft, answer, status=status)
        return answer
    return _shown(request, cluster, preset, draft, Said(show_problems=True))


def _locked_again(preset: Preset, draft: Draft) -> Draft:
    """Return what was sent with every locked field as the preset has it."""
    version = _version(preset)
    before, after = to_fields(draft_from(version)), to_fields(draft)
    free = {*rules_of(version.fields), *ALWAYS_FREE}
    kept = {name: after[name] for name in free if name in after}
    return draft_of({**before, **kept})


def _shown(
    request: PortalRequest,
    cluster: Cluster,
    preset: Preset,
    draft: Draft,
    said: Said,
    *,
    status: int = 200,
) -> HttpResponse:
    version = _version(preset)
    reading = read_for(request.user, cluster, draft)
    found = [(each.field, sentence(each)) for each in reading.findings]
    errors = [*(found if said.show_problems else ()), *said.by_field]
    by_field = {name: tuple(t for n, t in errors if n == name) for name, _t in errors}
    rules = rules_of(version.fields)
    fields = to_fields(draft)
    preview = None
    if request.method == "POST":
        preview = async_to_sync(preview_of)(request.user, cluster, draft, reading)
    context = {
        "nav": "presets",
        "cluster": cluster,
        "preset": preset,
        "version": version,
        "draft": draft,
        "open_fields": list(_open(fields, version, by_field)),
        "hidden": [
            (name, value)
            for name, values in fields.items()
            if name not in rules and name not in ALWAYS_FREE
            for value in values
        ],
        "namespaces": namespaces_of(request.user, cluster.name),
        "free": {
            name: Field(name, value, by_field.get(name, ()))
            for name, value in (
                ("name", draft.name),
                ("namespace", draft.namespace),
                ("justification", draft.justification),
                ("hours", draft.lasting),
            )
        },
        "problems": [
            *((f"f-{name}" if _is_open(name, rules) else "", t) for name, t in errors),
            *(("", text) for text in said.on_top),
        ],
        "submission_key": submission_key(request.POST.get("submission_key", "")),
        "text": text_of(draft) if reading.is_claim else "",
        "preview": preview,
        "checks": checks_of(request.user, cluster, draft, reading)
        if request.method == "POST"
        else None,
    }
    return render(request, "claims/preset_compose.html", context, status=status)


def _is_open(name: str, rules: Mapping[str, object]) -> bool:
    return name in rules or name in ALWAYS_FREE


def _open(
    fields: Mapping[str, list[str]],
    version: PresetVersion,
    errors: Mapping[str, tuple[str, ...]],
) -> Iterator[OpenField]:
    for name, rule in rules_of(version.fields).items():
        value = fields.get(name, [""])[-1]
        yield OpenField(
            name=name,
            label=label_of(name, fields),
            value=value,
            least=rule.least,
            most=rule.most,
            is_text="-selectors-" in name or name.endswith("-json"),
            errors=errors.get(name, ()),
        )


def label_of(name: str, fields: Mapping[str, list[str]]) -> str:
    """Return how a field of the form is called on its own, outside of its place."""
    hit = _PART.fullmatch(name)
    if not hit:
        return name
    where = f"requests-{hit[1]}-alternatives-{hit[2]}"
    part = hit[3]
    own = fields.get(f"{where}-name", [""])[-1]
    label = {"count": _("Count"), "class": _("Class"), "mode": _("How many")}.get(part)
    if part.startswith("capacity-") and part.endswith("-value"):
        key = f"{where}-{part.removesuffix('-value')}-key"
        label = _("Amount of %(key)s") % {"key": fields.get(key, [""])[-1]}
    elif part.startswith("selectors-"):
        label = _("CEL selector %(n)s") % {"n": int(part.rpartition("-")[2]) + 1}
    return f"{own}: {label or part}" if own else label or part
