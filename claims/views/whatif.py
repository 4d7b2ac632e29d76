"""The page that asks what if, and shows a claim's preview before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from asgiref.sync import sync_to_async
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from claims.domain.why.suppose import Kind, Supposition
from claims.queries.claims import visible_claims
from claims.services import yaml_text
from claims.services.diagnosing import hidden_from, seen_by
from claims.services.whatif import BadManifest, awhatif, claim_in
from inventory.models import Cluster, Device, KubeObject
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.accounts.models import User
    from portal.core.http import PortalRequest

Json = dict[str, Any]

MOST_LISTED = 500
TARGETS = {
    Kind.DRAIN: "node",
    Kind.ADD: "node",
    Kind.TAINT: "device",
    Kind.END: "claim",
}


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
async def whatif(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the form; with a manifest and a supposition, both previews."""
    row = await sync_to_async(get_object_or_404)(Cluster, name=cluster)
    user = cast("User", await request.auser())
    data = request.POST
    context: Json = {
        "nav": "compose",
        "cluster": row,
        "manifest": data.get("manifest", "").replace("\r\n", "\n"),
        "kind": data.get("kind", Kind.DRAIN.value),
        **{name: data.get(name, "").strip() for name in ("node", "device", "claim")},
        **await sync_to_async(_offered)(user, row),
    }
    status = 200
    if request.method == "POST" and "kind" in data:
        try:
            context["found"] = await _found(user, row, context)
        except PortalError as error:
            context["problem"], status = error.message, 422
    return await sync_to_async(render)(
        request, "claims/whatif.html", context, status=status
    )


async def _found(user: User, cluster: Cluster, context: Json) -> Any:
    manifest = _manifest(context["manifest"])
    try:
        kind = Kind(context["kind"])
    except ValueError as error:
        raise BadManifest(_("Choose what to suppose from the list.")) from error
    hidden = await sync_to_async(hidden_from)(user, cluster)
    target = context[TARGETS[kind]]
    own = await sync_to_async(seen_by)(user, cluster)
    found = await awhatif(cluster, manifest, Supposition(kind, target), own=own)
    names = found.named(hidden)
    context["displaced"] = names
    context["displaced_others"] = len(found.displaced) - len(names)
    return found


def _manifest(text: str) -> Json:
    """Return the claim or template that a text holds.

    Raises:
        PortalError: It holds none, or one that the API server would refuse.
    """
    try:
        body = yaml_text.load(text).body
    except yaml_text.UnreadableYaml as error:
        if error.line is None:
            raise
        line = _("Line %(line)d:") % {"line": error.line}
        raise BadManifest(f"{line} {error.message}") from error
    return claim_in(body)


def _offered(user: User, cluster: Cluster) -> Json:
    """Return what can be chosen: nodes, devices, and claims that this person may see."""
    nodes = KubeObject.objects.filter(cluster=cluster, kind="Node", deleted_at=None)
    devices = Device.objects.filter(cluster=cluster).order_by("driver", "pool", "name")
    claims = visible_claims(user, cluster).order_by("namespace", "name")
    return {
        "nodes": list(
            nodes.order_by("name").values_list("name", flat=True)[:MOST_LISTED]
        ),
        "devices": [
            "/".join(each)
            for each in devices.values_list("driver", "pool", "name")[:MOST_LISTED]
        ],
        "claims": [
            "/".join(each)
            for each in claims.values_list("namespace", "name")[:MOST_LISTED]
        ],
    }
