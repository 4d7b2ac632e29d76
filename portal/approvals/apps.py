"""Who must approve what, and what was decided."""

from __future__ import annotations

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """The approvals app; it judges the requests of the claims app."""

    name = "portal.approvals"
    label = "approvals"

    def ready(self) -> None:
        """Join the gate through which every request goes."""
        from claims.services.gate import APPROVALS, join
        from portal.approvals.services.gating import ApprovalGate

        join(ApprovalGate(), place=APPROVALS)
