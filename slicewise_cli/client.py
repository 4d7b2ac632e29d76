"""Calls of the API: tried again where that is safe, refused in the portal's words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx

from slicewise_cli.config import Access
from slicewise_cli.errors import AWAY, REFUSED, USAGE, CommandError

Json = dict[str, Any]

ATTEMPTS = 4
LONGEST_PAUSE = 10.0
TIMEOUT_SECONDS = 60.0
_LATER = frozenset({429, 503})


class Client:
    """One portal, one token."""

    def __init__(self, access: Access) -> None:
        self._http = httpx.Client(
            base_url=f"{access.server}/api/v1/",
            headers={"Authorization": f"Bearer {access.token}"},
            timeout=TIMEOUT_SECONDS,
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def get(self, path: str, **parameters: Any) -> Json:
        """Return a document."""
        return _document(self._send("GET", path, params=parameters))

    def response(self, path: str) -> httpx.Response:
        """Return a document's whole response, with its ETag."""
        return self._send("GET", path)

    def post(self, path: str, **more: Any) -> httpx.Response:
        """Send a body; give `headers` an Idempotency-Key and it is sent until answered."""
        return self._send("POST", path, **more)

    def items(self, path: str, limit: int | None, **parameters: Any) -> Iterator[Json]:
        """Yield the items of a list, page after page."""
        left = limit
        parameters["limit"] = min(500, limit or 500)
        page = self.get(path, **parameters)
        while True:
            for item in page["items"]:
                if left is not None:
                    if not left:
                        return
                    left -= 1
                yield item
            if not page["next"] or left == 0:
                return
            page = self.get(page["next"])

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = more.get("headers") or {}
        again = method == "GET" or "Idempotency-Key" in headers
        for attempt in range(1, ATTEMPTS + 1):
            last = attempt == ATTEMPTS or not again
            try:
                response = self._http.request(method, path, **more)
            except httpx.HTTPError as error:
                if last:
                    raise CommandError(
                        f"{self._http.base_url.host} cannot be reached: {error}.", AWAY
                    ) from error
                time.sleep(attempt / 2)
                continue
            if response.status_code not in _LATER or last:
                return _checked(response)
            time.sleep(pause_of(response))
        raise AssertionError


def pause_of(response: httpx.Response) -> float:
    """Return the seconds until it is worth asking again, as the portal says."""
    text = response.headers.get("Retry-After", "1")
    return min(float(text) if text.isdigit() else 1.0, LONGEST_PAUSE)


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    status = AWAY if response.status_code >= 500 else REFUSED
    if response.status_code in (400, 401):
        status = USAGE
    raise CommandError(_sentence(response), status)


def _sentence(response: httpx.Response) -> str:
    if "json" not in response.headers.get("Content-Type", ""):
        return (
            f"The portal answered {response.status_code} and no problem document: is"
            f" {response.request.url.host} a Slicewise portal?"
        )
    problem = _document(response)
    lines = [f"{problem.get('detail')} ({problem.get('code')})"]
    for error in problem.get("errors") or []:
        place = error.get("pointer") or error.get("parameter") or error.get("header")
        position = f":{error['line']}:{error['column']}" if error.get("line") else ""
        lines.append(f"  {place}{position}: {error['detail']}")
    return "\n".join(lines)


def _document(response: httpx.Response) -> Json:
    try:
        found = response.json()
    except ValueError as error:
        raise CommandError("The portal answered with no JSON.", AWAY) from error
    if not isinstance(found, dict):
        raise CommandError("The portal answered with no document.", AWAY)
    return found
