"""Budgets, and Kubernetes' own quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample

from claims.api.validating import CLAIM
from claims.services.judging import filed_for
from claims.services.requesting import sound
from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.accounts.queries import tenant_of
from portal.api.matching import ETAG, demand_match
from portal.api.operations import Operation, PageParameters, leads_to
from portal.api.views import ApiView
from portal.budgets.api import documents, serializers
from portal.budgets.domain.quotas import hard_of
from portal.budgets.queries.budgets import visible_to
from portal.budgets.queries.quotas import quotas_for
from portal.budgets.services.editing import FIELDS, change_budget, make_budget
from portal.budgets.services.ledger import rows_of
from portal.budgets.services.previewing import preview_of
from portal.budgets.services.quota_writing import apply_quota, try_quota
from portal.core.keyset import Page, decoded, page_of, rows_after

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from portal.budgets.models import Budget

Json = dict[str, Any]

TAG = "budgets"
_ORDER = ("tenant__name", "cluster", "namespace")


def _limits(body: Json) -> dict[str, int | None]:
    """Return the limits of a body under the names of the model."""
    return {
        name: body[f"{name.partition('_')[0]}{name.partition('_')[2].capitalize()}"]
        for name in FIELDS
    }


class BudgetView(ApiView):
    """A view of one budget, or of all."""

    def visible(self, public_id: UUID) -> Budget:
        """Return a budget that the caller may see.

        Raises:
            Http404: There is none of that id for this caller.
        """
        row = visible_to(self.person).filter(public_id=public_id).distinct().first()
        if row is None:
            raise Http404(_("There is no budget of that id for you."))
        return row

    def shown(self, budget: Budget) -> Response:
        """Return a budget as it stands."""
        [row] = rows_of([budget], now=timezone.now())
        headers = {"ETag": documents.etag_of(budget)}
        return self.answer(documents.budget_document(row), headers=headers)


class BudgetList(BudgetView):
    """The budgets that there are, and new ones."""

    operations = {
        "GET": Operation(
            id="listBudgets",
            summary="List the budgets that you may see, and how they stand",
            tag=TAG,
            scope=Scope.GOVERN_READ,
            query=PageParameters,
            answer=serializers.Budget,
            listed=True,
        ),
        "POST": Operation(
            id="createBudget",
            links=leads_to("getBudget", matched=("changeBudget",)),
            summary="Give a tenant a budget: everywhere, in a cluster or a namespace",
            tag=TAG,
            scope=Scope.GOVERN_WRITE,
            permission=Permission.MANAGE_BUDGETS,
            body=serializers.BudgetBody,
            answer=serializers.Budget,
            status=201,
            bucket="write",
            headers=ETAG,
            problems=(422,),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of budgets by tenant, cluster and namespace."""
        limit = self.wanted["limit"]
        key = decoded(self.wanted["cursor"], (str, str, str))
        rows = rows_after(visible_to(self.person), _ORDER, key)
        page = page_of(
            list(rows[: limit + 1]),
            limit,
            lambda row: (row.tenant.name, row.cluster, row.namespace),
        )
        found = rows_of(page.items, now=timezone.now())
        return self.page(Page(found, page.following), documents.budget_document)

    def post(self, request: Request) -> Response:
        """Make a budget."""
        body = self.body()
        made = make_budget(
            tenant=body["tenant"],
            cluster=body["cluster"],
            namespace=body["namespace"],
            limits=_limits(body),
            user=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.shown(made)


class BudgetDetail(BudgetView):
    """One budget."""

    operations = {
        "GET": Operation(
            id="getBudget",
            summary="Say how a budget stands",
            tag=TAG,
            scope=Scope.GOVERN_READ,
            answer=serializers.Budget,
            headers=ETAG,
        ),
        "PUT": Operation(
            id="changeBudget",
            summary="Set all limits of a budget",
            description="A limit that is left out is none.",
            tag=TAG,
            scope=Scope.GOVERN_WRITE,
            permission=Permission.MANAGE_BUDGETS,
            body=serializers.LimitsBody,
            answer=serializers.Budget,
            bucket="write",
            needs_match=True,
            headers=ETAG,
            problems=(409, 422),
        ),
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return the budget, or 304."""
        return self.shown(self.visible(id))

    def put(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Set its limits, unless somebody did so meanwhile."""
        row = self.visible(id)
        body = self.body()
        demand_match(request, documents.etag_of(row))
        changed = change_budget(
            row,
            version=row.version,
            limits=_limits(body),
            reason=body["reason"],
            user=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.shown(changed)


class QuotaView(ClusterView):
    """The ResourceQuotas of a cluster."""

    operations = {
        "GET": Operation(
            id="getQuotas",
            summary="Say which of Kubernetes' own quotas limit devices in your namespaces",
            tag=TAG,
            scope=Scope.GOVERN_READ,
            answer=serializers.Quotas,
        ),
        "POST": Operation(
            id="applyQuota",
            summary="Try a ResourceQuota from a budget, or write it",
            description="Under your own identity. Without `dryRun: false` it is only"
            " tried, and what would change is said.",
            tag=TAG,
            scope=Scope.GOVERN_WRITE,
            permission=Permission.MANAGE_BUDGETS,
            body=serializers.QuotaBody,
            answer=serializers.QuotaPlan,
            bucket="write",
            problems=(403, 404, 409, 422),
        ),
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the quotas."""
        found = quotas_for(self.person, self.cluster().name)
        document = {
            "known": not found.unread,
            "quotas": [documents.quota_document(row) for row in found.rows],
        }
        return self.answer(document)

    def post(self, request: Request, cluster: str) -> Response:
        """Try it, or write it."""
        found, body = self.cluster(), self.body()
        budget = visible_to(self.person).filter(public_id=body["budget"]).first()
        if budget is None:
            raise Http404(_("There is no budget of that id for you."))
        hard = hard_of(body["devices"], body["claims"])
        where = (budget, found, body["namespace"], hard)
        if body["dryRun"]:
            return self.answer(documents.plan_document(try_quota(*where, self.person)))
        made = apply_quota(
            *where,
            seen=body["resourceVersion"],
            user=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.answer(documents.applied_document(made))


class QuotaPreviewView(ClusterView):
    """What a claim would take of budgets and quotas."""

    operations = {
        "POST": Operation(
            id="previewQuota",
            summary="Say what a claim would take of budgets and quotas",
            description="Nothing is booked. Of a template, it is what each of its claims"
            " would be charged; Kubernetes charges templates nothing.",
            tag="validate",
            scope=Scope.CLAIMS_CHECK,
            permission=Permission.COMPOSE,
            body=serializers.QuotaPreviewBody,
            answer=serializers.QuotaPreview,
            bucket="check",
            problems=(403, 422),
            examples=(
                OpenApiExample(
                    "One GPU",
                    request_only=True,
                    media_type="application/json",
                    value={"manifest": CLAIM},
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the figures."""
        found, body = self.cluster(), self.body()
        manifest = sound(body["manifest"])
        namespace = manifest["metadata"]["namespace"]
        filed_for(self.person, found, [manifest], namespace=namespace)
        tenant = tenant_of(found.name, namespace)
        if tenant and not visible_tenant(self, tenant.pk):
            tenant = None
        asked = preview_of(
            found, manifest, tenant, now=timezone.now(), until=body["endsAt"]
        )
        return self.answer(documents.preview_document(asked))


def visible_tenant(view: ApiView, key: int) -> bool:
    """Return whether the caller may see figures of a tenant."""
    person = view.person
    return (
        person.may(Permission.SEE_ALL_CLAIMS) or person.tenants.filter(pk=key).exists()
    )
