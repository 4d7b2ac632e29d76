"""What an API server can answer, or fail to, each as an error with a sentence.

Every sentence holds the server's own message, cut to 400 characters, and says
what to do. Source: Kubernetes API conventions, Status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portal.core.errors import PortalError
from portal.core.sentences import Said

LONGEST_MESSAGE = 400


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of a Status: the field's path ("" where none), reason and text."""

    field: str
    reason: str
    message: str


class KubeError(PortalError):
    """An API server's refusal, or its silence.

    Attributes:
        status: HTTP status code, or 0 where there was no answer.
        reason: the Status' reason, such as AlreadyExists; "" where none.
        causes: the Status' causes, in its order.
        server_message: the Status' message, cut to 400 characters.
    """

    code = "cluster.refused"

    def __init__(
        self,
        message: str | Said,
        *,
        status: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        server_message: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.causes = causes
        self.server_message = server_message


class BadKubeconfig(PortalError):
    """A kubeconfig that cannot be used."""

    code = "cluster.bad_kubeconfig"


class BadIdentity(PortalError):
    """An identity that we never act as."""

    code = "cluster.bad_identity"


class NotServed(PortalError):
    """The API server has no version of a kind that we can read."""

    code = "cluster.not_served"


class ClusterUnavailable(KubeError):
    """No answer, or one that says "not now": trying again can help."""

    code = "cluster.unavailable"
    permanent = False
    exit_status = 3


class TooManyRequests(ClusterUnavailable):
    """429; `retry_after` is in seconds, 1 where the server named none."""

    code = "cluster.too_many_requests"
    retry_after: float = 1.0


class ClusterUnauthorized(KubeError):
    """401: the credentials are not taken."""

    code = "cluster.unauthorized"


class ClusterForbidden(KubeError):
    """403: RBAC, a quota or an admission policy says no."""

    code = "cluster.forbidden"


class NotFound(KubeError):
    """404: no such object, or no such kind."""

    code = "cluster.not_found"


class AlreadyExists(KubeError):
    """409 on create: the name is taken."""

    code = "cluster.already_exists"


class ConflictingVersion(KubeError):
    """409 on a change: the object is not as it was, in version or uid."""

    code = "cluster.conflict"
    permanent = False


class WatchExpired(KubeError):
    """410: the resourceVersion or the page is too old; list again."""

    code = "cluster.watch_expired"
    permanent = False


class Invalid(KubeError):
    """400, 415 or 422: the object is refused; `causes` name its fields."""

    code = "cluster.invalid"


def shortened(text: str) -> str:
    """Return `text` in one line of at most 400 characters, without its full stop."""
    line = " ".join(text.split())
    if len(line) > LONGEST_MESSAGE:
        line = line[: LONGEST_MESSAGE - 1] + "…"
    return line.rstrip(".")


def error_of(
    status: int, body: dict[str, Any] | None, *, cluster: str, retry_after: str = ""
) -> KubeError:
    """Return the error that an answer of status ≥ 300 stands for.

    Args:
        status: HTTP status code.
        body: the Status, or None where the body is no JSON object.
        cluster: its name, for the sentence.
        retry_after: the header of that name.
    """
    body = body or {}
    reason = str(body.get("reason") or "")
    said = shortened(str(body.get("message") or f"HTTP {status}"))
    kind, advice = _class_of(status, reason)
    error = kind(
        Said(
            "cluster.answers",
            {
                "cluster": cluster,
                "said": said,
                "advice": Said(f"cluster.advice.{advice}"),
            },
        ),
        status=status,
        reason=reason,
        causes=_causes(body.get("details")),
        server_message=said,
    )
    if isinstance(error, TooManyRequests):
        error.retry_after = _seconds(retry_after, body.get("details"))
    return error


def _class_of(status: int, reason: str) -> tuple[type[KubeError], str]:
    """Return the class of an answer, and the code of what to do about it."""
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists, "name"
    if status >= 500:
        return ClusterUnavailable, "later"
    classes: dict[int, tuple[type[KubeError], str]] = {
        400: (Invalid, "correct"),
        401: (ClusterUnauthorized, "credentials"),
        403: (ClusterForbidden, "right"),
        404: (NotFound, "look"),
        409: (ConflictingVersion, "read"),
        410: (WatchExpired, "list"),
        415: (Invalid, "correct"),
        422: (Invalid, "correct"),
        429: (TooManyRequests, "wait"),
    }
    return classes.get(status, (KubeError, "address"))


def _causes(details: Any) -> tuple[Cause, ...]:
    causes = details.get("causes") if isinstance(details, dict) else None
    return tuple(
        Cause(
            str(cause.get("field") or ""),
            str(cause.get("reason") or ""),
            shortened(str(cause.get("message") or "")),
        )
        for cause in causes or []
        if isinstance(cause, dict)
    )


def _seconds(header: str, details: Any) -> float:
    """Return how long a 429 asks to wait, between 1 and 60 seconds."""
    named = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    for value in (header, named):
        try:
            return min(max(float(value or ""), 1.0), 60.0)
        except (TypeError, ValueError):
            continue
    return 1.0
