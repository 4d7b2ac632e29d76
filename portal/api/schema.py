"""The OpenAPI document, made from what views declare; see `Operation`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import uritemplate
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_basic_type
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from portal.api.serializers import Problem
from portal.core.problems import PROBLEM_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portal.api.operations import Operation

Json = dict[str, Any]

PATH_WORDS = {
    "cluster": "The cluster's name.",
    "id": "The id, as lists and answers give it.",
    "driver": "The driver's name, such as `gpu.nvidia.com`.",
    "pool": "The pool's name; it may hold slashes.",
    "name": "The name.",
    "namespace": "The namespace.",
    "view": "The number, as lists and answers give it.",
    "preset": "The preset's name.",
    "phase": "The phase, such as `p2`.",
    "operation": "The id, as `Location` gives it.",
    "token_id": "The token's id.",
}
# What a converter of an address takes.
PATH_TYPES: dict[str, Json] = {
    "uuid": {"type": "string", "format": "uuid"},
    "int": {"type": "integer", "minimum": 1},
}
_CONVERTER = re.compile(r"<(\w+):(\w+)>")
REFUSALS = {
    400: "A parameter, a header or the body is of no use; `errors` says which.",
    401: "No token, or one that is unknown, revoked or has ended.",
    403: "The token or the account may not do this.",
    404: "There is nothing of that name for this caller.",
    405: "The address has no such method.",
    406: "The answer is not to be had in any media type that Accept names.",
    409: "It contradicts what is there now; `code` says how.",
    412: "It has changed since it was read: the ETag in If-Match is not its own.",
    413: "The body is too large.",
    415: "The body is in a media type that is not taken here.",
    422: "It is understood and refused; `errors` says where and why.",
    428: "If-Match is missing.",
    429: "Too many requests this minute; Retry-After says how long to wait.",
    503: "The cluster, the engine or the database does not answer now: try again.",
}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A token in the header."""

    target_class = "portal.api.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> Json:
        """Return the scheme."""
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "swt_…",
            "description": "A token from the page “API tokens”.",
        }


class ApiSchema(AutoSchema):
    """Describes an operation by what the view declares of it."""

    @property
    def declared(self) -> Operation:
        """What the view declares of this method."""
        return cast("Operation", cast("Any", self.view).operations[self.method])

    def is_excluded(self) -> bool:
        """Leave out methods that a view does not declare."""
        return self.method not in getattr(self.view, "operations", {})

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        """Return the operation, its body closed to unknown members."""
        found = super().get_operation(*args, **kwargs)
        if found is not None and self.declared.body is not None:
            component = self.resolve_serializer(self.declared.body, "request")
            component.schema["additionalProperties"] = False
        if found is not None and self.declared.links:
            answer = found["responses"][str(self.declared.status)]
            answer["links"] = {
                name: {"operationId": name, "parameters": dict(given)}
                for name, given in self.declared.links
            }
        return found

    def get_operation_id(self) -> str:
        """Return the declared id."""
        return self.declared.id

    def get_summary(self) -> str:
        """Return the declared line."""
        return self.declared.summary

    def get_description(self) -> str:  # type: ignore[override]
        """Return what else is declared, and who may."""
        declared = self.declared
        needs = f"Token use: `{declared.scope}`." if declared.scope else ""
        return "\n\n".join(filter(None, (declared.description, needs)))

    def get_tags(self) -> list[str]:
        """Return the declared tag."""
        return [self.declared.tag]

    def get_examples(self) -> list[Any]:
        """Return the declared examples."""
        return list(self.declared.examples)

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters of address, query and headers, and the answer's headers."""
        declared = self.declared
        found: list[Any] = list(self._path_parameters())
        if declared.query().fields:
            found.append(declared.query)
        if declared.is_sparse:
            found.append(_fields_parameter(declared))
        if declared.takes_key(self.method):
            found.append(_header("Idempotency-Key", "One key, one effect, for a day."))
        if declared.needs_match or declared.may_match:
            demanded = declared.needs_match
            text = "The ETag that was read" + (
                "." if demanded else ", if it was there."
            )
            found.append(_header("If-Match", text, required=demanded))
        found += [_answer_header(name, text) for name, text in declared.headers]
        return found

    def _path_parameters(self) -> Iterator[OpenApiParameter]:
        kinds = {name: kind for kind, name in _CONVERTER.findall(self.path_regex)}
        # The generator writes pk as id.
        kinds.setdefault("id", kinds.get("pk", "str"))
        for name in uritemplate.variables(self.path):
            yield OpenApiParameter(
                name,
                PATH_TYPES.get(kinds[name], {"type": "string"}),
                OpenApiParameter.PATH,
                description=PATH_WORDS.get(name, ""),
            )

    def get_request_serializer(self) -> Any:
        """Return the body by media type."""
        declared = self.declared
        if declared.body is None:
            return {}
        bodies: Json = {"application/json": declared.body}
        if declared.yaml:
            bodies["application/yaml"] = {
                "type": "string",
                "description": "Kubernetes manifests, as kubectl takes them.",
            }
        return bodies

    def get_response_serializers(self) -> Any:
        """Return the answer and the refusals, by status and media type."""
        declared = self.declared
        answers: dict[tuple[int, str], Any] = {
            (declared.status, declared.media): OpenApiResponse(
                self._answer(), description=declared.summary
            )
        }
        for status in sorted(self._refusals()):
            answers[status, PROBLEM_JSON] = OpenApiResponse(
                Problem, description=REFUSALS[status]
            )
        if self.method == "GET" and "ETag" in dict(declared.headers):
            answers[304, declared.media] = OpenApiResponse(
                None, description="It is as If-None-Match says."
            )
        return answers

    def _refusals(self) -> set[int]:
        declared = self.declared
        found = {400, 401, 403, 406, 429, 503, *declared.problems}
        if "{" in self.path:
            found.add(404)
        if declared.body is not None:
            found |= {413, 415}
        if declared.takes_key(self.method):
            found |= {409, 422}
        if declared.needs_match or declared.may_match:
            found |= {412, 428}
        return found

    def _answer(self) -> Any:
        declared = self.declared
        if declared.answer is None:
            return str if declared.media != "application/json" else None
        component = self.resolve_serializer(declared.answer, "response")
        if declared.is_sparse:
            component.schema.pop("required", None)
        if not declared.listed:
            return declared.answer
        nullable = {"type": ["string", "null"]}
        return {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": component.ref},
                "cursor": {**nullable, "description": "Of the next page."},
                "next": {**nullable, "description": "The next page's address."},
            },
            "required": ["items", "cursor", "next"],
        }


