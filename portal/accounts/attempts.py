"""Failed sign-ins, counted in the cache by name and address.

Where the cache is away nobody is locked out: the passwords still stand.
"""

from __future__ import annotations

import hashlib

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

logger = structlog.get_logger(__name__)

LIMIT = 10
WINDOW_SECONDS = 5 * 60


def _key(name: str, address: str) -> str:
    digest = hashlib.sha256(f"{name.casefold()}\0{address}".encode()).hexdigest()
    return f"sign-in-failures:{digest}"


def exhausted(*, name: str, address: str) -> bool:
    """Return whether this name failed `LIMIT` times from this address of late."""
    try:
        return int(cache.get(_key(name, address), 0)) >= LIMIT
    except (RedisError, OSError) as error:
        logger.warning("failed sign-ins are not counted", error=str(error))
        return False


def record_failure(*, name: str, address: str) -> None:
    """Count one failure; the window starts at the first."""
    key = _key(name, address)
    try:
        cache.add(key, 0, WINDOW_SECONDS)
        cache.incr(key)
    except (RedisError, OSError, ValueError) as error:
        logger.warning("failed sign-in not counted", error=str(error))


def forget(*, name: str, address: str) -> None:
    """Start again from zero, after a success."""
    try:
        cache.delete(_key(name, address))
    except (RedisError, OSError) as error:
        logger.warning("failed sign-ins not forgotten", error=str(error))
