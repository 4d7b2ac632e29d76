"""`deploy/rbac.yaml` on real servers: what the portal, a tenant and an approver may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.client import Client, Object, path_of
from tests.cluster.controlplane import RBAC_FILE, read_manifests
from tests.contract import objects
from tests.contract.expect import forbidden
from tests.contract.servers import RealServer

ADA, ORCHID = "ada@orchid", "slicewise:orchid"
CLEO, MAPLE = "cleo@maple", "slicewise:maple"
BEN, APPROVERS = "ben@platform", "slicewise:approvers"
CLEANER = "slicewise:cleaner"
MARK = {"slicewise.io%2Frequest-id": "7b0e"}
ADMIN_LABEL = {"resource.kubernetes.io/admin-access": "true"}

READ = [
    "ResourceSlice",
    "DeviceClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "Node",
    "Namespace",
    "ResourceQuota",
    "Pod",
    "Event",
    "DaemonSet",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
]


@pytest.fixture(scope="module")
def portal(real: RealServer) -> Iterator[Client]:
    """Return the portal's ServiceAccount on a cluster with its rules."""
    real.cluster.apply(read_manifests(RBAC_FILE))
    token = real.cluster.service_account_token("slicewise", "slicewise")
    with Client(real.cluster.server, token, real.cluster.ca_file) as client:
        yield client


@pytest.fixture
def orchid(real_admin: Client, portal: Client, unique: Callable[[str], str]) -> str:
    """Return a namespace of the tenant orchid."""
    return tenant_namespace(real_admin, unique("orchid"), ORCHID)


@pytest.fixture
def maple(real_admin: Client, portal: Client, unique: Callable[[str], str]) -> str:
    """Return a namespace of the tenant maple."""
    return tenant_namespace(real_admin, unique("maple"), MAPLE)


def tenant_namespace(admin: Client, name: str, group: str) -> str:
    admin.create(objects.namespace(name))
    role = {"kind": "ClusterRole", "metadata": {"name": "slicewise:tenant"}}
    manifest = objects.binding(role, group=group, namespace=name)
    manifest["metadata"]["name"] = "slicewise-tenant"
    admin.create(manifest)
    return name


@pytest.fixture
def as_ada(portal: Client, orchid: str, eventually: Any) -> Client:
    """Return the portal acting as a member of orchid, once the rights have arrived."""
    client = portal.acting_as(ADA, (ORCHID,), **MARK)
    eventually(lambda: has_arrived(client, orchid))
    return client


def has_arrived(client: Client, namespace: str) -> bool:
    return client.request("GET", path_of("ResourceClaim", namespace)).is_success


# The portal's own account.


@pytest.mark.parametrize("kind", READ)
def test_the_portal_lists_and_watches(portal, kind, eventually):
    eventually(lambda: portal.request("GET", path_of(kind), limit=1).is_success)

    with portal.watch(kind, timeoutSeconds=1):
        pass


def test_the_portal_lists_taint_rules_where_there_are_any(real, portal):
    if real.minor >= 37:
        assert portal.list("DeviceTaintRule")["items"] == []
    else:
        assert portal.request("GET", path_of("DeviceTaintRule")).status_code == 404


def test_the_portal_reads_feature_gates(portal, eventually):
    eventually(lambda: portal.request("GET", "/metrics").is_success)

    assert "kubernetes_feature_enabled{" in portal.request("GET", "/metrics").text


def test_the_portal_reads_the_mig_managers_configmaps_alone(real_admin, portal, orchid):
    name = "default-mig-parted-config"
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": orchid},
    }
    real_admin.create(manifest)

    assert portal.get("ConfigMap", name, orchid)
    assert portal.list("ConfigMap", orchid, fieldSelector=f"metadata.name={name}")[
        "items"
    ]
    forbidden(portal.list, "ConfigMap", orchid)
    forbidden(portal.get, "ConfigMap", "kube-root-ca.crt", orchid)


def test_the_portal_reads_no_secrets(portal, orchid):
    forbidden(portal.list, "Secret", orchid)
    forbidden(portal.list, "Secret")


def test_the_portal_itself_writes_no_claims(real_admin, portal, orchid):
    claim = real_admin.create(objects.claim("a", orchid))

    message = forbidden(portal.create, objects.claim("b", orchid))
    forbidden(portal.create, objects.claim("b", orchid), dryRun="All")
    forbidden(portal.create, objects.template("b", orchid))
    forbidden(portal.patch, claim, {"metadata": {"labels": {"x": "y"}}})
    forbidden(portal.patch, claim, {"status": {}}, "status")
    forbidden(portal.replace, claim)
    forbidden(portal.delete, claim)

    assert 'User "system:serviceaccount:slicewise:slicewise" cannot create' in message


