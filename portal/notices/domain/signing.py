"""Signatures of webhooks, and their secrets.

Source: Standard Webhooks 1.0 (standardwebhooks.com): HMAC-SHA256 over
"id.timestamp.body", Base64, in `webhook-signature: v1,…`; several by spaces.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping

PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> str:
    """Return a new secret, as whoever receives webhooks keeps it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of one message with one secret: "v1," and Base64."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def signed_headers(
    secrets_held: Iterable[str], message_id: str, timestamp: int, body: bytes
) -> Mapping[str, str]:
    """Return the headers that let a receiver know the sender and refuse replays.

    Args:
        secrets_held: the present secret and, for a while, the one before.
        message_id: the same at each attempt.
        timestamp: seconds since 1970, of this attempt.
        body: as it is sent.
    """
    found = [signature(each, message_id, timestamp, body) for each in secrets_held]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(found),
    }
