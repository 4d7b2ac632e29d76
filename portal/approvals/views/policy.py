"""The policy in force, for everybody; for admins, the form of another."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.models import Tenant
from portal.approvals.domain.policy import DAYS, DECIDERS, Asked, Policy, judge
from portal.approvals.models import PolicySet
from portal.approvals.queries.policies import deciders, policy_in_force
from portal.approvals.services.drafting import documents_of, edited, rows_of
from portal.approvals.services.policies import (
    PolicyRefused,
    read_rules,
    store_policy,
    would_change,
)
from portal.approvals.services.wording import ruling_sentences
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpResponse

    from portal.approvals.domain.policy import Rule
    from portal.core.http import PortalRequest

Json = dict[str, Any]

SHOWN_CHANGES = 50
EXAMPLE = ("cluster", "namespace", "tenant", "classes", "devices", "gib", "hours")


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
        "may_change": request.user.may(Permission.MANAGE_POLICY),
    }
    return render(request, "approvals/policy_detail.html", context)


def _conditions(document: dict[str, object]) -> dict[str, object]:
    shown = {"name", "effect", "approvals", "role", "group"}
    shown |= {"max_hours", "decide_within_hours"}
    return {key: value for key, value in document.items() if key not in shown}


@requires(Permission.MANAGE_POLICY)
@require_http_methods(["GET", "POST"])
def policy_edit(request: PortalRequest) -> HttpResponse:
    """Show the rules as a form; edit, try, or put them in force as a new version."""
    if request.method == "GET":
        policy = policy_in_force()
        documents = [rule.document() for rule in policy.rules]
        return _shown(request, documents, seen=policy.version)
    posted = request.POST.dict()
    documents, action = documents_of(posted), posted.get("action", "try")
    seen = int(posted["seen"]) if posted.get("seen", "").isdecimal() else -1
    if action == "take":
        return _taken(request, documents, posted, seen)
    if action not in ("try", "store"):
        return _shown(request, edited(documents, action), seen=seen, posted=posted)
    return _judged(request, documents, posted, seen)


def _judged(
    request: PortalRequest, documents: list[Json], posted: Mapping[str, str], seen: int
) -> HttpResponse:
    """Try the rules, or put them in force; a refusal is said, and what was typed stays."""
    try:
        rules = read_rules(documents)
        if posted.get("action") == "store":
            return _stored(request, rules, posted, seen)
    except PortalError as error:
        status = 422 if isinstance(error, PolicyRefused) else 409
        return _shown(
            request,
            documents,
            seen=seen,
            posted=posted,
            problem=error.message,
            status=status,
        )
    return _shown(
        request, documents, seen=seen, posted=posted, tried=_try(rules, posted)
    )


def _taken(
    request: PortalRequest, documents: list[Json], posted: Mapping[str, str], seen: int
) -> HttpResponse:
    """Fill the form from JSON, or say why not, losing nothing."""
    text = posted.get("json", "")
    try:
        found = json.loads(text)
        read_rules(found)
    except (ValueError, PolicyRefused) as error:
        said = error.message if isinstance(error, PolicyRefused) else str(error)
        return _shown(
            request,
            documents,
            seen=seen,
            posted=posted,
            problem=_("The JSON cannot be used: %(why)s") % {"why": said},
            text=text,
            status=422,
        )
    return _shown(request, found, seen=seen, posted=posted)


def _stored(
    request: PortalRequest,
    rules: tuple[Rule, ...],
    posted: Mapping[str, str],
    seen: int,
) -> HttpResponse:
    made = store_policy(
        rules,
        by=request.user.username,
        note=posted.get("note", "").strip()[:2000],
        now=timezone.now(),
        seen=seen,
        request_id=request.request_id,
    )
    text = _("Policy version %(version)s is in force.") % {"version": made.version}
    messages.success(request, text)
    return HttpResponseRedirect(reverse("approvals:policy-detail"))


@dataclass(frozen=True, slots=True)
class Tried:
    """What other rules would have meant, and would mean for an example."""

    total: int
    changed: list[Any]
    more: int
    sentences: tuple[str, ...]


def _try(rules: tuple[Rule, ...], posted: Mapping[str, str]) -> Tried:
    total, changed = would_change(rules, now=timezone.now())
    return Tried(
        total,
        changed[:SHOWN_CHANGES],
        max(0, len(changed) - SHOWN_CHANGES),
        _example(rules, posted),
    )


def _example(rules: tuple[Rule, ...], posted: Mapping[str, str]) -> tuple[str, ...]:
    """Return who would have to approve the example, and why."""
    asked = Asked(
        cluster=posted.get("example-cluster", ""),
        namespace=posted.get("example-namespace", ""),
        tenant=posted.get("example-tenant", ""),
        device_classes=frozenset(
            part.strip() for part in posted.get("example-classes", "").split(",")
        ),
        devices=int(_number(posted.get("example-devices")) or 1),
        gib=_number(posted.get("example-gib")),
        hours=_number(posted.get("example-hours")),
        admin_access=bool(posted.get("example-admin")),
        at=timezone.localtime(),
    )
    policy = Policy(policy_in_force().version + 1, rules)
    judgement = judge(policy, asked)
    rule = judgement.rule
    people = [person.username for person in deciders(rule.role, rule.group)]
    return ruling_sentences(policy, judgement, people)


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _shown(  # noqa: PLR0913  each is one fact of the page
    request: PortalRequest,
    documents: list[Json],
    *,
    seen: int,
    posted: Mapping[str, str] | None = None,
    problem: str = "",
    text: str = "",
    tried: Tried | None = None,
    status: int = 200,
) -> HttpResponse:
    given = posted or {}
    context = {
        "nav": "policy",
        "rows": rows_of(documents),
        "json": text or json.dumps(documents, indent=1, ensure_ascii=False),
        "seen": seen,
        "note": given.get("note", ""),
        "example": {name: given.get(f"example-{name}", "") for name in EXAMPLE},
        "example_admin": bool(given.get("example-admin")),
        "problem": problem,
        "tried": tried,
        "roles": DECIDERS,
        "teams": list(Tenant.objects.order_by("name").values_list("name", flat=True)),
        "days": ", ".join(DAYS),
    }
    return render(request, "approvals/policy_form.html", context, status=status)
