"""Have a request that could not be applied tried again, as it stands."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from claims.domain.lifecycle import State
from claims.services.moving import move
from portal.core.errors import PortalError
from portal.core.wake import wake

if TYPE_CHECKING:
    from claims.models import ClaimRequest
    from portal.accounts.models import User


class NotRetryable(PortalError):
    """The request has not failed, or its time is over."""

    code = "request.not_retryable"


@transaction.atomic
def try_again(
    claim_request: ClaimRequest, *, user: User, request_id: str, now: datetime
) -> None:
    """Give a failed request back to the workers; the same plan is judged anew.

    Raises:
        NotRetryable: It stands elsewhere by now, or is over.
    """
    if claim_request.expires_at is not None and claim_request.expires_at <= now:
        raise NotRetryable(_("Its time is over: submit anew."))
    claim_request.request_id = request_id
    # The table of moves lets others begin to apply, too; here it is a second attempt.
    if claim_request.state != State.APPLY_FAILED or not move(
        claim_request, State.APPLYING, actor=user.username, now=now
    ):
        claim_request.refresh_from_db()
        raise NotRetryable(
            _("There is nothing to try again: this request is %(state)s by now.")
            % {"state": claim_request.state}
        )
    wake("claims.apply", claim_request_id=claim_request.pk)
