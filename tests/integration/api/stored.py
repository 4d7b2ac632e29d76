"""What a person has, as the API's tests act on it: a claim request, a token and more."""

from __future__ import annotations

from claims.models import ClaimPlan, ClaimRequest
from portal.accounts.models import ApiToken, User
from portal.accounts.tokens import make_token
from portal.core.secrets import encrypt
from portal.notices.models import Delivery, Notice, Subscription


def make_request(
    public_id, user, cluster, now, *, namespace="ai-training", name="orchid-whole"
):
    """Store an Active request of a person of one tenant for a claim, orchid-whole."""
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": []}},
    }
    plan = ClaimPlan.objects.create(
        cluster=cluster,
        kind="ResourceClaim",
        namespace=namespace,
        name=name,
        manifest=manifest,
        defaulted=manifest,
        digest="sha256:0",
        revision=1,
        created_at=now,
    )
    ClaimRequest.objects.create(
        public_id=public_id,
        requester=user,
        tenant=user.tenants.get(),
        plan=plan,
        state="Active",
        object_uid=f"uid-{name}",
        submission_key=public_id,
        submitted_at=now,
        changed_at=now,
    )


def make_own(public_id, user, now, *, pk, word="x"):
    """Store a person's token, subscription, delivery and service account, named so."""
    token, _secret = make_token(user=user, name=word, scopes=[], days=1, now=now)
    ApiToken.objects.filter(pk=token.pk).update(public_id=public_id)
    row = Subscription.objects.create(
        public_id=public_id,
        person=user,
        name=word,
        channel="webhook",
        created_at=now,
        address_encrypted=encrypt("https://hooks.example.com/"),
        events=[],
    )
    notice = Notice.objects.create(event="claim.active", subject=word, url="/", at=now)
    Delivery.objects.create(
        public_id=public_id,
        notice=notice,
        subscription=row,
        status="failed",
        created_at=now,
        changed_at=now,
    )
    tenant = user.tenants.get()
    User.objects.create(
        pk=pk, username=f"service:{tenant.name}:{word}", service_of=tenant
    )
