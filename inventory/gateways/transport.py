"""Calls of the `kubernetes` package's client, raw: bytes out, JSON in, own errors.

Its models refuse fields that they do not know and its `watch.Watch` fails on
ResourceClaims (37.0.1), so neither is used. Its retries are off (kubeconfig.py).
"""

from __future__ import annotations

import json
import ssl
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson

from inventory.domain.convert import to_v1
from inventory.gateways import audit_ids
from inventory.gateways.errors import (
    ClusterUnauthorized,
    ClusterUnavailable,
    KubeError,
    error_of,
    shortened,
)
from inventory.gateways.package import load_package
from portal.core.deadlines import within
from portal.core.sentences import Said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

    from inventory.domain.kinds import Kind
    from inventory.gateways.kubeconfig import Connection

Json = dict[str, Any]

CONNECT_SECONDS = 5
READ_SECONDS = 30
# A page of a large list takes a busy server a while.
LIST_SECONDS = 60
USER_AGENT = "slicewise"
_ERROR = "ERROR"
_NUL = rb"\u0000"
_ESCAPED = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP call.

    Attributes:
        method: GET, POST, PUT, PATCH or DELETE.
        path: from the server's root, its segments already safe.
        query: parameters; those with an empty value are left out.
        body: what to send as JSON.
        content_type: of the body.
        seconds: the longest silence while its answer is read. All of the answer
            may take twice as long; that of a watch, which ends by itself, only begins
            within that.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = "application/json"
    seconds: float = READ_SECONDS


def call(
    connection: Connection, wanted: Call, headers: Iterable[tuple[str, str]]
) -> Json:
    """Make a call and return its decoded answer.

    Raises:
        KubeError: Any answer but 2xx, or none.
    """
    with within(2 * wanted.seconds):
        response = _sent(connection, wanted, headers)
        with answering(connection):
            text = response.response.data
    decoded = _decoded(text)
    if decoded is None:
        raise ClusterUnavailable(
            Said("cluster.no_kubernetes", {"cluster": connection.cluster})
        )
    return decoded


def send(
    connection: Connection, wanted: Call, headers: Iterable[tuple[str, str]]
) -> Any:
    """Make a call and return its response, good and not yet read.

    Raises:
        KubeError: Any answer but 2xx, or none.
    """
    with within(2 * wanted.seconds):
        return _sent(connection, wanted, headers)


def _sent(
    connection: Connection, wanted: Call, headers: Iterable[tuple[str, str]]
) -> Any:
    query = {key: value for key, value in wanted.query.items() if value}
    url = connection.client.configuration.host + wanted.path
    url += "?" + urlencode(query) if query else ""
    with answering(connection):
        response = _exchanged(
            connection, wanted, url, _headers(connection, wanted, headers)
        )
        if wanted.method != "GET" and not wanted.query.get("dryRun"):
            audit_ids.note(str(response.headers.get(audit_ids.HEADER) or ""))
        if 200 <= response.status < 300:
            return response
        text = response.response.data
    raise _refused(connection, response, text)


def _exchanged(connection: Connection, wanted: Call, url: str, headers: Any) -> Any:
    if wanted.body is None:
        return connection.client.call_api(
            wanted.method,
            url,
            header_params=headers,
            _request_timeout=(CONNECT_SECONDS, wanted.seconds),
        )
    from kubernetes.client.rest import RESTResponse
    from urllib3 import Timeout

    # The package would write the body itself, and not as Kubernetes does.
    response = connection.client.rest_client.pool_manager.request(
        wanted.method,
        url,
        body=encoded(wanted.body),
        headers=headers,
        timeout=Timeout(connect=CONNECT_SECONDS, read=wanted.seconds),
        preload_content=False,
    )
    return RESTResponse(response)


def encoded(body: Any) -> bytes:
    """Return JSON as Go writes a map: sorted, without spaces, `<`, `>` and `&` escaped.

    A server keeps opaque parameters byte by byte as they were sent. Written otherwise,
    they would look changed to whoever reads an object and writes it back: a label would
    be refused because “spec is immutable”, and foreground deletion would never end.
    """
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.translate(_ESCAPED).encode(errors="surrogatepass")


