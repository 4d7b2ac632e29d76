"""The catalogue of presets as administrators keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from claims.domain.presets import NAMES
from claims.models import Preset
from claims.services import kept_yaml, yaml_text
from claims.services.preset_editing import (
    Change,
    Content,
    PresetInvalid,
    activate,
    change_preset,
    fields_of,
    make_preset,
)
from claims.views.presets import label_of
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.models import Tenant
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpResponse

    from portal.core.http import PortalRequest

Json = dict[str, Any]

EXAMPLE = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: one-gpu
spec:
  spec:
    devices:
      requests:
        - name: gpus
          exactly:
            deviceClassName: gpu.nvidia.com
            count: 1
"""


@requires(Permission.MANAGE_PRESETS)
@require_GET
def catalogue(request: PortalRequest) -> HttpResponse:
    """List every preset, offered or not."""
    rows = Preset.objects.select_related("active").prefetch_related(
        "versions", "tenants"
    )
    context = {"nav": "presets", "rows": rows.order_by("name")}
    return render(request, "claims/preset_catalogue.html", context)


@requires(Permission.MANAGE_PRESETS)
@require_http_methods(["GET", "POST"])
def preset_new(request: PortalRequest) -> HttpResponse:
    """Show the form of a new preset, or make it."""
    return _form(request, None)


@requires(Permission.MANAGE_PRESETS)
@require_http_methods(["GET", "POST"])
def preset_edit(request: PortalRequest, preset: str) -> HttpResponse:
    """Show a preset with its versions; give it a new one, or offer another."""
    return _form(request, get_object_or_404(Preset, name=preset))


def _form(request: PortalRequest, row: Preset | None) -> HttpResponse:
    typed = _typed(request) if request.method == "POST" else _stored(row)
    problem: tuple[str, str] | None = None
    status = 200
    if request.method == "POST" and request.POST.get("action") != "check":
        try:
            _carried_out(request, row, typed)
        except PortalError as error:
            problem = (getattr(error, "field", ""), error.message)
            status = 409 if error.code == "preset.changed" else 422
        else:
            return HttpResponseRedirect(reverse("claims:preset-catalogue"))
    fields, faulty = _fields(typed["manifest"])
    if problem is None and faulty and request.method == "POST":
        problem, status = ("manifest", faulty), 422
    context = {
        "nav": "presets",
        "row": row,
        "typed": typed,
        "rules": list(_rules(fields, typed["fields"])),
        "tenants": Tenant.objects.order_by("name"),
        "versions": row.versions.order_by("-number") if row else (),
        "problem": problem,
    }
    return render(request, "claims/preset_form.html", context, status=status)


def _carried_out(request: PortalRequest, row: Preset | None, typed: Json) -> None:
    by = Change(request.user.username, timezone.now(), request.request_id)
    verb, _colon, number = request.POST.get("action", "").partition(":")
    if row is None:
        make_preset(typed["name"], _content(typed), by)
        messages.success(request, _("The preset is offered."))
    elif verb == "offer":
        chosen = int(number) if number.isdecimal() and len(number) < 9 else None
        activate(row, typed["version"], chosen, by)
        messages.success(request, _("The catalogue is changed."))
    else:
        change_preset(row, typed["version"], _content(typed), by)
        messages.success(request, _("The new version is offered."))


def _content(typed: Json) -> Content:
    try:
        body = kept_yaml.plain(yaml_text.load(typed["manifest"]).body)
    except yaml_text.UnreadableYaml as error:
        raise PresetInvalid(error.message, "manifest") from error
    return Content(
        title=typed["title"],
        description=typed["description"],
        category=typed["category"],
        manifest=body if isinstance(body, dict) else {},
        fields=typed["fields"],
        tenants=None if typed["for_all"] else tuple(typed["tenants"]),
    )


def _typed(request: PortalRequest) -> Json:
    post = request.POST
    version = post.get("version", "")
    return {
        **{name: post.get(name, "") for name in ("name", "title", "category")},
        "description": post.get("description", "").replace("\r\n", "\n"),
        "manifest": post.get("manifest", "").replace("\r\n", "\n"),
        "for_all": post.get("for_all", "all") == "all",
        "tenants": post.getlist("tenants"),
        "version": int(version) if version.isdecimal() and len(version) < 9 else 0,
        "fields": {
            name.removeprefix("rule:"): {
                key: value
                for key in ("min", "max")
                if (
                    value := post.get(f"{key}:{name.removeprefix('rule:')}", "").strip()
                )
            }
            for name, rule in post.items()
            if name.startswith("rule:") and rule == "open"
        },
    }


def _stored(row: Preset | None) -> Json:
    if row is None:
        return {"manifest": EXAMPLE, "fields": {}, "for_all": True, "tenants": []}
    version = row.active or row.versions.order_by("-number")[0]
    return {
        "name": row.name,
        "title": version.title,
        "description": version.description,
        "category": version.category,
        "manifest": yaml_text.dump(version.manifest),
        "fields": version.fields,
        "for_all": row.for_all,
        "tenants": [each.name for each in row.tenants.all()],
        "version": row.version,
    }


def _fields(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the fields of the form that a manifest fills, and why it has none."""
    try:
        body = kept_yaml.plain(yaml_text.load(text).body)
        return fields_of(body if isinstance(body, dict) else {}), ""
    except PortalError as error:
        return {}, error.message


def _rules(fields: dict[str, list[str]], rules: Json) -> Iterator[Json]:
    """Yield the rows of the table: each field with what it is and may be."""
    for name, values in fields.items():
        if name in NAMES or name.endswith("-binds"):
            continue
        rule = rules.get(name)
        yield {
            "name": name,
            "label": label_of(name, fields),
            "value": values[-1],
            "open": rule is not None,
            "min": (rule or {}).get("min", ""),
            "max": (rule or {}).get("max", ""),
        }
