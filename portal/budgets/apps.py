"""What tenants may take, and how far they are."""

from __future__ import annotations

from django.apps import AppConfig


class BudgetsConfig(AppConfig):
    """The budgets app; it judges requests after policy did."""

    name = "portal.budgets"
    label = "budgets"

    def ready(self) -> None:
        """Join the gate through which every request goes."""
        from claims.services.gate import BUDGETS, join
        from portal.budgets.services.gating import BudgetJudge

        join(BudgetJudge(), place=BUDGETS)
