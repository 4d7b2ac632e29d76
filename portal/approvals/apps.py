"""Who must approve what, and what was decided."""

from __future__ import annotations

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """The approvals app; it judges the requests of the claims app."""

    name = "portal.approvals"
    label = "approvals"

    def ready(self) -> None:
        """Join the gate through which every request goes, and say what it writes there."""
        from claims.services.gate import APPROVALS, join, the_gate
        from portal.approvals.services.gating import ApprovalGate
        from portal.approvals.services.rounds import make_rounds
        from portal.approvals.services.sentences import SENTENCES
        from portal.core.sentences import add_sentences

        join(ApprovalGate(), place=APPROVALS)
        the_gate().at_each_tick(make_rounds)
        add_sentences(SENTENCES)
