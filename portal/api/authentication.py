"""Who calls: by a token in the header, or by the session of a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    get_authorization_header,
)

from portal.accounts.tokens import use_token, works_from
from portal.api.problems import ApiProblem

if TYPE_CHECKING:
    from rest_framework.request import Request

    from portal.accounts.models import ApiToken, User

CHALLENGE = 'Bearer realm="slicewise"'
# `Authorization: Bearer swt_…`
WORDS_OF_HEADER = 2

__all__ = ["BearerAuthentication", "SessionAuthentication"]


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer swt_…`, a token of the portal's own."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return owner and token; None where no such header is sent."""
        words = get_authorization_header(request).split()
        if not words:
            return None
        if len(words) != WORDS_OF_HEADER or words[0].lower() != b"bearer":
            raise _refused(
                _("Send the token as `Authorization: Bearer swt_…`, and nothing else.")
            )
        try:
            row = use_token(words[1].decode("ascii"), now=timezone.now())
        except UnicodeDecodeError:
            row = None
        if row is None:
            raise _refused(
                _(
                    "This token is unknown, revoked or has ended: make one on the page"
                    " “API tokens”."
                )
            )
        if not works_from(row, request.META.get("REMOTE_ADDR", "")):
            raise ApiProblem(
                403,
                "auth.address",
                _("This token does not work from your address."),
            )
        return row.user, row

    def authenticate_header(self, request: Request) -> str:
        """Return what a 401 asks for."""
        return CHALLENGE


def _refused(detail: str) -> ApiProblem:
    return ApiProblem(
        401, "auth.failed", detail, headers={"WWW-Authenticate": CHALLENGE}
    )
