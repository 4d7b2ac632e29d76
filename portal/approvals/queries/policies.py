"""Reads about the policy in force and who may decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portal.accounts.domain.roles import GRANTS, Permission
from portal.accounts.models import User
from portal.approvals.domain.policy import BUILT_IN, Policy, Rule
from portal.approvals.models import PolicySet

if TYPE_CHECKING:
    from django.db.models import QuerySet


def policy_in_force() -> Policy:
    """Return the newest version, or the built-in policy; two queries."""
    newest = PolicySet.objects.order_by("-version").first()
    if newest is None:
        return BUILT_IN
    documents = newest.rules.order_by("position").values_list("document", flat=True)
    rules = tuple(Rule.from_document(document) for document in documents)
    return Policy(newest.version, rules)


def deciders(role: str = "", group: str = "") -> QuerySet[User]:
    """Return the people who may decide, by name; of one role and tenant where named."""
    allowed = [str(each) for each, may in GRANTS.items() if Permission.DECIDE in may]
    rows = User.objects.filter(is_active=True, roles__overlap=allowed)
    if role:
        rows = rows.filter(roles__contains=[role])
    if group:
        rows = rows.filter(tenants__name=group)
    return rows.order_by("username")


def deciders_about(requester: User, role: str = "", group: str = "") -> QuerySet[User]:
    """Return the people who may decide about what an account asks; never about their own.

    What a team's service account asks is its members' own, for any of them may have
    had it ask.
    """
    rows = deciders(role, group).exclude(pk=requester.pk)
    if requester.service_of_id is None:
        return rows
    return rows.exclude(tenants=requester.service_of_id)
