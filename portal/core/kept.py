"""What processes keep for each other in the cache, which may be away.

Nothing here fails where it is: nothing is found then, kept or counted, and whoever
asks goes to where the answer comes from.
"""

from __future__ import annotations

from typing import Any

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

logger = structlog.get_logger(__name__)

# What the cache raises where its server is away.
AWAY = (RedisError, OSError)


def recall(key: str) -> Any:
    """Return what is kept under a key; None where nothing is, or the cache is away."""
    try:
        return cache.get(key)
    except AWAY as error:
        _tell(error)
        return None


def keep(key: str, value: Any, seconds: int) -> None:
    """Keep a value for a while, where the cache is there."""
    try:
        cache.set(key, value, seconds)
    except AWAY as error:
        _tell(error)


def is_first(key: str, seconds: int) -> bool:
    """Return whether nobody asked this within so many seconds; True where none knows."""
    try:
        return bool(cache.add(key, 1, seconds))
    except AWAY as error:
        _tell(error)
        return True


def count(key: str, seconds: int, by: int = 1) -> int | None:
    """Add to a number that is kept from its first count on; None: it is not counted."""
    try:
        cache.add(key, 0, seconds)
        return int(cache.incr(key, by))
    except (*AWAY, ValueError) as error:  # ValueError: it ran out in between.
        _tell(error)
        return None


def forget(key: str) -> None:
    """Keep a value no longer, where the cache is there."""
    try:
        cache.delete(key)
    except AWAY as error:
        _tell(error)


def _tell(error: Exception) -> None:
    logger.warning("the cache is away: it neither keeps nor counts", error=str(error))
