"""The base of every view of the API; see `Operation` for what a view declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast
from urllib.parse import urlencode

from django.http import Http404
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.decorators import WORDS
from portal.api.authentication import BearerAuthentication, SessionAuthentication
from portal.api.bodies import JsonParser, JsonRenderer, ProblemRenderer, YamlParser
from portal.api.idempotency import HEADER, once, refused_key
from portal.api.problems import ApiProblem, BadParameters, ProblemHandler
from portal.api.schema import ApiSchema
from portal.api.throttling import Allowance, client_of, take
from portal.core.keyset import decoded, page_of, rows_after

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpResponse
    from rest_framework.request import Request

    from portal.accounts.models import User
    from portal.api.operations import AnySerializer, Operation
    from portal.core.keyset import Page

Json = dict[str, Any]
Item = TypeVar("Item")


class ApiView(APIView):
    """A view whose operations say who may do what, and with which parameters.

    `wanted` holds the checked query parameters, `members` what `fields` names.
    """

    operations: ClassVar[Mapping[str, Operation]] = {}
    authentication_classes = [BearerAuthentication, SessionAuthentication]
    permission_classes = [IsAuthenticated]
    renderer_classes = [JsonRenderer, ProblemRenderer]
    parser_classes = [JsonParser]
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    schema: Any = ApiSchema()

    wanted: Json
    members: tuple[str, ...] = ()
    allowance: Allowance | None = None

    @property
    def operation(self) -> Operation:
        """What this request does.

        Raises:
            MethodNotAllowed: The address has no such method.
        """
        method = str(self.request.method)
        found = self.operations.get("GET" if method == "HEAD" else method)
        if found is None:
            raise exceptions.MethodNotAllowed(method)
        return found

    @property
    def person(self) -> User:
        """Who calls, narrowed to the token that they call with."""
        return cast("User", self.request.user)

    @property
    def request_id(self) -> str:
        """The id of the request, for the audit trail."""
        return str(getattr(self.request, "request_id", ""))

    def get_exception_handler(self) -> Callable[[Exception, Any], Response | None]:
        """Return what makes problem documents."""
        return lambda exc, context: ProblemHandler(exc, context).run()

    def get_parsers(self) -> list[Any]:
        """Return the JSON parser, and the YAML one where manifests are taken."""
        # The generator of the document asks without a request.
        operation = self.operations.get(getattr(self.request, "method", ""))
        yaml = [YamlParser()] if operation and operation.yaml else []
        return [JsonParser(), *yaml]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the address, who calls, how often, and the parameters, in that order."""
        operation = self.operation
        super().initial(request, *args, **kwargs)
        if any("\0" in str(value) for value in kwargs.values()):
            raise Http404
        self.wanted = parameters(request, operation)
        self.members = _members(request, operation)
        if operation.shows_secret and HEADER in request.headers:
            raise refused_key(_("This answer holds a secret, so that no key is taken."))
        if operation.takes_key(str(request.method)) and not operation.is_idempotent:
            self._keep_answer()

    def _keep_answer(self) -> None:
        """Have the handler of this one request answer once a key."""
        handler = cast("Any", self).post

        def post(request: Request, *args: Any, **kwargs: Any) -> Response:
            return once(request, lambda _id: handler(request, *args, **kwargs))

        cast("Any", self).post = post

    def check_permissions(self, request: Request) -> None:
        """Refuse whoever is unknown, or whose token or account may not do this."""
        if not request.user.is_authenticated:
            raise exceptions.NotAuthenticated(
                _("Sign in: send `Authorization: Bearer` with a token of yours.")
            )
        operation = self.operation
        scopes = getattr(request.auth, "scopes", None)
        if scopes is not None and operation.scope and operation.scope not in scopes:
            raise ApiProblem(
                403,
                "auth.scope",
                _("This token is not made for that: it lacks the use %(scope)s.")
                % {"scope": operation.scope},
            )
        needed = operation.permission
        if needed and not self.person.may(needed):
            raise ApiProblem(
                403,
                "auth.permission",
                _("This account lacks the right to %(what)s.")
                % {"what": WORDS[needed]},
            )

    def check_throttles(self, request: Request) -> None:
        """Count the request; refuse it where too many came this minute."""
        self._count(request, 1)

    def count_more(self, count: int) -> None:
        """Count a request that does the work of several as those.

        Raises:
            ApiProblem: 429; they are too many this minute.
        """
        if count:
            self._count(self.request, count)

    def _count(self, request: Request, count: int) -> None:
        self.allowance = take(client_of(request), self.operation.bucket, count)
        if self.allowance and self.allowance.exceeded:
            raise ApiProblem(
                429,
                "request.too_many",
                _("Too many requests: wait %(seconds)d seconds.")
                % {"seconds": self.allowance.reset},
                headers={"Retry-After": str(self.allowance.reset)},
            )

    def finalize_response(
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> Any:
        """Add the headers that every answer has."""
        done = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]
        if self.allowance:
            for name, value in self.allowance.headers().items():
                done[name] = value
        done.setdefault("Cache-Control", "private, no-cache")
        patch_vary_headers(done, ["Authorization", "Cookie", "Accept-Language"])
        return done

    def body(self) -> Json:
        """Return the checked body.

        Raises:
            ValidationError: 400, each error with its pointer.
        """
        assert self.operation.body is not None  # noqa: S101  a view's own mistake
        return _checked(self.operation.body, self.request.data)

    def answer(
        self,
        document: Json,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Return a document with the members that were asked for."""
        return Response(
            self.sparse(document), status=self.operation.status, headers=headers
        )

    def sparse(self, document: Json) -> Json:
        """Return a document with the members that `fields` names, or with all."""
        if not self.members:
            return document
        return {name: document[name] for name in self.members}

    def page(self, page: Page[Item], document: Callable[[Item], Json]) -> Response:
        """Return a page of documents, with the link to the next."""
        following = self._next(page.following)
        body = {
            "items": [self.sparse(document(item)) for item in page.items],
            "cursor": page.following,
            "next": following,
        }
        headers = {"Link": f'<{following}>; rel="next"'} if following else None
        return Response(body, headers=headers)

    def by_name(self, rows: QuerySet[Any], document: Callable[[Any], Json]) -> Response:
        """Return the page that is wanted of rows, each with a name of its own."""
        return self._rows(rows, "name", str, document)

    def newest_first(
        self, rows: QuerySet[Any], document: Callable[[Any], Json]
    ) -> Response:
        """Return the page that is wanted of rows, the last made first."""
        return self._rows(rows, "pk", int, document, descending=True)

    def _rows(
        self,
        rows: QuerySet[Any],
        column: str,
        kind: type,
        document: Callable[[Any], Json],
        *,
        descending: bool = False,
    ) -> Response:
        key, limit = decoded(self.wanted["cursor"], (kind,)), self.wanted["limit"]
        found = rows_after(rows, (column,), key, descending=descending)
        page = page_of(
            list(found[: limit + 1]), limit, lambda row: (getattr(row, column),)
        )
        return self.page(page, document)

    def _next(self, cursor: str | None) -> str | None:
        if cursor is None:
            return None
        pairs = [
            (name, value)
            for name, values in self.request.query_params.lists()
            for value in values
            if name != "cursor"
        ]
        return f"{self.request.path}?{urlencode([*pairs, ('cursor', cursor)])}"


def parameters(request: Request, operation: Operation) -> Json:
    """Return the checked query parameters.

    Raises:
        BadParameters: 400; one is unknown, given twice, or of no use.
    """
    serializer = operation.query()
    known = set(serializer.fields) | ({"fields"} if operation.is_sparse else set())
    errors: dict[str, list[str]] = {}
    for name, values in request.query_params.lists():
        if name not in known:
            listed = ", ".join(sorted(known)) or _("none")
            errors[name] = [_("There is no such parameter; known: %s.") % listed]
        elif len(values) > 1 and not _takes_many(serializer, name):
            errors[name] = [_("Give it once.")]
    if errors:
        raise BadParameters(errors)
    try:
        return _checked(operation.query, request.query_params)
    except exceptions.ValidationError as error:
        raise BadParameters(error.detail) from error


def _takes_many(serializer: Any, name: str) -> bool:
    return hasattr(serializer.fields.get(name), "child")


def _members(request: Request, operation: Operation) -> tuple[str, ...]:
    text = request.query_params.get("fields")
    if text is None or not operation.is_sparse:
        return ()
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [name for name in names if name not in operation.members]
    if unknown:
        raise BadParameters(
            {
                "fields": _("There is no member %(name)s; known: %(known)s.")
                % {
                    "name": unknown[0] or "“”",
                    "known": ", ".join(sorted(operation.members)),
                }
            }
        )
    return names


def _checked(kind: AnySerializer, data: Any) -> Json:
    if not isinstance(data, Mapping):
        raise exceptions.ValidationError(_("The body must be a JSON object."))
    serializer = kind(data=data)
    _refuse_unknown(serializer.fields, data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def _refuse_unknown(known: Iterable[str], data: Mapping[str, Any]) -> None:
    unknown = [name for name in data if name not in set(known)]
    if unknown and not hasattr(data, "getlist"):
        raise exceptions.ValidationError(
            {str(name): [_("There is no such member.")] for name in unknown}
        )
