"""Sign-in by an OpenID provider, and renewal of what it vouched for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jwt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import MiddlewareNotUsed, SuspiciousOperation
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.middleware import SessionRefresh

from portal.accounts import provider
from portal.accounts.domain.roles import permissions_of
from portal.accounts.models import User
from portal.accounts.provided import groups_in, keep_provided_person, rights_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest, HttpResponse

# What verifying may raise where a token is none of the provider's for us.
UNTRUSTED = (SuspiciousOperation, jwt.PyJWTError, LookupError, ValueError, TypeError)


class Backend(OIDCAuthenticationBackend):  # type: ignore[misc]
    """The code flow; the provider's addresses are looked up when they are needed."""

    get_settings = staticmethod(provider.setting)
    get_user = ModelBackend.get_user  # none who is switched off

    def __init__(self) -> None:
        self.UserModel = get_user_model()

    def __getattr__(self, name: str) -> Any:
        """Return a setting that the base class would have read at the start."""
        if not name.startswith("OIDC_"):
            raise AttributeError(name)
        default = (None,) if name == "OIDC_RP_IDP_SIGN_KEY" else ()
        return provider.setting(name, *default)

    def authenticate(
        self,
        request: HttpRequest | None,
        *,
        nonce: str | None,
        code_verifier: str | None,
    ) -> User | None:
        """Return the person whom the provider sent back, or None.

        Raises:
            PortalError: It does not answer, or they cannot be let in.
            OSError, and those of UNTRUSTED: It refused, or its answer is not sound.
        """
        if not nonce:
            return None
        found: User | None = super().authenticate(
            request, nonce=nonce, code_verifier=code_verifier
        )
        return found

    def retrieve_matching_jwk(self, token: str) -> jwt.PyJWK:
        """Return the key that a token names; an unknown one is asked for once more."""
        header = jwt.get_unverified_header(token)
        for fresh in (False, True):
            fitting = [key for key in provider.keys(fresh=fresh) if _fits(key, header)]
            # A token need not name its key where there is only one.
            if len(fitting) == 1:
                return jwt.PyJWK(fitting[0], algorithm=header["alg"])
        raise SuspiciousOperation("no key of the provider's signed this")

    def verify_token(self, token: str, **kwargs: Any) -> dict[str, Any]:
        """Return the claims of a token that the provider signed for this portal."""
        return _for_us(super().verify_token(token, **kwargs))

    def get_token(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return what the provider gives for a code."""
        # Looked up here, so that two exchanges do not share one's time.
        provider.document()
        found: dict[str, Any] = provider.in_time(partial(super().get_token, payload))
        return found

    def get_userinfo(
        self, access_token: str, id_token: str, payload: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the claims of both, which must be about one person."""
        ask = super().get_userinfo
        info = provider.in_time(lambda: ask(access_token, id_token, payload))
        if info.get("sub") != payload["sub"]:
            raise SuspiciousOperation("userinfo is about somebody else")
        return {**payload, **info}

    def get_or_create_user(
        self, access_token: str, id_token: str, payload: Mapping[str, Any]
    ) -> User:
        """Return the person, with roles and teams as their groups are now."""
        return keep_provided_person(self.get_userinfo(access_token, id_token, payload))


def person_of_token(token: str) -> User | None:
    """Return whose token this is, narrowed to the groups in it; None: nobody's.

    It is an ID token for the portal's client, or an access token for the audience
    SLICEWISE_OIDC_AUDIENCE, where that is set. They have signed in on a page before,
    and are not switched off.

    Raises:
        ProviderDown: The keys cannot be had.
    """
    backend = Backend()
    try:
        key = backend.retrieve_matching_jwk(token)
        claims = _for_the_api(backend.get_payload_data(token, key))
    except UNTRUSTED:
        return None
    user = User.objects.filter(
        issuer=claims["iss"], subject=str(claims["sub"]), is_active=True
    ).first()
    groups = groups_in(claims)
    if user is not None and groups is not None:
        user.limited_to = permissions_of(rights_of(groups)[0])
    return user


def _fits(key: Mapping[str, Any], header: Mapping[str, Any]) -> bool:
    return (
        header["alg"] == provider.setting("OIDC_RP_SIGN_ALGO")
        and key.get("use", "sig") == "sig"
        and key.get("alg", header["alg"]) == header["alg"]
        and header.get("kid") in (None, key.get("kid"))
    )


def _for_the_api(claims: dict[str, Any]) -> dict[str, Any]:
    """Return claims of an access token for us, or of an ID token for us."""
    audience = settings.SLICEWISE_OIDC_AUDIENCE
    if audience and audience in _audiences(claims):
        # Other clients ask for access tokens, each in its own name (azp).
        return _of_the_issuer(claims)
    return _for_us(claims)


def _for_us(claims: dict[str, Any]) -> dict[str, Any]:
    ours = settings.OIDC_RP_CLIENT_ID
    if ours not in _audiences(claims) or claims.get("azp", ours) != ours:
        raise SuspiciousOperation("the token is for others")
    return _of_the_issuer(claims)


def _audiences(claims: Mapping[str, Any]) -> list[str]:
    audience = claims.get("aud")
    return [audience] if isinstance(audience, str) else audience or []


def _of_the_issuer(claims: dict[str, Any]) -> dict[str, Any]:
    if (
        claims.get("iss") != settings.SLICEWISE_OIDC_ISSUER
        or not claims.get("sub")
        or "exp" not in claims
    ):
        raise SuspiciousOperation("the token is of another issuer, or of nobody")
    return claims


class RenewalMiddleware(SessionRefresh):  # type: ignore[misc]
    """Has the provider vouch anew, now and then, where a page is opened.

    Fragments, streams and the API wait for the next page. Where the provider is
    away the session goes on until it ends by itself.
    """

    get_settings = staticmethod(provider.setting)

    def __init__(self, get_response: Any) -> None:
        if not provider.is_on():
            raise MiddlewareNotUsed
        MiddlewareMixin.__init__(self, get_response)

    def __getattr__(self, name: str) -> Any:
        """Return a setting that the base class would have read at the start."""
        if not name.startswith("OIDC_"):
            raise AttributeError(name)
        return provider.setting(name, *_DEFAULTS.get(name, ()))

    @property
    def exempt_urls(self) -> set[str]:
        """Where one goes to sign in or out."""
        names = ("sign-in", "sign-out", "provider-begin", "provider-back")
        return {reverse(f"accounts:{name}") for name in names}

    def is_refreshable_url(self, request: HttpRequest) -> bool:
        """Return whether this opens a page, by somebody whom the provider sent."""
        opens = "text/html" in request.headers.get("Accept", "")
        fragment = request.headers.get("HX-Request") == "true"
        ours = opens and not fragment and not request.path.startswith("/api/")
        return ours and bool(super().is_refreshable_url(request))

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Send the browser to the provider where it has not vouched of late."""
        try:
            answer: HttpResponse | None = super().process_request(request)
        except provider.ProviderDown:
            return None
        return answer


_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "OIDC_EXEMPT_URLS": ([],),
    "OIDC_STATE_SIZE": (32,),
    "OIDC_USE_NONCE": (True,),
    "OIDC_NONCE_SIZE": (32,),
}
