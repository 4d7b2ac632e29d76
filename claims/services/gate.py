"""Where a request is judged before it is stored, and again before it is applied.

Apps above this one judge: policy and approvals first, budgets after them. Each
joins the gate with a place when it is loaded, and all have to let a request pass.
Where nobody judges approvals, administrative access is refused and all else
passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from django.utils.translation import gettext as _

from claims.domain.manifest import asks_admin_access
from portal.core.errors import PortalError
from portal.core.sentences import Said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.models import ClaimRequest
    from inventory.models import Cluster
    from portal.accounts.models import Tenant, User

logger = structlog.get_logger(__name__)


class Outcome(StrEnum):
    """What becomes of a request on submit."""

    AUTO = "auto"
    APPROVE = "approve"
    DENY = "deny"


class NotApproved(PortalError):
    """The request is not, or no longer, approved as it stands."""

    code = "approval.missing"


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What somebody is about to ask for.

    Attributes:
        ends_at: when it is to end; None for never.
        instead_of: key of the request that this would take the place of.
    """

    user: User
    tenant: Tenant | None
    cluster: Cluster
    manifest: Mapping[str, Any]
    now: datetime
    ends_at: datetime | None = None
    instead_of: int | None = None

    @classmethod
    def again(
        cls, claim_request: ClaimRequest, *, now: datetime, ends_at: datetime | None
    ) -> Wish:
        """Return what a stored request asks for, as if it were asked at `now`."""
        plan = claim_request.plan
        return cls(
            user=claim_request.requester,
            tenant=claim_request.tenant,
            cluster=plan.cluster,
            manifest=plan.manifest,
            now=now,
            ends_at=ends_at,
        )


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """Whether a request passes, who must approve it, and why, in sentences.

    Attributes:
        notes: what is worth knowing though it passes: (kind of badge, sentence).
        max_hours: the longest that it may last; None for no limit, and then it
            needs no end.
        code: why it is denied, for programs.
        detail: the judge's own record of it.
        parts: what each judge said, by its place.
    """

    outcome: Outcome
    sentences: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    max_hours: int | None = None
    code: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    parts: tuple[tuple[int, Ruling], ...] = ()

    @property
    def kind(self) -> str:
        """The kind of badge for it."""
        return {"auto": "good", "approve": "warn", "deny": "bad"}[self.outcome.value]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far the approval of a request is, for its page.

    Attributes:
        decisions: (person, verdict, reason, moment), oldest first.
        href: where it is decided; for those who may.
    """

    sentences: tuple[str, ...]
    decisions: tuple[tuple[str, str, str, datetime], ...]
    href: str


class Judge(Protocol):
    """What an app above decides; nothing here makes a call to a cluster."""

    def judge(self, wish: Wish) -> Ruling:
        """Return what becomes of a wish."""

    def stored(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Take note of a stored request, in the transaction that stores it.

        Args:
            claim_request: with its plan, as it was just written.
            ruling: this judge's own.

        Raises:
            PortalError: It may not be stored after all; then nothing is.
        """

    def changed(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Take note that a request asks for less, or lasts longer; else as `stored`."""

    def check_apply(self, claim_request: ClaimRequest, *, now: datetime) -> None:
        """Raise NotApproved unless a request may be applied as it stands."""

    def standing(self, claim_request: ClaimRequest) -> Standing | None:
        """Return how far an approval is, or None where none was needed."""

    def tick(self, *, now: datetime) -> None:
        """Do what time brings: end what waited too long, remind."""


class ClosedGate:
    """No app decides: administrative access cannot be had."""

    def judge(self, wish: Wish) -> Ruling:
        """Deny adminAccess, let all else pass."""
        if asks_admin_access(wish.manifest):
            text = _("adminAccess cannot be asked for here: leave it out.")
            return Ruling(outcome=Outcome.DENY, sentences=(text,))
        return Ruling(outcome=Outcome.AUTO)

    def stored(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Do nothing: nothing is ever opened."""

    def changed(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Do nothing."""

    def check_apply(self, claim_request: ClaimRequest, *, now: datetime) -> None:
        """Refuse adminAccess."""
        if asks_admin_access(claim_request.plan.manifest):
            raise NotApproved(Said("approval.missing"))

    def standing(self, claim_request: ClaimRequest) -> Standing | None:
        """Return None."""
        return None

    def tick(self, *, now: datetime) -> None:
        """Do nothing."""


APPROVALS = 10
BUDGETS = 20
_SEVERITY = [Outcome.AUTO, Outcome.APPROVE, Outcome.DENY]


class Gate:
    """All judges in the order of their places; what one denies, the next is not asked."""

    def __init__(self) -> None:
        self._judges: dict[int, Judge] = {APPROVALS: ClosedGate()}
        self._rounds: list[Callable[..., None]] = []

    def join(self, judge: Judge, place: int) -> None:
        """Have a judge asked at its place from now on."""
        self._judges = dict(sorted({**self._judges, place: judge}.items()))

    def at_each_tick(self, make_round: Callable[..., None]) -> None:
        """Have something done at each tick, after all judges; it is given `now`."""
        self._rounds.append(make_round)

    def judge(self, wish: Wish) -> Ruling:
        """Return what becomes of a wish, by all judges together."""
        parts: list[tuple[int, Ruling]] = []
        for place, judge in self._judges.items():
            ruling = judge.judge(wish)
            parts.append((place, ruling))
            if ruling.outcome is Outcome.DENY:
                break
        return _together(tuple(parts))

    def stored(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Have each judge that was asked take note, in the caller's transaction."""
        for place, part in ruling.parts:
            self._judges[place].stored(claim_request, part)

    def changed(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Have each judge that was asked note a change, in the caller's transaction."""
        for place, part in ruling.parts:
            self._judges[place].changed(claim_request, part)

    def check_apply(self, claim_request: ClaimRequest, *, now: datetime) -> None:
        """Raise NotApproved unless every judge lets it be applied as it stands."""
        for judge in self._judges.values():
            judge.check_apply(claim_request, now=now)

    def standing(self, claim_request: ClaimRequest) -> Standing | None:
        """Return how far an approval is, or None where none was needed."""
        for judge in self._judges.values():
            if found := judge.standing(claim_request):
                return found
        return None

    def tick(self, *, now: datetime) -> None:
        """Have each judge do what time brings; a defect of one stops no other."""
        ticks = [judge.tick for judge in self._judges.values()]
        for each in [*ticks, *self._rounds]:
            try:
                each(now=now)
            except Exception:
                logger.exception("a judge's round failed; the next one comes")


def _together(parts: tuple[tuple[int, Ruling], ...]) -> Ruling:
    """Return what several rulings come to: the strictest outcome, the shortest time."""
    rulings = [ruling for _place, ruling in parts]
    outcome = max((each.outcome for each in rulings), key=_SEVERITY.index)
    limits = [each.max_hours for each in rulings if each.max_hours is not None]
    denied = [each for each in rulings if each.outcome is Outcome.DENY]
    return Ruling(
        outcome=outcome,
        sentences=tuple(t for each in denied or rulings for t in each.sentences),
        notes=tuple(note for each in rulings for note in each.notes),
        max_hours=min(limits, default=None),
        code=next((each.code for each in denied), ""),
        detail=rulings[0].detail,
        parts=parts,
    )


_gate = Gate()


def join(judge: Judge, *, place: int) -> None:
    """Have all requests judged by this judge too, from now on."""
    _gate.join(judge, place)


def the_gate() -> Gate:
    """Return the gate that judges requests."""
    return _gate