def _fields_parameter(declared: Operation) -> OpenApiParameter:
    return OpenApiParameter(
        "fields",
        {"type": "array", "items": {"enum": sorted(declared.members)}, "minItems": 1},
        description="Only these members, by comma.",
        style="form",
        explode=False,
    )


def _header(name: str, text: str, *, required: bool = False) -> OpenApiParameter:
    schema = {**build_basic_type(str), "minLength": 1, "maxLength": 255}  # type: ignore[dict-item]
    schema["pattern"] = r"^[\x21-\x7e]+$"
    return OpenApiParameter(
        name, schema, OpenApiParameter.HEADER, description=text, required=required
    )


def _answer_header(name: str, text: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, description=text, response=True
    )


_SHARED_HEADERS = {
    "X-Request-ID": "Names the request; taken over where the caller sent one.",
    "RateLimit-Limit": "Requests a minute.",
    "RateLimit-Remaining": "What is left of them.",
    "RateLimit-Reset": "Seconds until they are anew.",
}


def with_shared_parts(result: Json, **_more: Any) -> Json:
    """Add the headers of every answer, write each refusal once; a generator's hook."""
    refs = {name: {"$ref": f"#/components/headers/{name}"} for name in _SHARED_HEADERS}
    refusals: Json = {}
    for path in result["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                if PROBLEM_JSON in response.get("content", {}):
                    name = f"Refused{status}"
                    refusals[name] = {**response, "headers": refs}
                    operation["responses"][status] = {
                        "$ref": f"#/components/responses/{name}"
                    }
                else:
                    response["headers"] = response.get("headers", {}) | refs
    result["components"]["responses"] = dict(sorted(refusals.items()))
    result["components"]["headers"] = {
        name: {"description": text, "schema": {"type": "string"}}
        for name, text in _SHARED_HEADERS.items()
    }
    _tidy(result)
    return result


def _tidy(value: Any) -> None:
    """Drop the generator's own marks, and defaults that are no value of their type."""
    if isinstance(value, dict):
        value.pop("x-spec-enum-id", None)
        if value.get("default") == "" and ("minLength" in value or "enum" in value):
            del value["default"]
        for each in value.values():
            _tidy(each)
    elif isinstance(value, list):
        for each in value:
            _tidy(each)
