"""Gauges from Postgres and the sums of all processes, as Prometheus wants them.

Names follow kube-state-metrics: what it is, its unit, `_total` for counters. Labels
are clusters, classes, products, states, views, tasks and kinds: no person, namespace
or claim, and tenants only where a setting says so. What is unknown has no sample.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Count, Max, Min
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from claims.domain.lifecycle import FINAL, State
from claims.models import ClaimRequest
from inventory.models import Cluster, HistorySample
from portal.admission.models import GuardCount
from portal.approvals.models import Approval
from portal.core.counting import BUCKETS, counted
from portal.notices.models import Delivery

if TYPE_CHECKING:
    from prometheus_client import Metric

KEPT_SECONDS = 10.0
PENDING = (State.SUBMITTED, State.PENDING_APPROVAL, State.APPROVED, State.APPLYING)
# Of the scopes of history: name → its label. Pools would be too many.
SCOPES = {"cluster": None, "product": "product", "class": "device_class"}
# Name → labels, what it is.
COUNTERS = {
    "slicewise_http_requests": (
        ("view", "method", "code"),
        "Requests answered, by view, method and status.",
    ),
    "slicewise_tasks": (("task", "state"), "Background tasks, by how they ended."),
    "slicewise_watch_lists": (
        ("kind",),
        "Lists that the watcher read; relists, after the first.",
    ),
    "slicewise_advisor_calls": (
        ("answer",),
        "Calls of the advisor: sound, none that can be used, or spared.",
    ),
    "slicewise_watch_expired": (
        ("kind",),
        "Watches that had to begin anew with a list.",
    ),
}
# Name → its one label, what it is.
HISTOGRAMS = {
    "slicewise_http_request_duration_seconds": ("view", "Until an answer begins."),
    "slicewise_admission_review_duration_seconds": (
        "webhook",
        "Until a review of an object is answered.",
    ),
    "slicewise_task_duration_seconds": ("task", "How long background tasks take."),
    "slicewise_engine_call_duration_seconds": (
        "call",
        "How long the engine takes to answer.",
    ),
}


def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    """Return a gauge without samples."""
    return GaugeMetricFamily(f"slicewise_{name}", text, labels=labels)


class PortalCollector(Collector):
    """Everything that the portal tells; read anew at most every ten seconds."""

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        yield from _clusters()
        yield from _memory()
        yield from _requests()
        yield from _deliveries()
        yield from _admission()
        yield from _counted()


def _clusters() -> Iterator[Metric]:
    heard = gauge(
        "cluster_heard_timestamp_seconds", "When a cluster last answered.", "cluster"
    )
    failed = gauge(
        "cluster_failed_timestamp_seconds", "When a cluster last failed.", "cluster"
    )
    info = gauge("cluster_info", "Always 1.", "cluster", "kind", "kubernetes_version")
    revision = gauge("cluster_revision", "The inventory's revision.", "cluster")
    columns = (
        "name",
        "kind",
        "kubernetes_version",
        "revision",
        "heard_at",
        "failed_at",
    )
    for row in Cluster.objects.only(*columns).order_by("name"):
        info.add_metric([row.name, row.kind, row.kubernetes_version], 1)
        revision.add_metric([row.name], row.revision)
        for metric, moment in ((heard, row.heard_at), (failed, row.failed_at)):
            if moment is not None:
                metric.add_metric([row.name], moment.timestamp())
    yield from (info, revision, heard, failed)


def _memory() -> Iterator[Metric]:
    """Yield what the newest sample of each cluster's history says, and how old it is."""
    newest = dict(
        HistorySample.objects.filter(scope="cluster")
        .values_list("cluster__name")
        .annotate(newest=Max("at"))
    )
    at = gauge("history_sample_timestamp_seconds", "Of the memory figures.", "cluster")
    for cluster, moment in newest.items():
        at.add_metric([cluster], moment.timestamp())
    yield at
    scopes: dict[str, str | None] = dict(SCOPES)
    if settings.SLICEWISE_METRICS_TENANTS:
        scopes["tenant"] = "tenant"
    rows = list(
        HistorySample.objects.filter(scope__in=scopes, at__in=set(newest.values()))
        .values(*("cluster__name", "scope", "key", "at", "cards"), *_AMOUNTS)
        .order_by("cluster__name", "scope", "key")
    )
    current = [row for row in rows if newest.get(row["cluster__name"]) == row["at"]]
    for scope, label in scopes.items():
        yield from _memory_of(scope, label, current)


_AMOUNTS = ("total", "allocated", "available")
_AMOUNT_WORDS = {
    "total": ("memory_capacity_bytes", "VRAM of the cards"),
    "allocated": ("memory_allocated_bytes", "VRAM that is allocated"),
    "available": ("memory_available_bytes", "VRAM that can still be allocated"),
}