@pytest.mark.parametrize(
    ("verb", "resource", "group"),
    [
        ("create", "pods", ""),
        ("delete", "pods", ""),
        ("patch", "namespaces", ""),
        ("patch", "nodes", ""),
        ("create", "deviceclasses", "resource.k8s.io"),
        ("delete", "resourceslices", "resource.k8s.io"),
        ("create", "devicetaintrules", "resource.k8s.io"),
        ("create", "rolebindings", "rbac.authorization.k8s.io"),
        ("escalate", "clusterroles", "rbac.authorization.k8s.io"),
        ("bind", "clusterroles", "rbac.authorization.k8s.io"),
        ("create", "serviceaccounts/token", ""),
        ("impersonate", "serviceaccounts", ""),
        ("impersonate", "groups", ""),
        ("impersonate", "uids", "authentication.k8s.io"),
    ],
)
def test_the_portal_itself_may_not(portal, orchid, verb, resource, group):
    name, _, subresource = resource.partition("/")

    assert not portal.can(verb, name, orchid, group, subresource=subresource)


# Acting as a tenant.


def test_a_tenant_makes_and_ends_claims_templates_and_pods(as_ada, orchid):
    claim = as_ada.create(objects.claim("c", orchid))
    template = as_ada.create(objects.template("t", orchid))
    pod = as_ada.create(
        objects.pod("p", orchid, {"name": "gpu", "resourceClaimName": "c"})
    )

    for stored in (pod, template, claim):
        name = stored["metadata"]["name"]
        assert as_ada.get(stored["kind"], name, orchid)["metadata"]["name"] == name
        as_ada.delete(stored, {"gracePeriodSeconds": 0})


def test_a_tenant_can_do_nothing_in_anothers_namespace(real_admin, as_ada, maple):
    claim = real_admin.create(objects.claim("c", maple))

    message = forbidden(as_ada.create, objects.claim("mine", maple))
    forbidden(as_ada.create, objects.claim("mine", maple), dryRun="All")
    forbidden(as_ada.list, "ResourceClaim", maple)
    forbidden(as_ada.get, "ResourceClaim", "c", maple)
    forbidden(as_ada.delete, claim)

    assert message == (
        "resourceclaims.resource.k8s.io is forbidden: "
        f'User "{ADA}" cannot create resource "resourceclaims" '
        f'in API group "resource.k8s.io" in the namespace "{maple}"'
    )


def test_a_tenant_without_the_group_is_nobody(portal, as_ada, orchid):
    forbidden(portal.acting_as(ADA, **MARK).create, objects.claim("c", orchid))
    forbidden(
        portal.acting_as(CLEO, (MAPLE,), **MARK).create, objects.claim("c", orchid)
    )


def test_a_tenant_does_not_open_the_namespace_to_admin_access(as_ada, orchid):
    space = {"kind": "Namespace", "metadata": {"name": orchid}}

    forbidden(as_ada.patch, space, {"metadata": {"labels": ADMIN_LABEL}})


def test_a_tenant_changes_nothing_that_others_share(real_admin, as_ada, orchid, unique):
    claim = real_admin.create(objects.claim("c", orchid))

    forbidden(as_ada.create, objects.device_class(unique("class"), "true"))
    forbidden(as_ada.patch, claim, {"status": {"reservedFor": []}}, "status")
    forbidden(as_ada.patch, claim, {"metadata": {"finalizers": []}})
    forbidden(as_ada.list, "ResourceClaim")
    forbidden(as_ada.list, "Secret", orchid)
    forbidden(as_ada.create, tenant_binding(orchid))


def tenant_binding(namespace: str) -> Object:
    role = {"kind": "ClusterRole", "metadata": {"name": "slicewise:approver"}}
    return objects.binding(role, user=ADA, namespace=namespace)


# The portal's cleaner.


def test_the_cleaner_deletes_what_was_granted_and_does_nothing_else(
    real_admin, portal, as_ada, orchid, eventually
):
    cleaner = portal.acting_as(CLEANER, **MARK)
    claim = real_admin.create(objects.claim("ends", orchid))
    template = real_admin.create(objects.template("ends", orchid))

    path = path_of("ResourceClaim", orchid)
    eventually(lambda: cleaner.request("DELETE", f"{path}/none").status_code == 404)
    cleaner.delete(claim)
    cleaner.delete(template)

    forbidden(cleaner.create, objects.claim("c", orchid))
    forbidden(cleaner.list, "ResourceClaim", orchid)
    forbidden(cleaner.list, "Secret", orchid)
    space = {"kind": "Namespace", "metadata": {"name": orchid}}
    forbidden(cleaner.patch, space, {"metadata": {"labels": ADMIN_LABEL}})
    forbidden(cleaner.delete, space)


