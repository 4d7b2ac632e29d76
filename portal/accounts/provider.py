"""The OpenID provider: where its addresses and keys are, as it says itself.

What it says is kept in the cache for a while; where the cache is away it is asked.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import structlog
from django.conf import settings
from django.utils.translation import gettext as _
from mozilla_django_oidc.utils import import_from_settings

from portal.core.deadlines import Slots
from portal.core.errors import PortalError
from portal.core.kept import is_first, keep, recall

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

logger = structlog.get_logger(__name__)

Json = dict[str, Any]

KEPT_SECONDS = 10 * 60
# A whole exchange with it, which settings.OIDC_TIMEOUT does not bound.
ANSWER_SECONDS = 10.0
_asking = Slots(8, "sign-in-provider")
# Keys are not fetched anew more often, whatever keys tokens name.
FRESH_SECONDS = 10
# mozilla-django-oidc's names of what discovery says.
_DISCOVERED = {
    "OIDC_OP_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
    "OIDC_OP_TOKEN_ENDPOINT": "token_endpoint",
    "OIDC_OP_USER_ENDPOINT": "userinfo_endpoint",
    "OIDC_OP_JWKS_ENDPOINT": "jwks_uri",
}


class ProviderDown(PortalError):
    """The provider does not answer, or not as one."""

    code = "accounts.provider_down"
    permanent = False


def is_on() -> bool:
    """Return whether people may sign in by a provider."""
    return bool(settings.SLICEWISE_OIDC_ISSUER)


def setting(name: str, *default: Any) -> Any:
    """Return a setting of mozilla-django-oidc; addresses come by discovery."""
    if name in _DISCOVERED:
        return document()[_DISCOVERED[name]]
    return import_from_settings(name, *default)


def document(*, fresh: bool = False) -> Json:
    """Return what discovery says.

    Raises:
        ProviderDown: It does not answer, or speaks for another issuer.
    """
    issuer = settings.SLICEWISE_OIDC_ISSUER
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    found = _kept(address, fresh=fresh)
    if found.get("issuer") != issuer or not set(_DISCOVERED.values()) <= set(found):
        logger.error("the provider's document is of no use", issuer=issuer)
        raise _down()
    return found


def keys(*, fresh: bool = False) -> list[Json]:
    """Return the keys that the provider signs with now, as JWKs.

    Raises:
        ProviderDown: It does not answer.
    """
    found = _kept(
        document()["jwks_uri"],
        fresh=fresh and is_first("oidc:asked-anew", FRESH_SECONDS),
    )
    return [each for each in found.get("keys", []) if isinstance(each, dict)]


def _kept(address: str, *, fresh: bool) -> Json:
    key = f"oidc:{hashlib.sha256(address.encode()).hexdigest()}"
    found = None if fresh else recall(key)
    if found is None:
        found = _fetched(address)
        keep(key, found, KEPT_SECONDS)
    return dict(found)


def _fetched(address: str) -> Json:
    try:
        answer = in_time(lambda: httpx.get(address, timeout=settings.OIDC_TIMEOUT))
        answer.raise_for_status()
        found = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        logger.warning("the provider is away", address=address, error=str(error))
        raise _down() from error
    if not isinstance(found, dict):
        raise _down()
    return found


def in_time(exchange: Callable[[], T]) -> T:
    """Return what an exchange with the provider gives, or raise what it raises.

    Raises:
        ProviderDown: It takes too long.
    """
    try:
        return _asking.run(exchange, ANSWER_SECONDS)
    except TimeoutError as error:
        logger.warning("the provider takes too long", error=str(error))
        raise _down() from error


def _down() -> ProviderDown:
    return ProviderDown(
        _("The sign-in provider does not answer. Try again in a few minutes.")
    )
