"""Whether a claim fits as a whole: on how many nodes, undecided on others, or why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.services.why_sentences import pod_error_sentence
from inventory.domain.engine import Outcome

if TYPE_CHECKING:
    from claims.domain.preview import Preview


@dataclass(frozen=True, slots=True)
class ClaimFit:
    """Whether a claim or template would fit as the cluster is now.

    Attributes:
        nodes: where it fits, sorted.
        undecided: on how many more the search did not end in time.
        total: of how many nodes.
        error: what ends scheduling everywhere, in words; "" where nothing does.
    """

    name: str
    nodes: tuple[str, ...]
    undecided: int
    total: int
    error: str

    @property
    def known(self) -> int | None:
        """On how many nodes it fits; None where nothing, or only some of it, is decided."""
        undecided = self.error or self.undecided or not self.total
        return None if undecided else len(self.nodes)


def fit_of(name: str, preview: Preview) -> ClaimFit:
    """Return what a preview says of a claim, in short."""
    outcomes = [node.outcome for node in preview.nodes.values()]
    return ClaimFit(
        name,
        tuple(preview.fitting),
        outcomes.count(Outcome.UNDECIDED),
        len(outcomes),
        pod_error_sentence(preview),
    )
