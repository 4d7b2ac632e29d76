"""The record of what was seen in each cluster.

Each Kubernetes object is kept once as JSON (`KubeObject`); what pages search is
derived from it beside it: Device, Pool, Allocation. A row's `revision` is the
cluster's revision at which it last changed, so that "everything after N" is one
indexed read (the engine is filled so).
"""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class Cluster(models.Model):
    """A cluster that we read: live, simulated, or loaded from files (offline)."""

    class Kind(models.TextChoices):
        """Where its objects come from."""

        LIVE = "live", _("live")
        OFFLINE = "offline", _("offline")
        SIMULATED = "simulated", _("simulated")

    name = models.CharField(
        max_length=63,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")],
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    kubernetes_version = models.CharField(max_length=64, default="", blank=True)
    # Gate name → bool, over the defaults of the version.
    feature_gates = models.JSONField(default=dict, blank=True)
    kubeconfig_encrypted = models.TextField(default="", blank=True)
    context = models.CharField(max_length=253, default="", blank=True)
    revision = models.BigIntegerField(default=0)
    kube_system_uid = models.CharField(max_length=64, default="", blank=True)
    # When the watcher last heard from the server, and when it last failed and how.
    heard_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    failure = models.TextField(default="", blank=True)
    # Kind → {"state": "watching"|"forbidden"|"not-served"|…, "message", "resourceVersion"}.
    kinds = models.JSONField(default=dict, blank=True)
    # Where what cards really use is asked; "" where nobody measures it.
    prometheus_url = models.CharField(max_length=500, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

    def sees(self, *kinds: str) -> bool:
        """Return whether what is stored of these kinds is what the cluster has."""
        return all(self.state_of(kind) == "watching" for kind in kinds)

    def state_of(self, kind: str) -> str:
        """Return how far a kind is read, as the watcher says; "" where it says nothing."""
        return str((self.kinds.get(kind) or {}).get("state", ""))

    def is_blind_to(self, kind: str) -> bool:
        """Return whether what is stored of a kind says nothing of what the cluster has.

        So it is where it may not be listed, and until it was listed once; a kind that
        was listed and fails now is old, not unknown.
        """
        if self.kind == self.Kind.OFFLINE or not self.kinds:
            return False
        entry = self.kinds.get(kind) or {}
        state = entry.get("state", "")
        was_listed = bool(entry.get("resourceVersion"))
        return state == "forbidden" or (
            state in ("", "listing", "failing") and not was_listed
        )


class KubeObject(models.Model):
    """One Kubernetes object as it was last seen, in its kind's v1 shape."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="objects_seen")
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, default="", blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64, default="", blank=True)
    resource_version = models.CharField(max_length=64, default="", blank=True)
    # "driver/pool" of a ResourceSlice, else "".
    pool = models.CharField(max_length=320, default="", blank=True)
    body = models.JSONField()
    revision = models.BigIntegerField()
    seen_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name"],
                name="inventory_kubeobject_key",
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "revision"], name="inventory_object_revision"
            ),
            models.Index(fields=["cluster", "uid"], name="inventory_object_uid"),
            models.Index(
                fields=["cluster", "pool"],
                name="inventory_object_pool",
                condition=~models.Q(pool=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Pool(models.Model):
    """A resource pool at its newest generation.

    Source: resource.k8s.io/v1 ResourcePool.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="pools")
    driver = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    generation = models.BigIntegerField()
    expected_slice_count = models.BigIntegerField()
    seen_slice_count = models.IntegerField()
    # "" or the one node that the pool belongs to.
    node_name = models.CharField(max_length=253, default="", blank=True)
    # complete | incomplete | invalid; `problem` is "code: detail", or empty.
    verdict = models.CharField(max_length=16)
    problem = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "driver", "name"], name="inventory_pool_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


class Device(models.Model):
    """A device of a pool's newest generation; names may repeat in a faulty pool."""

    # Written by the ten thousand: each index below begins with the cluster, and the
    # objects that devices are derived from, in the same transaction, hold the reference.
    cluster = models.ForeignKey(
        Cluster,
        models.CASCADE,
        related_name="devices",
        db_index=False,
        db_constraint=False,
    )
    driver = models.CharField(max_length=63)
    pool = models.CharField(max_length=253)
    name = models.CharField(max_length=63)
    slice_name = models.CharField(max_length=253)
    # "" where several nodes can reach it.
    node_name = models.CharField(max_length=253, default="", blank=True)
    # {full key: {"string"|"int"|"bool"|"version"|…: value}}, keys with their domain.
    attributes = models.JSONField()
    # {full key: {"value": quantity, "requestPolicy": …}}
    capacity = models.JSONField()
    consumes_counters = models.JSONField(default=list)
    taints = models.JSONField(default=list)
    allow_multiple_allocations = models.BooleanField(default=False)
    # Bytes of the memory-like capacity, or null where none is published or it is 0.
    memory_bytes = models.BigIntegerField(null=True, blank=True)

    class Meta:
        indexes = [
            # The order of lists, whole, so that any page of them is one index read.
            models.Index(
                fields=["cluster", "driver", "pool", "name", "id"],
                name="inventory_device_order",
            ),
            models.Index(
                fields=["cluster", "slice_name"], name="inventory_device_slice"
            ),
            models.Index(fields=["cluster", "node_name"], name="inventory_device_node"),
        ]

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.name}"


