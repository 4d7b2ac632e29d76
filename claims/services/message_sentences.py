"""What workers write on a request, by code; kept so, and worded when it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

SENTENCES: dict[str, _StrPromise] = {
    "portal.defect": _("Something unexpected went wrong; it is tried again."),
    "approval.missing": _("adminAccess needs an approval, and there is none."),
    "apply.not_yet.name": _(
        "Another “%(name)s” was there a moment ago; it is tried again."
    ),
    "apply.not_yet.deleting": _(
        "“%(name)s” is being deleted; it is applied once that is over."
    ),
    "apply.person_changed": _(
        "%(user)s no longer belongs to %(tenant)s, so this was not applied."
    ),
    "apply.namespace_label": _(
        "The namespace %(namespace)s no longer carries the label %(label)s, so this was"
        " not applied: have it set, then submit anew."
    ),
    "apply.class_changed": _(
        "The device class “%(name)s” has changed since the preview, so this was not"
        " applied: preview it again and submit anew."
    ),
    "apply.name_taken": _(
        "A %(kind)s named “%(name)s” that this request did not make is in %(namespace)s:"
        " submit under another name."
    ),
    "apply.field_dropped": _(
        "The cluster made something else of it than it showed, and it was taken back;"
        " it differs in %(fields)s."
    ),
    "release.still_there": _("Waits until these are gone: %(names)s."),
    "release.still_there.ordered": _(
        "Its end was ordered by %(who)s; waits until these are gone: %(names)s."
    ),
    "release.still_there.unasked": ngettext_lazy(
        "%(count)d pod that you were not shown still uses it (%(names)s): release again"
        " to end it too.",
        "%(count)d pods that you were not shown still use it (%(names)s): release again"
        " to end them too.",
        "count",
    ),
    "end.over": _("Its time is over."),
    "end.idle": _(
        "No pod used its devices for %(hours)d hours, so policy releases it."
    ),
    "end.removed": _(
        "It was removed or replaced outside the portal, so this request ends."
    ),
    "end.over_before": _("Its time was over before it was applied."),
    "end.revoked": _("Revoked by %(user)s: %(reason)s"),
}
