"""The checks of a composed claim, each beside the field of the form that it is about.

Other tenants' claims are only "in use" in what a person reads, and in what is
stored with their plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Level
from claims.domain.manifest import DOMAIN
from claims.domain.paths import field_of
from claims.services.checking import Checker
from claims.services.domain_room import looked_at
from claims.services.finding_sentences import sentence
from inventory.models import Allocation
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of

if TYPE_CHECKING:
    from claims.domain.checks.findings import Finding
    from claims.domain.draft import Draft
    from claims.domain.preview import Preview
    from claims.services.domain_room import DomainPreview
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]

_ORDER = [Level.ERROR, Level.WARNING, Level.INFO]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One finding as the composer shows it.

    Attributes:
        field: the name of the form's field, or "".
        fix: what a button that repairs it is worth, or "".
        replacement: what the field would hold then.
        line, column: 1-based, inside a CEL expression.
    """

    level: Level
    code: str
    path: str
    field: str
    message: str
    fix: str = ""
    replacement: str = ""
    line: int | None = None
    column: int | None = None

    @property
    def kind(self) -> str:
        """The kind of badge for its level."""
        return {"error": "bad", "warning": "warn", "info": "info"}[self.level.value]

    def document(self) -> Json:
        """Return it as JSON: what it is, where, and in words."""
        return {
            "code": self.code,
            "level": self.level.value,
            "path": self.path,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """All findings, errors first, and the preview that they were made with."""

    findings: tuple[Diagnosis, ...]
    preview: Preview | DomainPreview | None

    @property
    def errors(self) -> tuple[Diagnosis, ...]:
        """Those that stop a submit."""
        return tuple(each for each in self.findings if each.level is Level.ERROR)

    def document(self) -> Json | None:
        """Return what is stored with a plan; None where nothing was previewed."""
        if self.preview is None:
            return None
        shown = [each.document() for each in self.findings]
        return {**self.preview.document(), "diagnostics": shown}


def diagnose(
    cluster: Cluster, user: User, manifest: Json, draft: Draft | None = None
) -> Diagnosed:
    """Check what would be sent; `draft` is the form that it came from, if any.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    listed: list[Finding]
    preview: Preview | DomainPreview | None
    if manifest["kind"] == DOMAIN:
        listed, preview = looked_at(cluster, manifest)
    else:
        checked = Checker(cluster).check(manifest, earlier=[], mine=[])
        listed, preview = checked.findings, checked.preview
    hidden = hidden_from(user, cluster)
    findings = []
    for found in listed:
        name = field_of(found.path, draft) if draft else ""
        fix = f"fix:{name}:{found.replacement}" if found.replacement and name else ""
        findings.append(
            Diagnosis(
                level=found.level,
                code=found.code,
                path=found.path,
                field=name,
                message=sentence(found, hide=hidden),
                fix=fix,
                replacement=found.replacement or "" if fix else "",
                line=found.line,
                column=found.column,
            )
        )
    findings.sort(key=lambda each: _ORDER.index(each.level))
    return Diagnosed(tuple(findings), preview)


def seen_by(user: User, cluster: Cluster) -> frozenset[str] | None:
    """Return the namespaces whose claims this person may see, None for all."""
    if user.may(Permission.SEE_ALL_CLAIMS):
        return None
    return frozenset(namespaces_of(user, cluster.name))


def hidden_from(user: User, cluster: Cluster) -> frozenset[str]:
    """Return the namespaces whose claims this person may not see by name."""
    if user.may(Permission.SEE_HOLDERS):
        return frozenset()
    holding = Allocation.objects.filter(cluster=cluster).values_list(
        "claim_namespace", flat=True
    )
    return frozenset(holding.distinct()) - frozenset(namespaces_of(user, cluster.name))
