"""The demo's cluster: what lies in it, and who may see it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.utils import timezone

from claims.domain.binding import Readiness, binding_of
from tests.cluster.client import Refused
from tests.contract import objects
from tests.simcluster.conftest import eventually, is_told, pending

MARK = {"slicewise.io%2Frequest-id": "a-request"}


def results_of(claim):
    return claim["status"].get("allocation", {}).get("devices", {}).get("results", [])


def held(admin):
    return {
        claim["metadata"]["name"]: results_of(claim)
        for claim in admin.list("ResourceClaim")["items"]
    }


def test_slices_of_every_fleet_lie_on_nodes_that_exist(demo):
    admin = demo.client()
    slices = admin.list("ResourceSlice")["items"]
    nodes = {
        node["metadata"]["name"]: node["metadata"]["uid"]
        for node in admin.list("Node")["items"]
    }
    # What a fabric reaches belongs to no node.
    del nodes["fabric-rack-7"]
    # What a device plugin offers is in no slice.
    del nodes["gpu-l40s-old"]
    local = [each for each in slices if "nodeName" in each["spec"]]

    assert (len(slices), len(local)) == (16, 15)
    assert {each["spec"]["nodeName"] for each in local} == set(nodes)
    owners = {o["uid"] for s in local for o in s["metadata"].get("ownerReferences", [])}
    assert owners == set(nodes.values())


def test_whole_cards_slices_and_shares_are_held(demo):
    found = held(demo.client())
    by_kind = {
        "whole": [
            r for name, rs in found.items() if name.startswith("pretrain-0") for r in rs
        ],
        "mig": [r for name, rs in found.items() if name.startswith("chat") for r in rs],
        "share": [
            r for name, rs in found.items() if name.startswith("rerank") for r in rs
        ],
    }

    assert len(by_kind["whole"]) == 4
    assert {"-mig-2g20gb-" in each["device"] for each in by_kind["mig"]} == {True}
    assert [each["consumedCapacity"] for each in by_kind["share"]] == [
        {"memory": "24Gi"}
    ] * 3
    assert len({each["shareID"] for each in by_kind["share"]}) == 3
    assert len({each["device"] for each in by_kind["share"]}) == 1


def test_a_card_is_attached_once_its_driver_says_so_and_another_is_waited_for(demo):
    admin = demo.client()

    def stands(name):
        claim = admin.get("ResourceClaim", name, "ai-serving")
        return binding_of(claim, now=timezone.now()).state

    assert stands("attached") is Readiness.MET
    assert stands("attaching") is Readiness.AWAITED
    pod = admin.get("Pod", "transcode-0", "ai-serving")
    assert pod["spec"]["nodeName"] == "fabric-rack-7"
    assert not admin.get("Pod", "transcode-1", "ai-serving")["spec"].get("nodeName")


def test_no_counter_and_no_capacity_is_used_twice(demo):
    found = held(demo.client())
    whole = [
        (each["pool"], each["device"])
        for results in found.values()
        for each in results
        if "shareID" not in each and not each.get("adminAccess")
    ]

    assert len(whole) == len(set(whole))


def test_who_does_not_fit_is_told_why(demo):
    admin = demo.client()
    for pod in filter(is_told, pending(admin)):
        name = pod["metadata"]["name"]
        selector = f"involvedObject.name={name}"
        events = admin.list(
            "Event", pod["metadata"]["namespace"], fieldSelector=selector
        )

        assert [event["reason"] for event in events["items"]] == ["FailedScheduling"]
        assert "cannot allocate all claims" in events["items"][0]["message"]
        condition = pod["status"]["conditions"][0]
        assert condition["message"] == events["items"][0]["message"]


def test_the_portals_account_reads_and_writes_nothing(demo):
    portal = demo.client("slicewise")

    assert demo.kubeconfig()["current-context"] == "slicewise"
    assert portal.list("ResourceSlice")["items"]
    with pytest.raises(Refused) as refused:
        portal.create(objects.claim("a", "ai-serving"))
    assert refused.value.code == 403


def test_a_tenant_writes_in_its_own_namespaces_alone(demo):
    ada = demo.client("slicewise").acting_as(
        "ada@orchid", ("slicewise:orchid",), **MARK
    )

    made = ada.create(objects.claim("a", "ai-serving"), dryRun="All")
    with pytest.raises(Refused) as refused:
        ada.list("ResourceClaim", "maple-lab")

    assert made["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    assert (
        'User "ada@orchid" cannot list resource "resourceclaims"'
        in refused.value.message
    )


@pytest.mark.parametrize(
    ("groups", "extra"),
    [(("system:masters",), {}), ((), {"other.example.com%2Fmark": "x"})],
)
def test_the_portal_acts_with_listed_groups_and_its_own_mark_alone(demo, groups, extra):
    ada = demo.client("slicewise").acting_as("ada@orchid", groups, **extra)

    with pytest.raises(Refused) as refused:
        ada.list("ResourceClaim", "ai-serving")

    assert "cannot impersonate resource" in refused.value.message


def test_a_card_that_is_given_back_goes_to_who_waits(simulate):
    cluster = simulate()
    admin = cluster.client()
    first = {
        "kind": "Pod",
        "metadata": {"name": "pretrain-0", "namespace": "ai-training"},
    }
    eventually(
        lambda: admin.get("Pod", "pretrain-0", "ai-training")["spec"].get("nodeName")
    )

    admin.delete(first)

    eventually(
        lambda: admin.get("Pod", "pretrain-1", "ai-training")["spec"].get("nodeName")
    )
    found = held(admin)
    assert not [name for name in found if name.startswith("pretrain-0")]
    assert [len(rs) for name, rs in found.items() if name.startswith("pretrain-1")] == [
        6
    ]


def test_a_cordoned_node_takes_no_pod(simulate, tmp_path):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {unschedulable: true}\n"
    )
    admin = simulate("--fleet", str(fleet)).client()
    pod = admin.create(
        objects.pod("p", "default") | {"spec": {"containers": [{"name": "c"}]}}
    )

    told = eventually(lambda: admin.list("Event", "default")["items"])
    assert "1 node(s) were unschedulable" in told[0]["message"]
    admin.patch(
        {"kind": "Node", "metadata": {"name": "n1"}}, {"spec": {"unschedulable": None}}
    )

    eventually(lambda: admin.get("Pod", "p", "default")["spec"].get("nodeName") == "n1")
    assert pod["status"]["phase"] == "Pending"


def test_a_taken_port_is_said_in_a_sentence(demo, tmp_path):
    port = demo.kubeconfig()["clusters"][0]["cluster"]["server"].rpartition(":")[2]
    command = [
        sys.executable,
        "-m",
        "simcluster",
        "--port",
        port,
        "--state",
        f"{tmp_path}/s",
    ]

    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=False
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"Port {port} cannot be used")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "content",
    ["kind: Nothing\napiVersion: v9\nmetadata: {name: a}\n", "a: [b", "text", None],
)
def test_a_bad_fleet_is_said_in_a_sentence(tmp_path, content):
    fleet = tmp_path / "fleet.yaml"
    if content is not None:
        fleet.write_text(content)
    command = [
        sys.executable,
        "-m",
        "simcluster",
        "--state",
        f"{tmp_path}/s",
        "--fleet",
        str(fleet),
    ]

    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("The simulated cluster cannot start: ")
    assert "Traceback" not in ended.stderr


def test_the_old_pool_is_served_by_a_device_plugin_and_by_no_slice(demo):
    admin = demo.client()
    pods = {
        each["metadata"]["name"]
        for each in admin.list("Pod")["items"]
        if each["spec"].get("nodeName") == "gpu-l40s-old"
    }
    assert {"captions-0", "captions-1", "upscale-0"} == pods
    counted = {
        each["metadata"]["name"]: each["status"]["numberReady"]
        for each in admin.list("DaemonSet")["items"]
    }
    assert counted["nvidia-device-plugin-daemonset"] == 1
    assert counted["nvidia-dra-driver-gpu-kubelet-plugin"] == 11
