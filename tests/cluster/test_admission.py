"""The webhooks and the policy, on real API servers of the oldest and newest minor."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from django.utils import timezone

from claims.services.starting import start_pod
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import KubeError, NotFound
from inventory.gateways.kube import Identity, Kube
from inventory.gateways.kubeconfig import connect
from inventory.services.store import replace_kinds
from portal.admission.models import AdmissionDecision, AdmittedClaim
from tests.cluster import credentials
from tests.cluster.admission import installed
from tests.cluster.controlplane import ControlPlane
from tests.integration.admission.conftest import afresh, rule  # noqa: F401  fixtures
from tests.integration.approvals.conftest import (  # noqa: F401  fixtures
    ada,
    asked,
    clean,
    granted,
    observe,
    say,
)
from tests.integration.approvals.test_ending import (  # noqa: F401
    test_at_its_end_everything_that_used_it_is_gone,
    test_taking_the_label_away_ends_nothing_but_revoking_does,
)
from tests.integration.claims.conftest import cluster  # noqa: F401  fixtures
from tests.integration.claims.objects import manifest_of, prepared

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]
SPACE = "gpu-monitoring"
POD, CLAIM, CLASS = BY_NAME["Pod"], BY_NAME["ResourceClaim"], BY_NAME["DeviceClass"]
OLD = {"resource.k8s.io/v1beta1": True, "resource.k8s.io/v1beta2": True}
FATAL = 'device.attributes["example.com"].model.isGreaterThan(semver("580.95.05"))'


@pytest.fixture(scope="module", params=["1.34.4", "1.37.2"])
def plane(request):
    """Yield a control plane that also serves the old versions of the API."""
    with ControlPlane(request.param, runtime_config=OLD) as made:
        yield made


@pytest.fixture(scope="module")
def kubeconfigs(plane):
    names = (credentials.ADMIN, "slicewise")
    return tuple(plane.kubeconfig(name).read_text() for name in names)


@pytest.fixture(scope="module")
def admin(kubeconfigs):
    return prepared(kubeconfigs[0])


@pytest.fixture(autouse=True)
def first_rules(transactional_db, rule):  # noqa: F811
    """Have the rules that a migration makes: transactional tests start empty."""
    rule(
        "admin-access",
        kind="admin-access",
        params={"maxClaims": 32},
        failure_policy="Fail",
    )
    rule("diagnostics", kind="diagnostics", failure_policy="Ignore")


@pytest.fixture(autouse=True)
def hooks(admin, cluster, observe, first_rules):  # noqa: F811
    """Install the webhooks and the policy, and answer them."""
    with installed(admin.connection) as made:
        _until_called(admin)
        yield made
    for space in ("ai-serving", SPACE):
        for kind in (POD, CLAIM, BY_NAME["ResourceClaimTemplate"]):
            for body in admin.list(kind, space).items:
                with suppress(NotFound):
                    name = body["metadata"]["name"]
                    admin.delete(kind, name, space, gracePeriodSeconds=0)


def _until_called(admin):
    """Wait until the API server calls what was just installed."""
    bad = manifest_of(kind="Claim", count=40)
    secret = manifest_of(namespace=SPACE, kind="Claim", adminAccess=True)
    for body, answer in ((bad, "guard-ignore"), (secret, "slicewise-admin-access")):
        deadline = time.monotonic() + 30
        while answer not in refused(admin, body, dry_run=True):
            assert time.monotonic() < deadline, f"{answer} is not asked"
            time.sleep(0.1)


def without_the_policy(admin, hooks):
    """Take the policy away, which would answer first, and wait until it is gone."""
    hooks.remove()
    hooks.install(policy=False)
    body = manifest_of(namespace=SPACE, kind="Claim", adminAccess=True)
    wait_for(lambda: "guard-fail" in refused(admin, body, dry_run=True))


def refused(kube, body, **more):
    """Return why an API server refuses to create something, or "" where it does not."""
    try:
        kube.create(body, **more)
    except KubeError as error:
        return error.message
    return ""


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < deadline, "not within 20 s"
        time.sleep(0.1)
    return found


def test_it_rejects_admits_and_lets_be(admin, rule, hooks):  # noqa: F811
    assert not refused(admin, manifest_of(kind="Claim"))
    assert not refused(admin, manifest_of())
    without_the_policy(admin, hooks)
    for kind in ("Claim", "Template"):
        body = manifest_of(namespace=SPACE, kind=kind, adminAccess=True)
        said = refused(admin, body)
        assert "through the portal" in said
        assert "guard-fail.slicewise.io" in said
    fatal = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "fatal"},
        "spec": {"selectors": [{"cel": {"expression": FATAL}}]},
    }
    assert "[diagnostics]" in refused(admin, fatal)
    assert not refused(
        admin,
        {**fatal, "metadata": {"name": "sound"}, "spec": {}},
        dry_run=True,
    )
    assert "[diagnostics]" in refused(admin, manifest_of(kind="Claim", count=40))
    count = AdmissionDecision.objects.count()
    assert "[diagnostics]" in refused(
        admin, manifest_of(kind="Claim", count=41), dry_run=True
    )
    assert AdmissionDecision.objects.count() == count
    rule("few", kind="limits", params={"namespaces": ["maple-lab"], "devices": 3})
    hooks.install()
    body = manifest_of(namespace="maple-lab", kind="Claim", count=4)
    wait_for(lambda: "may have 3 devices" in refused(admin, body, dry_run=True))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_older_versions_are_judged_alike(admin, version):
    body = manifest_of(namespace=SPACE, kind="Claim", adminAccess=True)
    body["apiVersion"] = f"resource.k8s.io/{version}"
    if version == "v1beta1":
        request = body["spec"]["devices"]["requests"][0]
        request |= request.pop("exactly")
    assert "through the portal" in refused(admin, body)


def test_a_batch_claim_falls_back_and_others_do_not(admin, cluster, observe):  # noqa: F811
    from portal.admission.models import Fallback

    roomy = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "roomy"},
        "spec": {"selectors": [{"cel": {"expression": 'device.driver == "none"'}}]},
    }
    with suppress(KubeError):
        admin.create(roomy)
    observe()
    nodes = {"Node": admin.list(BY_NAME["Node"]).items}
    replace_kinds(cluster, nodes, now=timezone.now())
    Fallback.objects.create(
        name="to-whole",
        device_class="roomy",
        alternatives=[{"name": "whole", "deviceClassName": "gpu.example.com"}],
        needs_advice=False,
        changed_by="dora",
        changed_at=timezone.now(),
    )
    batch = {"slicewise.io/workload-tier": "batch-offline"}

    def made(labels):
        body = manifest_of(kind="Claim", device_class="roomy")
        body["metadata"]["labels"] = labels
        return admin.create(body)

    def first():
        return made(batch)["spec"]["devices"]["requests"][0]

    request = wait_for(
        lambda: (found := first()) and "firstAvailable" in found and found
    )
    names = [each["name"] for each in request["firstAvailable"]]
    assert names == ["asked", "whole"]
    row = wait_for(
        lambda: (
            AdmissionDecision.objects.filter(outcome="mutate").exclude(uid="").last()
        )
    )
    stored = admin.get(CLAIM, row.name, "ai-serving")
    assert stored["metadata"]["uid"] == row.uid
    from claims.domain.manifest import digest_of

    assert digest_of(stored) == row.mutated_digest != row.asked_digest
    for labels in ({}, {**batch, "slicewise.io/fallback": "off"}):
        assert "exactly" in made(labels)["spec"]["devices"]["requests"][0]


def test_without_the_portal_each_rule_does_as_its_failure_policy_says(admin, hooks):
    without_the_policy(admin, hooks)
    hooks.stop()
    body = manifest_of(namespace=SPACE, kind="Claim", adminAccess=True)
    said = refused(admin, body)
    assert "failed calling webhook" in said
    assert "guard-fail.slicewise.io" in said
    assert not refused(admin, manifest_of(kind="Claim"))
    assert not refused(admin, manifest_of(kind="Claim", count=40))
    hooks.start()
    wait_for(
        lambda: "[diagnostics]" in refused(admin, manifest_of(kind="Claim", count=40))
    )


def test_the_policy_alone_holds_administrative_access(admin, hooks, plane):
    hooks.remove()
    hooks.install(webhooks=False)
    body = manifest_of(namespace=SPACE, kind="Claim", adminAccess=True)
    wait_for(lambda: "ValidatingAdmissionPolicy" in refused(admin, body, dry_run=True))
    assert "through the portal" in refused(admin, body)
    assert "through the portal" in refused(
        admin, manifest_of(namespace=SPACE, adminAccess=True)
    )
    labels = {"resource.kubernetes.io/admin-access": "true"}
    metadata = {"name": "self-labelled", "labels": labels}
    with suppress(KubeError):
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    elsewhere = manifest_of(namespace="self-labelled", kind="Claim", adminAccess=True)
    assert "not allowed in this namespace" in refused(admin, elsewhere)
    forged = manifest_of(kind="Claim")
    forged["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "x"}
    assert "made by Kubernetes alone" in refused(admin, forged)
    assert not refused(admin, manifest_of(kind="Claim"))
    marked = Identity("ada@orchid", ("slicewise:orchid",), _mark())
    as_portal = Kube(connect("demo", plane.kubeconfig("slicewise").read_text()), marked)
    assert not refused(as_portal, manifest_of(namespace=SPACE, adminAccess=True))


def _mark():
    return {"slicewise.io/request-id": "0b8d3a52-0000-4000-8000-000000000001"}


def test_a_mark_without_an_approval_is_worth_nothing(admin, plane):
    marked = Identity("ada@orchid", ("slicewise:orchid",), _mark())
    as_portal = Kube(connect("demo", plane.kubeconfig("slicewise").read_text()), marked)
    said = refused(as_portal, manifest_of(namespace=SPACE, adminAccess=True))
    assert "knows no request" in said


def test_only_so_many_claims_are_made_from_an_approved_template(
    granted,  # noqa: F811
    admin,
    rule,  # noqa: F811
):
    rule("admin-access", kind="admin-access", params={"maxClaims": 1})
    claim_request = granted()
    start_pod(claim_request)
    wait_for(lambda: admin.list(CLAIM, SPACE).items)
    assert AdmittedClaim.objects.get().claim_request == claim_request
    second = start_pod(claim_request)
    row = wait_for(
        lambda: AdmissionDecision.objects.filter(
            outcome="deny", breaches__0__code="admin.too_many"
        ).first()
    )
    assert row.username.endswith("resource-claim-controller")
    pod = admin.get(POD, second, SPACE)
    assert pod["status"]["phase"] == "Pending"
    assert len(admin.list(CLAIM, SPACE).items) == 1


def test_after_its_end_no_claim_is_made_from_a_template(granted, admin):  # noqa: F811
    claim_request = granted()
    type(claim_request).objects.filter(pk=claim_request.pk).update(
        expires_at=timezone.now()
    )
    start_pod(claim_request)
    wait_for(
        lambda: AdmissionDecision.objects.filter(
            breaches__0__code="admin.expired"
        ).exists()
    )
    assert not admin.list(CLAIM, SPACE).items


def test_a_renewed_authority_is_told_and_trusted(admin, cluster, hooks):  # noqa: F811
    from portal.admission.services.certificates import renew
    from portal.admission.services.installing import trust_in

    before = hooks.bundle()
    renew(now=timezone.now(), force=True)
    assert trust_in(cluster, now=timezone.now()) == [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ]
    after = hooks.bundle()
    assert before in after
    assert after != before
    assert not trust_in(cluster, now=timezone.now())
    hooks.stop()
    hooks.start()
    body = manifest_of(kind="Claim", count=40)
    wait_for(lambda: "[diagnostics]" in refused(admin, body, dry_run=True))