def _memory_of(
    scope: str, label: str | None, rows: list[dict[str, Any]]
) -> Iterator[Metric]:
    labels = ["cluster", *([label] if label else [])]
    of = f", by {label}" if label else ""
    cards = gauge(f"{scope}_cards", f"Cards{of}.", *labels)
    metrics = {
        column: gauge(f"{scope}_{name}", f"{text}{of}.", *labels)
        for column, (name, text) in _AMOUNT_WORDS.items()
    }
    scattered = gauge(
        f"{scope}_fragmentation_ratio",
        f"Free VRAM that cannot be allocated, of all free VRAM{of}; from 0 to 1.",
        *labels,
    )
    for row in rows:
        if row["scope"] != scope:
            continue
        values = [row["cluster__name"], *([row["key"]] if label else [])]
        cards.add_metric(values, row["cards"])
        for column, metric in metrics.items():
            if row[column] is not None:
                metric.add_metric(values, row[column])
        ratio = _fragmentation(*(row[column] for column in _AMOUNTS))
        if ratio is not None:
            scattered.add_metric(values, ratio)
    yield from (cards, *metrics.values(), scattered)


def _fragmentation(
    total: int | None, allocated: int | None, available: int | None
) -> float | None:
    """Return which part of the free memory nothing can be allocated from."""
    if total is None or allocated is None or available is None or total <= allocated:
        return None
    free = total - allocated
    return max(0.0, min(1.0, (free - available) / free))


def _requests() -> Iterator[Metric]:
    states = gauge("claim_requests", "Claim requests, by state.", "state")
    rows = ClaimRequest.objects.exclude(state__in=FINAL)
    counts = dict(rows.values_list("state").annotate(count=Count("pk")))
    for state in State:
        if state not in FINAL:
            states.add_metric([state.value], counts.get(state.value, 0))
    pending = gauge("claim_requests_pending", "Claim requests not yet in a cluster.")
    pending.add_metric([], sum(counts.get(state.value, 0) for state in PENDING))
    oldest = gauge(
        "claim_requests_pending_oldest_timestamp_seconds",
        "When that one was asked for.",
    )
    found = rows.filter(state__in=PENDING).aggregate(oldest=Min("submitted_at"))
    if found["oldest"] is not None:
        oldest.add_metric([], found["oldest"].timestamp())
    waiting = gauge("approvals_waiting", "Claim requests that wait for a decision.")
    approvals = Approval.objects.filter(is_open=True)
    waiting.add_metric([], approvals.count())
    late = gauge("approvals_waiting_oldest_timestamp_seconds", "Since when one waits.")
    first = approvals.aggregate(oldest=Min("created_at"))["oldest"]
    if first is not None:
        late.add_metric([], first.timestamp())
    yield from (states, pending, oldest, waiting, late)


def _deliveries() -> Iterator[Metric]:
    metric = gauge("deliveries", "Deliveries of notices that are kept.", "status")
    rows = Delivery.objects.values_list("status").annotate(count=Count("pk"))
    counts = dict(rows)
    for status in Delivery.Status.values:
        metric.add_metric([status], counts.get(status, 0))
    yield metric


def _admission() -> Iterator[Metric]:
    """Yield how many reviews each rule looked at, warned of and denied."""
    results = ("seen", "warned", "denied")
    rules = CounterMetricFamily(
        "slicewise_admission_rule_reviews",
        "Reviews of objects that a rule looked at, warned of or denied.",
        labels=["rule", "result"],
    )
    for name, *values in GuardCount.objects.order_by("rule__name").values_list(
        "rule__name", *results
    ):
        for result, value in zip(results, values, strict=True):
            rules.add_metric([name, result], value)
    yield rules


def _counted() -> Iterator[Metric]:
    """Yield the sums of all processes; what nobody declared is left out."""
    found: defaultdict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
    for name, labels, value in counted():
        found[name].append((labels, value))
    for name, (names, text) in COUNTERS.items():
        counter = CounterMetricFamily(name, text, labels=names)
        for each, value in found[f"{name}_total"]:
            counter.add_metric([each.get(label, "") for label in names], value)
        yield counter
    for name, (label, text) in HISTOGRAMS.items():
        metric = HistogramMetricFamily(name, text, labels=[label])
        sums = {each.get(label, ""): value for each, value in found[f"{name}_sum"]}
        for which, counts in sorted(_buckets(label, found[f"{name}_bucket"]).items()):
            metric.add_metric([which], _summed(counts), sums.get(which, 0.0))
        yield metric


def _buckets(
    label: str, rows: list[tuple[dict[str, str], float]]
) -> dict[str, dict[str, float]]:
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for labels, value in rows:
        found[labels.get(label, "")][labels["le"]] = value
    return found


def _summed(counts: dict[str, float]) -> list[tuple[str, float]]:
    """Return a histogram's buckets, each with those below it."""
    bounds = (*map(str, BUCKETS), "+Inf")
    sums = accumulate(counts.get(bound, 0.0) for bound in bounds)
    return list(zip(bounds, sums, strict=True))


class Kept:
    """A text that is made anew at most every so many seconds, one maker at a time."""

    def __init__(self, make: Callable[[], bytes], seconds: float) -> None:
        self._make = make
        self._seconds = seconds
        self._lock = threading.Lock()
        self._text = b""
        self._until = 0.0

    def text(self) -> bytes:
        """Return the text."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._text = self._make()
                self._until = time.monotonic() + self._seconds
            return self._text

    def forget(self) -> None:
        """Have it made anew next time."""
        self._until = 0.0


registry = CollectorRegistry(auto_describe=False)
registry.register(PortalCollector())
exposition = Kept(lambda: generate_latest(registry), KEPT_SECONDS)
