"""What all processes count, and their signs of life."""

from __future__ import annotations

from django.db import models


class Counter(models.Model):
    """How often, or how long in all, something happened in any process so far.

    Each process adds what it counted every few seconds: any of them can tell the
    sum, and it survives their restarts.
    """

    name = models.CharField(max_length=80)
    # JSON object of texts, its members sorted.
    labels = models.CharField(max_length=255)
    value = models.FloatField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "labels"], name="core_counter_once")
        ]

    def __str__(self) -> str:
        return f"{self.name}{self.labels} {self.value}"


class Heartbeat(models.Model):
    """When a watcher, worker or beat last gave a sign of life, by its host."""

    process = models.CharField(max_length=16)
    host = models.CharField(max_length=255)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["process", "host"], name="core_heartbeat_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.process} on {self.host} at {self.at:%H:%M:%S}"
