"""Where a request is judged before it is stored, and again before it is applied.

What needs whose approval is decided by an app above this one, which installs its
gate when it is loaded. Without one, administrative access is refused and all
else passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from django.utils.translation import gettext as _

from claims.domain.manifest import asks_admin_access
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.models import ClaimRequest
    from inventory.models import Cluster
    from portal.accounts.models import Tenant, User


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
    """

    user: User
    tenant: Tenant | None
    cluster: Cluster
    manifest: Mapping[str, Any]
    now: datetime
    ends_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """Whether a request passes, who must approve it, and why, in sentences.

    Attributes:
        max_hours: the longest that it may last; None for no limit, and then it
            needs no end.
        detail: the gate's own record of it, JSON.
    """

    outcome: Outcome
    sentences: tuple[str, ...] = ()
    max_hours: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)

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


class Gate(Protocol):
    """What the app above decides; nothing here makes a call to a cluster."""

    def judge(self, wish: Wish) -> Ruling:
        """Return what becomes of a wish."""

    def opened(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Open the approval of a stored request, in the transaction that stores it."""

    def check_apply(self, claim_request: ClaimRequest, *, now: datetime) -> None:
        """Raise NotApproved unless a request may be applied as it stands."""

    def standing(self, claim_request: ClaimRequest) -> Standing | None:
        """Return how far an approval is, or None where none was needed."""

    def tick(self, *, now: datetime) -> None:
        """End what waited too long."""


class ClosedGate:
    """No app decides: administrative access cannot be had."""

    def judge(self, wish: Wish) -> Ruling:
        """Deny adminAccess, let all else pass."""
        if asks_admin_access(wish.manifest):
            text = _("adminAccess cannot be asked for here: leave it out.")
            return Ruling(outcome=Outcome.DENY, sentences=(text,))
        return Ruling(outcome=Outcome.AUTO)

    def opened(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Do nothing: nothing is ever opened."""

    def check_apply(self, claim_request: ClaimRequest, *, now: datetime) -> None:
        """Refuse adminAccess."""
        if asks_admin_access(claim_request.plan.manifest):
            raise NotApproved(_("adminAccess needs an approval, and there is none."))

    def standing(self, claim_request: ClaimRequest) -> Standing | None:
        """Return None."""
        return None

    def tick(self, *, now: datetime) -> None:
        """Do nothing."""


_installed: list[Gate] = [ClosedGate()]


def install(gate: Gate) -> None:
    """Have all requests judged by this gate from now on."""
    _installed[0] = gate


def the_gate() -> Gate:
    """Return the gate that judges requests."""
    return _installed[0]
