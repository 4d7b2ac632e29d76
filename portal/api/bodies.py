"""JSON in and out, and YAML in, where manifests are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from django.utils.translation import gettext as _
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from portal.api.problems import ApiProblem
from portal.core.problems import PROBLEM_JSON

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_json(data: bytes) -> Any:
    """Return what a JSON text holds, without the NUL that Postgres refuses.

    Raises:
        ApiProblem: 400; it is no JSON.
    """
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ApiProblem(
            400,
            "request.unreadable",
            _("The body is no JSON, line %(line)d, column %(column)d: %(reason)s.")
            % {"line": error.lineno, "column": error.colno, "reason": error.msg},
        ) from error
    if b"\\u0000" in data and _holds_nul(found):
        raise ApiProblem(
            400,
            "request.unreadable",
            _("The body holds a NUL character: leave it out."),
        )
    return found


def _holds_nul(value: Any) -> bool:
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, str):
            if "\0" in each:
                return True
        elif isinstance(each, dict):
            stack.extend(each.keys())
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
    return False


class JsonParser(BaseParser):
    """JSON, strictly."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return what the body holds; an empty one holds an empty object."""
        data = _whole(stream, parser_context)
        return read_json(data) if data else {}


class YamlParser(BaseParser):
    """YAML, kept as text: the view reads Kubernetes objects from it, with lines."""

    media_type = "application/yaml"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body under the name `text`."""
        return {"text": _whole(stream, parser_context)}


def _whole(stream: Any, context: Mapping[str, Any] | None) -> bytes:
    """Return the body, bounded by DATA_UPLOAD_MAX_MEMORY_SIZE as Django bounds it."""
    request = (context or {}).get("request")
    inner = getattr(request, "_request", None)
    return bytes(inner.body if inner is not None else stream.read())


class JsonRenderer(BaseRenderer):
    """JSON by orjson; keys in the order in which the view gives them."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the document; nothing where there is none."""
        if data is None:
            return b""
        return orjson.dumps(data, default=str) + b"\n"


class ProblemRenderer(JsonRenderer):
    """The same for problem documents, so that asking for those is no error."""

    media_type = PROBLEM_JSON
