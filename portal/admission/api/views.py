"""Rules, decisions, the advisor and its calibrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.admission.api import documents, serializers
from portal.admission.domain.advice import Thresholds
from portal.admission.models import AdvisorSetting, Calibration, GuardRule
from portal.admission.queries.decisions import decisions
from portal.admission.queries.rules import rule_rows, stored_setting
from portal.admission.services.calibrating import (
    make_calibration,
    set_advisor,
    tried,
)
from portal.admission.services.editing import change_rule, make_rule, remove_rule
from portal.api.matching import ETAG, demand_match
from portal.api.operations import Operation, PageParameters, leads_to
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request

Json = dict[str, Any]
THRESHOLDS = ("safe", "confidence", "severity")


def operation(**more: Any) -> Operation:
    """Return an operation of those who manage admission."""
    return Operation(
        tag="admission",
        scope=Scope.GOVERN_WRITE,
        permission=Permission.MANAGE_ADMISSION,
        **more,
    )


def listing(answer: Any, **more: Any) -> Operation:
    """Return an operation that lists."""
    return operation(query=PageParameters, answer=answer, listed=True, **more)


class RuleList(ApiView):
    """The rules of admission."""

    operations = {
        "GET": listing(
            serializers.GuardRule,
            id="listGuardRules",
            summary="List the rules that admission enforces, with their counters",
        ),
        "POST": operation(
            id="createGuardRule",
            links=leads_to(
                "getGuardRule",
                matched=("changeGuardRule", "deleteGuardRule"),
                by="name",
            ),
            summary="Make a rule of admission",
            body=serializers.GuardRuleBody,
            answer=serializers.GuardRule,
            status=201,
            bucket="write",
            headers=ETAG,
            problems=(422,),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of rules by name."""
        return self.by_name(rule_rows(), documents.rule_document)

    def post(self, request: Request) -> Response:
        """Make a rule."""
        body = self.body()
        row = make_rule(
            name=body["name"],
            kind=body["kind"],
            fields=_rule_fields(body),
            by=self.person.username,
            now=timezone.now(),
        )
        headers = {"ETag": documents.rule_etag(row)}
        return self.answer(documents.rule_document(row), headers=headers)


def _rule_fields(body: Json) -> Json:
    names = {"mode": "mode", "params": "params", "failurePolicy": "failure_policy"}
    return {ours: body[theirs] for theirs, ours in names.items() if theirs in body}


class RuleDetail(ApiView):
    """One rule."""

    operations = {
        "GET": operation(
            id="getGuardRule",
            summary="Say what a rule of admission is, and how often it spoke",
            answer=serializers.GuardRule,
            headers=ETAG,
        ),
        "PATCH": operation(
            id="changeGuardRule",
            summary="Change a rule's mode, parameters or failure policy",
            description="After a change of the failure policy, or of which rules are"
            " off, install the manifests anew.",
            body=serializers.GuardRuleChange,
            answer=serializers.GuardRule,
            bucket="write",
            needs_match=True,
            headers=ETAG,
            problems=(409, 422),
        ),
        "DELETE": operation(
            id="deleteGuardRule",
            summary="Remove a rule of admission",
            status=204,
            bucket="write",
            needs_match=True,
        ),
    }

    def row(self, name: str) -> GuardRule:
        """Return the rule.

        Raises:
            Http404: There is none of that name.
        """
        found = rule_rows().filter(name=name).first()
        if found is None:
            raise Http404(_("There is no rule of that name."))
        return found

    def shown(self, row: GuardRule) -> Response:
        """Return the rule with its ETag."""
        headers = {"ETag": documents.rule_etag(row)}
        return self.answer(documents.rule_document(row), headers=headers)

    def get(self, request: Request, name: str) -> Response:
        """Return the rule."""
        return self.shown(self.row(name))

    def patch(self, request: Request, name: str) -> Response:
        """Change it, unless somebody did so meanwhile."""
        row = self.row(name)
        body = self.body()
        demand_match(request, documents.rule_etag(row))
        changed = change_rule(
            row,
            version=row.version,
            fields=_rule_fields(body),
            by=self.person.username,
            now=timezone.now(),
        )
        return self.shown(changed)

    def delete(self, request: Request, name: str) -> Response:
        """Remove it."""
        row = self.row(name)
        demand_match(request, documents.rule_etag(row))
        remove_rule(row)
        return Response(status=204)


