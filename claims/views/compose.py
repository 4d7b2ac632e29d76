"""The composer: one form that becomes a manifest, and its submit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect

from claims.domain.draft import Draft, TolerationDraft, alternative_field
from claims.domain.edits import edited, repaired, tolerating
from claims.domain.focus import focus_after
from claims.domain.paths import field_of
from claims.domain.reading import hours_of, read
from claims.domain.rewriting import with_change
from claims.forms import FormBuilder, content_key
from claims.services import yaml_text
from claims.services.building import finished, started
from claims.services.catalogue import seen_keys, seen_taints
from claims.services.composing import offers_of, read_for
from claims.services.diagnosing import diagnose
from claims.services.drafting import discard
from claims.services.expressions import judge_draft
from claims.services.gating import switched_off
from claims.services.sentences import sentence
from claims.services.submit import SubmitRefused, sent_before, submit
from claims.services.writing import draft_of, from_yaml, manifest_of, rebased, text_of
from claims.views.beginning import (
    Begun,
    begun_of,
    first_form,
    keep_posted,
    revised_by,
    surroundings,
)
from claims.views.checks import checks_of
from inventory.gateways.errors import Invalid
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    import uuid
    from collections.abc import Iterator, Mapping

    from claims.models import ClaimRequest, PresetVersion
    from claims.services.building import Built
    from claims.services.diagnosing import Diagnosed
    from claims.services.writing import FromYaml
    from portal.core.http import PortalRequest

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pasted:
    """What was pasted, and why it was not taken: (line or None, sentence)."""

    text: str = ""
    problems: tuple[tuple[int | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What a page says besides the draft: in place, on top, and of what was pasted."""

    by_field: tuple[tuple[str, str], ...] = ()
    on_top: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pasted: Pasted = Pasted()
    show_problems: bool = False
    focus: str = ""
    builders: Mapping[str, Built] = field(default_factory=dict)
    begun: Begun | None = None


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
@vary_on_headers("HX-Request")
def compose(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the form, carry out one of its buttons, or submit it."""
    row = get_object_or_404(Cluster, name=cluster)
    if request.method == "GET":
        draft, begun, notes = first_form(request, row)
        return shown(request, row, draft, Said(notes=notes, begun=begun))
    return answered(request, row, draft_of(dict(request.POST.lists())))


def answered(request: PortalRequest, cluster: Cluster, draft: Draft) -> HttpResponse:
    """Carry out the button that was pressed, and show the whole form."""
    action = request.POST.get("action", "check")
    answer = _ANSWERS.get(action.partition(":")[0], _edited)
    return answer(request, cluster, draft, action)


def _edited(
    request: PortalRequest, cluster: Cluster, draft: Draft, action: str
) -> HttpResponse:
    """Carry out a button that changes the form."""
    if put_right := _put_right(request, cluster, draft, action):
        after, name = put_right
        return shown(request, cluster, rebased(after), Said(focus=name))
    after = rebased(edited(draft, action))
    show = action == "check" and not request.htmx
    said = Said(show_problems=show, focus=focus_after(action, after))
    return shown(request, cluster, after, said)


def _as_yaml(
    request: PortalRequest, cluster: Cluster, draft: Draft, action: str
) -> HttpResponse:
    """Put what the form says where YAML is edited."""
    said = Said(pasted=Pasted(text_of(draft)), focus="yaml")
    return shown(request, cluster, draft, said)


def _put_right(
    request: PortalRequest, cluster: Cluster, draft: Draft, action: str
) -> tuple[Draft, str] | None:
    """Return the draft with an offered repair or change made, and the field it is in."""
    verb, _colon, rest = action.partition(":")
    place, _colon, new = rest.partition(":")
    if verb == "fix":
        return repaired(draft, place, new.replace("\r\n", "\n")), place
    if verb == "tolerate":
        return _tolerating(draft, rest)
    if verb == "apply":
        after = with_change(draft, place, new)
        return after, field_of(place, after)
    return None


def _tolerating(draft: Draft, text: str) -> tuple[Draft, str] | None:
    """Return the draft with a seen taint tolerated: `0:1:key|value|Effect`."""
    i, _colon, rest = text.partition(":")
    j, _colon, taint = rest.partition(":")
    parts = taint.split("|")
    if not (i.isdecimal() and j.isdecimal() and len(parts) == 3):
        return None
    key, value, effect = parts
    row = TolerationDraft(key, "Equal" if value else "Exists", value, effect)
    after = tolerating(draft, int(i), int(j), row)
    return after, alternative_field(int(i), int(j), "class")


def _built(
    request: PortalRequest, cluster: Cluster, draft: Draft, action: str
) -> HttpResponse:
    """Show the builder with a key's values, or put its condition into the form."""
    verb, _colon, place = action.partition(":")
    lists = dict(request.POST.lists())
    if verb == "builder":
        builders = {place: started(cluster, lists, place)}
        return shown(request, cluster, draft, Said(builders=builders))
    after, left = finished(cluster, draft, lists, place)
    builders = {place: left} if left.problem else {}
    return shown(request, cluster, rebased(after), Said(builders=builders))


@requires(Permission.COMPOSE)
@require_POST
def compose_manifest(request: PortalRequest, cluster: str) -> HttpResponse:
    """Answer with what the form would send at this moment."""
    row = get_object_or_404(Cluster, name=cluster)
    draft = draft_of(dict(request.POST.lists()))
    reading = read_for(request.user, row, draft)
    problems = [(f"f-{each.field}", sentence(each)) for each in reading.findings]
    context = {
        "manifest": text_of(draft) if reading.is_claim else "",
        "problems": problems,
        **surroundings(request, row, draft, begun_of(request)),
    }
    return render(request, "claims/compose_manifest.html", context)


def shown(
    request: PortalRequest,
    cluster: Cluster,
    draft: Draft,
    said: Said,
    *,
    previewed: object = None,
    status: int = 200,
) -> HttpResponse:
    """Return the page, or for htmx the form alone."""
    part = bool(request.htmx) and not request.htmx.boosted
    template = "claims/compose_form.html" if part else "claims/compose.html"
    context = _context(request, cluster, draft, said)
    if request.method == "POST" and not part:
        reading = read_for(request.user, cluster, draft)
        context["checks"] = checks_of(request.user, cluster, draft, reading)
    return render(request, template, {**context, "preview": previewed}, status=status)


def _context(
    request: PortalRequest, cluster: Cluster, draft: Draft, said: Said
) -> dict[str, Any]:
    namespaces = namespaces_of(request.user, cluster.name)
    wanted = [a.device_class for r in draft.requests for a in r.alternatives]
    offers = offers_of(cluster, wanted)
    words = seen_keys(cluster)
    reading = read(draft, namespaces=namespaces, classes=offers.classes)
    found = [(each.field, sentence(each)) for each in reading.findings]
    form = FormBuilder(
        draft,
        sentences=[*(found if said.show_problems else ()), *said.by_field],
        verdicts=judge_draft(cluster, draft, offers.classes),
        offers=offers.by_class,
    ).build(key=request.POST.get("submission_key", ""), focus=said.focus)
    return {
        "nav": "compose",
        "cluster": cluster,
        "form": form,
        "namespaces": namespaces,
        "no_namespaces": _(
            "You have no namespace in %(cluster)s, so nothing can be submitted; ask an"
            " administrator to add your team. Trying out works."
        )
        % {"cluster": cluster.name},
        "classes": list(offers.classes),
        "attributes": offers.attributes,
        "words": words,
        "drivers": list(dict.fromkeys(each.driver for each in words)),
        "taints": seen_taints(cluster),
        "off": switched_off(cluster),
        "builders": said.builders,
        "manifest": text_of(draft) if reading.is_claim else "",
        "problems": [(f"f-{name}", text) for name, text in found],
        "shown_problems": [*form.problems, *(("", text) for text in said.on_top)],
        "said": [*said.notes, *([offers.problem] if offers.problem else [])],
        "pasted": said.pasted,
        **surroundings(request, cluster, draft, said.begun or begun_of(request)),
    }


def _taken(
    request: PortalRequest, cluster: Cluster, draft: Draft, action: str
) -> HttpResponse:
    """Fill the form from pasted YAML, or say line by line why not, losing nothing."""
    text = request.POST.get("yaml", "").replace("\r\n", "\n")
    try:
        taken = from_yaml(text)
    except yaml_text.UnreadableYaml as error:
        pasted = Pasted(text, ((error.line, error.message),))
        return shown(request, cluster, draft, Said(pasted=pasted), status=422)
    if taken.draft is None:
        problems = tuple((line, sentence(each)) for line, each in taken.problems)
        pasted = Pasted(text, problems)
        return shown(request, cluster, draft, Said(pasted=pasted), status=422)
    said = Said(notes=tuple(_notes(taken)), show_problems=True, focus="name")
    after = replace(taken.draft, justification=draft.justification, hours=draft.hours)
    return shown(request, cluster, after, said)


def _notes(taken: FromYaml) -> Iterator[str]:
    yield _("The form now holds what was pasted.")
    if taken.left_out:
        yield _("Left out, since only the server sets them: %(fields)s.") % {
            "fields": ", ".join(taken.left_out)
        }
    if taken.kept:
        yield _("The form does not show these; they stay in the YAML: %(fields)s.") % {
            "fields": ", ".join(taken.kept)
        }


def _submitted(
    request: PortalRequest, cluster: Cluster, draft: Draft, action: str
) -> HttpResponse:
    answer, status = sent(request, cluster, draft)
    if isinstance(answer, Said):
        return shown(request, cluster, draft, answer, status=status)
    discard(request.user, begun_of(request).key)
    return answer


def _kept(
    request: PortalRequest, cluster: Cluster, draft: Draft, action: str
) -> HttpResponse:
    """Keep the form as a draft, and go on with it."""
    try:
        begun = keep_posted(request, cluster, draft, now=timezone.now())
    except PortalError as error:
        return shown(request, cluster, draft, Said(on_top=(error.message,)), status=422)
    text = _("Kept as a draft: you find it under “My requests”, Drafts.")
    return shown(request, cluster, draft, Said(notes=(text,), begun=begun))


def sent(
    request: PortalRequest,
    cluster: Cluster,
    draft: Draft,
    *,
    preset_version: PresetVersion | None = None,
) -> tuple[HttpResponse | Said, int]:
    """Submit a draft: return the way to its request, or what is to be said, and a status."""
    reading = read_for(request.user, cluster, draft)
    if not reading.is_claim:
        return Said(show_problems=True), 422
    manifest = manifest_of(draft)
    key = _key(request, manifest, draft)
    # Before any check: what it became may stand in the way of another of its name.
    if earlier := sent_before(request.user, key):
        return _way_to(request, earlier)
    diagnosed = _diagnosed(request, cluster, manifest, draft)
    if diagnosed and diagnosed.errors:
        return _found(diagnosed), 422
    now = timezone.now()
    try:
        made = submit(
            user=request.user,
            cluster=cluster,
            manifest=manifest,
            preview=diagnosed.document() if diagnosed else None,
            submission_key=key,
            request_id=request.request_id,
            now=now,
            revises=revised_by(request, cluster, begun_of(request)),
            preset_version=preset_version,
            **_privilege(draft, now),
        )
    except PortalError as error:
        return _refused(error, draft), 422 if error.permanent else 503
    return _way_to(request, made)


def _way_to(request: PortalRequest, made: ClaimRequest) -> tuple[HttpResponse, int]:
    address = reverse("claims:request-detail", args=[made.public_id])
    if request.htmx:
        return HttpResponseClientRedirect(address), 200
    return HttpResponseRedirect(address), 302


def _diagnosed(
    request: PortalRequest, cluster: Cluster, manifest: dict[str, Any], draft: Draft
) -> Diagnosed | None:
    """Return the checks that go with the plan; None with the engine away: a dry run is."""
    try:
        return diagnose(cluster, request.user, manifest, draft)
    except PortalError as error:
        logger.warning("submitted without checks", reason=error.message)
        return None


def _found(diagnosed: Diagnosed) -> Said:
    pairs = [(each.field, each.message) for each in diagnosed.errors]
    return Said(
        by_field=tuple(dict.fromkeys((name, text) for name, text in pairs if name)),
        on_top=tuple(dict.fromkeys(text for name, text in pairs if not name)),
    )


def _privilege(draft: Draft, now: datetime) -> dict[str, Any]:
    """Return the reason for those who approve it, and when it is to end."""
    hours = hours_of(draft.lasting)
    ends_at = now + timedelta(hours=hours) if hours else None
    return {"justification": draft.justification, "ends_at": ends_at}


def _key(request: PortalRequest, manifest: dict[str, Any], draft: Draft) -> uuid.UUID:
    content = yaml_text.dump(manifest)
    if draft.justification or draft.lasting:
        content += f"\0{draft.justification}\0{draft.lasting}"
    return content_key(request.POST.get("submission_key", ""), content)


def _refused(error: PortalError, draft: Draft) -> Said:
    """Put a refusal beside the fields that it names, and on top what names none."""
    if isinstance(error, Invalid) and error.causes:
        pairs = [(field_of(each.field, draft), each.message) for each in error.causes]
    elif isinstance(error, SubmitRefused) and error.paths:
        pairs = [(field_of(path, draft), error.message) for path in error.paths]
    else:
        pairs = [("", error.message)]
    by_field = tuple(dict.fromkeys((name, text) for name, text in pairs if name))
    on_top = tuple(dict.fromkeys(text for name, text in pairs if not name))
    return Said(by_field=by_field, on_top=on_top)


# First word of what a button is worth → what answers it; any other edits the form.
_ANSWERS = {
    "submit": _submitted,
    "keep": _kept,
    "take": _taken,
    "edit-yaml": _as_yaml,
    "builder": _built,
    "build": _built,
}
