"""Manifests judged for one person: checks and previews that ask for nothing.

What a person may not see is not told: findings on other tenants' objects are left
out, and a manifest may not be set in a namespace that is somebody else's, since
its checks would tell of what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from claims.services.causes import acauses, with_causes
from claims.services.check_documents import check_document
from claims.services.checking import check_file
from claims.services.diagnosing import hidden_from
from claims.services.explaining import question_of
from claims.services.filed import file_of, identity_of, item_previews, together
from inventory.models import KubeObject
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.domain.checks.findings import ObjectFinding
    from claims.domain.preview import Preview
    from claims.services.filed import Filed
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]
LineFinder = Callable[[str, int], int | None]

MOST_ITEMS = 20
# What all manifests of one request may take together, less the last.
REQUEST_SECONDS = 20.0


class NotJudged(PortalError):
    """What was sent cannot be judged for this person."""

    code = "check.refused"


def filed_for(
    user: User, cluster: Cluster, objects: list[Json], *, namespace: str
) -> Filed:
    """Return what objects say, those without a namespace in `namespace` or one's own.

    Raises:
        NotJudged: There is nothing to judge, too much, or in foreign namespaces.
        BadInput: An object has no name.
    """
    own = namespaces_of(user, cluster.name)
    filed = file_of(objects, namespace=namespace or next(iter(own), "default"))
    if not filed.items:
        raise NotJudged(
            _("Send a ResourceClaim, ResourceClaimTemplate or DeviceClass to judge."),
            code="check.nothing",
        )
    if len(filed.items) > MOST_ITEMS:
        raise NotJudged(
            _("%(count)d manifests are too many: send at most %(most)d at a time.")
            % {"count": len(filed.items), "most": MOST_ITEMS},
            code="check.too_many",
        )
    refuse_foreign(
        user, cluster, {identity_of(item)["namespace"] for item in filed.items}
    )
    return filed


def refuse_foreign(user: User, cluster: Cluster, namespaces: set[str]) -> None:
    """Refuse to judge what is set in namespaces that are somebody else's.

    Raises:
        NotJudged: One is not this person's, and something is there.
    """
    if user.may(Permission.SEE_ALL_CLAIMS):
        return
    own = namespaces_of(user, cluster.name)
    asked = namespaces - {"", *own}
    taken = KubeObject.objects.filter(
        cluster=cluster, namespace__in=asked, deleted_at=None
    ).values_list("namespace", flat=True)
    foreign = taken.order_by("namespace").first()
    if foreign:
        raise NotJudged(
            _("“%(namespace)s” is not one of your namespaces here; you have: %(own)s.")
            % {"namespace": foreign, "own": ", ".join(sorted(own)) or _("none")},
            code="check.namespace",
        )


def judged(
    user: User, cluster: Cluster, filed: Filed, lines: list[LineFinder | None]
) -> Json:
    """Return diagnostics and preview of each item, as `check_claim` prints them.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    items, others = check_file(cluster, filed, seconds=REQUEST_SECONDS)
    if not user.may(Permission.SEE_ALL_CLAIMS):
        own = {"", *namespaces_of(user, cluster.name)}
        others = [found for found in others if _place_of(found) in own]
    hide = hidden_from(user, cluster)
    return check_document(items, others, lines, hide=hide)


def _place_of(found: ObjectFinding) -> str:
    """Return the namespace that a finding tells of, or ""."""
    return found.name if found.kind == "Namespace" else found.namespace


def previews(cluster: Cluster, filed: Filed, *, causes: bool) -> Json:
    """Return previews alone, each claim by itself, with the nodes' first causes.

    It is what `manage.py preview` prints, and what keeps nodes from each claim.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    found = item_previews(cluster, filed, seconds=REQUEST_SECONDS)
    return {
        "items": [
            {
                **identity_of(item),
                "preview": _explained(cluster, filed, item, each, causes=causes)
                if each
                else None,
            }
            for item, each in zip(filed.items, found, strict=True)
        ]
    }


def _explained(
    cluster: Cluster, filed: Filed, item: Json, preview: Preview, *, causes: bool
) -> Json:
    if not causes:
        return with_causes(preview.document(), None)
    question = question_of(cluster, item, filed.overlay)
    return with_causes(preview.document(), async_to_sync(acauses)(question, preview))


def preview_as_one_pod(cluster: Cluster, filed: Filed) -> Json:
    """Return the preview of all claims as one pod's, as `manage.py preview` prints it.

    Raises:
        NotJudged: No claim could be scheduled.
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    if not filed.asked:
        raise NotJudged(
            _("No claim here could be scheduled: send one without devices."),
            code="check.nothing",
        )
    namespace = identity_of(filed.asked[0])["namespace"]
    pod = {"kind": "Pod", "namespace": namespace, "name": ""}
    document = with_causes(together(cluster, filed).document(), None)
    return {"items": [{**pod, "preview": document}]}