class DecisionList(ApiView):
    """What was decided."""

    operations = {
        "GET": listing(
            serializers.AdmissionDecisionItem,
            id="listAdmissionDecisions",
            summary="List what admission decided, the last first",
            description="What there was nothing to say about is only counted.",
        )
    }

    def get(self, request: Request) -> Response:
        """Return a page of decisions, the last made first."""
        return self.newest_first(decisions(), documents.decision_document)


class AdvisorView(ApiView):
    """How far the advisor is trusted."""

    operations = {
        "GET": operation(
            id="getAdvisor",
            summary="Say how far the advisor is trusted",
            answer=serializers.Advisor,
            headers=ETAG,
        ),
        "PATCH": operation(
            id="setAdvisor",
            summary="Set how far the advisor is trusted",
            description="Enforcing needs a fresh calibration whose thresholds are in"
            " force.",
            body=serializers.AdvisorChange,
            answer=serializers.Advisor,
            bucket="write",
            needs_match=True,
            headers=ETAG,
            problems=(404, 422),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return the setting."""
        return self._shown(stored_setting() or AdvisorSetting(id=1))

    def patch(self, request: Request) -> Response:
        """Set it."""
        body = self.body()
        now = stored_setting() or AdvisorSetting(id=1)
        demand_match(request, documents.advisor_etag(now))
        thresholds = Thresholds(
            body.get("safe", now.safe),
            body.get("confidence", now.confidence),
            body.get("severity", now.severity),
        )
        calibration = None
        if "calibration" in body:
            calibration = _calibration(body["calibration"])
        row = set_advisor(
            mode=body["mode"],
            thresholds=thresholds,
            calibration=calibration,
            by=self.person.username,
            now=timezone.now(),
        )
        return self._shown(row)

    def _shown(self, row: AdvisorSetting) -> Response:
        headers = {"ETag": documents.advisor_etag(row)}
        return self.answer(documents.advisor_document(row), headers=headers)


class TriedThresholds(ApiView):
    """Thresholds on the outcomes that are stored."""

    operations = {
        "GET": operation(
            id="tryThresholds",
            summary="Say how thresholds would have done on the stored outcomes",
            description="Nothing is changed. Of those that are left out, the one in"
            " force is tried.",
            query=serializers.TriedParameters,
            answer=serializers.Tried,
        )
    }

    def get(self, request: Request) -> Response:
        """Return what would have been denied or changed, and how rightly."""
        now = (stored_setting() or AdvisorSetting(id=1)).thresholds
        wanted = {name: self.wanted.get(name) for name in THRESHOLDS}
        chosen = {
            name: getattr(now, name) if value is None else value
            for name, value in wanted.items()
        }
        return self.answer(documents.tried_document(tried(Thresholds(**chosen))))


def _calibration(public_id: UUID) -> Calibration:
    found = Calibration.objects.filter(public_id=public_id).first()
    if found is None:
        raise Http404(_("There is no calibration of that id."))
    return found


class CalibrationList(ApiView):
    """The calibrations that were made."""

    operations = {
        "GET": listing(
            serializers.Calibration,
            id="listCalibrations",
            summary="List the advisor's calibrations, the last first",
        ),
        "POST": operation(
            id="createCalibration",
            summary="Choose the advisor's thresholds for a precision",
            body=serializers.CalibrationBody,
            answer=serializers.Calibration,
            status=201,
            bucket="write",
            problems=(422,),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of calibrations."""
        return self.newest_first(
            Calibration.objects.all(), documents.calibration_document
        )

    def post(self, request: Request) -> Response:
        """Calibrate."""
        made = make_calibration(
            precision=self.body()["precision"],
            by=self.person.username,
            now=timezone.now(),
        )
        return self.answer(documents.calibration_document(made))


class CalibrationDetail(ApiView):
    """One calibration."""

    operations = {
        "GET": operation(
            id="getCalibration",
            summary="Show a calibration, with its curves",
            answer=serializers.Calibration,
        )
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return the calibration."""
        return self.answer(documents.calibration_document(_calibration(id)))
