"""Answers kept for a moment in this process, by what was asked."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def content_key(value: Any) -> bytes:
    """Return a digest of a value that JSON can hold."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).digest()


class ContentCache(Generic[T]):
    """Keeps at most `most` answers for `seconds` each; threads may share it."""

    def __init__(self, *, seconds: float, most: int) -> None:
        self.seconds = seconds
        self.most = most
        self._kept: OrderedDict[bytes, tuple[float, T]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: bytes) -> T | None:
        """Return what is kept under a key and still fresh, or None."""
        with self._lock:
            kept = self._kept.get(key)
        return kept[1] if kept and kept[0] > time.monotonic() else None

    def keep(self, key: bytes, value: T, *, seconds: float | None = None) -> None:
        """Keep an answer, for as long as is said here or for all."""
        until = time.monotonic() + (self.seconds if seconds is None else seconds)
        with self._lock:
            self._kept[key] = (until, value)
            self._kept.move_to_end(key)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)

    def get(
        self,
        asked: Any,
        make: Callable[[], T],
        *,
        is_worth: Callable[[T], bool] | None = None,
    ) -> T:
        """Return the kept answer to what is asked, or a new one, kept from now on.

        Args:
            asked: what JSON can hold.
            make: finds the answer out.
            is_worth: whether a new answer is worth keeping; each is by default.
        """
        key = content_key(asked)
        found = self.find(key)
        if found is None:
            found = make()
            if is_worth is None or is_worth(found):
                self.keep(key, found)
        return found

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
