"""The HTTP side: paths to verbs, identities, answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from simcluster import kinds, reading, refusals
from simcluster.access import Access, Action, User
from simcluster.kinds import BY_PATH, Kind, Object
from simcluster.refusals import Cause, Refusal
from simcluster.registry import JSON_PATCH, MERGE_PATCH, Registry, Write
from simcluster.schema import Schemas, parse
from simcluster.storage import Store

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_OPENAPI = "openapi/v3/"
_DOCUMENTS = {
    f"{_OPENAPI}api/v1": "core-v1",
    f"{_OPENAPI}apis/resource.k8s.io/v1": "resource.k8s.io-v1",
}


class Target(NamedTuple):
    """What a path names."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    part: str = ""

    def kind(self) -> Kind:
        """Return the kind.

        Raises:
            Refusal: It is not served at such a path.
        """
        kind = BY_PATH.get((self.group, self.version, self.plural))
        if kind is None or (self.namespace and not kind.namespaced):
            raise refusals.no_resource()
        if self.part and not (self.part == "status" and kind.has_status):
            raise refusals.no_resource()
        return kind


def read_path(path: str) -> Target | None:
    """Return what a resource path names, or None for any other path."""
    first, *rest = path.strip("/").split("/")
    if first == "api":
        rest.insert(0, "")
    if first not in ("api", "apis") or len(rest) < 3:
        return None
    group, version, *names = rest
    if (group, version) not in kinds.GROUP_VERSIONS:
        return None
    namespace = ""
    if names[0] == "namespaces" and len(names) > 2 and names[2] != "status":
        namespace, names = names[1], names[2:]
    return Target(group, version, names[0], namespace, *names[1:3])


