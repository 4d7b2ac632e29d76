"""No answer to one tenant names another: every address that can be read is asked.

The addresses come from the URL conf, as in test_permissions. Streams of events do not
end, and have tests of their own (tests/integration/notices/test_streaming.py).
"""

from __future__ import annotations

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from inventory.models import Device, KubeObject, SavedView
from portal.accounts.domain.scopes import Scope
from portal.accounts.models import User
from portal.accounts.tokens import make_token
from portal.approvals.domain.policy import Effect, Rule
from portal.approvals.models import Approval, Decision, Extension, IdleClaim
from portal.budgets.models import Budget
from portal.notices.models import Notice, Receipt
from tests.integration.api.test_permissions import (  # noqa: F401  world: a fixture
    CLAIM_PARTS,
    PARTS,
    PUBLIC_ID,
    ROUTES,
    filled,
    world,
)

# Neither is the API's document, which is one for all and names what it makes up.
LEFT_OUT = frozenset({"events", "api:events", "api:openapi"})
# Everything of orchid's has one of these in its name.
NAMES = ("orchid", "ai-serving", "ai-training", "violet", "ada@")
# What is asked at the same address beside the plain page.
QUERIES = ("", "?q=whole", "?tab=all", "?by=tenant", "?mine=on")


@pytest.fixture
def orchid(world):  # noqa: F811
    """Let orchid have one of everything that a page or the API could tell."""
    from claims.models import ClaimRequest

    now = timezone.now()
    ada, row = world["ada"], ClaimRequest.objects.get(public_id=PUBLIC_ID)
    tenant, cluster = ada.tenants.get(), row.plan.cluster
    approval = Approval.objects.create(
        claim_request=row,
        digest=row.plan.digest,
        policy_version=0,
        rule=Rule(name="violet-rule", effect=Effect.APPROVE).document(),
        needed=2,
        decide_by=now,
        created_at=now,
    )
    Decision.objects.create(
        approval=approval,
        person=world["ben"],
        verdict="approve",
        reason="violet-reason",
        digest=row.plan.digest,
        decided_at=now,
    )
    Extension.objects.create(
        claim_request=row,
        until=now,
        reason="violet-extension",
        rule={},
        needed=1,
        decide_by=now,
        asked_at=now,
    )
    for number, claim_request in enumerate((row, None)):
        IdleClaim.objects.create(
            cluster=cluster,
            namespace="ai-training",
            name=f"violet-idle-{number}",
            uid=f"uid-violet-{number}",
            claim_request=claim_request,
            since=now,
        )
    Budget.objects.create(
        public_id=PUBLIC_ID,
        tenant=tenant,
        cards_hard=7,
        changed_by=ada.username,
        changed_at=now,
    )
    notice = Notice.objects.create(
        event="claim.active", subject="violet-subject", tenant=tenant, url="/", at=now
    )
    Receipt.objects.create(notice=notice, person=ada)
    SavedView.objects.create(user=ada, name="violet-view", query="q=violet")
    claim, pod = "orchid-whole", "violet-pod"
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod, "namespace": "ai-training", "uid": f"u-{pod}"},
        "spec": {
            "nodeName": "violet-free",
            "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}],
            "containers": [],
        },
        "status": {"phase": "Running"},
    }
    KubeObject.objects.create(
        cluster=cluster,
        kind="Pod",
        namespace="ai-training",
        name=pod,
        uid=f"u-{pod}",
        resource_version="0",
        body=body,
        revision=cluster.revision,
        seen_at=now,
    )
    return world


def addresses():
    """Yield (route, address) of everything that is read, orchid's own things too."""
    devices = [
        {"driver": row.driver, "pool": row.pool, "name": row.name}
        for row in Device.objects.filter(cluster__name="demo")[:60]
    ]
    named = [
        {**CLAIM_PARTS, "name": name} for name in ("orchid-whole", "orchid", "violet")
    ]
    for route, pattern in sorted(ROUTES.items()):
        if route in LEFT_OUT:
            continue
        seen = set()
        for parts in (PARTS, *named, *({**PARTS, **each} for each in devices)):
            path = filled(pattern, parts)
            if path not in seen:
                seen.add(path)
                yield route, path


def told(answer, address):
    """Return all that an answer says, without the address that was asked itself."""
    parts = answer.streaming_content if answer.streaming else [answer.content]
    text = b"".join(parts).decode(errors="replace")
    heads = "\n".join(f"{name}: {value}" for name, value in answer.items())
    for own in {address, address.replace("&", "&amp;"), *address.split("/")}:
        if any(name in own for name in NAMES):
            text, heads = text.replace(own, ""), heads.replace(own, "")
    return heads + text


def leaks(person, *, token):
    """Yield (address, name) of every name that the person is told and must not be."""
    client = Client(headers={"Authorization": f"Bearer {token}"} if token else {})
    if not token:
        client.force_login(person)
    for route, address in addresses():
        if bool(token) != route.startswith("api:"):
            continue
        for query in QUERIES if address.count("/") < 6 else QUERIES[:1]:
            with transaction.atomic():
                answer = client.get(address + query)
                text = told(answer, address)
                transaction.set_rollback(True)
            assert answer.status_code < 500, address
            yield from (
                (address + query, name) for name in NAMES if name in text.lower()
            )


@pytest.mark.parametrize("by", ["session", "token"])
def test_nothing_that_is_read_names_another_tenant(by, orchid):
    cleo = orchid["cleo"]
    token = ""
    if by == "token":
        scopes = [scope.value for scope in Scope]
        made = make_token(
            user=cleo, name="x", scopes=scopes, days=1, now=timezone.now()
        )
        token = made[1]

    assert list(leaks(cleo, token=token)) == []


def test_the_scan_would_see_a_leak(orchid):
    auditor = User.objects.get(username="eli@audit")

    found = {name for _address, name in leaks(auditor, token="")}

    assert found == set(NAMES)
