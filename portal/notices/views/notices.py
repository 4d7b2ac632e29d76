"""The bell, and the page of one's notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from portal.core.http import PortalRequest, fragment
from portal.notices.queries.log import receipts_of, unread_count
from portal.notices.services.reading import mark_read
from portal.notices.services.wording import sentence_of

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

PER_PAGE = 50


@require_GET
@vary_on_headers("HX-Request")
def notice_list(request: PortalRequest) -> HttpResponse:
    """Show a person's notices, newest first."""
    paginator = Paginator(receipts_of(request.user), PER_PAGE)
    page = paginator.get_page(request.GET.get("page"))
    rows = [(receipt, sentence_of(receipt.notice)) for receipt in page.object_list]
    context = {
        "nav": "notices",
        "page": page,
        "rows": rows,
        "unread": unread_count(request.user),
    }
    template = fragment("notices/notice_list.html", "rows", request)
    return render(request, template, context)


@require_GET
def bell(request: PortalRequest) -> HttpResponse:
    """Answer with the bell alone."""
    context = {"unread": unread_count(request.user)}
    return render(request, "components/bell.html", context)


@require_POST
def notice_read(request: PortalRequest) -> HttpResponse:
    """Mark all of a person's notices as read."""
    count = mark_read(request.user, now=timezone.now())
    if count:
        messages.success(request, _("Everything is marked as read."))
    return HttpResponseRedirect(reverse("notices:notice-list"))


@require_POST
def notice_open(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Mark one notice as read and lead to what it is about."""
    rows = receipts_of(request.user)
    receipt = get_object_or_404(rows, notice__public_id=public_id)
    mark_read(request.user, now=timezone.now(), ids=[public_id])
    return HttpResponseRedirect(receipt.notice.url)
