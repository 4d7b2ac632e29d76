"""What the scheduler would do with the form as it stands, asking for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from asgiref.sync import sync_to_async
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST
from django.views.decorators.vary import vary_on_headers

from claims.domain.compose import to_manifest
from claims.domain.draft import from_fields
from claims.services import yaml_text
from claims.services.composing import read_for
from claims.services.previewing import ashow, reader_of
from claims.services.sentences import sentence
from claims.views.compose import Said, shown
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from claims.domain.reading import Reading
    from portal.accounts.models import User
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_POST
@vary_on_headers("HX-Request")
async def compose_preview(request: PortalRequest, cluster: str) -> HttpResponse:
    """Preview the form: a part for htmx, the whole page without script."""
    row = await sync_to_async(get_object_or_404)(Cluster, name=cluster)
    draft = from_fields(dict(request.POST.lists()))
    user = cast("User", await request.auser())
    reading = await sync_to_async(read_for)(user, row, draft)
    preview = await _preview(user, row, reading)
    if request.htmx:
        context = {"preview": preview, "cluster": row}
        return await sync_to_async(render)(
            request, "claims/compose_preview.html", context
        )
    return await sync_to_async(shown)(
        request, row, draft, Said(show_problems=True), previewed=preview
    )


async def _preview(user: User, cluster: Cluster, reading: Reading) -> dict[str, Any]:
    """Return what the preview's template takes: `shown`, or why there is none."""
    if reading.claim is None:
        problems = [(f"f-{each.field}", sentence(each)) for each in reading.findings]
        return {"problems": problems}
    try:
        reader = await sync_to_async(reader_of)(user, cluster)
        manifest = to_manifest(reading.claim)
        shown = await ashow(cluster, manifest, reader)
        return {"shown": shown, "manifest": yaml_text.dump(manifest)}
    except PortalError as error:
        return {"failure": error.message}
