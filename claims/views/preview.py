"""What the scheduler would do with the form as it stands, asking for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from asgiref.sync import sync_to_async
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST
from django.views.decorators.vary import vary_on_headers

from claims.services.composing import read_for
from claims.services.previewing import ashow, reader_of
from claims.services.sentences import sentence
from claims.services.writing import draft_of, manifest_of, text_of
from claims.views.compose import Said, shown
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from claims.domain.draft import Draft
    from claims.domain.reading import Reading
    from portal.accounts.models import User
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_POST
@vary_on_headers("HX-Request")
async def compose_preview(request: PortalRequest, cluster: str) -> HttpResponse:
    """Preview the form: a part for htmx, the whole page without script."""
    row = await sync_to_async(get_object_or_404)(Cluster, name=cluster)
    draft = draft_of(dict(request.POST.lists()))
    user = cast("User", await request.auser())
    reading = await sync_to_async(read_for)(user, row, draft)
    preview = await preview_of(user, row, draft, reading)
    if request.htmx:
        context = {"preview": preview, "cluster": row}
        return await sync_to_async(render)(
            request, "claims/compose_preview.html", context
        )
    return await sync_to_async(shown)(
        request, row, draft, Said(show_problems=True), previewed=preview
    )


async def preview_of(
    user: User, cluster: Cluster, draft: Draft, reading: Reading
) -> dict[str, Any]:
    """Return what the preview's template takes: `shown`, or why there is none."""
    if not reading.is_claim:
        problems = [(f"f-{each.field}", sentence(each)) for each in reading.findings]
        return {"problems": problems}
    try:
        reader = await sync_to_async(reader_of)(user, cluster)
        manifest = manifest_of(draft)
        shown = await ashow(cluster, manifest, reader)
        return {"shown": shown, "manifest": text_of(draft)}
    except PortalError as error:
        return {"failure": error.message}
