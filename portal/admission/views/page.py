"""What admission enforces, what it decided, and how good the advisor is; for admins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.admission.domain.advice import AdvisorMode, Outcome
from portal.admission.domain.drawing import path_of
from portal.admission.domain.guards import GuardMode
from portal.admission.forms import AdvisorForm, CalibrateForm, ModeForm, ThresholdForm
from portal.admission.models import AdvisorSetting, Calibration, Fallback, GuardRule
from portal.admission.queries.decisions import decisions
from portal.admission.queries.rules import rule_rows, stored_setting
from portal.admission.services.advising import not_enforceable
from portal.admission.services.calibrating import (
    document_of,
    make_calibration,
    set_advisor,
    tried,
)
from portal.admission.services.editing import change_rule
from portal.admission.services.wording import BADGES, WORDS, said
from portal.core.errors import PortalError
from portal.core.http import fragment

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.admission.domain.advice import Thresholds
    from portal.admission.models import AdmissionDecision
    from portal.core.http import PortalRequest

SHOWN = 50
may_manage = requires(Permission.MANAGE_ADMISSION)


@require_GET
@vary_on_headers("HX-Request")
@may_manage
def overview(request: PortalRequest) -> HttpResponse:
    """Show rules, decisions, and the stored outcomes under the thresholds tried."""
    setting = stored_setting() or AdvisorSetting(id=1)
    form = ThresholdForm(request.GET if "safe" in request.GET else None)
    thresholds = form.thresholds() if form.is_valid() else setting.thresholds
    newest = Calibration.objects.order_by("-made_at").first()
    context = {
        "nav": "admission",
        "is_on": settings.SLICEWISE_ADMISSION,
        "has_advisor": bool(settings.SLICEWISE_ADVISOR_URL),
        "rules": rule_rows(),
        "fallbacks": Fallback.objects.select_related("cluster").order_by("name"),
        "modes": [each.value for each in GuardMode],
        "advisor_modes": [each.value for each in AdvisorMode],
        "setting": setting,
        "held_back": _held_back(setting),
        "form": form,
        "tried": thresholds,
        "is_tried": thresholds != setting.thresholds,
        "judged": _judged(thresholds),
        "calibration": newest,
        "curves": _curves(newest),
        "decisions": [_shown(row) for row in decisions()[:SHOWN]],
    }
    template = fragment("admission/overview.html", "judged", request)
    return render(request, template, context)


def _held_back(setting: AdvisorSetting) -> str:
    """Return why enforcing is not what happens, in a sentence, or ""."""
    if setting.mode != AdvisorMode.ENFORCE:
        return ""
    words = {
        "advisor.uncalibrated": _("its thresholds were never calibrated"),
        "advisor.other_thresholds": _(
            "its thresholds are not those of the calibration"
        ),
        "advisor.stale": _("its calibration is older than 30 days"),
        "advisor.other_model": _("it was calibrated with another model"),
    }
    return words.get(not_enforceable(setting, now=timezone.now()), "")


def _judged(thresholds: Thresholds) -> dict[str, Any] | None:
    """Return how thresholds do on all stored outcomes, or None where there are none."""
    found = tried(thresholds)
    if not found.held_out:
        return None
    words = {
        "both": _("Both told it equally well."),
        "advised": _("The advisor’s told it better."),
        "exact": _("The exact one told it better."),
    }
    better = words.get(found.better, "")
    return {**document_of(found), "count": found.held_out, "better": better}


def _curves(calibration: Calibration | None) -> list[dict[str, Any]]:
    if calibration is None:
        return []
    titles = {"unsafe": _("Denied as unsafe"), "fallback": _("Fallback put in")}
    return [
        {
            "title": title,
            "path": path_of(calibration.document[f"{name}_curve"]),
            "points": calibration.document[f"{name}_curve"][::10],
            "chosen": calibration.document[name],
        }
        for name, title in titles.items()
    ]


def _shown(row: AdmissionDecision) -> dict[str, Any]:
    outcome = Outcome(row.outcome)
    advised = Outcome(row.advised) if row.advised else None
    return {
        "row": row,
        "word": WORDS[outcome],
        "kind": BADGES[outcome],
        "sentences": [said(each["code"], each["values"]) for each in row.breaches],
        "advised": WORDS[advised] if advised else "",
        "differs": advised is not None and advised is not outcome,
    }


@require_POST
@may_manage
def advisor(request: PortalRequest) -> HttpResponse:
    """Set how far the advisor is trusted."""
    form = AdvisorForm(request.POST)
    if not form.is_valid():
        return _back(request, _("Choose off, shadow or enforce."))
    form_tried = ThresholdForm(request.POST)
    source = form.cleaned_data["source"]
    newest = Calibration.objects.order_by("-made_at").first()
    if source == "tried" and not form_tried.is_valid():
        return _back(
            request, _("Thresholds are from 0 to 1, and that of severity to 3.")
        )
    if source == "calibrated" and newest is None:
        return _back(request, _("There is no calibration yet: make one first."))
    try:
        set_advisor(
            mode=form.cleaned_data["mode"],
            thresholds=form_tried.thresholds() if source == "tried" else None,
            calibration=newest if source == "calibrated" else None,
            by=request.user.username,
            now=timezone.now(),
        )
    except PortalError as error:
        return _back(request, error.message)
    return _back(request)


@require_POST
@may_manage
def calibrate(request: PortalRequest) -> HttpResponse:
    """Choose thresholds for a precision."""
    form = CalibrateForm(request.POST)
    if not form.is_valid():
        return _back(request, _("The precision must be above 0 and at most 1."))
    try:
        make_calibration(
            precision=form.cleaned_data["precision"],
            by=request.user.username,
            now=timezone.now(),
        )
    except PortalError as error:
        return _back(request, error.message)
    return _back(request)


@require_POST
@may_manage
def rule_mode(request: PortalRequest, name: str) -> HttpResponse:
    """Let a rule warn, deny or be off."""
    row = get_object_or_404(GuardRule, name=name)
    form = ModeForm(request.POST)
    if not form.is_valid():
        return _back(request, _("Choose off, warn or deny."))
    try:
        change_rule(
            row,
            version=form.cleaned_data["version"],
            fields={"mode": form.cleaned_data["mode"]},
            by=request.user.username,
            now=timezone.now(),
        )
    except PortalError as error:
        return _back(request, error.message)
    return _back(request)


def _back(request: PortalRequest, problem: str = "") -> HttpResponse:
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, _("Saved."))
    return HttpResponseRedirect(reverse("admission:overview"))
