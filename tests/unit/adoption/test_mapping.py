"""Names of extended resources, and what pods ask of one."""

from __future__ import annotations

import pytest

from portal.adoption.domain.mapping import asking_pod, is_extended_name

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    "name", ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "example/foo_B.1"]
)
def test_names_of_extended_resources(name):
    assert is_extended_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpu",
        "nvidia.com/",
        "/gpu",
        "kubernetes.io/gpu",
        "x.kubernetes.io/gpu",
        "requests.nvidia.com/gpu",
        "nvidia.com/gpu\n",
        "nvidia.com/" + "g" * 64,
        "NVIDIA.com/gpu",
    ],
)
def test_what_is_no_extended_resource(name):
    assert not is_extended_name(name)


def container(count, key="limits"):
    return {"resources": {key: {GPU: count}}}


def test_containers_add_up_and_an_init_container_counts_where_it_asks_for_more():
    spec = {"containers": [container("1"), container(2, "requests"), {}]}
    found = asking_pod({"metadata": {"namespace": "a", "name": "b"}, "spec": spec}, GPU)
    assert found is not None
    assert (found.count, found.node, found.claim) == (3, "", "")
    spec["initContainers"] = [container("4")]
    found = asking_pod({"spec": spec}, GPU)
    assert found is not None
    assert found.count == 4


def test_a_pod_that_asks_for_nothing_or_is_over_does_not_count():
    spec = {"containers": [container("1")]}
    assert asking_pod({"spec": spec}, "nvidia.com/other") is None
    assert asking_pod({"spec": spec, "status": {"phase": "Succeeded"}}, GPU) is None
    assert asking_pod({"spec": {"containers": [container("x")]}}, GPU) is None


def test_the_implicit_claim_is_followed():
    status = {"extendedResourceClaimStatus": {"resourceClaimName": "pod-extended-1"}}
    body = {"spec": {"containers": [container("1")]}, "status": status}
    found = asking_pod(body, GPU)
    assert found is not None
    assert found.claim == "pod-extended-1"
