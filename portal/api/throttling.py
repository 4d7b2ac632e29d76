"""How many requests a client may send a minute, counted in the cache.

Three buckets: reading, checking (which costs the engine's time) and writing. Where
the cache is away nobody is turned down.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from portal.core.kept import count

if TYPE_CHECKING:
    from rest_framework.request import Request

WINDOW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a client's requests in this minute; `reset` in seconds."""

    limit: int
    remaining: int
    reset: int
    exceeded: bool = False

    def headers(self) -> dict[str, str]:
        """Return the RateLimit headers.

        Source: draft-ietf-httpapi-ratelimit-headers, in its widely read form.
        """
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset),
        }


def client_of(request: Request) -> str:
    """Return who is counted: the token, else the person, else the address."""
    if request.auth is not None:
        return f"token:{request.auth.pk}"
    if request.user.is_authenticated:
        return f"person:{request.user.pk}"
    return f"address:{request.META.get('REMOTE_ADDR', '')}"


def take(client: str, bucket: str, requests: int = 1) -> Allowance | None:
    """Count one request, or what counts as several; None where nothing can be."""
    limit = int(settings.SLICEWISE_API_RATES[bucket])
    now = time.time()
    window = int(now // WINDOW_SECONDS)
    key = f"api-rate:{bucket}:{client}:{window}"
    taken = count(key, 2 * WINDOW_SECONDS, requests)
    if taken is None:
        return None
    reset = max(1, round((window + 1) * WINDOW_SECONDS - now))
    return Allowance(limit, max(0, limit - taken), reset, exceeded=taken > limit)