@dataclass(frozen=True, slots=True)
class Api:
    """Answers requests."""

    version: str
    store: Store
    access: Access
    registry: Registry
    schemas: Schemas

    def application(self) -> Starlette:
        """Return the ASGI application."""
        methods = ["GET", *_VERBS]
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=methods)])

    async def answer(self, request: Request) -> Response:
        """Answer one request, under an id of its own, as an audit log would have it."""
        response = await self._answered(request)
        response.headers["Audit-Id"] = str(uuid4())
        return response

    async def _answered(self, request: Request) -> Response:
        """Answer one request; every refusal becomes a Status object."""
        try:
            pairs = [(k.decode(), v.decode()) for k, v in request.headers.raw]
            user = self.access.identify(request.headers.get("authorization", ""), pairs)
            target = read_path(request.url.path)
            if target is None:
                return self._plain(request.url.path.strip("/"))
            if (target.group, target.version, target.plural) == kinds.REVIEW:
                return await self._review(request, user)
            return await self._resource(request, user, target)
        except Refusal as refusal:
            return _json(refusal.status(), refusal.code)

    def _plain(self, path: str) -> Response:
        if path in ("healthz", "livez", "readyz"):
            return PlainTextResponse("ok")
        if path == "simcluster/forget":
            self.store.forget()
            return PlainTextResponse("ok")
        found = self._document(path)
        return (
            PlainTextResponse("404 page not found", 404)
            if found is None
            else _json(found)
        )

    def _document(self, path: str) -> Object | None:
        """Return a document that is no resource, or None."""
        first, *rest = path.split("/")
        major, minor, *_ = self.version.split(".")
        if first in ("api", "apis"):
            return kinds.discovery(first, rest)
        if path in _DOCUMENTS:
            schemas = self.schemas.documents[_DOCUMENTS[path]]
            return {"openapi": "3.0.0", "components": {"schemas": schemas}}
        paths: Object = {
            p.removeprefix(_OPENAPI): {"serverRelativeURL": f"/{p}"} for p in _DOCUMENTS
        }
        version: Object = {
            "major": major,
            "minor": minor,
            "gitVersion": f"v{self.version}",
        }
        return {"version": version, "openapi/v3": {"paths": paths}}.get(path)

    async def _review(self, request: Request, user: User) -> Response:
        """Answer a SelfSubjectAccessReview."""
        body = parse("SelfSubjectAccessReview", await request.body())
        asked = (body.get("spec") or {}).get("resourceAttributes")
        if asked is None:
            text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            kind = Kind("SelfSubjectAccessReview", "", "authorization.k8s.io")
            raise refusals.invalid(kind, "", [Cause("Invalid", "spec", text)])
        fields = {f: str(asked.get(f) or "") for f in Action._fields}
        reason = self.access.reason(user, Action(**fields))
        status: Object = {"allowed": reason is not None}
        if reason:
            status["reason"] = reason
        return _json({**body, "metadata": {}, "status": status}, 201)

    async def _resource(self, request: Request, user: User, target: Target) -> Response:
        query, method = request.query_params, request.method
        watch = reading.is_true(query, "watch") and not target.name
        verb = _VERBS.get(method) or (
            "get" if target.name else "watch" if watch else "list"
        )
        if verb == "delete" and not target.name:
            verb = "deletecollection"
        group, _, plural, namespace, name, part = target
        if (group, plural) == ("", "namespaces"):
            namespace = name
        self.access.demand(user, Action(verb, group, plural, namespace, name, part))
        kind = target.kind()
        if verb == "watch":
            lines = reading.watching(self.store, kind, target.namespace, query)
            return StreamingResponse(lines, media_type="application/json")
        if verb == "list":
            return _json(reading.listing(self.store, kind, target.namespace, query))
        if verb == "get":
            return _json(kind.stamped(self.registry.find(kind, name, target.namespace)))
        return await self._write(request, verb, kind, target)

    async def _write(
        self, request: Request, verb: str, kind: Kind, target: Target
    ) -> Response:
        create = verb == "create"
        namespace, name, part = target[3:]
        if create == bool(name) or (kind.namespaced and not namespace):
            raise refusals.no_method()
        how, content = _how(request.query_params, verb), await request.body()
        if verb == "delete":
            options = parse("DeleteOptions", content) if content else {}
            options |= {
                k: v
                for k, v in request.query_params.items()
                if k == "gracePeriodSeconds"
            }
            found = self.registry.delete(kind, namespace, name, options, how)
        elif create:
            sent = parse(kind.name, content)
            found = await self.registry.create(kind, namespace, sent, how)
        elif verb == "update":
            sent = parse(kind.name, content)
            found = await self.registry.update(kind, namespace, name, sent, how, part)
        else:
            change = _change(request, content)
            found = await self.registry.patch(kind, namespace, name, change, how, part)
        headers = {}
        if how.warnings and not how.strict:
            headers["Warning"] = ", ".join(
                f"299 - {_quoted(each)}" for each in how.warnings
            )
        return _json(kind.stamped(found), 201 if create else 200, headers)


def _how(query: Mapping[str, str], verb: str) -> Write:
    """Return how a write is asked for.

    Raises:
        Refusal: A parameter is none of those that exist.
    """
    options = f"{verb.title()}Options"
    dry_run, validation = query.get("dryRun"), query.get("fieldValidation", "")
    if dry_run not in (None, "All"):
        cause = Cause("NotSupported", "dryRun", 'supported values: "All"', [dry_run])
        raise refusals.invalid_options(options, [cause])
    if validation not in _VALIDATIONS:
        text = "supported values: " + ", ".join(f'"{each}"' for each in _VALIDATIONS)
        cause = Cause("NotSupported", "fieldValidation", text, validation)
        raise refusals.invalid_options(options, [cause])
    return Write(dry_run=dry_run == "All", strict=validation == "Strict")


def _change(request: Request, content: bytes) -> Any:
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind == MERGE_PATCH:
        return parse("patch", content)
    if kind != JSON_PATCH:
        raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    try:
        return orjson.loads(content)
    except ValueError as error:
        raise refusals.bad_request(str(error)) from error


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _json(
    body: Object, code: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    content = orjson.dumps(body)
    return Response(content, code, headers, media_type="application/json")
