"""What Prometheus reads is right, bounded, summed over processes, and for few."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from inventory.services.history import record_all
from portal.accounts.tokens import make_token
from portal.admission.models import GuardCount, GuardRule
from portal.admission.services.advising import CALLS
from portal.admission.views.webhook import DURATION
from portal.core import counting
from portal.core.models import Counter
from portal.metrics.collector import exposition

DASHBOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "slicewise.json"
PLACES = re.compile(r"\bslicewise_\w+")


@pytest.fixture(autouse=True)
def nothing_counted(db):
    """Begin with nothing counted, in memory or in Postgres, and nothing kept."""
    counting._waiting.clear()
    Counter.objects.all().delete()
    exposition.forget()
    yield
    counting._waiting.clear()
    exposition.forget()


@pytest.fixture
def scrape(client, dora):
    """Return a function that reads /metrics as {(name, labels): value}."""
    _row, token = make_token(
        user=dora, name="x", scopes=["metrics:read"], days=1, now=timezone.now()
    )

    def do():
        exposition.forget()
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.content
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(answer.content.decode())
            for sample in family.samples
        }

    return do


@pytest.fixture
def sampled(held_cluster):
    """Return a cluster that history has a sample of."""
    now = timezone.now()
    type(held_cluster).objects.update(kind="live", heard_at=now)
    assert record_all(now=now) == 1
    return held_cluster


def value(found, name, **labels):
    return found[f"slicewise_{name}", frozenset(labels.items())]


def test_memory_is_told_by_cluster_product_and_class(sampled, scrape):
    found = scrape()

    whole = value(found, "cluster_memory_capacity_bytes", cluster="demo")
    products = {
        dict(labels)["product"]: amount
        for (name, labels), amount in found.items()
        if name == "slicewise_product_memory_capacity_bytes"
    }
    assert products
    assert sum(products.values()) == whole > 0
    allocated = value(found, "cluster_memory_allocated_bytes", cluster="demo")
    assert 0 < allocated < whole
    ratio = value(found, "cluster_fragmentation_ratio", cluster="demo")
    assert 0 <= ratio <= 1
    assert any(name == "slicewise_class_cards" for name, _labels in found)


def test_tenants_are_named_only_where_that_is_set(ada, sampled, scrape, settings):
    def names():
        return {v for _name, labels in scrape() for _label, v in labels}

    assert "orchid" not in names()
    settings.SLICEWISE_METRICS_TENANTS = True
    assert "orchid" in names()


def test_a_state_without_a_request_is_zero_and_what_is_unknown_is_left_out(scrape):
    found = scrape()

    assert value(found, "claim_requests", state="PendingApproval") == 0
    assert value(found, "claim_requests_pending") == 0
    assert value(found, "approvals_waiting") == 0
    assert not [n for n, _l in found if "oldest" in n or "memory" in n]


def test_processes_add_up(scrape):
    for _process in range(2):
        counting.count("slicewise_watch_lists_total", kind="Pod")
        counting.observe("slicewise_engine_call_duration_seconds", 0.3, call="allocate")
        counting.observe("slicewise_engine_call_duration_seconds", 77, call="allocate")
        counting.flush()
    found = scrape()

    assert value(found, "watch_lists_total", kind="Pod") == 2
    name = "engine_call_duration_seconds"
    assert value(found, f"{name}_bucket", call="allocate", le="0.25") == 0
    assert value(found, f"{name}_bucket", call="allocate", le="0.5") == 2
    assert value(found, f"{name}_bucket", call="allocate", le="+Inf") == 4
    assert value(found, f"{name}_count", call="allocate") == 4
    assert value(found, f"{name}_sum", call="allocate") == pytest.approx(154.6)


def test_requests_are_counted_by_view_and_not_by_address(client, ada, scrape):
    client.force_login(ada)
    for address in ("/notices/", "/notices/?page=2", "/nothing/1", "/nothing/2"):
        client.get(address)
    client.generic("BREW", "/notices/")
    counting.flush()
    found = scrape()

    ok = {"view": "notices:notice-list", "method": "GET", "code": "200"}
    assert value(found, "http_requests_total", **ok) == 2
    none = {"view": "none", "method": "GET", "code": "404"}
    assert value(found, "http_requests_total", **none) == 2
    odd = {"view": "notices:notice-list", "method": "other", "code": "405"}
    assert value(found, "http_requests_total", **odd) == 1


def test_what_cannot_be_added_is_kept(monkeypatch):
    from django.db import OperationalError

    counting.count("slicewise_watch_lists_total", kind="Pod")
    before = dict(counting._waiting)

    def fail(_taken):
        raise OperationalError

    monkeypatch.setattr(counting, "_add", fail)
    with pytest.raises(OperationalError):
        counting.flush()
    assert dict(counting._waiting) == before


def test_only_few_read_it(client, dora, ada, settings):
    now = timezone.now()

    def status(person, *scopes, **more):
        token = make_token(
            user=person, name="x", scopes=scopes, days=1, now=now, **more
        )[1]
        return client.get(
            "/metrics", headers={"Authorization": f"Bearer {token}"}
        ).status_code

    assert client.get("/metrics").status_code == 401
    assert status(dora, "metrics:read") == 200
    assert status(dora, "inventory:read") == 403
    assert status(ada, "metrics:read") == 403
    assert status(dora, "metrics:read", addresses=["10.0.0.0/8"]) == 403
    settings.SLICEWISE_METRICS_LOOPBACK = True
    assert client.get("/metrics").status_code == 200
    proxied = {"X-Forwarded-For": "192.0.2.1"}
    assert client.get("/metrics", headers=proxied).status_code == 401
    assert client.get("/metrics", REMOTE_ADDR="192.0.2.1").status_code == 401


def test_it_is_made_anew_every_ten_seconds_at_most(
    client, settings, django_assert_num_queries
):
    settings.SLICEWISE_METRICS_LOOPBACK = True
    client.get("/metrics")
    with django_assert_num_queries(0):
        client.get("/metrics")


def test_the_dashboard_asks_for_what_is_told(sampled, scrape):
    for name in ("http_request", "task", "engine_call"):
        counting.observe(f"slicewise_{name}_duration_seconds", 1)
    for name in ("http_requests", "tasks", "watch_lists", "watch_expired"):
        counting.count(f"slicewise_{name}_total")
    counting.flush()
    told = {name for name, _labels in scrape()}
    # Without a request that waits there is no oldest.
    told |= {
        f"slicewise_{what}_oldest_timestamp_seconds"
        for what in ("claim_requests_pending", "approvals_waiting")
    }
    board = json.loads(DASHBOARD.read_text())
    asked = [
        target["expr"]
        for panel in board["panels"]
        for target in panel.get("targets", ())
    ]
    asked += [each["query"] for each in board["templating"]["list"]]

    names = {name for expression in asked for name in PLACES.findall(expression)}
    assert len(names) > 15
    assert names <= told


def test_the_dashboard_counts_nothing_twice_where_every_web_process_is_scraped():
    """Each tells the same sums, under another `instance` and `pod`."""
    board = json.loads(DASHBOARD.read_text())
    asked = [t["expr"] for panel in board["panels"] for t in panel.get("targets", ())]
    once = re.compile(
        r"max without \(instance, pod\) "
        r"\((?:rate\(slicewise_\w+\[\w+\]\)|slicewise_\w+(?:\{[^}]*\})?)\)"
    )
    assert len(asked) > 15
    for expression in asked:
        assert once.search(expression), expression
        assert not PLACES.search(once.sub("", expression)), expression


def test_old_samples_do_not_pass_for_new_ones(sampled, scrape):
    from inventory.models import HistorySample

    HistorySample.objects.update(at=timezone.now() - timedelta(hours=2))
    moment = value(scrape(), "history_sample_timestamp_seconds", cluster="demo")
    assert moment < timezone.now().timestamp() - 7000


def test_rules_of_admission_and_calls_of_the_advisor_are_counted(scrape):
    fields = {"kind": "budgets", "mode": "deny", "changed_by": "dora"}
    rule, _made = GuardRule.objects.update_or_create(
        name="tenant-budgets", defaults=fields | {"changed_at": timezone.now()}
    )
    counted = {"seen": 7, "warned": 2, "denied": 1}
    GuardCount.objects.update_or_create(rule=rule, defaults=counted)
    counting.count(CALLS, 3, answer="none")
    counting.observe(DURATION, 0.004, webhook="validate")
    counting.flush()

    found = scrape()

    def of(name, **labels):
        return found[name, frozenset(labels.items())]

    reviews = "slicewise_admission_rule_reviews_total"
    assert of(reviews, rule="tenant-budgets", result="seen") == 7
    assert of(reviews, rule="tenant-budgets", result="warned") == 2
    assert of(reviews, rule="tenant-budgets", result="denied") == 1
    assert of(CALLS, answer="none") == 3
    assert of(f"{DURATION}_count", webhook="validate") == 1
