"""`manage.py prepare_demo_budgets`: the budgets of the demo's tenants."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from portal.accounts.models import Tenant, User
from portal.budgets.models import Budget
from portal.budgets.services.editing import make_budget
from portal.demo.people import BUDGETS, BUDGETS_BY


class Command(BaseCommand):
    """Give the demo's tenants budgets where they have none; twice changes nothing."""

    help = "Make the demo's budgets; those that are there stay as they are."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, and say nothing."""
        admin = User.objects.get(username=BUDGETS_BY)
        for name, limits in BUDGETS.items():
            tenant = Tenant.objects.get(name=name)
            if not Budget.objects.filter(tenant=tenant).exists():
                make_budget(
                    tenant=name,
                    cluster="",
                    namespace="",
                    limits=limits,
                    user=admin,
                    request_id="",
                    now=timezone.now(),
                )
