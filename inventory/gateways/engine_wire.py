"""How the engine is reached: one HTTP exchange over its Unix socket, and its errors."""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import hashlib
import json
import os
import ssl
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import orjson
from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from inventory.gateways.engine_process import EngineProcess, EngineUnavailable, accepts
from portal.core.counting import timed
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.domain.engine import Row

Json = dict[str, Any]

FILL_SECONDS = 60.0
CALL_SECONDS = "slicewise_engine_call_duration_seconds"
# The calls that are told apart; the last part of an address.
ASKED = frozenset(
    {"check", "evaluate", "trace", "allocate", "outcomes", "copies", "rows"}
)
_BASE = "http://engine"
# Never used over a local socket, and made for each transport where none is given.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_follows_client: ContextVar[bool] = ContextVar("follows_client", default=False)


class EngineDeadline(PortalError):
    """The engine did not answer in time."""

    code = "engine.deadline"
    permanent = False
    exit_status = 3


class EngineRefused(PortalError):
    """The engine cannot make sense of a request; the sentence says of what.

    Attributes:
        reason: the engine's own code, such as `body` or `object`.
    """

    code = "engine.refused"

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.exit_status = 3 if reason in {"", "internal"} else 2


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP exchange to be made, and how long it may take in seconds."""

    method: str
    path: str
    body: Json | None
    seconds: float

    @property
    def name(self) -> str:
        """What is asked for, without the cluster's name."""
        last = self.path.rpartition("/")[2]
        return last if last in ASKED else "other"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; status 0 where there was nobody to give one."""

    status: int
    body: Json


def row_body(row: Row) -> Json:
    """Return a row as the engine takes it; JSON text goes through as it is."""
    content: Any = row.object
    if isinstance(content, str | bytes):
        content = orjson.Fragment(content)
    return {
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "object": content,
    }


def checked(reply: Reply) -> Json:
    """Return the body of a good answer, or raise what another one stands for."""
    if reply.status == httpx.codes.OK:
        return reply.body
    said = str(reply.body.get("message", ""))
    if reply.status == 0:
        raise EngineUnavailable(_("The engine does not answer; try again in a moment."))
    if reply.status == httpx.codes.CONFLICT:
        raise EngineUnavailable(
            _("The engine lacks newer objects (%(said)s); try again.") % {"said": said}
        )
    if reply.status == httpx.codes.GATEWAY_TIMEOUT:
        raise EngineDeadline(_deadline_text())
    raise EngineRefused(
        _("The engine refuses this: %(said)s") % {"said": said},
        reason=str(reply.body.get("code", "")),
    )


def _deadline_text() -> str:
    return _("The engine did not answer in time; ask about fewer nodes or devices.")


@contextmanager
def following_client() -> Iterator[None]:
    """Have this thread's questions end when the client that it serves has left.

    A thread that waits for the engine cannot be told so; a coroutine can. Where the
    thread serves a request of an event loop, that loop makes the exchange, and
    cancels it with the request. Elsewhere nobody leaves, and nothing changes.
    """
    token = _follows_client.set(True)
    try:
        yield
    finally:
        _follows_client.reset(token)


def asked(process: EngineProcess, call: Call) -> Reply:
    """Make one exchange, as `exchange`, and as `following_client` wants it."""
    if not _follows_client.get():
        return exchange(process, call)
    return async_to_sync(exchange_async)(process, call)


def exchange(process: EngineProcess, call: Call) -> Reply:
    """Make one exchange over this process' pool; status 0 where nobody answers.

    What does not answer in time is ended where it hangs.

    Raises:
        EngineDeadline: It lives, and needs longer for this.
    """
    if not accepts(process.socket):
        return Reply(0, {})
    try:
        with timed(CALL_SECONDS, call=call.name):
            response = _pool(str(process.socket)).request(**_request(call))
    except httpx.TimeoutException as error:
        if process.end_if_hung():
            return Reply(0, {})
        raise EngineDeadline(_deadline_text()) from error
    except httpx.TransportError:
        return Reply(0, {})
    return Reply(response.status_code, orjson.loads(response.content))


async def exchange_async(process: EngineProcess, call: Call) -> Reply:
    """Make one exchange, as `exchange`; being cancelled closes the connection."""
    socket = str(process.socket)
    transport = httpx.AsyncHTTPTransport(uds=socket, verify=_NO_TLS)
    try:
        async with httpx.AsyncClient(transport=transport) as client:
            with timed(CALL_SECONDS, call=call.name):
                response = await client.request(**_request(call))
    except httpx.TimeoutException as error:
        if await asyncio.to_thread(process.end_if_hung):
            return Reply(0, {})
        raise EngineDeadline(_deadline_text()) from error
    except httpx.TransportError:
        return Reply(0, {})
    return Reply(response.status_code, orjson.loads(response.content))


def _request(call: Call) -> dict[str, Any]:
    content = None if call.body is None else _written(call.body)
    return {
        "method": call.method,
        "url": _BASE + call.path,
        "content": content,
        "timeout": call.seconds,
    }


def _written(body: Any) -> bytes:
    """Return JSON; a number of more than 64 bits too, which the engine refuses."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode()


_pools: dict[tuple[int, str], httpx.Client] = {}
_pools_lock = threading.Lock()


def _pool(socket: str) -> httpx.Client:
    """Return this process' connections to a socket; a fork starts its own."""
    key = (os.getpid(), socket)
    with _pools_lock:
        if key not in _pools:
            transport = httpx.HTTPTransport(uds=socket, verify=_NO_TLS)
            _pools[key] = httpx.Client(transport=transport)
            atexit.register(_pools[key].close)
        return _pools[key]


@contextmanager
def one_sender(process: EngineProcess, cluster_id: str) -> Iterator[None]:
    """Hold this host's right to send a cluster's rows to an engine.

    Raises:
        EngineDeadline: Another sender holds it for too long.
    """
    # A few files for all clusters that ever were; two of a mark take turns.
    mark = hashlib.sha256(cluster_id.encode()).hexdigest()[:2]
    path = process.run_dir / f"engine-{process.minor}-{mark}.lock"
    deadline = time.monotonic() + FILL_SECONDS
    with path.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise EngineDeadline(_deadline_text()) from None
                time.sleep(0.02)
        yield
