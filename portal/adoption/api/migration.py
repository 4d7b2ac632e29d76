"""A cluster's plan to DRA, its phases, moves and record, over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample

from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.adoption.api import migration_documents as documents
from portal.adoption.api import migration_serializers as serializers
from portal.adoption.domain.phases import Move, Phase
from portal.adoption.queries.migration import plan_of, steps_of
from portal.adoption.services.migrating import make_move, plan_view
from portal.api.matching import demand_match
from portal.api.operations import Operation, PageParameters

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from inventory.models import Cluster

_ETAG = (("ETag", "For If-Match of a move."),)


def _reading(**more: Any) -> Operation:
    return Operation(
        scope=Scope.TENANTS_READ,
        permission=Permission.SEE_HOLDERS,
        tag="adoption",
        **more,
    )


class PlanView(ClusterView):
    """The plan of a cluster."""

    operations = {
        "GET": _reading(
            id="getMigrationPlan",
            summary="Say how far a cluster is on the way to DRA",
            description="Every gate is judged from the live state, now. A line that the"
            " API does not tell is `unknown`, and its gate is not green unless somebody"
            " answers for it.",
            answer=serializers.MigrationPlan,
            headers=_ETAG,
            bucket="check",
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the plan."""
        return self.shown(self.cluster())

    def shown(self, cluster: Cluster) -> Response:
        """Return a cluster's plan as it stands."""
        found = plan_view(cluster, self.person)
        headers = {"ETag": documents.etag_of(found.plan)}
        return self.answer(documents.plan_document(found), headers=headers)


class PhaseDetail(ClusterView):
    """One phase, with its commands and manifests."""

    operations = {
        "GET": _reading(
            id="getMigrationPhase",
            summary="Evaluate a phase's gate, and say what is done and undone in it",
            description="`phase` is `control-plane`, `canary`, `mapping`, `templates` or"
            " `drain`. Commands and manifests are filled with the cluster's names.",
            answer=serializers.MigrationPhaseDetail,
            bucket="check",
        )
    }

    def get(self, request: Request, cluster: str, phase: str) -> Response:
        """Return the phase."""
        found = next((each for each in Phase if each.code == phase), None)
        if found is None:
            raise Http404(
                _("There is no phase “%(name)s”: choose one of %(known)s.")
                % {"name": phase, "known": ", ".join(each.code for each in Phase)}
            )
        view = plan_view(self.cluster(), self.person)
        return self.answer(documents.phase_detail(view.phases[found - 1]))


class MoveView(PlanView):
    """Moves of a plan."""

    operations = {
        "POST": Operation(
            id="moveMigrationPlan",
            summary="Start, check, pause or leave a phase, or go back",
            description="`go-on` needs a green gate. `confirm` answers for what the API"
            " does not tell, and `go-back` leads to the rollback: both need a `reason`,"
            " which is kept with the evidence of that moment. From a phase that is"
            " rolled back, `go-back` leads to the one before.",
            scope=Scope.INVENTORY_WRITE,
            permission=Permission.MANAGE_CLUSTERS,
            tag="adoption",
            body=serializers.MoveBody,
            answer=serializers.MigrationPlan,
            bucket="write",
            needs_match=True,
            headers=_ETAG,
            problems=(404, 409, 422),
            examples=(
                OpenApiExample(
                    "Go back",
                    request_only=True,
                    media_type="application/json",
                    value={"move": "go-back", "reason": "Jobs fail on the pool."},
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Make the move, unless somebody moved the plan meanwhile."""
        found, body = self.cluster(), self.body()
        plan = plan_of(found)
        demand_match(request, documents.etag_of(plan))
        make_move(
            found,
            Move(body["move"]),
            version=plan.version,
            reason=body["reason"],
            user=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.shown(found)


class StepList(ClusterView):
    """The record of a plan."""

    operations = {
        "GET": _reading(
            id="listMigrationSteps",
            summary="List who moved a plan, when, why, and what the gate said",
            query=PageParameters,
            answer=serializers.MigrationStep,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of steps, the newest first."""
        return self.newest_first(steps_of(self.cluster()), documents.step_document)
