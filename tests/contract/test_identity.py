"""Who asks, whom they act as, and what RBAC says of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.client import Client, Object, Refused, path_of
from tests.cluster.credentials import PORTAL
from tests.contract import objects
from tests.contract.servers import Server

ADA, ORCHID, MAPLE = "ada@orchid", "slicewise:orchid", "slicewise:maple"
MARK = "slicewise.io%2Frequest-id"
DRA_GROUP = "resource.k8s.io"
CLAIMS = objects.rule("get list watch create delete", "resourceclaims", DRA_GROUP)
Grant = Callable[..., None]


@pytest.fixture
def grant(admin: Client, unique) -> Grant:
    """Return a function that lets a user or group do what rules say, in one namespace or all."""

    def bind(*rules: Object, namespace: str | None = None, **subject: str) -> None:
        role = admin.create(objects.role(unique("role"), *rules, namespace=namespace))
        admin.create(objects.binding(role, **subject))

    return bind


@pytest.fixture
def portal(api: Server, grant: Grant) -> Client:
    """Return the portal's account, which may act as any user, as orchid, with its mark."""
    grant(objects.rule("impersonate", "users"), user=PORTAL)
    grant(objects.rule("impersonate", "groups", resourceNames=[ORCHID]), user=PORTAL)
    mark = objects.rule(
        "impersonate", "userextras/slicewise.io/request-id", "authentication.k8s.io"
    )
    grant(mark, user=PORTAL)
    return api.client(PORTAL)


def refused_for(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as refused:
        call()
    return refused.value


def test_each_answer_has_an_id_of_its_own_for_the_audit_log(admin, namespace):
    answers = [
        admin.request("GET", path_of("ResourceClaim", namespace)),
        admin.request("POST", path_of("ResourceClaim", namespace), {}),
        admin.request("DELETE", path_of("ResourceClaim", namespace, "none-such")),
    ]

    ids = [answer.headers["Audit-Id"] for answer in answers]
    assert [answer.status_code for answer in answers][2] == 404
    assert len(set(ids)) == 3
    assert all(ids)


def test_an_unknown_token_is_unauthorized(api):
    stranger = Client(api.client().base_url, "no such token", api.client().ca_file)

    with stranger:
        refused = refused_for(lambda: stranger.list("Namespace"))

    assert refused.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


def test_no_token_is_anonymous(api):
    nobody = Client(api.client().base_url, None, api.client().ca_file)

    with nobody:
        refused = refused_for(lambda: nobody.list("Node"))

    assert refused.code == 403
    assert refused.message == (
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" '
        'in API group "" at the cluster scope'
    )


def test_forbidden_in_a_namespace_says_who_what_and_where(api, namespace):
    refused = refused_for(lambda: api.client(ADA).list("ResourceClaim", namespace))

    assert refused.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": (
            "resourceclaims.resource.k8s.io is forbidden: "
            f'User "{ADA}" cannot list resource "resourceclaims" '
            f'in API group "resource.k8s.io" in the namespace "{namespace}"'
        ),
        "reason": "Forbidden",
        "details": {"group": "resource.k8s.io", "kind": "resourceclaims"},
        "code": 403,
    }


def test_forbidden_for_one_object_names_it(api, stored_claim):
    namespace = stored_claim["metadata"]["namespace"]

    refused = refused_for(
        lambda: api.client(ADA).get("ResourceClaim", "stored", namespace)
    )

    assert refused.message == (
        'resourceclaims.resource.k8s.io "stored" is forbidden: '
        f'User "{ADA}" cannot get resource "resourceclaims" '
        f'in API group "resource.k8s.io" in the namespace "{namespace}"'
    )
    assert refused.status["details"]["name"] == "stored"


def test_forbidden_comes_before_not_found(api, namespace):
    refused = refused_for(
        lambda: api.client(ADA).get("ResourceClaim", "nope", namespace)
    )

    assert refused.code == 403


def test_a_role_lets_its_user_do_what_it_says_and_no_more(
    api, namespace, grant, eventually
):
    grant(
        objects.rule("create get", "resourceclaims", DRA_GROUP),
        namespace=namespace,
        user=ADA,
    )
    ada = api.client(ADA)

    eventually(lambda: ada.can("create", "resourceclaims", namespace))
    ada.create(objects.claim("mine", namespace))

    assert ada.get("ResourceClaim", "mine", namespace)["metadata"]["name"] == "mine"
    assert refused_for(lambda: ada.list("ResourceClaim", namespace)).code == 403
    assert refused_for(lambda: ada.delete(objects.claim("mine", namespace))).code == 403
    assert refused_for(lambda: ada.create(objects.claim("mine", "default"))).code == 403
    assert refused_for(lambda: ada.create(objects.template("t", namespace))).code == 403


def test_a_dry_run_needs_the_same_rights(api, namespace):
    ada = api.client(ADA)

    refused = refused_for(
        lambda: ada.create(objects.claim("a", namespace), dryRun="All")
    )

    assert refused.code == 403


def test_status_is_a_right_of_its_own(api, admin, stored_claim, grant, eventually):
    namespace = stored_claim["metadata"]["namespace"]
    grant(
        objects.rule("patch", "resourceclaims", DRA_GROUP),
        namespace=namespace,
        user=ADA,
    )
    ada = api.client(ADA)
    eventually(lambda: ada.can("patch", "resourceclaims", namespace))

    refused = refused_for(lambda: ada.patch(stored_claim, {"status": {}}, "status"))

    assert 'cannot patch resource "resourceclaims/status"' in refused.message


