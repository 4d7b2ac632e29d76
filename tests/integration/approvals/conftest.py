"""Requests for administrative access against an API server that answers for real."""

from __future__ import annotations

import datetime as dt
import uuid
from contextlib import suppress

import pytest
from django.utils import timezone

from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import NotFound
from tests.integration.claims import conftest as claims
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    admin,
    cluster,
    kubeconfigs,
)
from tests.integration.claims.objects import manifest_of

SPACE = "gpu-monitoring"
KINDS = ("Pod", "ResourceClaim", "ResourceClaimTemplate")


@pytest.fixture
def observe(cluster, admin):  # noqa: F811
    """Return a function that does what the watcher does, once, namespaces too."""

    def do():
        kinds = (*claims.OBSERVED, "Namespace", "ResourceSlice")
        claims.observe_now(cluster, admin, kinds)
        cluster.refresh_from_db()

    do()
    return do


@pytest.fixture
def ada(ada, cluster):  # noqa: F811
    """Return Ada, whose tenant also has the labelled namespace."""
    from portal.accounts.models import TenantNamespace

    tenant = ada.tenants.get()
    TenantNamespace.objects.create(tenant=tenant, cluster="demo", namespace=SPACE)
    return ada


@pytest.fixture
def asked(cluster, ada, observe):  # noqa: F811
    """Return a function that asks, as Ada, for administrative access for an hour."""
    from claims.services.submit import submit

    def do(*, user=ada, hours=1.0, justification="Watch XID errors.", key=None, **more):
        now = timezone.now()
        more = {"allocationMode": "All", "adminAccess": True, **more}
        return submit(
            user=user,
            cluster=cluster,
            manifest=manifest_of(namespace=SPACE, **more),
            preview=None,
            submission_key=key or uuid.uuid4(),
            request_id="asked-id",
            now=now,
            justification=justification,
            ends_at=now + dt.timedelta(hours=hours) if hours else None,
        )

    return do


@pytest.fixture
def say(ben, dora):
    """Return a function with which somebody decides about a request."""
    from portal.approvals.models import Approval
    from portal.approvals.services.deciding import decide

    def do(claim_request, person, verdict="approve", reason="", digest=None, now=None):
        approval = Approval.objects.select_related("claim_request__plan").get(
            claim_request=claim_request
        )
        decide(
            approval,
            user=person,
            verdict=verdict,
            reason=reason,
            digest=approval.digest if digest is None else digest,
            request_id="said-id",
            now=now or timezone.now(),
        )
        claim_request.refresh_from_db()
        return claim_request

    return do


@pytest.fixture
def granted(asked, say, ben, dora, observe):
    """Return a function that has a request approved by two and applied."""
    from claims.services.working import work_on

    def do(**more):
        claim_request = asked(**more)
        say(claim_request, ben)
        say(claim_request, dora)
        assert claim_request.state == "Approved"
        assert work_on(claim_request.pk, now=timezone.now())
        claim_request.refresh_from_db()
        assert claim_request.state == "Active", claim_request.message
        observe()
        return claim_request

    return do


@pytest.fixture(autouse=True)
def clean(request):
    """Leave nothing behind in the labelled namespace."""
    yield
    if "admin" not in request.fixturenames:
        return
    server = request.getfixturevalue("admin")
    for kind in KINDS:
        for body in server.list(BY_NAME[kind], SPACE).items:
            with suppress(NotFound):
                server.delete(
                    BY_NAME[kind], body["metadata"]["name"], SPACE, gracePeriodSeconds=0
                )
