"""What an import gives: documents, what was wrong with them, and the new text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.domain.checks.findings import Level
from claims.services.yaml_source import unified

if TYPE_CHECKING:
    from claims.domain.compute_domains import DomainDraft
    from claims.domain.importing.edits import Repair
    from claims.services.fits import ClaimFit

REPAIRED, OFFERED, DECLINED, LEFT = "repaired", "offered", "declined", "left"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which repairs somebody declined, and which optional ones they chose; by key."""

    declined: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()

    def takes(self, key: str, repair: Repair) -> bool:
        """Return whether a repair is made."""
        if not repair.edits:
            return False
        return key in self.chosen if repair.optional else key not in self.declined


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document, and what became of it.

    Attributes:
        key: names it in a Choice; "" where there is nothing to choose.
        path: as in `spec.devices.requests[0].exactly.count`.
        line: 1-based in the imported text; None where it is not known.
        state: repaired, offered (optional), declined or left.
    """

    key: str
    code: str
    level: Level
    path: str
    line: int | None
    message: str
    state: str


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """One document of the text.

    Attributes:
        number: 1-based, in the text.
        before, after: its text; `after` has the documents that were added.
        written: the same as `after`, without those.
        checked: whether the result went through all checks.
        fitting: how many nodes could hold its first claim now; None where that was not
            asked, or not decided.
        parts: name and text of each claim or template that the composer could take.
        added: of those, the ones that repairs brought.
        fits: what was previewed of them.
        domain: the form that makes it, where it is a ComputeDomain that a form makes.
    """

    number: int
    line: int
    kind: str
    namespace: str
    name: str
    faults: tuple[Fault, ...]
    before: str
    after: str
    checked: bool = False
    fitting: int | None = None
    parts: tuple[tuple[str, str], ...] = ()
    written: str = ""
    added: tuple[tuple[str, str], ...] = ()
    fits: tuple[ClaimFit, ...] = ()
    domain: DomainDraft | None = None

    @property
    def diff(self) -> str:
        """The unified diff; empty where nothing was changed."""
        name = f"{self.kind or 'document'}-{self.name or self.number}.yaml"
        return unified(self.before, self.after, name.lower())

    @property
    def repaired(self) -> tuple[Fault, ...]:
        """What was put right."""
        return tuple(each for each in self.faults if each.state == REPAIRED)

    @property
    def is_valid(self) -> bool:
        """Whether no error is left."""
        return not any(
            each.level is Level.ERROR and each.state != REPAIRED for each in self.faults
        )


@dataclass(frozen=True, slots=True)
class Imported:
    """A whole text, put right."""

    documents: tuple[ImportedDocument, ...]
    text: str
    corrected: str

    @property
    def diff(self) -> str:
        """The unified diff of the whole."""
        return unified(self.text, self.corrected, "manifests.yaml")

    @property
    def is_valid(self) -> bool:
        """Whether no document has an error left."""
        return all(each.is_valid for each in self.documents)