def test_a_group_gives_rights_to_its_members(api, namespace, grant, eventually):
    grant(CLAIMS, namespace=namespace, group=ORCHID)

    eventually(lambda: api.client(ADA).can("list", "resourceclaims", namespace))

    assert api.client(ADA).list("ResourceClaim", namespace)["items"] == []
    assert not api.client("cleo@maple").can("list", "resourceclaims", namespace)


def test_a_cluster_role_can_be_bound_in_one_namespace(
    api, admin, namespace, unique, eventually
):
    role = admin.create(objects.role(unique("role"), CLAIMS))
    admin.create(objects.binding(role, user=ADA, namespace=namespace))
    ada = api.client(ADA)

    eventually(lambda: ada.can("list", "resourceclaims", namespace))

    assert not ada.can("list", "resourceclaims", "default")
    assert not ada.can("list", "resourceclaims")


def test_a_review_answers_for_whoever_asks(api, namespace):
    assert api.client().can("create", "resourceclaims", namespace)
    assert not api.client(ADA).can("create", "resourceclaims", namespace)


def test_a_review_about_nothing_is_invalid(api):
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    refused = refused_for(lambda: api.client().call("POST", path, review))

    field = "spec.resourceAttributes" if api.minor == 34 else "spec"
    assert (refused.code, refused.fields) == (422, {field})


# Impersonation.


def test_nobody_acts_as_another_without_the_right(api, namespace):
    cleo = api.client("cleo@maple").acting_as(ADA)

    refused = refused_for(lambda: cleo.list("ResourceClaim", namespace))

    assert (refused.code, refused.reason) == (403, "Forbidden")
    assert 'User "cleo@maple" cannot impersonate' in refused.message


def test_who_is_acted_as_decides(portal, namespace, grant, eventually):
    grant(CLAIMS, namespace=namespace, user=ADA)
    ada = portal.acting_as(ADA)

    eventually(lambda: ada.can("create", "resourceclaims", namespace))
    ada.create(objects.claim("by-ada", namespace))

    assert not portal.can("create", "resourceclaims", namespace)
    assert not portal.acting_as("cleo@maple").can("create", "resourceclaims", namespace)


def test_forbidden_names_who_is_acted_as(portal, namespace, eventually):
    ada = portal.acting_as(ADA)

    refused = eventually_acting(eventually, ada, namespace)

    assert f'User "{ADA}" cannot list resource "resourceclaims"' in refused.message


def eventually_acting(eventually, client: Client, namespace: str) -> Refused:
    """Return the refusal once the right to impersonate has arrived."""

    def refusal() -> Refused | None:
        refused = refused_for(lambda: client.list("ResourceClaim", namespace))
        return None if "impersonate" in refused.message else refused

    return eventually(refusal)


def test_groups_come_with_the_impersonation_alone(portal, namespace, grant, eventually):
    grant(CLAIMS, namespace=namespace, group=ORCHID)

    eventually(
        lambda: portal.acting_as(ADA, (ORCHID,)).can(
            "list", "resourceclaims", namespace
        )
    )

    assert not portal.acting_as(ADA).can("list", "resourceclaims", namespace)


@pytest.mark.parametrize("group", [MAPLE, "system:masters"])
def test_a_group_that_is_not_listed_cannot_be_taken_on(
    portal, namespace, eventually, group
):
    eventually_acting(eventually, portal.acting_as(ADA), namespace)
    acting = portal.acting_as(ADA, (ORCHID, group))

    refused = refused_for(lambda: acting.list("ResourceClaim", namespace))

    assert refused.message == (
        f'groups "{group}" is forbidden: User "{PORTAL}" cannot impersonate resource "groups" '
        'in API group "" at the cluster scope'
    )


def test_the_mark_of_the_portal_is_a_right_of_its_own(
    api, portal, namespace, grant, eventually
):
    eventually_acting(eventually, portal.acting_as(ADA, **{MARK: "r1"}), namespace)
    other = portal.acting_as(ADA, **{"slicewise.io%2Fother": "r1"})

    refused = refused_for(lambda: other.list("ResourceClaim", namespace))

    assert refused.message == (
        'userextras.authentication.k8s.io "r1" is forbidden: '
        f'User "{PORTAL}" cannot impersonate resource "userextras/slicewise.io/other" '
        'in API group "authentication.k8s.io" at the cluster scope'
    )


def test_a_group_without_a_user_is_a_bad_request(api, portal):
    headers = (("Impersonate-Group", ORCHID),)
    nameless = Client(
        portal.base_url, portal.token, portal.ca_file, headers, portal.http
    )

    refused = refused_for(lambda: nameless.list("Node"))

    assert refused.code == (500 if api.minor == 34 else 400)
    assert "without impersonating a user" in refused.message


def test_the_mark_arrives_decoded(real):
    admin = real.client()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    answer = admin.acting_as(ADA, (ORCHID,), **{MARK: "r1"}).call(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review
    )

    assert answer["status"]["userInfo"] == {
        "username": ADA,
        "groups": [ORCHID, "system:authenticated"],
        "extra": {"slicewise.io/request-id": ["r1"]},
    }
