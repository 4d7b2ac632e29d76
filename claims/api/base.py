"""What operations on claims have in common, and how refusals name their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from claims.domain.pointers import pointer_of
from claims.services.requesting import ChecksRefused
from claims.services.submit import SubmitRefused
from inventory.gateways.errors import Invalid
from inventory.services.unseen import unseen_sentences
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.operations import Operation
from portal.api.problems import ApiProblem, error_at
from portal.core.errors import PortalError
from portal.core.freshness import stale_sentence
from portal.core.problems import status_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.models import Cluster

Json = dict[str, Any]

# Members that stand beside the manifest in the body of a submit.
_BESIDE = {
    "justification": "#/justification",
    "hours": "#/endsAt",
    "revises": "#/revises",
    "preset": "#/preset",
}


def judging(**more: Any) -> Operation:
    """Return an operation that validates and changes nothing."""
    return Operation(
        scope=Scope.CLAIMS_CHECK,
        permission=Permission.COMPOSE,
        tag="validate",
        bucket="check",
        problems=(422,),
        **more,
    )


def age_of(cluster: Cluster) -> Json:
    """Return when the cluster that was asked was last read, and what of it is not seen."""
    stale = stale_sentence(cluster, now=timezone.now())
    return {
        "heardAt": cluster.heard_at,
        "stale": stale or None,
        "unseen": unseen_sentences(cluster),
    }


def refused(error: PortalError) -> ApiProblem:
    """Return a refused submit as a problem that names each place in the manifest."""
    status = status_of(error)
    if isinstance(error, ChecksRefused) and status == 503:
        status = 422
    return ApiProblem(
        status,
        error.code,
        error.message,
        errors=_places(error),
        headers={"Retry-After": "2"} if status == 503 else None,
    )


def _places(error: PortalError) -> Iterator[Json]:
    if isinstance(error, ChecksRefused):
        for each in error.findings:
            yield error_at(
                "pointer",
                _pointer(each.path),
                each.code,
                each.message,
                line=each.line,
                column=each.column,
            )
    elif isinstance(error, SubmitRefused):
        for path in error.paths:
            yield error_at("pointer", _pointer(path), error.code, error.message)
    elif isinstance(error, Invalid):
        for cause in error.causes:
            yield error_at("pointer", _pointer(cause.field), error.code, cause.message)


def _pointer(path: str) -> str:
    return _BESIDE.get(path) or f"#/manifest{pointer_of(path)}"
