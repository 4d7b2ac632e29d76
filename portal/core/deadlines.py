"""Ends for whole calls out: what answers a byte now and then holds nobody for ever.

A time-out of a socket begins anew with each read, so that it bounds a silence and no
call. Three ways, from the surest on:

`TimedTransport` is for httpx: each request, with its answer, has so many seconds.
`within` and `TimedReader` do the same for what reads from a socket by itself.
`Slots` is for the rest: a call is waited for only so long, in one of a few threads;
what hangs keeps its thread, and while all hang nobody else waits. It must not use the
database, whose connection would be the thread's.
"""

from __future__ import annotations

import io
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import httpcore
import httpx

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")

_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)
_PIECE = 64 * 1024


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Have what is read by a `TimedReader` here end so many seconds from now."""
    token = _ends_at.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


def _left(ends_at: float | None, most: float | None) -> float | None:
    """Return how long one step may take.

    Raises:
        TimeoutError: There is nothing left.
    """
    if ends_at is None:
        return most
    left = ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left if most is None else min(most, left)


class TimedReader(io.RawIOBase):
    """Reads from a socket, no longer than `within` lets whoever reads."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._most = sock.gettimeout()
        # It holds the socket open, as long as it is open itself.
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, into: Any) -> int | None:
        """Read what there is.

        Raises:
            TimeoutError: The socket was silent for too long, or time is up.
        """
        self._sock.settimeout(_left(_ends_at.get(), self._most))
        return self._raw.readinto(into)

    def close(self) -> None:
        """Let go of the socket."""
        if not self.closed:
            self._raw.close()
        super().close()


class TimedTransport(httpx.HTTPTransport):
    """A transport each of whose requests has so many seconds, its answer included.

    For one thread, since requests at once would share their end.
    """

    def __init__(self, seconds: float) -> None:
        verify = httpx.create_ssl_context(trust_env=False)
        super().__init__(verify=verify, trust_env=False)
        self._seconds = seconds
        self.ends_at: float | None = None
        self._pool = httpcore.ConnectionPool(
            ssl_context=verify, network_backend=_TimedBackend(self)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; from here on time runs."""
        self.ends_at = time.monotonic() + self._seconds
        return super().handle_request(request)


class _TimedBackend(httpcore.SyncBackend):
    def __init__(self, of: TimedTransport) -> None:
        self._of = of

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        with _told(httpcore.ConnectTimeout, httpcore.ConnectError):
            left = _left(self._of.ends_at, timeout)
        stream = super().connect_tcp(host, port, left, local_address, socket_options)
        return _TimedStream(stream, self._of)


class _TimedStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, of: TimedTransport) -> None:
        self._inner = inner
        self._of = of

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _told(httpcore.ReadTimeout, httpcore.ReadError):
            left = _left(self._of.ends_at, timeout)
        return self._inner.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        sock = self._inner.get_extra_info("socket")
        with _told(httpcore.WriteTimeout, httpcore.WriteError):
            while buffer:
                sock.settimeout(_left(self._of.ends_at, timeout))
                buffer = buffer[sock.send(buffer[:_PIECE]) :]

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        with _told(httpcore.ConnectTimeout, httpcore.ConnectError):
            left = _left(self._of.ends_at, timeout)
        stream = self._inner.start_tls(ssl_context, server_hostname, left)
        return _TimedStream(stream, self._of)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


@contextmanager
def _told(timeout: type[Exception], other: type[Exception]) -> Iterator[None]:
    """Raise what httpcore raises of sockets."""
    try:
        yield
    except TimeoutError as error:
        raise timeout(str(error)) from error
    except OSError as error:
        raise other(str(error)) from error


class Slots:
    """So many threads, for calls that cannot be ended from outside."""

    def __init__(self, count: int, name: str) -> None:
        self._free = threading.BoundedSemaphore(count)
        self._name = name

    def run(self, call: Callable[[], T], seconds: float) -> T:
        """Return what a call returns, or raise what it raises.

        Raises:
            TimeoutError: It takes longer, or all threads hang.
        """
        if not self._free.acquire(blocking=False):
            raise TimeoutError("all calls to it hang")
        future: Future[T] = Future()
        context = copy_context()
        work = threading.Thread(
            target=self._work,
            args=(future, lambda: context.run(call)),
            name=self._name,
            daemon=True,
        )
        try:
            work.start()
        except RuntimeError:
            self._free.release()
            raise
        return future.result(timeout=seconds)

    def _work(self, future: Future[T], call: Callable[[], T]) -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001  whoever waits is told
            self._free.release()
            future.set_exception(error)
        else:
            self._free.release()
            future.set_result(result)
