"""Lists, pages, selectors and single objects."""

from __future__ import annotations

import re

import pytest

from tests.cluster.client import Client, Refused
from tests.contract import objects
from tests.contract.servers import Server


@pytest.fixture
def five(admin: Client, namespace: str) -> list[str]:
    names = [f"claim-{number}" for number in range(5)]
    for name in names:
        admin.create(objects.claim(name, namespace, labels={"name": name}))
    return names


def names_of(answer: dict) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


def test_list_says_what_it_is_and_when(admin, namespace, five):
    answer = admin.list("ResourceClaim", namespace)

    assert answer["kind"] == "ResourceClaimList"
    assert answer["apiVersion"] == "resource.k8s.io/v1"
    newest = max(int(item["metadata"]["resourceVersion"]) for item in answer["items"])
    assert int(answer["metadata"]["resourceVersion"]) >= newest
    assert names_of(answer) == five
    assert "kind" not in answer["items"][0]
    assert "continue" not in answer["metadata"]


def test_list_of_nothing_has_items_and_a_version(admin, namespace):
    answer = admin.list("ResourceClaim", namespace)

    assert answer["items"] == []
    assert int(answer["metadata"]["resourceVersion"]) > 0


def test_list_of_all_namespaces(admin, namespace, five):
    answer = admin.list("ResourceClaim")

    found = [i for i in answer["items"] if i["metadata"]["namespace"] == namespace]
    assert [item["metadata"]["name"] for item in found] == five


def test_pages_cover_the_list_once_at_one_version(admin, namespace, five):
    first = admin.list("ResourceClaim", namespace, limit=2)
    admin.create(objects.claim("claim-9", namespace))
    second = admin.list(
        "ResourceClaim",
        namespace,
        limit=2,
        **{"continue": first["metadata"]["continue"]},
    )
    third = admin.list(
        "ResourceClaim",
        namespace,
        limit=2,
        **{"continue": second["metadata"]["continue"]},
    )

    assert names_of(first) + names_of(second) + names_of(third) == five
    assert first["metadata"]["remainingItemCount"] == 3
    versions = {page["metadata"]["resourceVersion"] for page in (first, second, third)}
    assert len(versions) == 1
    assert "continue" not in third["metadata"]


def test_an_unreadable_continue_token_is_a_bad_request(admin, namespace):
    with pytest.raises(Refused, match="continue key is not valid") as refused:
        admin.list("ResourceClaim", namespace, limit=2, **{"continue": "garbage"})

    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


def test_a_page_of_forgotten_history_is_gone(api: Server, namespace, five):
    first = api.client().list("ResourceClaim", namespace, limit=2)
    api.client().create(objects.claim("claim-9", namespace))
    api.forget_history()

    with pytest.raises(Refused) as refused:
        api.client().list(
            "ResourceClaim",
            namespace,
            limit=2,
            **{"continue": first["metadata"]["continue"]},
        )

    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_an_exact_version_of_forgotten_history_is_gone(api: Server, namespace, five):
    version = api.client().list("ResourceClaim", namespace)["metadata"][
        "resourceVersion"
    ]
    api.client().create(objects.claim("claim-9", namespace))
    api.forget_history()

    with pytest.raises(Refused) as refused:
        api.client().list(
            "ResourceClaim",
            namespace,
            resourceVersion=version,
            resourceVersionMatch="Exact",
        )

    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_a_list_at_least_as_new_as_version_zero(admin, namespace, five):
    answer = admin.list("ResourceClaim", namespace, resourceVersion="0")

    assert set(names_of(answer)) <= set(five)
    assert int(answer["metadata"]["resourceVersion"]) > 0


@pytest.mark.parametrize(
    ("parameter", "value", "says"),
    [
        ("resourceVersion", "abc", "invalid resource version"),
        ("labelSelector", "a in (b", "unable to parse requirement"),
        ("fieldSelector", "spec.foo=1", '"spec.foo" is not a known field selector'),
        ("limit", "x", "invalid syntax"),
    ],
)
def test_unreadable_parameters_are_bad_requests(
    admin, namespace, parameter, value, says
):
    with pytest.raises(Refused) as refused:
        admin.list("ResourceClaim", namespace, **{parameter: value})

    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"fieldSelector": "metadata.name=claim-2"}, ["claim-2"]),
        ({"labelSelector": "name=claim-3"}, ["claim-3"]),
        ({"labelSelector": "name in (claim-1,claim-4)"}, ["claim-1", "claim-4"]),
        (
            {"labelSelector": "name!=claim-0"},
            ["claim-1", "claim-2", "claim-3", "claim-4"],
        ),
        ({"labelSelector": "!name"}, []),
        (
            {"labelSelector": "name,name notin (claim-0,claim-1,claim-2)"},
            ["claim-3", "claim-4"],
        ),
    ],
)
def test_selectors(admin, namespace, five, selector, expected):
    assert names_of(admin.list("ResourceClaim", namespace, **selector)) == expected


