"""People, tenants and what each may do."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import Error, register


class AccountsConfig(AppConfig):
    """The accounts app."""

    name = "portal.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Have `manage.py check` read the settings of accounts."""
        register(second_factor_roles)


def second_factor_roles(**_options: Any) -> list[Error]:
    """Return an error for each role that there is none of: it would ask of nobody."""
    from portal.accounts.domain.roles import Role
    from portal.accounts.second_factor import EVERYONE

    known = [*(role.value for role in Role), EVERYONE]
    return [
        Error(
            f"SLICEWISE_SECOND_FACTOR_ROLES names “{name}”, which is no role.",
            hint=f"Use {', '.join(known)}, comma separated.",
            id="accounts.E001",
        )
        for name in settings.SLICEWISE_SECOND_FACTOR_ROLES
        if name not in known
    ]
