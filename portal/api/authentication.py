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

from portal.accounts import oidc, provider
from portal.accounts.tokens import PREFIX, use_token, works_from
from portal.api.problems import ApiProblem

if TYPE_CHECKING:
    from rest_framework.request import Request

    from portal.accounts.models import ApiToken, User

CHALLENGE = 'Bearer realm="slicewise"'
# `Authorization: Bearer swt_…`
WORDS_OF_HEADER = 2

__all__ = ["BearerAuthentication", "SessionAuthentication"]


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer swt_…`, a token of the portal's own, or a provider's.

    Those are ID tokens and access tokens of the sign-in provider, where one is set.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken | None] | None:
        """Return owner and token; None where no such header is sent."""
        words = get_authorization_header(request).split()
        if not words:
            return None
        if len(words) != WORDS_OF_HEADER or words[0].lower() != b"bearer":
            raise _refused(
                _("Send the token as `Authorization: Bearer swt_…`, and nothing else.")
            )
        if provider.is_on() and not words[1].startswith(PREFIX.encode()):
            return _provided(words[1]), None
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


def _provided(token: bytes) -> User:
    try:
        person = oidc.person_of_token(token.decode("ascii", "replace"))
    except provider.ProviderDown as error:
        raise ApiProblem(503, "auth.provider_down", error.message) from error
    if person is None:
        raise _refused(
            _(
                "This token is not the provider's for this portal, has ended, or is"
                " of somebody who has not signed in on a page yet."
            )
        )
    return person


def _refused(detail: str) -> ApiProblem:
    return ApiProblem(
        401, "auth.failed", detail, headers={"WWW-Authenticate": CHALLENGE}
    )
