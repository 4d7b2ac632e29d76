"""What approvals write on a request, by code; kept so, and worded when it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

SENTENCES: dict[str, _StrPromise] = {
    "approval.over": _("Its time is over, so it was not applied: submit anew."),
    "approval.other_digest": _(
        "It is not what was approved, so it was not applied: submit anew."
    ),
    "approval.too_few": _(
        "Too few of those who approved it may still do so, so it was not applied:"
        " submit anew."
    ),
    "approval.undecided": _("Nobody decided about it in time: submit it anew."),
    "approval.denied": _("Denied by %(user)s: %(reason)s"),
}
