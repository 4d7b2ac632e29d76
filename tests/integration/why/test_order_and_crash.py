"""What hangs on the order of pools is said to, and what crashes a scheduler is refused."""

from __future__ import annotations

import io
import json
import sys

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.template.loader import render_to_string
from django.utils import translation

from claims.services.previewing import Reader, ashow
from inventory.models import Cluster
from inventory.services.loading import load_cluster

pytestmark = pytest.mark.django_db

DRIVER = "cards.example.com"
STABLE = {"DRAConsumableCapacity": False, "DRADeviceBindingConditions": False}


def slice_of(pool, devices=2):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": pool},
        "spec": {
            "driver": DRIVER,
            "nodeName": "n1",
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"{pool}-{index}",
                    "attributes": {
                        "ok": {"bool": True},
                        "index": {"int": index},
                        "first": {"bool": pool == "a"},
                    },
                }
                for index in range(devices)
            ],
        },
    }


DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "cards"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
}


@pytest.fixture
def load(now):
    """Return a function that loads a node's pools as a cluster of some version."""

    def do(version, gates, pools=(("first", 2), ("second", 2))):
        loaded = load_cluster(
            "demo",
            [DEVICE_CLASS, *(slice_of(pool, count) for pool, count in pools)],
            kubernetes_version=version,
            feature_gates=gates,
            now=now,
        )
        return loaded.cluster

    return do


def claim(count):
    request = {"name": "gpu", "exactly": {"deviceClassName": "cards", "count": count}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "some", "namespace": "lab"},
        "spec": {"devices": {"requests": [request]}},
    }


def choices(cluster, count):
    shown = async_to_sync(ashow)(cluster, claim(count), Reader())
    return [taken.choices for row in shown.rows for taken in row.taken]


@pytest.mark.parametrize(
    ("version", "gates"), [("1.34.4", {}), ("1.35.1", {}), ("1.37.2", STABLE)]
)
def test_equal_devices_of_two_pools_are_some_of_all_where_no_order_is_fixed(
    load, version, gates
):
    cluster = load(version, gates)

    assert choices(cluster, 1) == [4]
    assert choices(cluster, 2) == [4]
    assert choices(cluster, 4) == [0]  # all of them: nothing to choose


def test_in_a_fixed_order_the_device_is_the_device(load):
    assert choices(load("1.37.2", {}), 1) == [0]


def test_within_one_slice_the_order_is_fixed_everywhere(load):
    assert choices(load("1.34.4", {}, pools=(("first", 4),)), 1) == [0]


def check(monkeypatch, capsys, manifest):
    text = io.TextIOWrapper(io.BytesIO(json.dumps(manifest).encode()))
    monkeypatch.setattr(sys, "stdin", text)
    try:
        call_command("check_claim", "demo", "-", "--format", "json")
        status = 0
    except (SystemExit, CommandError) as ended:
        status = getattr(ended, "code", getattr(ended, "returncode", None))
    (item,) = json.loads(capsys.readouterr().out)["items"]
    found = [d for d in item["diagnostics"] if d["code"] == "scheduler.crash"]
    return status, found, item["preview"]["nodes"]["n1"]["outcome"]


def test_what_crashes_the_scheduler_of_1_34_is_an_error_that_says_so(
    load, monkeypatch, capsys
):
    """Three devices of two-device slices: see tests/agreement/test_known.py."""
    load("1.34.4", {"DRAConsumableCapacity": True})

    status, found, outcome = check(monkeypatch, capsys, claim(3))

    assert (status, outcome) == (1, "error")
    (finding,) = found
    assert finding["level"] == "error"
    assert finding["path"] == "spec.devices.requests"
    assert "crash kube-scheduler 1.34" in finding["message"]
    assert "upgraded to 1.35 or newer" in finding["message"]
    assert check(monkeypatch, capsys, claim(2))[1] == []


def test_a_crash_that_hangs_on_the_order_of_pools_is_told_before_it_happens(
    load, monkeypatch, capsys
):
    """Two devices, where the second may be that of a one-device slice."""
    pools = (("a", 2), ("b", 5), ("c", 1))
    load("1.34.4", {"DRAConsumableCapacity": True}, pools)
    wanted = claim(2)
    request = wanted["spec"]["devices"]["requests"][0]["exactly"]
    # Of pool a the first device alone: by name the pools are a, b, c, and that fits.
    chosen = f'device.attributes["{DRIVER}"].index < 1 || !device.attributes["{DRIVER}"].first'
    request["selectors"] = [{"cel": {"expression": chosen}}]

    status, found, outcome = check(monkeypatch, capsys, wanted)

    assert (status, outcome) == (1, "fits")
    assert "can crash kube-scheduler 1.34" in found[0]["message"]
    cluster = Cluster.objects.get(name="demo")
    shown = async_to_sync(ashow)(cluster, wanted, Reader())
    told = {"preview": {"shown": shown}, "cluster": cluster}
    page = render_to_string("claims/compose_preview.html", told)
    assert "Not safe to submit" in page
    assert "scheduled nowhere" not in page
    load("1.34.4", {"DRAConsumableCapacity": True}, (("a", 2), ("b", 5), ("c", 2)))
    assert check(monkeypatch, capsys, wanted)[1] == []


@pytest.mark.parametrize("version", ["1.35.1", "1.36.1", "1.37.2"])
def test_the_advice_to_upgrade_helps(load, monkeypatch, capsys, version):
    load(version, {"DRAConsumableCapacity": True})

    status, found, outcome = check(monkeypatch, capsys, claim(3))

    assert (status, found, outcome) == (0, [], "fits")


def test_the_page_says_it_in_the_readers_language(load):
    cluster = load("1.34.4", {"DRAConsumableCapacity": True})

    english = async_to_sync(ashow)(cluster, claim(3), Reader()).pod_error
    with translation.override("ko"):
        korean = async_to_sync(ashow)(cluster, claim(3), Reader()).pod_error

    assert "allocator can crash at this claim" in english
    assert "index out of range" in english
    assert korean != english
