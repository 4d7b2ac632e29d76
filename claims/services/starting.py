"""The demo's own control: start a small pod that uses an active request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from claims.domain.lifecycle import State
from claims.domain.manifest import named_by_pods
from claims.domain.pod import demo_pod
from claims.services.acting import as_requester
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.models import ClaimRequest


class NotActive(PortalError):
    """There is nothing that a pod could use."""

    code = "pod.request_not_active"


def start_pod(claim_request: ClaimRequest) -> str:
    """Create a pod that uses the request's object, as its requester; return its name.

    Raises:
        NotActive: The object is not there.
        KubeError: The API server says no.
    """
    if claim_request.state != State.ACTIVE:
        raise NotActive(
            _("A pod needs an active request; this one is %(state)s.")
            % {"state": claim_request.state}
        )
    plan = claim_request.plan
    kind, name = named_by_pods(plan.manifest)
    pod = demo_pod(kind, name, plan.namespace, str(claim_request.public_id))
    return str(as_requester(claim_request).create(pod)["metadata"]["name"])
