"""Encryption at rest for kubeconfigs and tokens, with key rotation.

Keys are derived from SECRET_KEY and SECRET_KEY_FALLBACKS: new text is encrypted
with the first, old text is read with any.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from portal.core.errors import PortalError
from portal.core.sentences import Said, add_sentences


class SecretUnreadable(PortalError):
    """A stored secret was encrypted with a key that is no longer known."""

    code = "portal.secret_unreadable"


add_sentences(
    {
        "portal.secret_unreadable": _(
            "A stored secret cannot be read: add the earlier SECRET_KEY to"
            " SECRET_KEY_FALLBACKS."
        )
    }
)


def _key(secret: str) -> Fernet:
    derive = HKDF(SHA256(), 32, salt=None, info=b"slicewise.secrets").derive
    return Fernet(base64.urlsafe_b64encode(derive(secret.encode())))


def _keys() -> MultiFernet:
    known = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([_key(secret) for secret in known])


def encrypt(text: str) -> str:
    """Return `text` encrypted with the newest key; an empty text stays empty."""
    return _keys().encrypt(text.encode()).decode() if text else ""


def decrypt(text: str) -> str:
    """Return what `encrypt` was given.

    Raises:
        SecretUnreadable: No known key opens it.
    """
    if not text:
        return ""
    try:
        return _keys().decrypt(text.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable(Said("portal.secret_unreadable")) from error


def rotate(text: str) -> str:
    """Return a stored secret encrypted anew, with the newest key.

    Raises:
        SecretUnreadable: No known key opens it.
    """
    return encrypt(decrypt(text))


def is_newest(text: str) -> bool:
    """Return whether the newest key alone opens a stored secret."""
    try:
        _key(settings.SECRET_KEY).decrypt(text.encode())
    except InvalidToken:
        return False
    return True
