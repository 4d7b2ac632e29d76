"""The shapes of what every part of the API says, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.api.operations import PageParameters
from portal.notices import models
from portal.notices.domain.events import EVENTS
from portal.notices.services.wording import SUBSCRIBABLE


class ProblemError(s.Serializer[Any]):
    """One error of a problem, and the place that it is about."""

    code = s.CharField(help_text="Stable, such as `cel.compile`.")
    detail = s.CharField(help_text="One sentence.")
    pointer = s.CharField(
        required=False, help_text="JSON pointer into the body, as a fragment."
    )
    parameter = s.CharField(required=False, help_text="A query parameter.")
    header = s.CharField(required=False, help_text="A header.")
    level = s.CharField(required=False)
    line = s.IntegerField(
        required=False, help_text="In the value at the place, from 1."
    )
    column = s.IntegerField(required=False, help_text="In code points, from 1.")


class Problem(s.Serializer[Any]):
    """A refusal or a failure. Source: RFC 9457."""

    type = s.CharField(help_text="`urn:slicewise:problem:` and the code.")
    title = s.CharField()
    status = s.IntegerField()
    detail = s.CharField(help_text="One sentence that says what to do.")
    instance = s.CharField(help_text="The path that was asked.")
    code = s.CharField(help_text="Stable: programs decide by it.")
    requestId = s.CharField(help_text="Names the request in our log.")
    errors = ProblemError(many=True)  # type: ignore[assignment]


class OwnNamespace(s.Serializer[Any]):
    cluster = s.CharField()
    namespace = s.CharField()
    tenant = s.CharField()


class Me(s.Serializer[Any]):
    username = s.CharField()
    roles = s.ListField(child=s.CharField())
    permissions = s.ListField(
        child=s.CharField(), help_text="Of the account, within the token."
    )
    scopes = s.ListField(
        child=s.CharField(), allow_null=True, help_text="Of the token; null without."
    )
    tenants = s.ListField(child=s.CharField())
    namespaces = OwnNamespace(many=True)


class Token(s.Serializer[Any]):
    id = s.UUIDField()
    name = s.CharField()
    prefix = s.CharField()
    scopes = s.ListField(child=s.CharField())
    addresses = s.ListField(
        child=s.CharField(),
        help_text="Networks from which alone it works; none: from anywhere.",
    )
    createdAt = s.DateTimeField()
    expiresAt = s.DateTimeField()
    lastUsedAt = s.DateTimeField(allow_null=True)
    revokedAt = s.DateTimeField(allow_null=True)


class NoticeParameters(PageParameters):
    """Which of one's notices."""

    unread = s.BooleanField(default=False, help_text="Only those not read yet.")


class Notice(s.Serializer[Any]):
    id = s.UUIDField()
    event = s.CharField(help_text="Such as `claim.active`.")
    subject = s.CharField(help_text="What it is about, in names.")
    sentence = s.CharField(help_text="What happened, in your language.")
    tenant = s.CharField(allow_null=True)
    payload = s.DictField(help_text="Data of the event.")
    url = s.CharField(help_text="The page that shows it.")
    at = s.DateTimeField()


class OwnNotice(Notice):
    readAt = s.DateTimeField(allow_null=True)


class ReadBody(s.Serializer[Any]):
    ids = s.ListField(
        child=s.UUIDField(),
        default=None,
        allow_null=True,
        max_length=500,
        help_text="Of notices; all of them without it.",
    )


class ReadAnswer(s.Serializer[Any]):
    marked = s.IntegerField(help_text="How many were not read before.")


class SubscriptionBody(s.Serializer[Any]):
    name = s.CharField(max_length=63, help_text="What it is for.")
    tenant = s.CharField(
        default=None,
        allow_null=True,
        max_length=63,
        help_text="Of yours, whose events are sent; those about you without it.",
    )
    channel = s.ChoiceField(list(models.Subscription.Channel.values))
    address = s.CharField(
        max_length=500, help_text="An http(s) address out there, or of e-mail."
    )
    events = s.ListField(
        child=s.ChoiceField(list(SUBSCRIBABLE)), min_length=1, max_length=len(EVENTS)
    )


class Subscription(s.Serializer[Any]):
    id = s.UUIDField()
    name = s.CharField()
    tenant = s.CharField(allow_null=True)
    channel = s.CharField()
    address = s.CharField(help_text="Without what may be secret of it.")
    events = s.ListField(child=s.CharField())
    isOn = s.BooleanField(help_text="False after its receiver answered 410.")
    createdAt = s.DateTimeField()


class MadeSubscription(Subscription):
    secret = s.CharField(
        allow_null=True, help_text="Of a signed webhook, shown this once."
    )


class DeliveryParameters(PageParameters):
    """Which deliveries."""

    status = s.ListField(
        child=s.ChoiceField(list(models.Delivery.Status.values)),
        default=list,
        max_length=3,
        help_text="In one of these states; repeatable.",
    )


class Delivery(s.Serializer[Any]):
    id = s.UUIDField()
    notice = Notice()
    status = s.ChoiceField(list(models.Delivery.Status.values))
    attempts = s.IntegerField()
    responseCode = s.IntegerField(
        allow_null=True, help_text="Of the last attempt; null where nobody answered."
    )
    problem = s.CharField(allow_null=True, help_text="A code, such as `timeout`.")
    nextTryAt = s.DateTimeField(allow_null=True)
    createdAt = s.DateTimeField()
    changedAt = s.DateTimeField()


class ServerSentEvent(s.Serializer[Any]):
    """One event of a stream, by the fields of the HTML standard."""

    def get_fields(self) -> dict[str, s.Field[Any, Any, Any, Any]]:
        """Return them; a serializer has an attribute `data` of its own."""
        return {
            "event": s.CharField(help_text="Its name."),
            "data": s.CharField(
                help_text="JSON: of a notice, of a change, or why to reset."
            ),
            "id": s.CharField(required=False, help_text="Its number, if it has one."),
            "retry": s.IntegerField(
                required=False,
                help_text="Milliseconds until you come back after an end.",
            ),
        }


class EventParameters(s.Serializer[Any]):
    """Where a stream begins, and of what else it tells."""

    after = s.IntegerField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=2**62,
        help_text="As Last-Event-ID, for clients that cannot send headers.",
    )
    cluster = s.ListField(
        child=s.CharField(max_length=63),
        default=list,
        max_length=50,
        help_text="Tell when this one's inventory changed, too; repeatable.",
    )


class AuditSeal(s.Serializer[Any]):
    number = s.IntegerField()
    at = s.DateTimeField()
    table = s.CharField()
    object = s.IntegerField()
    actor = s.CharField(allow_null=True)
    reason = s.CharField(allow_null=True)
    requestId = s.CharField(allow_null=True)
    kubernetesAuditIds = s.ListField(
        child=s.CharField(),
        help_text="Of the writes that it was made of, in the API server's audit log.",
    )
    changes = s.DictField(help_text="Column → [before, after].")
    previous = s.CharField()
    digest = s.CharField()


class AuditFault(s.Serializer[Any]):
    code = s.CharField()
    number = s.IntegerField()
    detail = s.CharField(allow_null=True)


class AuditVerified(s.Serializer[Any]):
    isWhole = s.BooleanField()
    seals = s.IntegerField()
    head = s.CharField(help_text="Keep it elsewhere, and send it with a later check.")
    faults = AuditFault(many=True)
    tables = s.ListField(child=s.CharField())
