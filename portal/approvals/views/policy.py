"""The policy in force, for everybody, and its versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_GET

from portal.approvals.models import PolicySet
from portal.approvals.queries.policies import deciders, policy_in_force

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@require_GET
def policy_detail(request: PortalRequest) -> HttpResponse:
    """Show the rules in the order in which they are tried."""
    policy = policy_in_force()
    rules = [
        (rule, json.dumps(_conditions(rule.document()), indent=1))
        for rule in policy.rules
    ]
    context = {
        "nav": "policy",
        "policy": policy,
        "rules": rules,
        "people": deciders(),
        "versions": PolicySet.objects.order_by("-version")[:50],
    }
    return render(request, "approvals/policy_detail.html", context)


def _conditions(document: dict[str, object]) -> dict[str, object]:
    shown = {"name", "effect", "approvals", "role", "max_hours", "decide_within_hours"}
    return {key: value for key, value in document.items() if key not in shown}
