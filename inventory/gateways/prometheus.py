"""Prometheus' query API: one instant query at a time, its answer checked.

Source: https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import httpx
import orjson
from django.utils.translation import gettext as _

from inventory.domain.meters import Sample
from portal.core.errors import PortalError
from portal.core.outward import outward_client

if TYPE_CHECKING:
    from types import TracebackType

TIMEOUT = 5.0
# A whole answer, however often a byte of it comes.
QUERY_SECONDS = 20.0
# 100,000 series of DCGM are about 50 MB.
LONGEST_ANSWER = 64 * 1024 * 1024


class PrometheusFailed(PortalError):
    """Prometheus did not answer, or not in its own words."""

    code = "inventory.prometheus"
    permanent = False


class Prometheus:
    """A server of the query API; use it as a context manager."""

    def __init__(self, url: str, *, timeout: float = TIMEOUT) -> None:
        """Take the address of a server, below which `api/v1` lies.

        Raises:
            AddressRefused: The portal does not speak to such an address.
        """
        self._client = outward_client(
            url.rstrip("/") + "/",
            timeout=timeout,
            seconds=QUERY_SECONDS,
            headers={"Accept": "application/json"},
        )

    def __enter__(self) -> Prometheus:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def query(self, expression: str) -> tuple[list[Sample], str]:
        """Return the samples of an instant query, and its warnings as one text.

        Raises:
            PrometheusFailed: It does not answer, refuses, or answers something else.
        """
        asked_at = time.monotonic()
        try:
            with self._client.stream(
                "POST", "api/v1/query", data={"query": expression, "timeout": "4s"}
            ) as response:
                status, text = response.status_code, _read(response)
        except httpx.TimeoutException as error:
            raise PrometheusFailed(
                _("Prometheus did not answer within %(seconds)d seconds.")
                % {"seconds": max(1, round(time.monotonic() - asked_at))}
            ) from error
        except httpx.HTTPError as error:
            raise PrometheusFailed(
                _("Prometheus cannot be reached: %(error)s.")
                % {"error": str(error).strip().rstrip(".") or type(error).__name__}
            ) from error
        return _answer(status, text)


def _read(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        size += len(part)
        if size > LONGEST_ANSWER:
            raise PrometheusFailed(
                _("Prometheus' answer is longer than %(most)d MiB.")
                % {"most": LONGEST_ANSWER // 2**20}
            )
        parts.append(part)
    return b"".join(parts)


def _answer(status: int, text: bytes) -> tuple[list[Sample], str]:
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _no_answer(status) from error
    if not isinstance(body, dict):
        raise _no_answer(status)
    if body.get("status") != "success":
        reason = " ".join(str(body.get("error") or status).split())[:200]
        raise PrometheusFailed(
            _("Prometheus refuses the question: %(reason)s.")
            % {"reason": reason.rstrip(".")}
        )
    data = body.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "vector":
        raise _no_answer(status)
    warnings = body.get("warnings")
    texts = map(str, warnings) if isinstance(warnings, list) else ()
    return _samples(data.get("result")), "; ".join(texts)[:300]


def _no_answer(status: int) -> PrometheusFailed:
    return PrometheusFailed(
        _(
            "What answers there is no Prometheus (status %(status)d): check the address,"
            " and that /api/v1/query lies below it."
        )
        % {"status": status}
    )


def _samples(result: Any) -> list[Sample]:
    """Return the sound ones of a vector's elements."""
    found = []
    for element in result if isinstance(result, list) else []:
        metric = element.get("metric") if isinstance(element, dict) else None
        value = element.get("value") if isinstance(element, dict) else None
        if not isinstance(metric, dict) or not isinstance(value, list):
            continue
        try:
            found.append(
                Sample({str(k): str(v) for k, v in metric.items()}, float(value[-1]))
            )
        except (ValueError, TypeError, IndexError):
            continue
    return found
