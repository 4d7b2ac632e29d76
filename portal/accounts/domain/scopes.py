"""What an API token may be used for; its owner's rights still bound it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from portal.accounts.domain.roles import Permission

if TYPE_CHECKING:
    from collections.abc import Iterable


class Scope(StrEnum):
    """A purpose of a token; the spelling is stored and part of the API."""

    INVENTORY_READ = "inventory:read"
    INVENTORY_WRITE = "inventory:write"
    CLAIMS_CHECK = "claims:check"
    CLAIMS_READ = "claims:read"
    CLAIMS_WRITE = "claims:write"
    TENANTS_READ = "tenants:read"
    APPROVALS_READ = "approvals:read"
    APPROVALS_DECIDE = "approvals:decide"
    GOVERN_READ = "govern:read"
    GOVERN_WRITE = "govern:write"
    PEOPLE_READ = "people:read"
    PEOPLE_WRITE = "people:write"
    AUDIT_READ = "audit:read"
    NOTICES_READ = "notices:read"
    NOTICES_WRITE = "notices:write"
    METRICS_READ = "metrics:read"


# What a scope lets through of its owner's permissions. Names of other tenants'
# claims need TENANTS_READ, whatever else a token has.
GRANTS: dict[Scope, frozenset[Permission]] = {
    Scope.INVENTORY_READ: frozenset({Permission.SEE_INVENTORY}),
    Scope.INVENTORY_WRITE: frozenset(
        {Permission.SEE_INVENTORY, Permission.MANAGE_CLUSTERS}
    ),
    Scope.CLAIMS_CHECK: frozenset({Permission.COMPOSE}),
    Scope.CLAIMS_READ: frozenset(),
    Scope.CLAIMS_WRITE: frozenset({Permission.COMPOSE}),
    Scope.TENANTS_READ: frozenset({Permission.SEE_HOLDERS, Permission.SEE_ALL_CLAIMS}),
    Scope.APPROVALS_READ: frozenset({Permission.SEE_EXPOSURE}),
    Scope.APPROVALS_DECIDE: frozenset({Permission.DECIDE}),
    Scope.GOVERN_READ: frozenset(),
    Scope.GOVERN_WRITE: frozenset(
        {
            Permission.MANAGE_BUDGETS,
            Permission.MANAGE_POLICY,
            Permission.MANAGE_ADMISSION,
            Permission.MANAGE_PRESETS,
        }
    ),
    Scope.PEOPLE_READ: frozenset({Permission.MANAGE_PEOPLE}),
    Scope.PEOPLE_WRITE: frozenset({Permission.MANAGE_PEOPLE}),
    Scope.AUDIT_READ: frozenset({Permission.SEE_AUDIT}),
    Scope.NOTICES_READ: frozenset(),
    Scope.NOTICES_WRITE: frozenset(),
    Scope.METRICS_READ: frozenset({Permission.SEE_METRICS}),
}


def permissions_within(scopes: Iterable[str]) -> frozenset[Permission]:
    """Return the permissions that scopes let through; one that is no more is none."""
    known = {scope.value: scope for scope in Scope}
    return frozenset().union(
        *(GRANTS[known[scope]] for scope in scopes if scope in known)
    )
