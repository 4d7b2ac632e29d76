"""Pods, advice and renewed certificates, as real API servers of both minors ask us."""

from __future__ import annotations

import ssl

import pytest
from django.utils import timezone

from inventory.domain.kinds import BY_NAME
from inventory.services.store import replace_kinds
from portal.admission import serving
from portal.admission.gateways import advisor
from portal.admission.models import (
    AdmissionDecision,
    AdvisorSetting,
    Calibration,
    Fallback,
)
from portal.admission.services.certificates import renew
from portal.admission.services.installing import trust_in
from tests.cluster.controlplane import ControlPlane
from tests.cluster.test_admission import (  # noqa: F401  fixtures
    ada,
    admin,
    afresh,
    clean,
    cluster,
    first_rules,
    hooks,
    kubeconfigs,
    observe,
    refused,
    rule,
    wait_for,
)
from tests.integration.admission.test_advisor import mock
from tests.integration.budgets.conftest import (  # noqa: F401  fixtures
    GPU_CLASS,
    budget,
    gpus,
)
from tests.integration.claims.objects import manifest_of

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]
SPACE = "ai-serving"
RESOURCE = "example.com/gpu"
BATCH = {"slicewise.io/workload-tier": "batch-offline"}
MAPPED = {"DRAExtendedResource": True}
POD, CLAIM = BY_NAME["Pod"], BY_NAME["ResourceClaim"]


@pytest.fixture(
    scope="module",
    params=[("1.34.4", MAPPED), ("1.37.2", {})],
    ids=lambda param: param[0],
)
def plane(request):
    """Yield a control plane that maps extended resources to claims."""
    version, gates = request.param
    with ControlPlane(version, gates=gates) as made:
        yield made


@pytest.fixture
def mapped(admin, observe):  # noqa: F811
    """Have a class that serves an extended resource, and let the portal see it."""
    selectors = [{"cel": {"expression": 'device.driver == "example.com"'}}]
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "mapped"},
        "spec": {"selectors": selectors, "extendedResourceName": RESOURCE},
    }
    if not refused(admin, body):
        found = admin.get(BY_NAME["DeviceClass"], "mapped")
        assert found["spec"]["extendedResourceName"] == RESOURCE
    observe()


def pod_of(name, count=0):
    limits = {RESOURCE: str(count)} if count else {"cpu": "1"}
    container = {"name": "c", "image": "registry.example.com/c:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"containers": [{**container, "resources": {"limits": limits}}]},
    }


def limited(rule, hooks, **more):  # noqa: F811
    """Let nobody have more than three devices, pods with GPU resources included."""
    rule("few", kind="limits", params={"namespaces": [SPACE], "devices": 3}, **more)
    hooks.install()


def test_a_pod_is_judged_as_its_claim_and_the_schedulers_claim_is_let_through(
    admin,  # noqa: F811
    mapped,
    rule,  # noqa: F811
    hooks,  # noqa: F811
):
    limited(rule, hooks)

    wait_for(
        lambda: (
            "may have 3 devices" in refused(admin, pod_of("greedy", 4), dry_run=True)
        )
    )
    assert not refused(admin, pod_of("plain"))
    assert not refused(admin, pod_of("modest", 2))

    bound = wait_for(
        lambda: (pod := admin.get(POD, "modest", SPACE))["spec"].get("nodeName") and pod
    )
    made = bound["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
    claim = admin.get(CLAIM, made, SPACE)
    assert len(claim["status"]["allocation"]["devices"]["results"]) == 2


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_without_the_portal_pods_with_gpus_do_as_the_rule_says(
    admin,  # noqa: F811
    mapped,
    rule,  # noqa: F811
    hooks,  # noqa: F811
    policy,
):
    limited(rule, hooks, failure_policy=policy)
    wait_for(
        lambda: (
            "may have 3 devices" in refused(admin, pod_of("greedy", 4), dry_run=True)
        )
    )

    hooks.stop()
    try:
        said = refused(admin, pod_of("greedy", 4), dry_run=True)
        assert ("failed calling webhook" in said) == (policy == "Fail")
        assert not refused(admin, pod_of("plain"), dry_run=True)
    finally:
        hooks.start()
    wait_for(
        lambda: (
            "may have 3 devices" in refused(admin, pod_of("greedy", 4), dry_run=True)
        )
    )


def test_a_teams_budget_holds_whoever_makes_a_claim(
    admin,  # noqa: F811
    gpus,  # noqa: F811
    budget,  # noqa: F811
    rule,  # noqa: F811
    hooks,  # noqa: F811
):
    budget(vram_hard=160)
    rule("tenant-budgets", kind="budgets", failure_policy="Fail")
    hooks.install()
    three = manifest_of(kind="Claim", device_class=GPU_CLASS, count=3)
    said = wait_for(lambda: refused(admin, three))
    assert "[tenant-budgets] The budget orchid has 160 GiB of GPU memory" in said
    assert "guard-fail.slicewise.io" in said

    template = manifest_of(device_class=GPU_CLASS)
    assert not refused(admin, template)
    one = manifest_of(kind="Claim", device_class=GPU_CLASS)
    assert not refused(admin, one)
    for name in ("first", "second"):
        pod = pod_of(name)
        source = {"resourceClaimTemplateName": template["metadata"]["name"]}
        pod["spec"]["resourceClaims"] = [{"name": "gpu", **source}]
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
        assert not refused(admin, pod)
    # The controller gets one claim more; for the second pod there is none.
    row = wait_for(
        lambda: AdmissionDecision.objects.filter(
            outcome="deny",
            breaches__0__code="budget.vram",
            username__endswith="resource-claim-controller",
        ).first()
    )
    assert row.breaches[0]["values"]["taken"] == 160
    named = [each["metadata"]["name"] for each in admin.list(CLAIM, SPACE).items]
    assert len(named) == 2


@pytest.fixture
def advised(settings, monkeypatch, afresh):  # noqa: F811
    """Ask the mock of the advisor's protocol; return a function that sets the trust."""
    monkeypatch.setattr(advisor, "SECONDS", 1.5)
    advisor._client.cache_clear()

    def do(mode, **thresholds):
        thresholds = {"safe": 0.9, "confidence": 0.82, "severity": 2.0} | thresholds
        now = timezone.now()
        calibration = Calibration.objects.create(
            made_at=now,
            made_by="dora",
            digest="sha256:x",
            first_at=now,
            last_at=now,
            precision=0.9,
            document={"model": settings.SLICEWISE_ADVISOR_MODEL},
            **thresholds,
        )
        AdvisorSetting.objects.update_or_create(
            id=1, defaults={"mode": mode, "calibration": calibration, **thresholds}
        )
        afresh()

    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]
    with mock() as url:
        settings.SLICEWISE_ADVISOR_URL = url
        settings.SLICEWISE_ADVISOR_KEY = "secret"
        yield do
    advisor._client.cache_clear()


