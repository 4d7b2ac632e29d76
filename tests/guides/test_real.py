"""The guides' shapes on Kubernetes itself: what is said before, and what then happens."""

from __future__ import annotations

import pytest

from inventory.models import KubeObject
from tests.agreement.reading import read
from tests.guides import manifests as m
from tests.guides.conftest import (
    ALL_KINDS,
    NEW,
    OLD,
    OLD_WITH_GATES,
    SETTINGS,
    named,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]
KEEPING = (NEW, OLD_WITH_GATES)
DROPPED = "apply.field_dropped"


@named(KEEPING)
def test_an_extended_resource_gets_a_whole_gpu(world, tmp_path):
    mapped = m.device_class("whole", m.WHOLE, m.NEW_ENOUGH, extended=m.EXTENDED)
    assert DROPPED not in world.check(tmp_path, mapped).get("error", set())
    (made,) = world.plane.apply([mapped])

    world.admin.create(
        m.pod("p", world.namespace, None, limits={m.EXTENDED: "1", "cpu": "1"})
    )

    pod = world.scheduled("p")
    status = pod["status"]["extendedResourceClaimStatus"]
    (device,) = world.devices()
    assert status["resourceClaimName"] == world.claims()[0]["metadata"]["name"]
    assert device["driver"] == m.GPU
    assert "mig" not in device["device"]
    world.empty()
    world.admin.delete(made)


@named((OLD,))
def test_an_old_server_drops_the_mapping_and_that_is_said(world, tmp_path):
    mapped = m.device_class("whole", m.WHOLE, extended=m.EXTENDED)

    assert DROPPED in world.check(tmp_path, mapped)["error"]

    (made,) = world.plane.apply([mapped])
    assert "extendedResourceName" not in made["spec"]
    world.admin.delete(made)


@named(KEEPING)
def test_shares_lie_on_two_cards(world, tmp_path):
    template = m.shares_or_partitions(world.namespace)
    assert "error" not in world.check(tmp_path, template)
    world.admin.create(template)

    source = {"resourceClaimTemplateName": "two-slices"}
    world.admin.create(m.pod("p", world.namespace, source, node="gpu-h100-share-a"))

    world.scheduled("p")
    results = world.devices()
    assert [each["request"] for each in results] == ["gpus/shares"] * 2
    assert len({each["device"] for each in results}) == 2
    assert {each["consumedCapacity"]["memory"] for each in results} == {"16Gi"}


@named(KEEPING)
def test_partitions_of_two_cards_where_there_are_no_shares(world, tmp_path):
    node = "gpu-h100-mig" if world.setting is NEW else "gpu-a100-old"
    template = m.shares_or_partitions(world.namespace)
    if world.setting is OLD_WITH_GATES:
        # The recorded node has one card in MIG mode.
        fallback = template["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"]
        fallback[1]["count"] = 1
    document = world.checked(tmp_path, template)
    said = document["items"][0]["preview"]["nodes"][node]
    assert said["outcome"] == "fits"
    world.admin.create(template)

    source = {"resourceClaimTemplateName": "two-slices"}
    world.admin.create(m.pod("p", world.namespace, source, node=node))

    world.scheduled("p")
    results = world.devices()
    assert {each["request"] for each in results} == {"gpus/partitions"}
    wanted = said["results"][0]["devices"]["results"]
    if world.setting is NEW:
        assert [each["device"] for each in results] == [e["device"] for e in wanted]
        assert len({each["device"].split("-mig")[0] for each in results}) == 2


@named((OLD,))
def test_an_old_server_drops_the_shares_and_that_is_said(world, tmp_path):
    template = m.shares_or_partitions(world.namespace, ask_for_shares=False)

    assert DROPPED in world.check(tmp_path, template)["error"]

    made = world.admin.create(template)
    (request,) = made["spec"]["spec"]["devices"]["requests"]
    assert "capacity" not in request["firstAvailable"][0]


@named(SETTINGS)
def test_two_containers_share_one_claim(world, tmp_path):
    template = m.template("shared", world.namespace, m.one_gpu())
    assert "error" not in world.check(tmp_path, template)
    world.admin.create(template)

    source = {"resourceClaimTemplateName": "shared"}
    world.admin.create(m.pod("p", world.namespace, source, containers=2))

    pod = world.scheduled("p")
    (claim,) = world.claims()
    (status,) = pod["status"]["resourceClaimStatuses"]
    assert status["resourceClaimName"] == claim["metadata"]["name"]
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["p"]
    assert len(world.devices()) == 1
    read(world.row, ALL_KINDS)
    kept = KubeObject.objects.get(kind="Pod", name="p").body
    assert len(kept["spec"]["containers"]) == 2


@named(SETTINGS)
def test_two_pods_share_one_claim(world, tmp_path):
    claim = m.claim("one", world.namespace, m.one_gpu())
    assert "error" not in world.check(tmp_path, claim)
    world.admin.create(claim)
    source = {"resourceClaimName": "one"}

    for name in ("p", "q"):
        world.admin.create(m.pod(name, world.namespace, source))

    nodes = {world.scheduled(name)["spec"]["nodeName"] for name in ("p", "q")}
    (stored,) = world.claims()
    assert len(nodes) == 1
    assert {each["name"] for each in stored["status"]["reservedFor"]} == {"p", "q"}
    assert len(world.devices()) == 1
    # Neither can take more devices: what is allocated has no preview any more.
    item = world.checked(tmp_path, {"kind": "ResourceClaim", **stored})["items"][0]
    assert item["preview"] is None


@named(SETTINGS)
def test_semver_of_a_version_is_accepted_and_breaks_scheduling(world, tmp_path):
    bad = m.device_class("of-a-version", m.OF_A_VERSION)
    claim = m.claim("one", world.namespace, m.one_gpu("of-a-version"))

    assert "cel.bad_semver" in world.check(tmp_path, bad)["error"]
    document = world.checked(tmp_path, bad, claim)
    outcomes = {
        node["outcome"] for node in document["items"][1]["preview"]["nodes"].values()
    }
    assert "error" in outcomes

    (made,) = world.plane.apply([bad])
    world.admin.create(claim)
    world.admin.create(m.pod("p", world.namespace, {"resourceClaimName": "one"}))
    assert "semver" in world.waits("p", "SchedulerError")
    world.admin.delete(made)


@named(SETTINGS)
def test_a_compute_domain_is_read_and_its_channel_found(world, tmp_path):
    crd = m.compute_domain_crd()
    root = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    world.admin.call("POST", root, crd)
    domains = f"/apis/resource.nvidia.com/v1beta1/namespaces/{world.namespace}"
    domain = m.compute_domain("train", world.namespace, "train-channel")

    def created():
        answer = world.admin.request("POST", f"{domains}/computedomains", domain)
        return answer.is_success

    world.until(created)
    channel = {
        "name": "channel",
        "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"},
    }
    template = m.template("train-channel", world.namespace, {"requests": [channel]})
    document = world.checked(tmp_path, template)

    assert KubeObject.objects.filter(kind="ComputeDomain", name="train").exists()
    nodes = document["items"][0]["preview"]["nodes"]
    fitting = {name for name, node in nodes.items() if node["outcome"] == "fits"}
    assert fitting == {"gb200-tray-01"}
    world.admin.create(template)
    source = {"resourceClaimTemplateName": "train-channel"}
    world.admin.create(m.pod("p", world.namespace, source))
    assert world.scheduled("p")["spec"]["nodeName"] == "gb200-tray-01"
    world.admin.call("DELETE", f"{root}/{crd['metadata']['name']}")
