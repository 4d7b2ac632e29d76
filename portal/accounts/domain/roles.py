"""Roles and what each may do: one table, read by views, commands and tests."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A portal-wide role. Being a member of a tenant is not one of them."""

    APPROVER = "approver"
    ADMIN = "admin"
    AUDITOR = "auditor"


class Permission(StrEnum):
    """Something that a view may demand."""

    SEE_INVENTORY = "inventory.see"
    SEE_HOLDERS = "inventory.see-holders"
    MANAGE_CLUSTERS = "inventory.manage-clusters"
    COMPOSE = "claims.compose"
    SEE_ALL_CLAIMS = "claims.see-all"
    DECIDE = "approvals.decide"
    SEE_AUDIT = "audit.see"
    SEE_EXPOSURE = "exposure.see"
    MANAGE_BUDGETS = "budgets.manage"
    MANAGE_ADMISSION = "admission.manage"
    MANAGE_POLICY = "policy.manage"
    SEE_METRICS = "metrics.see"
    MANAGE_PRESETS = "presets.manage"
    MANAGE_PEOPLE = "people.manage"


EVERYONE = frozenset({Permission.SEE_INVENTORY, Permission.COMPOSE})
GRANTS: dict[Role, frozenset[Permission]] = {
    Role.APPROVER: frozenset(
        {
            Permission.DECIDE,
            Permission.SEE_EXPOSURE,
            Permission.SEE_HOLDERS,
            Permission.SEE_ALL_CLAIMS,
        }
    ),
    Role.ADMIN: frozenset(
        {
            Permission.MANAGE_CLUSTERS,
            Permission.MANAGE_PEOPLE,
            Permission.MANAGE_BUDGETS,
            Permission.MANAGE_ADMISSION,
            Permission.MANAGE_POLICY,
            Permission.MANAGE_PRESETS,
            Permission.SEE_METRICS,
            Permission.SEE_HOLDERS,
            Permission.SEE_ALL_CLAIMS,
            Permission.SEE_AUDIT,
            Permission.SEE_EXPOSURE,
            Permission.DECIDE,
        }
    ),
    Role.AUDITOR: frozenset(
        {
            Permission.SEE_METRICS,
            Permission.SEE_AUDIT,
            Permission.SEE_EXPOSURE,
            Permission.SEE_HOLDERS,
            Permission.SEE_ALL_CLAIMS,
        }
    ),
}


def permissions_of(roles: list[str]) -> frozenset[Permission]:
    """Return what a signed-in person with these roles may do."""
    return EVERYONE.union(*(GRANTS[Role(role)] for role in roles))
