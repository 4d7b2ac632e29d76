"""What a composer's form was begun from, and the draft that it is kept as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils.translation import gettext as _

from claims.domain.edits import repaired
from claims.services.composing import classes_of, preset
from claims.services.drafting import drafts_of, form_key, form_of, keep
from claims.services.origins import begun_from, difference, origin_of
from claims.services.writing import text_of
from claims.views.importing import diff_lines
from portal.accounts.queries import namespaces_of

if TYPE_CHECKING:
    import uuid
    from datetime import datetime

    from claims.domain.draft import Draft
    from claims.models import ClaimRequest
    from inventory.models import Cluster
    from portal.core.http import PortalRequest

# The field that the devices explorer fills.
FIRST_SELECTOR = "requests-0-alternatives-0-selectors-0"


@dataclass(frozen=True, slots=True)
class Begun:
    """Which draft a form is, and what it was begun from; both as the form carries them."""

    key: uuid.UUID
    origin: str = ""


def begun_of(request: PortalRequest) -> Begun:
    """Return what a posted form says of its beginning."""
    given = request.POST.get("draft", "")
    return Begun(form_key(given), request.POST.get("origin", "")[:400])


def keep_posted(
    request: PortalRequest, cluster: Cluster, draft: Draft, *, now: datetime
) -> Begun:
    """Keep a posted form as the draft that it says it is; return its beginning.

    Raises:
        DraftRefused: It is not kept.
    """
    begun = begun_of(request)
    keep(request.user, cluster, draft, key=begun.key, origin=begun.origin, now=now)
    return begun


def first_form(
    request: PortalRequest, cluster: Cluster
) -> tuple[Draft, Begun, tuple[str, ...]]:
    """Return the form that an address asks for, and what is to be said about it.

    Raises:
        Http404: It names a draft, request or template that this person has not.
    """
    if given := request.GET.get("draft", ""):
        row = drafts_of(request.user).filter(public_id=form_key(given)).first()
        if row is None or row.cluster_id != cluster.pk:
            raise Http404(_("There is no such draft: it was submitted or discarded."))
        note = _("The draft is as you left it.")
        return form_of(row), Begun(row.public_id, row.origin), (note,)
    if given := request.GET.get("from", ""):
        return _copied(request, cluster, given)
    draft = preset(
        request.GET.get("preset", ""),
        namespace=next(iter(namespaces_of(request.user, cluster.name)), ""),
        classes=classes_of(cluster),
    )
    if selector := request.GET.get("selector", ""):
        draft = repaired(draft, FIRST_SELECTOR, selector)
    return draft, Begun(form_key("")), ()


def _copied(
    request: PortalRequest, cluster: Cluster, given: str
) -> tuple[Draft, Begun, tuple[str, ...]]:
    origin = origin_of(request.user, cluster, given)
    draft = begun_from(origin, request.user, cluster) if origin else None
    if origin is None or draft is None:
        raise Http404(_("There is nothing of that name that you could begin from."))
    return draft, Begun(form_key(""), given), ()


def surroundings(
    request: PortalRequest, cluster: Cluster, draft: Draft, begun: Begun
) -> dict[str, Any]:
    """Return what a page shows of a form's beginning: origin, difference, draft."""
    origin = origin_of(request.user, cluster, begun.origin) if begun.origin else None
    lines = diff_lines(difference(origin, text_of(draft))) if origin else []
    return {"draft_key": begun.key, "origin": origin, "difference": lines}


def revised_by(
    request: PortalRequest, cluster: Cluster, begun: Begun
) -> ClaimRequest | None:
    """Return the request that a form would be a new version of, if any."""
    origin = origin_of(request.user, cluster, begun.origin) if begun.origin else None
    return origin.request if origin and origin.is_revision else None