def _headers(
    connection: Connection, wanted: Call, more: Iterable[tuple[str, str]]
) -> Any:
    """Return all headers; several may have one name, as groups do."""
    from urllib3 import HTTPHeaderDict

    headers = HTTPHeaderDict({"Accept": "application/json", "User-Agent": USER_AGENT})
    if wanted.body is not None:
        headers["Content-Type"] = wanted.content_type
    # Asking for the settings renews a token that has run out.
    bearer = connection.client.configuration.auth_settings().get("BearerToken")
    if bearer and bearer["value"]:
        headers["Authorization"] = bearer["value"]
    for name, value in more:
        headers.add(name, value)
    return headers


def _refused(connection: Connection, response: Any, text: bytes) -> KubeError:
    error = error_of(
        response.status,
        _decoded(text),
        cluster=connection.cluster,
        retry_after=response.headers.get("Retry-After", ""),
    )
    if isinstance(error, ClusterUnauthorized):
        connection.stale = True
    return error


def _decoded(text: bytes) -> Json | None:
    """Return a body as a mapping, or None where it is none."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    return _without_nul(value) if _NUL in text else value


def _without_nul(value: Any) -> Any:
    """Return a value with each NUL character as U+FFFD: databases refuse the former."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list):
        return [_without_nul(each) for each in value]
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(each) for key, each in value.items()}
    return value


def in_v1(obj: Json, kind: Kind) -> Json:
    """Return an object in its kind's v1 shape, kind and apiVersion in it."""
    return to_v1({"apiVersion": kind.api_version(), "kind": kind.kind, **obj})


@contextmanager
def answering(connection: Connection) -> Iterator[None]:
    """Turn every way of not answering into ClusterUnavailable."""
    load_package()
    from kubernetes.client.exceptions import ApiException
    from kubernetes.config.config_exception import ConfigException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except (ApiException, ConfigException, HTTPError, ssl.SSLError, OSError) as error:
        raise ClusterUnavailable(
            Said(
                "cluster.silent",
                {
                    "cluster": connection.cluster,
                    "server": connection.client.configuration.host,
                    "why": _why(error),
                },
            )
        ) from error


def _why(error: Exception) -> str:
    """Return the last word of a chain of wrapped errors, in one line."""
    text = str(getattr(error, "reason", "") or error)
    for marker in ("NewConnectionError(", "): "):
        text = text.rpartition(marker)[2] or text
    return shortened(text)


class Watch:
    """Events of one watch, as they come.

    It ends when the server ends it, or has been silent for too long: then too its
    reader goes on from where it was. Closing is for any thread: a read that waits
    then ends at once.
    """

    def __init__(self, response: Any, connection: Connection, kind: Kind) -> None:
        """Take the open response of a call with `watch=true`."""
        self._response = response.response
        self._connection = connection
        self._kind = kind
        self._closed = False

    def __enter__(self) -> Watch:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the connection up: what is still to come would be in its way."""
        self._response.close()

    def close(self) -> None:
        """End it, from any thread; a second time does nothing."""
        self._closed = True
        with suppress(ValueError, RuntimeError, OSError):
            self._response.shutdown()

    def __iter__(self) -> Iterator[tuple[str, Json]]:
        """Return (ADDED, MODIFIED, DELETED or BOOKMARK, object in v1 shape).

        Raises:
            WatchExpired: The server no longer has what follows.
            ClusterUnavailable: The connection broke.
        """
        for line in self._lines():
            event = _decoded(line) or {}
            happened, body = str(event.get("type")), event.get("object") or {}
            if happened == _ERROR:
                status = int(body.get("code") or 500)
                raise error_of(status, body, cluster=self._connection.cluster)
            yield happened, in_v1(body, self._kind)

    def _lines(self) -> Iterator[bytes]:
        from urllib3.exceptions import ReadTimeoutError

        rest = b""
        try:
            with answering(self._connection), suppress(ReadTimeoutError):
                for chunk in self._response.stream(None):
                    *lines, rest = (rest + chunk).split(b"\n")
                    yield from filter(None, lines)
        except ClusterUnavailable:
            if not self._closed:
                raise