def test_get_returns_the_object_with_its_kind(admin, stored_claim):
    name, namespace = (
        stored_claim["metadata"]["name"],
        stored_claim["metadata"]["namespace"],
    )

    assert admin.get("ResourceClaim", name, namespace) == stored_claim
    assert stored_claim["kind"] == "ResourceClaim"
    assert stored_claim["apiVersion"] == "resource.k8s.io/v1"


def test_get_of_nothing_is_a_status(admin, namespace):
    with pytest.raises(Refused) as refused:
        admin.get("ResourceClaim", "nope", namespace)

    assert refused.value.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'resourceclaims.resource.k8s.io "nope" not found',
        "reason": "NotFound",
        "details": {
            "name": "nope",
            "group": "resource.k8s.io",
            "kind": "resourceclaims",
        },
        "code": 404,
    }


def test_get_of_a_core_kind_has_no_group_in_its_status(admin):
    with pytest.raises(Refused) as refused:
        admin.get("Node", "nope")

    assert refused.value.message == 'nodes "nope" not found'
    assert refused.value.status["details"] == {"name": "nope", "kind": "nodes"}


def test_an_unknown_resource_is_not_found(admin):
    response = admin.request("GET", "/apis/resource.k8s.io/v9/nonsense")

    assert response.status_code == 404


def test_version(admin, api):
    version = admin.call("GET", "/version")

    assert (version["major"], version["minor"]) == ("1", str(api.minor))
    assert re.fullmatch(rf"v1\.{api.minor}\.\d+.*", version["gitVersion"])


def test_discovery_of_the_group(admin):
    group = admin.call("GET", "/apis/resource.k8s.io")

    assert group["kind"] == "APIGroup"
    assert group["name"] == "resource.k8s.io"
    served = {version["groupVersion"] for version in group["versions"]}
    assert "resource.k8s.io/v1" in served
    assert group["preferredVersion"]["groupVersion"] == "resource.k8s.io/v1"


def test_discovery_of_all_groups_names_ours(admin):
    groups = admin.call("GET", "/apis")

    assert groups["kind"] == "APIGroupList"
    assert "resource.k8s.io" in {group["name"] for group in groups["groups"]}


def test_discovery_of_the_resources(admin):
    resources = admin.call("GET", "/apis/resource.k8s.io/v1")
    by_name = {each["name"]: each for each in resources["resources"]}

    assert resources["kind"] == "APIResourceList"
    assert by_name["resourceclaims"]["namespaced"] is True
    assert by_name["deviceclasses"]["namespaced"] is False
    assert by_name["resourceclaims"]["kind"] == "ResourceClaim"
    assert {"create", "delete", "get", "list", "patch", "update", "watch"} <= set(
        by_name["resourceclaimtemplates"]["verbs"]
    )
    assert "resourceclaims/status" in by_name


def test_device_taint_rules_are_served_where_the_version_has_them(admin, api):
    resources = admin.call("GET", "/apis/resource.k8s.io/v1")["resources"]

    assert ("devicetaintrules" in {each["name"] for each in resources}) == (
        api.minor >= 37
    )


def test_openapi_lists_the_group_and_describes_its_kinds(admin):
    paths = admin.call("GET", "/openapi/v3")["paths"]
    document = admin.call("GET", paths["apis/resource.k8s.io/v1"]["serverRelativeURL"])

    schema = document["components"]["schemas"][
        "io.k8s.api.resource.v1.ExactDeviceRequest"
    ]
    assert {"deviceClassName", "allocationMode", "count"} <= set(schema["properties"])


def test_health(admin):
    for path in ("/readyz", "/livez", "/healthz"):
        assert admin.request("GET", path).text == "ok"


def test_the_namespaces_of_every_cluster(admin):
    names = names_of(admin.list("Namespace"))

    assert {"default", "kube-system"} <= set(names)
    assert admin.get("Namespace", "kube-system")["metadata"]["uid"]
