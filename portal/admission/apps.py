"""What the cluster itself enforces: webhooks, a policy beside them, an advisor."""

from __future__ import annotations

from django.apps import AppConfig


class AdmissionConfig(AppConfig):
    """The admission app; it knows approvals, claims and the inventory."""

    name = "portal.admission"
    label = "admission"

    def ready(self) -> None:
        """Tell the claim's page what admission made of a claim."""
        from claims.services.admitted import install
        from portal.admission.services.noting import notes_of_claim

        install(notes_of_claim)
