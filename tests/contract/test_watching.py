"""Watches: events, bookmarks, initial events, and versions that are too old."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile

import pytest

from tests.cluster.client import Client, Object, Refused, path_of
from tests.contract import objects
from tests.contract.servers import Server

INITIAL_EVENTS = {
    "sendInitialEvents": True,
    "allowWatchBookmarks": True,
    "resourceVersionMatch": "NotOlderThan",
}


def label(event: Object) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"].get("name", "")


def is_end_of_initial_events(event: Object) -> bool:
    annotations = event["object"]["metadata"].get("annotations", {})
    return (
        event["type"] == "BOOKMARK"
        and annotations.get("k8s.io/initial-events-end") == "true"
    )


def version_of(answer: Object) -> str:
    return answer["metadata"]["resourceVersion"]


def first(events: Iterator[Object], count: int) -> list[Object]:
    return list(islice(events, count))


def test_a_watch_tells_what_happened_since_a_list_in_order(admin, namespace):
    since = version_of(admin.list("ResourceClaim", namespace))
    stored = admin.create(objects.claim("a", namespace))
    changed = admin.patch(stored, {"metadata": {"labels": {"x": "y"}}})
    admin.create(objects.claim("b", namespace))
    admin.delete(stored)

    with admin.watch("ResourceClaim", namespace, resourceVersion=since) as watch:
        events = first(watch, 4)

    expected = [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert [label(event) for event in events] == expected
    assert events[0]["object"] == stored
    assert events[1]["object"] == changed
    versions = [int(version_of(event["object"])) for event in events]
    assert versions == sorted(set(versions))


def test_a_watch_tells_what_happens_while_it_is_open(admin, namespace):
    since = version_of(admin.list("ResourceClaim", namespace))

    with admin.watch("ResourceClaim", namespace, resourceVersion=since) as watch:
        admin.create(objects.claim("live", namespace))
        event = next(watch)

    assert label(event) == ("ADDED", "live")
    assert event["object"]["kind"] == "ResourceClaim"


def test_the_last_state_arrives_with_deleted_under_a_newer_version(admin, stored_claim):
    namespace = stored_claim["metadata"]["namespace"]
    since = version_of(admin.list("ResourceClaim", namespace))
    admin.delete(stored_claim)

    with admin.watch("ResourceClaim", namespace, resourceVersion=since) as watch:
        event = next(watch)

    assert label(event) == ("DELETED", "stored")
    assert event["object"]["spec"] == stored_claim["spec"]
    assert int(version_of(event["object"])) > int(version_of(stored_claim))


def test_a_watch_from_no_version_starts_with_what_is_there(admin, stored_claim):
    namespace = stored_claim["metadata"]["namespace"]

    with admin.watch("ResourceClaim", namespace) as watch:
        event = next(watch)

    assert label(event) == ("ADDED", "stored")


def test_a_watch_of_one_object(admin, namespace):
    since = version_of(admin.list("ResourceClaim", namespace))
    admin.create(objects.claim("a", namespace))
    admin.create(objects.claim("b", namespace))

    with admin.watch(
        "ResourceClaim",
        namespace,
        resourceVersion=since,
        fieldSelector="metadata.name=b",
    ) as watch:
        assert label(next(watch)) == ("ADDED", "b")


def test_an_object_that_leaves_a_label_selector_is_deleted_to_its_watch(
    admin, namespace
):
    stored = admin.create(objects.claim("a", namespace, labels={"x": "y"}))
    since = version_of(stored)
    admin.patch(stored, {"metadata": {"labels": {"x": "z"}}})
    admin.patch(stored, {"metadata": {"labels": {"x": "y"}}})

    with admin.watch(
        "ResourceClaim", namespace, resourceVersion=since, labelSelector="x=y"
    ) as watch:
        events = first(watch, 2)

    assert [label(event) for event in events] == [("DELETED", "a"), ("ADDED", "a")]


def test_a_watch_ends_after_its_timeout(admin, namespace):
    since = version_of(admin.list("ResourceClaim", namespace))

    with admin.watch(
        "ResourceClaim", namespace, resourceVersion=since, timeoutSeconds=1
    ) as watch:
        events = list(watch)

    # The server ended it: nothing here gives up on a watch.
    assert events == []


def test_a_timed_watch_that_allows_bookmarks_gets_one_before_its_end(admin, namespace):
    since = version_of(admin.list("ResourceClaim", namespace))

    with admin.watch(
        "ResourceClaim",
        namespace,
        resourceVersion=since,
        allowWatchBookmarks=True,
        timeoutSeconds=5,
    ) as watch:
        admin.create(objects.claim("a", namespace))
        events = list(watch)

    bookmarks = [event["object"] for event in events if event["type"] == "BOOKMARK"]
    assert label(events[0]) == ("ADDED", "a")
    assert bookmarks
    assert int(version_of(bookmarks[-1])) >= int(version_of(events[0]["object"]))
    assert bookmarks[-1]["kind"] == "ResourceClaim"
    assert not bookmarks[-1]["metadata"].get("name")


def test_a_watch_without_bookmarks_gets_none(admin, stored_claim):
    namespace = stored_claim["metadata"]["namespace"]

    with admin.watch(
        "ResourceClaim", namespace, resourceVersion="0", timeoutSeconds=3
    ) as watch:
        events = list(watch)

    assert [label(event) for event in events] == [("ADDED", "stored")]


def test_initial_events_are_a_list_that_ends_with_a_bookmark(admin, namespace):
    names = ["a", "b", "c"]
    for name in names:
        admin.create(objects.claim(name, namespace))

    with admin.watch("ResourceClaim", namespace, **INITIAL_EVENTS) as watch:
        initial = list(
            takewhile(lambda event: not is_end_of_initial_events(event), watch)
        )
        admin.create(objects.claim("d", namespace))
        after = next(event for event in watch if event["type"] != "BOOKMARK")

    assert sorted(label(event) for event in initial) == [
        ("ADDED", name) for name in names
    ]
    assert label(after) == ("ADDED", "d")


def test_initial_events_of_nothing_end_with_a_version_to_go_on_from(admin, namespace):
    with admin.watch("ResourceClaim", namespace, **INITIAL_EVENTS) as watch:
        end = next(watch)
    admin.create(objects.claim("later", namespace))

    assert is_end_of_initial_events(end)
    with admin.watch(
        "ResourceClaim", namespace, resourceVersion=version_of(end["object"])
    ) as watch:
        assert label(next(watch)) == ("ADDED", "later")


def test_initial_events_of_all_namespaces(admin, stored_claim):
    with admin.watch("ResourceClaim", **INITIAL_EVENTS) as watch:
        initial = list(
            takewhile(lambda event: not is_end_of_initial_events(event), watch)
        )

    uids = {event["object"]["metadata"]["uid"] for event in initial}
    assert stored_claim["metadata"]["uid"] in uids


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"watch": True, "sendInitialEvents": True}, "resourceVersionMatch"),
        ({"sendInitialEvents": True}, "sendInitialEvents"),
        (
            {"watch": True, "resourceVersionMatch": "NotOlderThan"},
            "resourceVersionMatch",
        ),
    ],
)
def test_initial_events_need_the_right_parameters(admin, namespace, parameters, field):
    with pytest.raises(Refused) as refused:
        admin.call(
            "GET", path_of("ResourceClaim", namespace), timeoutSeconds=1, **parameters
        )

    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert field in refused.value.fields


def test_a_watch_from_forgotten_history_says_gone_as_an_event(api: Server, namespace):
    since = version_of(api.client().create(objects.claim("a", namespace)))
    api.client().create(objects.claim("b", namespace))
    api.forget_history()

    with api.client().watch("ResourceClaim", namespace, resourceVersion=since) as watch:
        events = list(watch)

    assert [event["type"] for event in events] == ["ERROR"]
    status = events[0]["object"]
    assert (status["kind"], status["code"], status["reason"]) == (
        "Status",
        410,
        "Expired",
    )
    assert status["message"].startswith("too old resource version")


def test_a_watch_beyond_the_newest_version_is_silent(admin: Client, namespace):
    newest = int(version_of(admin.list("ResourceClaim", namespace)))

    with admin.watch(
        "ResourceClaim",
        namespace,
        resourceVersion=str(newest + 10_000),
        timeoutSeconds=1,
    ) as watch:
        admin.create(objects.claim("unseen", namespace))
        assert list(watch) == []


def test_a_watch_without_rights_is_forbidden(api, namespace):
    with (
        pytest.raises(Refused) as refused,
        api.client("ada@orchid").watch("ResourceClaim", namespace),
    ):
        pass

    assert refused.value.code == 403
    assert (
        'User "ada@orchid" cannot watch resource "resourceclaims"'
        in refused.value.message
    )
