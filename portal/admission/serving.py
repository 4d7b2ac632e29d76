"""The webhooks in a process of their own: TLS, and nothing but them.

The same views as in the web process, without the middleware that pages need, since
the API server waits for each answer. A renewed certificate counts from the next
handshake on; nothing is restarted.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response
from django.db import close_old_connections
from django.utils import timezone

from portal.admission.services.certificates import (
    NoCertificate,
    load_into,
    renew,
    serving_certificate,
)
from portal.admission.services.recording import tally

if TYPE_CHECKING:
    from pathlib import Path

logger = structlog.get_logger(__name__)

RELOAD_SECONDS = 60.0


def _write_counts() -> None:
    """Write what rules counted in the last second."""
    try:
        tally.flush()
    finally:
        close_old_connections()


class HookHandler(ASGIHandler):
    """Django's handler with only these addresses and no middleware."""

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001, FBT002  Django's
        """Load none: a review has no session, no cookie and no language."""
        self._view_middleware: list[object] = []
        self._template_response_middleware: list[object] = []
        self._exception_middleware: list[object] = []
        self._middleware_chain = convert_exception_to_response(self._get_response_async)  # type: ignore[attr-defined]

    def resolve_request(self, request: Any) -> Any:
        """Find the view among the webhooks alone."""
        request.urlconf = "portal.admission.hooks"
        return super().resolve_request(request)


class HookServer:
    """Serves the webhooks over TLS and takes up renewed certificates."""

    def __init__(self, host: str, port: int, *, client_ca: Path | None = None) -> None:
        """Take where to listen, and whose client certificates to demand, if any's."""
        self.config = uvicorn.Config(
            HookHandler(),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_keep_alive=90,
        )
        self.client_ca = client_ca
        self.server = uvicorn.Server(self.config)
        self._serving: int | None = None

    def stop(self) -> None:
        """Have `run` return soon; from any thread."""
        self.server.should_exit = True

    def run(self) -> None:
        """Serve until we are told to end.

        Raises:
            NoCertificate: There is none and none could be made.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.client_ca:
            context.load_verify_locations(self.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        self._reload(context)
        self.config.load()
        self.config.ssl = context
        asyncio.run(self._serve(context))

    async def _serve(self, context: ssl.SSLContext) -> None:
        reloading = asyncio.create_task(self._keep_fresh(context))
        try:
            await self.server.serve()
        finally:
            reloading.cancel()
            await sync_to_async(_write_counts)()

    async def _keep_fresh(self, context: ssl.SSLContext) -> None:
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            try:
                await sync_to_async(self._reload)(context)
            except Exception:
                logger.exception("the certificate was not looked at; the old one stays")

    def _reload(self, context: ssl.SSLContext) -> None:
        """Renew what is due, and serve with what is newest."""
        now = timezone.now()
        try:
            renew(now=now)
            row = serving_certificate(now=now)
        finally:
            close_old_connections()
        if row is None:
            raise NoCertificate("There is no certificate to serve with.")
        if row.pk != self._serving:
            load_into(context, row)
            self._serving = row.pk
            logger.info("serving with a certificate", until=str(row.not_after))
