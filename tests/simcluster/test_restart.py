"""Versions, objects and what happened survive a crash."""

from __future__ import annotations

import threading

import pytest

from tests.cluster.client import Client
from tests.contract import objects


@pytest.fixture(scope="module")
def empty(simulate):
    return simulate("--fleet")


def version_of(answer):
    return answer["metadata"]["resourceVersion"]


def test_objects_and_versions_are_the_same_after_a_crash(empty):
    admin = empty.client()
    stored = admin.create(objects.claim("kept", "default"))
    gone = admin.create(objects.claim("gone", "default"))
    admin.delete(gone)
    before = admin.list("ResourceClaim")
    system = admin.get("Namespace", "kube-system")

    empty.kill()
    empty.start()
    admin = empty.client()

    assert admin.list("ResourceClaim") == before
    assert admin.get("ResourceClaim", "kept", "default") == stored
    assert admin.get("Namespace", "kube-system") == system
    later = admin.create(objects.claim("later", "default"))
    assert int(version_of(later)) > int(version_of(before))


def test_a_watch_goes_on_from_before_a_crash(empty):
    admin = empty.client()
    since = version_of(admin.list("ResourceClaim"))
    stored = admin.create(objects.claim("seen", "default"))
    admin.delete(stored)

    empty.kill()
    empty.start()

    with empty.client().watch("ResourceClaim", resourceVersion=since) as watch:
        events = [next(watch), next(watch)]
    assert [event["type"] for event in events] == ["ADDED", "DELETED"]
    assert events[0]["object"] == stored


def test_what_was_forgotten_stays_forgotten(empty):
    admin = empty.client()
    since = version_of(admin.create(objects.claim("old", "default")))
    changed = admin.patch(
        {"kind": "ResourceClaim", "metadata": {"name": "old", "namespace": "default"}},
        {"metadata": {"labels": {"a": "b"}}},
    )
    admin.request("POST", "/simcluster/forget")

    empty.kill()
    empty.start()

    with empty.client().watch("ResourceClaim", resourceVersion=since) as watch:
        assert [event["type"] for event in watch] == ["ERROR"]
    assert empty.client().get("ResourceClaim", "old", "default") == changed


def test_a_restarted_demo_does_not_bring_back_what_was_deleted(simulate):
    cluster = simulate()
    admin = cluster.client()
    target = {
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one-t4", "namespace": "maple-lab"},
    }
    admin.delete(target)

    cluster.kill()
    cluster.start()

    names = {
        t["metadata"]["name"]
        for t in cluster.client().list("ResourceClaimTemplate")["items"]
    }
    assert "one-t4" not in names
    assert "l40s-12g" in names


def test_a_watch_misses_nothing_of_a_burst(empty):
    admin, writer = empty.client(), Client(empty.client().base_url, "admin")
    since = version_of(admin.list("ResourceClaim"))
    names = [f"burst-{number}" for number in range(150)]

    def write() -> None:
        for name in names:
            writer.create(objects.claim(name, "default"))

    with admin.watch(
        "ResourceClaim", resourceVersion=since, timeoutSeconds=60
    ) as watch:
        thread = threading.Thread(target=write)
        thread.start()
        seen = [next(watch)["object"]["metadata"]["name"] for _ in names]
        thread.join()
    writer.close()

    assert seen == names
