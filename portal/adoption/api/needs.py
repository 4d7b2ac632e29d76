"""What whole cards strand, and what workloads need of them, over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample

from inventory.api.base import ClusterView
from inventory.domain.quantity import GIB
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.adoption.api import needs_serializers as serializers
from portal.adoption.queries.savings import savings_in
from portal.adoption.services.needs import ask_owners, tell_need, workload_uses
from portal.adoption.services.peaks import peaks_of
from portal.api.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rest_framework.request import Request
    from rest_framework.response import Response

    from portal.adoption.domain.savings import Pools, ProductSaving, Workload
    from portal.adoption.services.needs import WorkloadUse

Json = dict[str, Any]
_CHAT = {"namespace": "ai-serving", "kind": "Deployment", "name": "chat"}


def _example(name: str, value: Json) -> tuple[OpenApiExample, ...]:
    return (
        OpenApiExample(
            name, request_only=True, media_type="application/json", value=value
        ),
    )


class SavingsView(ClusterView):
    """What a cluster would save."""

    operations = {
        "GET": Operation(
            id="getSavings",
            summary="Say what pods on whole cards hold and need, and which pools collapse",
            description="Of pods that a device plugin serves. A pod whose need nobody"
            " told is in no sum: `unknownPods` counts it, and what is stranded is then"
            " at least that.",
            scope=Scope.TENANTS_READ,
            permission=Permission.SEE_HOLDERS,
            tag="adoption",
            answer=serializers.Savings,
            bucket="check",
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the sums by product, and the pools."""
        row = self.cluster()
        found = savings_in(row, peaks_of(row).of)
        return self.answer(
            {
                "cluster": row.name,
                "revision": row.revision,
                "complete": found.is_seen,
                "products": [_product(each) for each in found.products],
                "pools": _pools(found.pools),
            }
        )


class NeedList(ClusterView):
    """Workloads on whole cards."""

    operations = {
        "GET": Operation(
            id="listWorkloadNeeds",
            summary="List workloads on whole cards, and what they need of each",
            description="Those of your namespaces; of all with the right to see who"
            " holds what.",
            scope=Scope.CLAIMS_READ,
            permission=None,
            tag="adoption",
            answer=serializers.WorkloadNeeds,
            bucket="check",
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the workloads, the most cards first."""
        row = self.cluster()
        uses = workload_uses(row, self.person)
        return self.answer(
            {
                "cluster": row.name,
                "complete": row.sees("Pod", "Node"),
                "workloads": [_workload(each) for each in uses],
            }
        )


class QuestionView(ClusterView):
    """Questions to owners."""

    operations = {
        "POST": Operation(
            id="askWorkloadNeeds",
            summary="Ask the owners of workloads how much memory they need",
            description="The members of each namespace's tenant get a notice.",
            scope=Scope.INVENTORY_WRITE,
            permission=Permission.MANAGE_CLUSTERS,
            tag="adoption",
            body=serializers.QuestionBody,
            answer=serializers.Question,
            bucket="write",
            problems=(422,),
            examples=_example("One workload", {"workloads": [_CHAT]}),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Ask."""
        count, orphans = ask_owners(
            self.cluster(),
            [_key(each) for each in self.body()["workloads"]],
            user=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.answer({"asked": count, "withoutTenant": list(orphans)})


class AnswerView(ClusterView):
    """Answers of owners."""

    operations = {
        "POST": Operation(
            id="tellWorkloadNeed",
            summary="Say how much memory of each card a workload of yours needs",
            description="Counts in η from then on, after a pod's own annotation and"
            " before what was measured. Whoever asked is told.",
            scope=Scope.CLAIMS_WRITE,
            permission=Permission.COMPOSE,
            tag="adoption",
            body=serializers.AnswerBody,
            answer=serializers.Answer,
            bucket="write",
            problems=(403, 409, 422),
            examples=_example(
                "12 GiB of each card", {**_CHAT, "memoryBytes": 12 * GIB, "version": 1}
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Keep the answer."""
        body = self.body()
        row = tell_need(
            self.cluster(),
            _key(body),
            body["memoryBytes"],
            version=body["version"],
            user=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.answer(
            {
                "namespace": row.namespace,
                "kind": row.kind,
                "name": row.name,
                "memoryBytes": row.memory,
                "toldBy": row.told_by,
                "toldAt": row.told_at,
                "version": row.version,
            }
        )


def _key(body: Mapping[str, str]) -> Workload:
    return body["namespace"], body["kind"], body["name"]


def _product(each: ProductSaving) -> Json:
    known = bool(each.held)
    return {
        "product": each.product or None,
        "pods": each.pods,
        "cards": each.cards,
        "unknownPods": each.unknown_pods,
        "heldBytes": each.held if known else None,
        "neededBytes": each.needed if known else None,
        "strandedBytes": each.stranded,
        "efficiency": each.efficiency,
        "wholeCards": each.whole_cards,
    }


def _pools(found: Pools) -> Json:
    return {
        "axes": {key: list(values) for key, values in found.axes.items()},
        "possible": found.possible,
        "present": found.present,
        "selected": found.selected,
        "hardware": found.hardware,
    }


def _workload(each: WorkloadUse) -> Json:
    row = each.row
    return {
        "namespace": each.namespace,
        "kind": each.kind,
        "name": each.name,
        "pods": each.pods,
        "cards": each.cards,
        "products": list(each.products),
        "cardMemoryBytes": each.card_memory,
        "needBytes": each.need,
        "needSource": each.source or None,
        "askedBy": (row.asked_by if row else "") or None,
        "askedAt": row.asked_at if row else None,
        "toldBy": (row.told_by if row else "") or None,
        "toldAt": row.told_at if row else None,
        "version": each.version,
    }
