"""Answers that are kept so that a repeated request is not carried out twice."""

from __future__ import annotations

from django.db import models


class KeptAnswer(models.Model):
    """One Idempotency-Key of one client, and what was answered to it."""

    # "token:ID" or "person:ID".
    client = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    # SHA-256 over method, path and body, hex.
    request_digest = models.CharField(max_length=64)
    # Until then the request is taken to be in flight.
    held_until = models.DateTimeField()
    # null while it is in flight.
    status = models.IntegerField(null=True, blank=True)
    headers = models.JSONField(default=dict)
    # The JSON text that was sent, its members in their order.
    document = models.TextField(default="", blank=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "key"], name="api_kept_once")
        ]
        indexes = [models.Index(fields=["expires_at"], name="api_kept_expires")]

    def __str__(self) -> str:
        return f"{self.client} {self.key}"
