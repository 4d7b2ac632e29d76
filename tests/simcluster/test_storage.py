"""The store: versions, history, and lists as they were."""

from __future__ import annotations

import pytest

from simcluster.kinds import CLAIM, NAMESPACE
from simcluster.schema import canonical
from simcluster.storage import Store


def body(name, **more):
    return {"metadata": {"name": name, "namespace": "n"}, **more}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "state")


def names(bodies):
    return [each["metadata"]["name"] for each in bodies]


def test_a_list_as_it_was(store):
    store.put(CLAIM, body("b"))
    at = store.version
    store.put(CLAIM, body("a"))
    store.put(CLAIM, body("b", changed=True))
    store.remove(CLAIM, body("b"))
    store.put(NAMESPACE, {"metadata": {"name": "other"}})

    assert names(store.items(CLAIM)) == ["a"]
    assert [("changed" in each) for each in store.items(CLAIM, at=at)] == [False]
    assert names(store.items(CLAIM, at=at)) == ["b"]


def test_a_list_as_it_was_after_a_restart_that_followed_forgetting(store, tmp_path):
    store.put(CLAIM, body("a"))
    store.put(CLAIM, body("b"))
    store.forget(1)
    floor = store.floor
    store.put(CLAIM, body("a", changed=True))
    store.remove(CLAIM, body("b"))

    again = Store(tmp_path / "state")

    assert (again.version, again.floor) == (store.version, floor)
    assert names(again.items(CLAIM, at=floor)) == ["a"]
    assert [each.type for each in again.since(floor)] == [
        "ADDED",
        "MODIFIED",
        "DELETED",
    ]
    assert again.since(floor) == store.since(floor)


def test_a_change_knows_what_was_there_before(store):
    first = store.put(CLAIM, body("a"))
    store.put(CLAIM, body("a", changed=True))

    assert [each.prior for each in store.since(0)] == [None, first]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("81559Mi", "81559Mi"),
        ("1000", "1k"),
        ("1.5", "1500m"),
        ("0", "0"),
        (5, "5"),
        ("-1Gi", "-1Gi"),
        ("512Ki", "512Ki"),
    ],
)
def test_quantities_are_written_as_kubernetes_writes_them(given, written):
    assert canonical(given) == written
