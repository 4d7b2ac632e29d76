"""Notices, and subscriptions with their deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample
from rest_framework.response import Response

from portal.accounts.domain.scopes import Scope
from portal.api import serializers
from portal.api.operations import Operation, PageParameters
from portal.api.problems import ApiProblem, error_at, refused_at
from portal.api.views import ApiView
from portal.core.errors import PortalError
from portal.core.problems import status_of
from portal.notices.domain.messages import notice_document
from portal.notices.models import Delivery, Receipt, Subscription
from portal.notices.queries.log import (
    deliveries_of,
    receipts_of,
    subscriptions_of,
)
from portal.notices.services.reading import mark_read
from portal.notices.services.subscribing import (
    redeliver,
    rotate,
    send_test,
    subscribe,
    switch_on,
    unsubscribe,
)
from portal.notices.services.wording import facts_of

if TYPE_CHECKING:
    from rest_framework.request import Request

    from portal.accounts.models import Tenant

Json = dict[str, Any]

TAG = "notices"


def reading(**more: Any) -> Operation:
    """Return an operation that reads what concerns the caller."""
    return Operation(tag=TAG, scope=Scope.NOTICES_READ, **more)


def writing(**more: Any) -> Operation:
    """Return an operation that changes where the caller is told of things."""
    return Operation(tag=TAG, scope=Scope.NOTICES_WRITE, bucket="write", **more)


FOLLOWING = tuple(
    (operation, {"id": "$response.body#/id"})
    for operation in (
        "getSubscription",
        "rotateSubscriptionSecret",
        "testSubscription",
        "switchOnSubscription",
        "listDeliveries",
        "deleteSubscription",
    )
)
FIRST = "$response.body#/items/0/id"


class NoticeList(ApiView):
    """What the caller's bell holds."""

    operations = {
        "GET": reading(
            id="listNotices",
            summary="List the notices about you, newest first",
            query=serializers.NoticeParameters,
            answer=serializers.OwnNotice,
            listed=True,
        )
    }

    def get(self, request: Request) -> Response:
        """Return a page of notices."""
        rows = receipts_of(self.person)
        if self.wanted["unread"]:
            rows = rows.filter(read_at=None)
        return self.newest_first(rows, _own_notice)


class NoticeRead(ApiView):
    """Notices that the caller has read."""

    operations = {
        "POST": writing(
            id="markNoticesRead",
            summary="Mark notices as read: those named, or all",
            body=serializers.ReadBody,
            answer=serializers.ReadAnswer,
            examples=(OpenApiExample("All", request_only=True, value={}),),
        )
    }

    def post(self, request: Request) -> Response:
        """Mark them."""
        ids = self.body()["ids"]
        return self.answer(
            {"marked": mark_read(self.person, now=timezone.now(), ids=ids)}
        )


class SubscriptionView(ApiView):
    """A view of the subscriptions that the caller manages."""

    def mine(self, public_id: UUID) -> Subscription:
        """Return one of them.

        Raises:
            Http404: The caller manages none of that id.
        """
        row = subscriptions_of(self.person).filter(public_id=public_id).first()
        if row is None:
            raise Http404(_("You have no subscription of that id."))
        return row


