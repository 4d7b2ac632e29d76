"""A claim request as the API's tests act on it."""

from __future__ import annotations

from claims.models import ClaimPlan, ClaimRequest


def make_request(public_id, user, cluster, now):
    """Store an Active request of a person of one tenant for orchid-whole."""
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "orchid-whole", "namespace": "ai-training"},
        "spec": {"devices": {"requests": []}},
    }
    plan = ClaimPlan.objects.create(
        cluster=cluster,
        kind="ResourceClaim",
        namespace="ai-training",
        name="orchid-whole",
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
        object_uid="uid-orchid-whole",
        submission_key=public_id,
        submitted_at=now,
        changed_at=now,
    )
