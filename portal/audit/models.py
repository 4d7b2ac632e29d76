"""The sealed record: every event of a tracked table, in one chain of hashes.

Database triggers write events in the transaction that makes a change; soon after,
each is sealed here in the order in which it is found. A seal holds the event's
content, so that an event that is changed or removed is found, and the hash of
the seal before it, so that a seal that is changed or removed is found.
"""

from __future__ import annotations

import pgtrigger
from django.db import models

from portal.audit.context import AUDIT_IDS


class Seal(models.Model):
    """One event, sealed. `number` has no gaps."""

    number = models.BigIntegerField(primary_key=True)
    table = models.CharField(max_length=63)  # app_label.ModelName of the event
    event_id = models.BigIntegerField()
    object_id = models.BigIntegerField()  # of the row that changed
    at = models.DateTimeField()
    actor = models.CharField(max_length=150, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    request_id = models.CharField(max_length=64, default="", blank=True)
    content = models.JSONField()
    # Columns that differ from the object's event before: {column: [old, new]}.
    changes = models.JSONField(default=dict)
    # Only leases and times of retries changed.
    is_routine = models.BooleanField(default=False)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["table", "event_id"], name="audit_seal_event_once"
            )
        ]
        indexes = [
            models.Index(fields=["table", "object_id"], name="audit_seal_object"),
            models.Index(fields=["actor"], name="audit_seal_actor"),
            models.Index(fields=["at"], name="audit_seal_at"),
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"seal {self.number}"

    @property
    def audit_ids(self) -> list[str]:
        """The ids of the writes that it was made of, in the API server's audit log."""
        return [
            str(each) for each in (self.content["context"] or {}).get(AUDIT_IDS, ())
        ]
