"""The stream of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from portal.accounts.domain.scopes import Scope
from portal.accounts.tokens import present_owner
from portal.api import serializers
from portal.api.bodies import JsonRenderer
from portal.api.notices import TAG
from portal.api.operations import Operation
from portal.api.problems import ApiProblem, BadParameters, error_at
from portal.api.views import ApiView
from portal.notices.services.streaming import Wanted, replayed, stream

if TYPE_CHECKING:
    from rest_framework.request import Request

    from portal.accounts.models import ApiToken, User


class EventStream(ApiView):
    """The log of events, as server-sent events."""

    media = "text/event-stream"
    operations = {
        "GET": Operation(
            id="streamEvents",
            summary="Stream what happens, from where you left off",
            description="Server-sent events that your token may see: `event` is the"
            " name, `data` a notice, `id` its number. Send the last id that you have"
            " as `Last-Event-ID`, and you miss none; without it only new ones come."
            " `reset` comes first where those behind it are kept no longer: read the"
            " lists anew. With `cluster`, `inventory` says that it changed; it has no"
            " id. A stream ends after 15 minutes: come back with your last id.",
            tag=TAG,
            scope=Scope.CLAIMS_READ,
            query=serializers.EventParameters,
            answer=serializers.ServerSentEvent,
            media=media,
        )
    }

    def perform_content_negotiation(
        self,
        request: Request,
        force: bool = False,  # noqa: FBT001, FBT002  the framework's
    ) -> tuple[Any, str]:
        """Answer with a stream, whatever is accepted."""
        renderer = JsonRenderer()
        return renderer, renderer.media_type

    def get(self, request: Request) -> StreamingHttpResponse:
        """Return the stream."""
        wanted = Wanted(
            who=_reader(request),
            after=self._after(),
            clusters=frozenset(self._clusters()),
        )
        is_async = isinstance(request._request, ASGIRequest)
        response = StreamingHttpResponse(
            stream(wanted) if is_async else replayed(wanted), content_type=self.media
        )
        response["Cache-Control"] = "no-cache, no-transform"
        response["X-Accel-Buffering"] = "no"
        return response

    def _after(self) -> int | None:
        text = self.request.headers.get("Last-Event-ID", "")
        if not text:
            return cast("int | None", self.wanted["after"])
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        detail = _("Send the id of the last event that you have, a whole number.")
        place = error_at("header", "Last-Event-ID", "request.invalid", detail)
        raise ApiProblem(400, "request.invalid", detail, errors=[place])

    def _clusters(self) -> list[str]:
        """Return the clusters whose changes are told, where the token may see them."""
        names = self.wanted["cluster"]
        scopes = getattr(self.request.auth, "scopes", None)
        if names and scopes is not None and Scope.INVENTORY_READ not in scopes:
            text = _("This token is not made for that: it lacks the use %(scope)s.")
            raise BadParameters({"cluster": text % {"scope": Scope.INVENTORY_READ}})
        return list(names)


def _reader(request: Request) -> Any:
    """Return what reads, again and again, whether the caller may still read."""
    token = cast("ApiToken | None", request.auth)
    user = cast("User", request.user)
    return lambda: present_owner(user, token, now=timezone.now())
