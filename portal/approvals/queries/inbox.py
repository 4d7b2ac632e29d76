"""Reads about approvals: whose turn it is, what was asked, what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q, QuerySet

from claims.domain.lifecycle import State
from portal.accounts.domain.roles import Permission
from portal.approvals.models import Approval, Decision, Extension

if TYPE_CHECKING:
    from portal.accounts.models import User

TABS = ("review", "mine", "all")


def _addressed_to(user: User) -> Q:
    """Return what leaves approvals and extensions of the person's role and tenants."""
    tenants = list(user.tenants.values_list("name", flat=True))
    of_role = Q(role="") | Q(role__in=user.roles)
    return of_role & (Q(rule__group__isnull=True) | Q(rule__group__in=tenants))


def _of_their_own(user: User) -> Q:
    """Return what a person, or a service account of a team of theirs, asked."""
    teams = user.tenants.values("pk")
    return Q(claim_request__requester=user) | Q(
        claim_request__requester__service_of__in=teams
    )


def visible_to(user: User) -> QuerySet[Approval]:
    """Return the approvals that a person may look at, newest first."""
    rows = Approval.objects.select_related(
        "claim_request__plan__cluster",
        "claim_request__requester",
        "claim_request__tenant",
    ).order_by("-created_at", "-pk")
    if user.may(Permission.SEE_ALL_CLAIMS):
        return rows
    return rows.filter(claim_request__requester=user)


def waiting_for(user: User) -> QuerySet[Approval]:
    """Return the open approvals that this person may still decide, oldest first."""
    rows = visible_to(user).order_by("decide_by", "pk")
    if not user.may(Permission.DECIDE):
        return rows.none()
    decided = Decision.objects.filter(
        approval=OuterRef("pk"), digest=OuterRef("digest"), person=user
    )
    return (
        rows.filter(is_open=True, claim_request__state=State.PENDING_APPROVAL)
        .filter(_addressed_to(user))
        .exclude(_of_their_own(user))
        .exclude(Exists(decided))
    )


def extensions_for(user: User) -> QuerySet[Extension]:
    """Return the open extensions that this person may still decide, oldest first."""
    rows = Extension.objects.select_related(
        "claim_request__plan__cluster", "claim_request__requester"
    ).order_by("decide_by", "pk")
    if not user.may(Permission.DECIDE):
        return rows.none()
    return (
        rows.filter(state=Extension.State.OPEN)
        .filter(_addressed_to(user))
        .exclude(_of_their_own(user))
        .exclude(words__person=user)
    )


def in_tab(user: User, tab: str) -> QuerySet[Approval]:
    """Return the approvals of one tab of the inbox."""
    if tab == "review":
        return waiting_for(user)
    rows = visible_to(user)
    return rows.filter(claim_request__requester=user) if tab == "mine" else rows