# What the portal cannot pretend.


@pytest.mark.parametrize(
    "group", ["system:masters", "slicewise:unlisted", "system:nodes"]
)
def test_groups_that_are_not_listed_cannot_be_taken_on(portal, as_ada, orchid, group):
    acting = portal.acting_as(ADA, (ORCHID, group), **MARK)

    message = forbidden(acting.list, "ResourceClaim", orchid)

    assert message.startswith(
        f'groups "{group}" is forbidden: User "system:serviceaccount:'
    )


def test_no_mark_but_the_portals(portal, as_ada, orchid):
    extra = {"scopes.example.com%2Fadmin": "yes"}

    forbidden(portal.acting_as(ADA, (ORCHID,), **extra).list, "ResourceClaim", orchid)


def test_a_service_account_cannot_be_acted_as(portal, as_ada, orchid):
    name = "system:serviceaccount:kube-system:generic-garbage-collector"

    forbidden(portal.acting_as(name).list, "ResourceClaim", orchid)


def test_nobody_but_the_portal_has_its_mark(real, as_ada, orchid):
    forbidden(real.client(ADA).acting_as(ADA, **MARK).list, "ResourceClaim", orchid)


def test_plain_impersonation_reaches_the_systems_own_users(portal, as_ada):
    """Why the portal's code refuses system: names, and why the constrained role is better."""
    assert portal.acting_as("system:kube-controller-manager").list("Secret")["kind"]


# An approver.


def test_an_approver_sees_and_revokes_but_does_not_create(
    real_admin, portal, orchid, maple, eventually
):
    ben = portal.acting_as(BEN, (APPROVERS,), **MARK)
    eventually(lambda: ben.request("GET", path_of("ResourceClaim")).is_success)
    claims = [real_admin.create(objects.claim("c", space)) for space in (orchid, maple)]
    pod = real_admin.create(
        objects.pod("p", orchid, {"name": "gpu", "resourceClaimName": "c"})
    )
    template = real_admin.create(objects.template("t", orchid))

    forbidden(ben.create, objects.claim("mine", orchid))
    forbidden(ben.create, objects.template("mine", orchid))
    forbidden(
        ben.patch,
        {"kind": "Namespace", "metadata": {"name": orchid}},
        {"metadata": {"labels": ADMIN_LABEL}},
    )
    for stored in (pod, template, *claims):
        ben.delete(stored, {"gracePeriodSeconds": 0})


# Constrained impersonation.


@pytest.fixture
def constrained(
    real: RealServer, real_admin: Client, portal: Client, unique
) -> Iterator[Client]:
    """Return another account that is bound to the constrained role alone."""
    name = unique("account")
    real_admin.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "slicewise"},
        }
    )
    role = {
        "kind": "ClusterRole",
        "metadata": {"name": "slicewise:impersonator-constrained"},
    }
    manifest = objects.binding(role, user="nobody")
    manifest["metadata"]["name"] = name
    manifest["subjects"] = [
        {"kind": "ServiceAccount", "name": name, "namespace": "slicewise"}
    ]
    real_admin.create(manifest)
    token = real.cluster.service_account_token("slicewise", name)
    with Client(real.cluster.server, token, real.cluster.ca_file) as client:
        yield client


def test_constrained_impersonation_does_the_portals_work_and_nothing_else(
    real, constrained, orchid, maple, eventually
):
    ada = constrained.acting_as(ADA, (ORCHID,), **MARK)
    if real.minor < 36:
        forbidden(ada.create, objects.claim("c", orchid))
        return
    eventually(lambda: has_arrived(ada, orchid))

    ada.create(objects.claim("c", orchid), dryRun="All", fieldValidation="Strict")
    claim = ada.create(objects.claim("c", orchid))
    ada.delete(claim)

    assert ada.can("create", "resourceclaims", orchid)
    assert not ada.can("create", "resourceclaims", maple)
    forbidden(ada.create, objects.claim("c", maple))
    forbidden(constrained.acting_as("system:kube-controller-manager").list, "Secret")
    forbidden(
        constrained.acting_as(ADA, ("system:masters",)).list, "ResourceClaim", orchid
    )