def batch(count):
    body = manifest_of(kind="Claim", count=count)
    body["metadata"]["labels"] = BATCH
    return body


def advice_on(admin, count):  # noqa: F811
    """Return what the advisor says of so many devices; None where it was too slow."""
    name = admin.create(batch(count))["metadata"]["name"]
    row = AdmissionDecision.objects.filter(name=name, advisor_mode="shadow").first()
    return row.advice if row and not row.fault else None


def test_the_advisor_is_asked_heard_and_in_shadow_only_noted(
    admin,  # noqa: F811
    cluster,  # noqa: F811
    observe,  # noqa: F811
    advised,
):
    observe()
    seen = {kind: admin.list(BY_NAME[kind]).items for kind in ("Node", "Namespace")}
    replace_kinds(cluster, seen, now=timezone.now())
    advised("shadow")
    said = {n: wait_for(lambda n=n: advice_on(admin, n)) for n in range(1, 9)}
    safe = {count: each["safe"] for count, each in said.items()}

    doubted = min(safe, key=safe.__getitem__)
    advised("enforce", safe=safe[doubted] + 0.001)
    why = refused(admin, batch(doubted))
    assert "probability" in why
    assert "fallback.slicewise.io" in why
    trusted = max(safe, key=safe.__getitem__)
    is_rejected = said[trusted]["action"] == "reject_claim"
    assert bool(refused(admin, batch(trusted), dry_run=True)) == is_rejected

    changes = [c for c, each in said.items() if each["action"] == "mutate_to_fallback"]
    Fallback.objects.create(
        name="to-other",
        device_class="gpu.example.com",
        alternatives=[{"name": "other", "deviceClassName": "changing.example.com"}],
        changed_by="dora",
        changed_at=timezone.now(),
    )
    advised("enforce", safe=0.0, confidence=0.0, severity=0.0)
    stored = admin.create(batch(changes[0]))
    (request,) = stored["spec"]["devices"]["requests"]
    assert [each["name"] for each in request["firstAvailable"]] == ["asked", "other"]


def test_a_broken_advisor_leaves_the_rules_alone_in_force(
    admin,  # noqa: F811
    advised,
    settings,
    afresh,  # noqa: F811
):
    advised("enforce")
    settings.SLICEWISE_ADVISOR_URL = "http://127.0.0.1:1"
    afresh()
    assert not refused(admin, batch(1))
    assert "[diagnostics]" in refused(admin, batch(40))
    assert AdmissionDecision.objects.exclude(fault="").exists()


def test_a_renewed_certificate_is_served_without_a_restart(
    admin,  # noqa: F811
    cluster,  # noqa: F811
    hooks,  # noqa: F811
    monkeypatch,
):
    monkeypatch.setattr(serving, "RELOAD_SECONDS", 0.2)
    hooks.stop()
    hooks.start()
    thread, before = hooks.thread, served_by(hooks)

    renew(now=timezone.now(), force=True)
    assert trust_in(cluster, now=timezone.now())
    wait_for(lambda: served_by(hooks) != before)

    assert hooks.thread is thread
    body = manifest_of(kind="Claim", count=40)
    # Another client of the API server's, since its bundle is another: a new handshake.
    wait_for(lambda: "[diagnostics]" in refused(admin, body, dry_run=True))


def served_by(hooks):  # noqa: F811
    return ssl.get_server_certificate(("127.0.0.1", hooks.port), timeout=5)
