"""The webhooks in a process of their own: TLS, and nothing but them.

No other process serves them: whoever reaches the pages must not reach them. Nor do
they pass the middleware that pages need, since the API server waits for each answer.
A renewed certificate counts from the next handshake on; nothing is restarted.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.utils import timezone

from portal.admission.services.certificates import (
    NoCertificate,
    load_into,
    renew,
    serving_certificate,
)
from portal.admission.services.recording import tally
from portal.admission.services.reviewing import refresh
from portal.admission.views.webhook import MOST_BYTES, Answer, Judge, answer, refused
from portal.core.heartbeats import ADMISSION, beat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from pathlib import Path

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

logger = structlog.get_logger(__name__)

RELOAD_SECONDS = 60.0
REFRESH_SECONDS = 0.5
BEAT_SECONDS = 10.0


async def _keep_known() -> None:
    """Keep in memory what reviews need, so that few wait for the database."""
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        try:
            await sync_to_async(refresh)(now=timezone.now())
        except Exception:
            logger.exception("what reviews need was not read; they read it themselves")
            await sync_to_async(close_old_connections)()


async def _keep_beating() -> None:
    """Give signs of life for as long as the loop that answers goes round."""
    while True:
        beat(ADMISSION)
        await asyncio.sleep(BEAT_SECONDS)


def _write_counts() -> None:
    """Write what rules counted in the last second."""
    try:
        tally.flush()
    finally:
        close_old_connections()


class HookApp:
    """The webhooks as an ASGI application of their own.

    Without what Django does around each request, since the API server waits: most
    answers are in memory and need no thread.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        found = await self._found(scope, receive)
        headers = [
            (b"content-type", found.content_type.encode()),
            (b"content-length", str(len(found.body)).encode()),
        ]
        await send(
            {
                "type": "http.response.start",
                "status": found.status,
                "headers": headers,
            }
        )
        await send({"type": "http.response.body", "body": found.body})

    async def _found(self, scope: Scope, receive: Receive) -> Answer:
        judge = judge_at(scope["path"])
        if judge is None:
            return refused(404, "There is no such webhook: see docs/admission.md.")
        if scope["method"] != "POST":
            return refused(405, "Send a review by POST.")
        told = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
        try:
            return await answer(judge, told, await _body(receive))
        except Exception:
            logger.exception("a review was not answered")
            return refused(500, "This review cannot be answered: see the log.")


def judge_at(path: str) -> Judge | None:
    """Return what answers at a path, or None: `domain.manifests` makes these paths."""
    match path.split("/"):
        case ["", "admission", ("mutate" | "validate") as webhook]:
            return Judge(webhook)
        case ["", "admission", "validate", ("fail" | "ignore") as failure]:
            return Judge("validate", failure=failure)
        case ["", "admission", ("mutate" | "validate") as webhook, cluster] if cluster:
            return Judge(webhook, cluster)
        case ["", "admission", "validate", cluster, ("fail" | "ignore") as failure] if (
            cluster
        ):
            return Judge("validate", cluster, failure)
    return None


async def _body(receive: Receive) -> bytes | None:
    """Return what is sent; None where it is too much."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BYTES:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _demand_certificates(context: ssl.SSLContext, authority: Path) -> None:
    """Answer only those whom an authority's certificates, a PEM file, vouch for."""
    try:
        context.load_verify_locations(authority)
    except OSError as error:
        raise NoCertificate(
            f"--client-ca {authority} holds no certificate in PEM that can be read:"
            f" {error.strerror or error}."
        ) from error
    context.verify_mode = ssl.CERT_REQUIRED


class HookServer:
    """Serves the webhooks over TLS and takes up renewed certificates."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_ca: Path | None = None,
        beats: bool = False,
    ) -> None:
        """Take where to listen, and whose client certificates to demand, if any's.

        With `beats` it gives signs of life, as a process of its own.
        """
        self.config = uvicorn.Config(
            HookApp(),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_keep_alive=90,
        )
        self.client_ca = client_ca
        self.beats = beats
        self.server = uvicorn.Server(self.config)
        self._serving: int | None = None

    def stop(self) -> None:
        """Have `run` return soon; from any thread."""
        self.server.should_exit = True

    def run(self) -> None:
        """Serve until we are told to end.

        Raises:
            NoCertificate: There is none and none could be made, or the clients'
                authority cannot be read.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.client_ca:
            _demand_certificates(context, self.client_ca)
        self._reload(context)
        self.config.load()
        self.config.ssl = context
        asyncio.run(self._serve(context))

    async def _serve(self, context: ssl.SSLContext) -> None:
        beside = [
            asyncio.create_task(self._keep_fresh(context)),
            asyncio.create_task(_keep_known()),
        ]
        if self.beats:
            beside.append(asyncio.create_task(_keep_beating()))
        try:
            await self.server.serve()
        finally:
            for task in beside:
                task.cancel()
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