class SubscriptionList(SubscriptionView):
    """Subscriptions: those that are there, and new ones."""

    operations = {
        "GET": reading(
            id="listSubscriptions",
            summary="List your subscriptions and those of your tenants",
            query=PageParameters,
            answer=serializers.Subscription,
            listed=True,
            links=(("getSubscription", {"id": FIRST}),),
        ),
        "POST": writing(
            id="createSubscription",
            shows_secret=True,
            summary="Have events sent to an address",
            description="The answer holds the `secret` of a signed webhook, this once:"
            " check `webhook-signature` with it, as Standard Webhooks describes."
            " Deliveries are tried again for a day and a half, and may come twice.",
            body=serializers.SubscriptionBody,
            answer=serializers.MadeSubscription,
            status=201,
            problems=(422,),
            links=FOLLOWING,
            examples=(
                OpenApiExample(
                    "A webhook for what becomes of requests",
                    request_only=True,
                    value={
                        "name": "ci",
                        "channel": "webhook",
                        "address": "https://93.184.215.14/hooks/gpus",
                        "events": ["claim.active", "claim.apply-failed"],
                    },
                ),
            ),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of subscriptions."""
        return self.newest_first(subscriptions_of(self.person), _subscription)

    def post(self, request: Request) -> Response:
        """Make one."""
        body = self.body()
        tenant = self._tenant(body.pop("tenant"))
        try:
            row, secret = subscribe(
                self.person, tenant=tenant, now=timezone.now(), **body
            )
        except PortalError as error:
            raise _refused(error) from error
        return self.answer({**_subscription(row), "secret": secret or None})

    def _tenant(self, name: str | None) -> Tenant | None:
        if name is None:
            return None
        found = self.person.tenants.filter(name=name).first()
        if found is None:
            text = _("You belong to no tenant of that name.")
            raise refused_at("tenant", "subscription.refused", text)
        return found


class SubscriptionDetail(SubscriptionView):
    """One subscription."""

    operations = {
        "GET": reading(
            id="getSubscription",
            summary="Say what is sent where",
            answer=serializers.Subscription,
        ),
        "DELETE": writing(
            id="deleteSubscription",
            summary="End a subscription, with its log",
            status=204,
        ),
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return it."""
        return self.answer(_subscription(self.mine(id)))

    def delete(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """End it."""
        unsubscribe(self.mine(id))
        return Response(status=204)


class SubscriptionRotate(SubscriptionView):
    """The secret of a webhook."""

    operations = {
        "POST": writing(
            id="rotateSubscriptionSecret",
            shows_secret=True,
            summary="Give a webhook a new secret, and show it this once",
            description="The one before signs, too, for a day.",
            answer=serializers.MadeSubscription,
            problems=(422,),
        )
    }

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Rotate it."""
        row = self.mine(id)
        try:
            secret = rotate(row, now=timezone.now())
        except PortalError as error:
            raise _refused(error) from error
        return self.answer({**_subscription(self.mine(id)), "secret": secret})


class SubscriptionTest(SubscriptionView):
    """A test of a subscription."""

    operations = {
        "POST": writing(
            id="testSubscription",
            summary="Send a test, and return its delivery",
            answer=serializers.Delivery,
            status=202,
            links=(("redeliver", {"id": "$response.body#/id"}),),
        )
    }

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Send it."""
        row = send_test(self.mine(id), person=self.person, now=timezone.now())
        return self.answer(_delivery(row))


class SubscriptionOn(SubscriptionView):
    """A subscription that was switched off."""

    operations = {
        "POST": writing(
            id="switchOnSubscription",
            summary="Switch on again what its receiver had ended with 410",
            answer=serializers.Subscription,
        )
    }

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Switch it on."""
        switch_on(self.mine(id))
        return self.answer(_subscription(self.mine(id)))


class DeliveryList(SubscriptionView):
    """What was, or is to be, delivered to a subscription."""

    operations = {
        "GET": reading(
            id="listDeliveries",
            summary="List the deliveries to a subscription, newest first",
            query=serializers.DeliveryParameters,
            answer=serializers.Delivery,
            listed=True,
            links=(("redeliver", {"id": FIRST}),),
        )
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return a page of deliveries."""
        rows = deliveries_of(self.person).filter(subscription=self.mine(id))
        if self.wanted["status"]:
            rows = rows.filter(status__in=self.wanted["status"])
        return self.newest_first(rows, _delivery)


class DeliveryRedeliver(ApiView):
    """One delivery, once more."""

    operations = {
        "POST": writing(
            id="redeliver",
            summary="Send once more what was delivered, or given up",
            answer=serializers.Delivery,
            status=202,
            problems=(409,),
        )
    }

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Have it sent."""
        row = deliveries_of(self.person).filter(public_id=id).distinct().first()
        if row is None:
            raise Http404(_("You have no delivery of that id."))
        if not redeliver(row, now=timezone.now()):
            text = _("It is on its way already.")
            raise ApiProblem(409, "delivery.waiting", text)
        row.refresh_from_db()
        return self.answer(_delivery(row))


def _refused(error: PortalError) -> ApiProblem:
    field = getattr(error, "field", "address")
    place = error_at(
        "pointer", f"#/{field}" if field else "#", error.code, error.message
    )
    return ApiProblem(status_of(error), error.code, error.message, errors=[place])


def _own_notice(row: Receipt) -> Json:
    return {**notice_document(facts_of(row.notice)), "readAt": row.read_at}


def _subscription(row: Subscription) -> Json:
    return {
        "id": str(row.public_id),
        "name": row.name,
        "tenant": row.tenant.name if row.tenant else None,
        "channel": row.channel,
        "address": row.address_shown,
        "events": row.events,
        "isOn": not row.off_because,
        "createdAt": row.created_at,
    }


def _delivery(row: Delivery) -> Json:
    return {
        "id": str(row.public_id),
        "notice": notice_document(facts_of(row.notice)),
        "status": row.status,
        "attempts": row.attempt_count,
        "responseCode": row.response_code,
        "problem": row.problem or None,
        "nextTryAt": row.retry_at,
        "createdAt": row.created_at,
        "changedAt": row.changed_at,
    }
