"""With Redis away every page and address still answers: slower, never with a 500."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.utils import timezone

from claims.services import readable
from inventory.models import Cluster, KubeObject
from portal.adoption.services import peaks
from portal.core import kept
from tests.integration.api.test_permissions import (  # noqa: F401  fixtures
    ROUTES,
    Keys,
    send,
    session_of,
    token_of,
    world,
)


@pytest.fixture
def no_redis(settings):
    """Have nobody listen where the cache should be."""
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "unix:///nonexistent/valkey.sock",
        }
    }


@pytest.fixture
def asked(world, monkeypatch):  # noqa: F811
    """Have a cluster that can be asked, and what it and its Prometheus say."""
    Cluster.objects.update(
        kind=Cluster.Kind.LIVE, prometheus_url="http://prometheus.example.com"
    )
    KubeObject.objects.create(
        cluster=Cluster.objects.get(),
        kind=readable.TEMPLATE,
        namespace="elsewhere",
        name="one",
        uid="1",
        body={"metadata": {"name": "one", "namespace": "elsewhere"}, "spec": {}},
        revision=1,
        seen_at=timezone.now(),
    )
    monkeypatch.setattr(readable, "_allowed", lambda *given: given[-1])
    monkeypatch.setattr(peaks, "_asked", lambda _url: peaks.Peaks(problem="none"))
    return world


@pytest.mark.parametrize("name", ["cleo", "dora"])
def test_every_page_and_address_answers(name, asked, no_redis):
    person = asked[name]
    keys = Keys(token_of(person), session_of(person))

    found = {route: send(keys, route, "GET") for route in sorted(ROUTES)}

    assert {route: code for route, code in found.items() if code >= 500} == {}


def test_others_templates_are_asked_for_anew(asked, no_redis, monkeypatch):
    cluster = Cluster.objects.get()

    assert readable.readable_by(asked["cleo"], cluster).others == ("elsewhere",)


def test_peaks_are_asked_for_anew(asked, no_redis):
    assert peaks.peaks_of(Cluster.objects.get()).problem == "none"


def test_nothing_is_kept_and_nothing_fails(no_redis):
    kept.keep("x", 1, 60)

    assert kept.recall("x") is None
    assert kept.is_first("y", 60)
    assert kept.is_first("y", 60)
    assert kept.count("z", 60) is None
    kept.forget("x")


def test_what_is_kept_is_found_where_redis_is_there():
    cache.clear()
    kept.keep("x", 1, 60)

    assert kept.recall("x") == 1
    assert kept.is_first("y", 60)
    assert not kept.is_first("y", 60)
    assert (kept.count("z", 60, 2), kept.count("z", 60)) == (2, 3)
    kept.forget("x")
    assert kept.recall("x") is None
