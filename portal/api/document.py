"""The OpenAPI document itself, the page that shows it, and addresses that are none."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import orjson
from csp.constants import NONE, SELF
from csp.decorators import csp_replace
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from rest_framework.views import APIView

from portal.api.bodies import JsonRenderer, ProblemRenderer
from portal.api.problems import ProblemHandler

if TYPE_CHECKING:
    from django.http import HttpRequest

# Swagger UI sets styles on its elements and draws its signs from data: addresses.
DOCS_CSP = {
    "default-src": [NONE],
    "script-src": [SELF],
    "style-src": [SELF, "'unsafe-inline'"],
    "img-src": [SELF, "data:"],
    "font-src": [SELF],
    "connect-src": [SELF],
    "base-uri": [NONE],
    "form-action": [SELF],
    "frame-ancestors": [NONE],
}


@cache
def openapi_document() -> bytes:
    """Return the document as JSON, in English, two spaces deep; made once."""
    with translation.override("en"):
        schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2, default=str) + b"\n"


@login_not_required
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Answer with the document; it tells nothing but what the API is."""
    response = HttpResponse(openapi_document(), content_type="application/json")
    response["Cache-Control"] = "public, max-age=300"
    return response


@require_safe
@csp_replace(DOCS_CSP)
def docs(request: HttpRequest) -> HttpResponse:
    """Show the document in Swagger UI, served from here."""
    return render(request, "api/docs.html")


class NoSuchAddress(APIView):
    """Every address below /api/ that is none, as a problem document."""

    authentication_classes = []
    permission_classes = []
    renderer_classes = [JsonRenderer, ProblemRenderer]
    schema = None

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        """Refuse, whatever is asked."""
        self.format_kwarg = None
        request.accepted_renderer = JsonRenderer()
        request.accepted_media_type = JsonRenderer.media_type
        raise Http404

    def get_exception_handler(self) -> Any:
        """Return what makes problem documents."""
        return lambda exc, context: ProblemHandler(exc, context).run()
