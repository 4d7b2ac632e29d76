"""Notices, who is told of them, subscriptions, and deliveries.

A notice is a fact that stays as it was written. A delivery is a row in a queue:
workers take it by compare-and-set and a lease, so a lost message costs seconds.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from portal.accounts.models import Tenant


class Notice(models.Model):
    """Something that happened.

    `number` is its place in the log of events. It is given a moment after the
    transaction that wrote it, so that no smaller one can appear behind a greater.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    number = models.BigIntegerField(null=True, unique=True, editable=False)
    event = models.CharField(max_length=32)  # of portal.notices.domain.events
    subject = models.CharField(max_length=400)  # "ai-serving/notebook-gpu on demo"
    tenant = models.ForeignKey(
        Tenant, models.CASCADE, null=True, blank=True, related_name="+"
    )
    payload = models.JSONField(default=dict)
    url = models.CharField(max_length=400)  # a path of the portal
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["at"], name="notices_notice_at"),
            # Whether something was told already is asked each minute.
            models.Index(fields=["url", "event"], name="notices_notice_of_url"),
            models.Index(
                fields=["id"],
                name="notices_notice_unnumbered",
                condition=models.Q(number=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.subject}"


class Receipt(models.Model):
    """A notice as one person has it."""

    notice = models.ForeignKey(Notice, models.CASCADE, related_name="receipts")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    # Not shown at the bell: see QUIET.
    is_quiet = models.BooleanField(default=False)
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["notice", "person"], name="notices_receipt_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["person"],
                name="notices_receipt_unread",
                condition=models.Q(read_at=None, is_quiet=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.notice} for {self.person}"


class Subscription(models.Model):
    """Where a person, or a whole tenant, wants to be told of some events."""

    class Channel(models.TextChoices):
        """How it is sent."""

        EMAIL = "email", _("E-mail")
        WEBHOOK = "webhook", _("Signed webhook")
        SLACK = "slack", _("Slack message")
        TEAMS = "teams", _("Teams message")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    # Exactly one of the two; a tenant's is managed by all of its members.
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="subscriptions",
    )
    tenant = models.ForeignKey(
        Tenant, models.CASCADE, null=True, blank=True, related_name="subscriptions"
    )
    name = models.CharField(max_length=63)
    channel = models.CharField(max_length=8, choices=Channel.choices)
    # The address itself may be a secret (Slack's and Teams' are).
    address_encrypted = models.TextField()
    address_shown = models.CharField(max_length=255)
    events = ArrayField(models.CharField(max_length=32))
    # Of webhooks; the one before signs too, until it ends.
    secret_encrypted = models.TextField(default="", blank=True)
    earlier_secret_encrypted = models.TextField(default="", blank=True)
    earlier_ends_at = models.DateTimeField(null=True, blank=True)
    # Until then nothing is sent: the receiver did not answer.
    paused_until = models.DateTimeField(null=True, blank=True)
    # Why it was switched off, in a code: "gone". "" while it is on.
    off_because = models.CharField(max_length=16, default="", blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(person=None) ^ models.Q(tenant=None),
                name="notices_subscription_one_owner",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.channel})"


class Delivery(models.Model):
    """One notice on its way to one subscription."""

    class Status(models.TextChoices):
        """How far it is."""

        WAITING = "waiting", _("waiting")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("failed")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    notice = models.ForeignKey(Notice, models.CASCADE, related_name="deliveries")
    subscription = models.ForeignKey(
        Subscription, models.CASCADE, related_name="deliveries"
    )
    status = models.CharField(
        max_length=9, choices=Status.choices, default=Status.WAITING
    )
    attempt_count = models.IntegerField(default=0)
    # Of the last attempt; null where no answer came.
    response_code = models.IntegerField(null=True, blank=True)
    # A code: what kept the last attempt from succeeding.
    problem = models.CharField(max_length=32, default="", blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["retry_at"],
                name="notices_delivery_due",
                condition=models.Q(status="waiting"),
            ),
            models.Index(fields=["subscription", "-id"], name="notices_delivery_of"),
        ]

    def __str__(self) -> str:
        return f"{self.notice} to {self.subscription}: {self.status}"
