"""Subscriptions: make one, see its deliveries, rotate its secret, test and end it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.core.errors import PortalError
from portal.core.http import PortalRequest
from portal.notices.forms import SubscriptionForm
from portal.notices.models import Delivery, Subscription
from portal.notices.queries.log import deliveries_of, subscriptions_of
from portal.notices.services.subscribing import (
    redeliver,
    rotate,
    send_test,
    subscribe,
    switch_on,
    unsubscribe,
)
from portal.notices.services.wording import PROBLEMS, WORDS, sentence_of

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

PER_PAGE = 50
KINDS = {
    Delivery.Status.WAITING: "info",
    Delivery.Status.DELIVERED: "good",
    Delivery.Status.FAILED: "bad",
}


@never_cache
@require_http_methods(["GET", "POST"])
def subscription_list(request: PortalRequest) -> HttpResponse:
    """Show one's subscriptions; on POST make one and show its secret, this once."""
    form = SubscriptionForm(request.user, request.POST or None)
    made, secret = None, ""
    if request.method == "POST" and form.is_valid():
        try:
            made, secret = subscribe(
                request.user, **form.subscription(), now=timezone.now()
            )
            form = SubscriptionForm(request.user)
        except PortalError as error:
            field = getattr(error, "field", "address") or None
            form.add_error(field, error.message)
    context = {
        "nav": "notices",
        "form": form,
        "made": made,
        "secret": secret,
        "subscriptions": subscriptions_of(request.user),
    }
    status = 422 if form.is_bound else 200
    return render(request, "notices/subscription_list.html", context, status=status)


@never_cache
@require_GET
def subscription_detail(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show a subscription and what was delivered."""
    return _detail(request, _own(request, public_id))


@never_cache
@require_POST
def subscription_rotate(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Give it a new secret and show it, this once."""
    row = _own(request, public_id)
    try:
        secret = rotate(row, now=timezone.now())
    except PortalError as error:
        messages.error(request, error.message)
        return _back(row)
    return _detail(request, _own(request, public_id), secret=secret)


@require_POST
def subscription_test(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Send a test to it."""
    row = _own(request, public_id)
    send_test(row, person=request.user, now=timezone.now())
    messages.success(request, _("A test is on its way; see below how it goes."))
    return _back(row)


@require_POST
def subscription_on(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Switch it on again."""
    row = _own(request, public_id)
    switch_on(row)
    return _back(row)


@require_POST
def subscription_remove(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """End it, with its log."""
    unsubscribe(_own(request, public_id))
    messages.success(request, _("The subscription was removed; nothing more is sent."))
    return HttpResponseRedirect(reverse("notices:subscription-list"))


@require_POST
def delivery_again(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Send once more what was sent, or given up."""
    row = get_object_or_404(deliveries_of(request.user), public_id=public_id)
    if redeliver(row, now=timezone.now()):
        messages.success(request, _("It is sent once more."))
    else:
        messages.info(request, _("It is on its way already."))
    return _back(row.subscription)


def _own(request: PortalRequest, public_id: UUID) -> Subscription:
    return get_object_or_404(subscriptions_of(request.user), public_id=public_id)


def _back(row: Subscription) -> HttpResponseRedirect:
    return HttpResponseRedirect(
        reverse("notices:subscription-detail", args=[row.public_id])
    )


def _detail(
    request: PortalRequest, row: Subscription, *, secret: str = ""
) -> HttpResponse:
    rows = deliveries_of(request.user).filter(subscription=row)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "notices",
        "subscription": row,
        "events": [WORDS[event][1] for event in row.events if event in WORDS],
        "secret": secret,
        "page": page,
        "deliveries": [_shown(each) for each in page.object_list],
        "is_webhook": row.channel == Subscription.Channel.WEBHOOK,
    }
    return render(request, "notices/subscription_detail.html", context)


def _shown(row: Delivery) -> dict[str, Any]:
    return {
        "row": row,
        "sentence": sentence_of(row.notice),
        "kind": KINDS[Delivery.Status(row.status)],
        "problem": PROBLEMS.get(row.problem, ""),
        "may_again": row.status != Delivery.Status.WAITING,
    }
