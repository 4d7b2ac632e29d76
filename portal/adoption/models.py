"""What admins wrote to clusters on the way to DRA."""

from __future__ import annotations

import pghistory
import pgtrigger
from django.db import models


@pghistory.track(
    pghistory.InsertEvent(), append_only=True, model_name="AppliedMappingEvent"
)
class AppliedMapping(models.Model):
    """An extended resource that an admin mapped to a DeviceClass, or took from it."""

    cluster = models.CharField(max_length=63)
    device_class = models.CharField(max_length=253)
    # extendedResourceName before and after; "" for none.
    before = models.CharField(max_length=253, default="", blank=True)
    after = models.CharField(max_length=253, default="", blank=True)
    object_uid = models.CharField(max_length=64)
    applied_by = models.CharField(max_length=150)
    applied_at = models.DateTimeField()

    class Meta:
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.device_class}: {self.after or 'none'}"
