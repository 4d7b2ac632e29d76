"""`manage.py prepare_demo`: migrations, and the people and tenants of the demo."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from portal.accounts import services
from portal.demo.people import CLUSTER, PEOPLE, TENANTS


class Command(BaseCommand):
    """Make the database ready for the demo; running it twice changes nothing."""

    help = "Apply migrations, then make the demo's people, tenants and namespaces."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, and say nothing."""
        call_command("migrate", verbosity=0, interactive=False)
        tenants = {
            name: services.keep_tenant(
                name=name,
                group=f"slicewise:{name}",
                cluster=CLUSTER,
                namespaces=namespaces,
            )
            for name, namespaces in TENANTS.items()
        }
        for person in PEOPLE:
            user = services.keep_person(
                username=person.username, password=person.password, roles=person.roles
            )
            if person.tenant:
                services.join(user=user, tenant=tenants[person.tenant])
        # Apps above this one, so they are named and not imported.
        call_command("prepare_demo_budgets")
        call_command("load_presets")
