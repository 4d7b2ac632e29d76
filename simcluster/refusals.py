"""Errors as a Kubernetes API server words them, and their Status objects."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from simcluster.kinds import Kind, Object

_TITLES = {
    "Required": "Required value",
    "Invalid": "Invalid value",
    "NotSupported": "Unsupported value",
    "Forbidden": "Forbidden",
    "Duplicate": "Duplicate value",
    "TooLong": "Too long",
    "TooMany": "Too many",
    "NotFound": "Not found",
}
MODIFIED = (
    "the object has been modified; please apply your changes to the latest version"
    " and try again"
)


class Refusal(Exception):
    """An answer other than success."""

    def __init__(
        self, code: int, reason: str, message: str, details: Object | None = None
    ) -> None:
        """Keep what the Status object says."""
        super().__init__(message)
        self.code, self.reason, self.details = code, reason, details
        self.metadata: Object = {}

    def status(self) -> Object:
        """Return the Status object."""
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": str(self),
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        return {**body, "code": self.code}


class Cause(NamedTuple):
    """What is wrong with one field."""

    kind: str
    field: str
    text: str = ""
    value: Any = None

    @property
    def message(self) -> str:
        """Return the sentence without the field."""
        title = _TITLES[self.kind]
        if self.kind in {"Invalid", "NotSupported", "Duplicate", "TooMany", "NotFound"}:
            title += f": {json.dumps(self.value, separators=(',', ':'))}"
        return f"{title}: {self.text}" if self.text else title


def details(kind: Kind | None, name: str = "", shown: str = "") -> Object:
    """Return the details of a Status object on an object of a kind."""
    if kind is None:
        return {}
    found = {"name": name, "group": kind.group, "kind": shown or kind.plural}
    return {key: value for key, value in found.items() if value}


def not_found(kind: Kind, name: str) -> Refusal:
    """There is no such object."""
    text = f'{kind.resource} "{name}" not found'
    return Refusal(404, "NotFound", text, details(kind, name))


def no_resource() -> Refusal:
    """There is no such resource in a group's version."""
    text = "the server could not find the requested resource"
    return Refusal(404, "NotFound", text, {})


def no_method() -> Refusal:
    """The resource does not do that."""
    text = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", text, {})


def exists(kind: Kind, name: str, *, deleting: bool) -> Refusal:
    """The name is taken."""
    text = f'{kind.resource} "{name}" already exists'
    text = f"object is being deleted: {text}" if deleting else text
    return Refusal(409, "AlreadyExists", text, details(kind, name))


def conflict(kind: Kind, name: str, text: str, *, on_delete: bool = False) -> Refusal:
    """A precondition does not hold."""
    shown = kind.name if on_delete else kind.plural
    resource = f"{shown}.{kind.group}" if kind.group else shown
    text = f'Operation cannot be fulfilled on {resource} "{name}": {text}'
    return Refusal(409, "Conflict", text, details(kind, name, shown))


def bad_request(text: str) -> Refusal:
    """The request cannot be read."""
    return Refusal(400, "BadRequest", text)


def undecodable(kind: Kind, text: str) -> Refusal:
    """The body is no object of its kind."""
    return bad_request(
        f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: {text}'
    )


def invalid(kind: Kind, name: str, causes: list[Cause]) -> Refusal:
    """Fields of the object are wrong."""
    title = f"{kind.name}.{kind.group}" if kind.group else kind.name
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    told = details(kind, name, kind.name)
    told["causes"] = [
        {
            "reason": f"FieldValue{cause.kind}",
            "message": cause.message,
            "field": cause.field,
        }
        for cause in causes
    ]
    return Refusal(422, "Invalid", f'{title} "{name}" is invalid: {text}', told)


def invalid_options(options: str, causes: list[Cause]) -> Refusal:
    """Query parameters are wrong."""
    return invalid(Kind(options, "", "meta.k8s.io"), "", causes)


def expired(text: str) -> Refusal:
    """A resourceVersion is no longer known."""
    return Refusal(410, "Expired", text)