class Allocation(models.Model):
    """One device, or one share of it, that a claim holds; outlives the device row."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="allocations")
    claim_namespace = models.CharField(max_length=63)
    claim_name = models.CharField(max_length=253)
    claim_uid = models.CharField(max_length=64, default="", blank=True)
    # "request" or "request/subrequest"
    device_request = models.CharField(max_length=128)
    driver = models.CharField(max_length=63)
    pool = models.CharField(max_length=253)
    device = models.CharField(max_length=63)
    share_id = models.CharField(max_length=64, default="", blank=True)
    # {key: quantity} or {} where the whole device is held.
    consumed_capacity = models.JSONField(default=dict)
    admin_access = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(
                fields=["cluster", "driver", "pool", "device"],
                name="inventory_allocation_device",
            ),
            models.Index(
                fields=["cluster", "claim_namespace", "claim_name"],
                name="inventory_allocation_claim",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.claim_namespace}/{self.claim_name}: {self.device}"


class HistorySample(models.Model):
    """What some cards summed up to at the beginning of a five-minute slot.

    Older samples are thinned: see `inventory.domain.history`. A slot without a
    sample is one in which nobody looked, never one in which there was nothing.
    """

    class Scope(models.TextChoices):
        """What the cards have in common."""

        CLUSTER = "cluster", _("whole cluster")
        PRODUCT = "product", _("product")
        CLASS = "class", _("class")
        POOL = "pool", _("pool")
        TENANT = "tenant", _("tenant")

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="history")
    scope = models.CharField(max_length=16, choices=Scope.choices)
    # Product, class, driver/pool or tenant; "" for the whole cluster.
    key = models.CharField(max_length=320, default="", blank=True)
    at = models.DateTimeField()
    cards = models.IntegerField()
    # Bytes; null where none of the cards publishes its memory, and for tenants.
    total = models.BigIntegerField(null=True)
    allocated = models.BigIntegerField(null=True)
    available = models.BigIntegerField(null=True)
    # More may be allocated than `allocated`.
    at_least = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "scope", "key", "at"], name="inventory_history_slot"
            )
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.key} at {self.at:%Y-%m-%d %H:%M}"


class CardSpan(models.Model):
    """How long one card was used as it was: from slot `since` to slot `until`.

    While it is the newest span of its card, and that did not change, `until` moves.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="card_spans")
    driver = models.CharField(max_length=63)
    pool = models.CharField(max_length=253)
    card = models.CharField(max_length=63)
    since = models.DateTimeField()
    until = models.DateTimeField()
    is_newest = models.BooleanField(default=True)
    # Bytes; null where unknown.
    total = models.BigIntegerField(null=True)
    allocated = models.BigIntegerField(null=True)
    at_least = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "driver", "pool", "card"],
                name="inventory_cardspan_newest",
                condition=models.Q(is_newest=True),
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "driver", "pool", "card", "until"],
                name="inventory_cardspan_card",
            )
        ]

    def __str__(self) -> str:
        return (
            f"{self.driver}/{self.pool}/{self.card} since {self.since:%Y-%m-%d %H:%M}"
        )


class PoolSpan(models.Model):
    """How long a pool was published as it was: from slot `since` to slot `until`.

    What changed and changed back within one slot is not kept.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="pool_spans")
    driver = models.CharField(max_length=63)
    pool = models.CharField(max_length=253)
    since = models.DateTimeField()
    until = models.DateTimeField()
    is_newest = models.BooleanField(default=True)
    generation = models.BigIntegerField()
    expected_slice_count = models.BigIntegerField()
    seen_slice_count = models.IntegerField()
    verdict = models.CharField(max_length=16)
    problem = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "driver", "pool"],
                name="inventory_poolspan_newest",
                condition=models.Q(is_newest=True),
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "driver", "pool", "until"],
                name="inventory_poolspan_pool",
            )
        ]

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool} since {self.since:%Y-%m-%d %H:%M}"


class Meters(models.Model):
    """What a cluster's Prometheus said last of its cards; replaced as a whole."""

    cluster = models.OneToOneField(
        Cluster, models.CASCADE, primary_key=True, related_name="meters"
    )
    # When it was last asked, and when it last answered.
    asked_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)
    # One sentence on what it could not say, or "".
    problem = models.TextField(default="", blank=True)
    # "driver/pool/card" → {"used", "utilisation", "quiet", "since", "by"}; see
    # `inventory.domain.meters`.
    readings = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return f"Meters of {self.cluster_id}"


class SavedView(models.Model):
    """A filter of the GPUs page that a person keeps under a name."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=63)
    # Of the page's address, such as "product=NVIDIA+L40S&free=40".
    query = models.CharField(max_length=2_000, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], name="inventory_savedview_name"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
