"""What admission did to a claim, for the claim's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claims.services.admitted import AdmissionNote
from portal.admission.domain.advice import Outcome
from portal.admission.queries.decisions import decisions
from portal.admission.services.wording import BADGES, WORDS, said

if TYPE_CHECKING:
    from inventory.models import KubeObject
    from portal.admission.models import AdmissionDecision


def notes_of_claim(claim: KubeObject) -> list[AdmissionNote]:
    """Return what was done to a claim, oldest first; one query.

    What only the advisor thought of it is not told here.
    """
    if not claim.uid:
        return []
    rows = decisions().filter(cluster=claim.cluster_id, uid=claim.uid)
    return [_note(row) for row in reversed(rows[:20]) if row.breaches]


def _note(row: AdmissionDecision) -> AdmissionNote:
    outcome = Outcome(row.outcome)
    return AdmissionNote(
        at=row.at,
        kind=BADGES[outcome],
        word=str(WORDS[outcome]),
        sentences=tuple(said(each["code"], each["values"]) for each in row.breaches),
        asked=row.asked_digest,
        mutated=row.mutated_digest,
        patch=tuple(row.patch),
    )
