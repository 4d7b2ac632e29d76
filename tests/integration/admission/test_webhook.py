"""What the webhooks take and how they answer, and what the rules make of it."""

from __future__ import annotations

import json

import pytest

from portal.admission.models import AdmissionDecision, GuardCount
from portal.admission.services.recording import tally
from portal.admission.views.webhook import MOST_BYTES
from tests.integration.admission.reviews import (
    ADA,
    CONTROLLER,
    claim,
    device_class,
    review,
    sent,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(fleet_cluster):
    return fleet_cluster


def test_an_ordinary_claim_is_admitted_and_leaves_no_row(demo, ask):
    answer = ask(claim())
    assert answer["allowed"] is True
    assert "patch" not in answer
    assert not AdmissionDecision.objects.exists()


@pytest.mark.parametrize("cluster", ["", "/demo"])
@pytest.mark.parametrize(
    "path", ["validate{}", "validate{}/fail", "validate{}/ignore", "mutate{}"]
)
def test_the_portal_itself_judges_nothing(demo, client, path, cluster):
    """Whoever reaches the pages could else book, use up and write down at will."""
    address = f"/admission/{path.format(cluster)}"
    text = json.dumps(review(claim(adminAccess=True)))
    answer = client.post(address, text, content_type="application/json")
    assert answer.status_code == 404
    tally.flush()
    assert not AdmissionDecision.objects.exists()
    assert not GuardCount.objects.exclude(seen=0).exists()
    # The process that serves the webhooks does judge there.
    assert sent(address, text.encode()).json()["response"]["uid"]


@pytest.mark.parametrize(
    ("document", "status", "says"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, "JSON object"),
        (b"{}", 400, "admissionReviewVersions"),
        (b"\xff", 400, "no JSON"),
        (b" " * (MOST_BYTES + 1), 413, "at most"),
    ],
)
def test_bad_input_gets_a_clear_answer(demo, post, document, status, says):
    response = post("/admission/validate", document)
    assert response.status_code == status
    assert says in response.content.decode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("request",), None),
        (("request", "uid"), 7),
        (("request", "object"), []),
        (("request", "object", "spec"), None),
        (("request", "object", "metadata"), "x"),
        (("request", "userInfo"), None),
        (("request", "kind", "kind"), "Secret"),
        (("request", "kind", "version"), "v9"),
    ],
)
def test_each_part_that_is_missing_or_wrong_is_named(demo, post, path, value):
    document = review(claim())
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    response = post("/admission/validate", document)
    assert response.status_code == 400
    assert response.content.decode().strip().endswith((".", "rules."))


@pytest.mark.parametrize(
    "spec",
    [
        {"devices": 3},
        {"devices": {"requests": [1, None]}},
        {"devices": {"requests": [{"name": "a", "exactly": "x"}]}},
        {"devices": {"requests": [{"name": "a", "firstAvailable": [3]}]}},
        {"devices": {"requests": "gpu"}},
    ],
)
@pytest.mark.parametrize("endpoint", ["validate", "mutate"])
def test_a_spec_that_no_server_would_send_breaks_nothing(demo, post, spec, endpoint):
    body = {**claim(), "spec": spec}
    response = post(f"/admission/{endpoint}", review(body))
    assert response.status_code in {200, 400}


def test_an_unknown_cluster_is_named(demo, post):
    response = post("/admission/validate/nowhere", review(claim()))
    assert response.status_code == 404
    assert "nowhere" in response.content.decode()


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1beta2"])
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_admin_access_is_denied_in_every_version(demo, ask, version, kind):
    answer = ask(claim(kind=kind, version=version, adminAccess=True))
    assert answer["allowed"] is False
    assert answer["status"]["code"] == 403
    assert "through the portal" in answer["status"]["message"]
    assert "[admin-access]" in answer["status"]["message"]


def test_a_controllers_claim_without_an_approved_template_is_denied(demo, ask):
    answer = ask(claim(adminAccess=True), CONTROLLER)
    assert answer["allowed"] is False
    assert "No approved request" in answer["status"]["message"]


def test_warn_admits_and_says_so(demo, ask, rule):
    rule("admin-access", mode="warn")
    answer = ask(claim(adminAccess=True))
    assert answer["allowed"] is True
    assert "through the portal" in answer["warnings"][0]


def test_off_says_nothing(demo, ask, rule):
    rule("admin-access", mode="off")
    answer = ask(claim(adminAccess=True))
    assert answer["allowed"] is True
    assert "warnings" not in answer


def test_a_dry_run_gets_the_same_answer_and_writes_nothing(demo, ask):
    answer = ask(claim(adminAccess=True), dry_run=True)
    assert answer["allowed"] is False
    tally.flush()
    assert not AdmissionDecision.objects.exists()
    assert not GuardCount.objects.exclude(seen=0).exists()
    ask(claim(adminAccess=True))
    tally.flush()
    assert AdmissionDecision.objects.get().outcome == "deny"
    assert GuardCount.objects.get(rule__name="admin-access").denied == 1


def test_a_denial_is_remembered_and_still_counted(
    demo, ask, django_assert_max_num_queries
):
    body = claim(adminAccess=True)
    ask(body, CONTROLLER)
    with django_assert_max_num_queries(4):
        for _ in range(4):
            assert ask(body, CONTROLLER)["allowed"] is False
    tally.flush()
    assert AdmissionDecision.objects.count() == 1
    assert GuardCount.objects.get(rule__name="admin-access").denied == 5


def test_a_class_that_would_stop_its_pods_is_refused_at_the_door(demo, ask):
    fatal = 'device.attributes["gpu.nvidia.com"].driverVersion.isGreaterThan(semver("580.95.05"))'
    answer = ask(device_class(fatal))
    assert answer["allowed"] is False
    assert "spec.selectors[0].cel.expression" in answer["status"]["message"]
    sound = 'device.driver == "gpu.nvidia.com"'
    assert ask(device_class(sound))["allowed"] is True


def test_a_key_that_some_devices_lack_is_fatal_in_a_class_alone(demo, ask):
    text = 'device.attributes["gpu.nvidia.com"].parentUUID == "GPU-x"'
    assert ask(device_class(text))["allowed"] is False


def test_errors_that_the_server_lets_through_are_denied(demo, ask):
    answer = ask(claim(count=40))
    assert answer["allowed"] is False
    assert "[diagnostics]" in answer["status"]["message"]
    missing = ask(claim(deviceClassName="no-such-class"))
    assert missing["allowed"] is False


def test_forbidden_classes_and_selectors(demo, ask, rule):
    rule(
        "no-vfio",
        kind="forbidden",
        params={
            "namespaces": ["ai-*"],
            "classes": ["vfio*"],
            "selectors": ['attributes["gpu.nvidia.com"].uuid'],
        },
    )
    denied = ask(claim(deviceClassName="vfio.gpu.nvidia.com"))
    assert "vfio.gpu.nvidia.com is not allowed" in denied["status"]["message"]
    pinned = {
        "cel": {"expression": 'device.attributes["gpu.nvidia.com"].uuid == "GPU-1"'}
    }
    named = ask(claim(selectors=[pinned]))
    assert "Selectors must not use" in named["status"]["message"]
    assert ask(claim(namespace="maple-lab", selectors=[pinned]))["allowed"] is True


def test_limits_count_what_is_there_and_what_is_on_its_way(demo, ask, rule):
    rule("few", kind="limits", params={"namespaces": ["empty"], "devices": 3})
    assert ask(claim("empty", "a", count=2))["allowed"] is True
    denied = ask(claim("empty", "b", count=2))
    assert denied["allowed"] is False
    assert "may have 3 devices" in denied["status"]["message"]
    assert ask(claim("empty", "c", count=1))["allowed"] is True
    assert ask(claim("empty", "d", count=1))["allowed"] is False
    assert ask(claim("other", "d", count=9))["allowed"] is True


def test_a_dry_run_takes_nothing_of_a_limit(demo, ask, rule):
    rule("few", kind="limits", params={"namespaces": ["empty"], "claims": 1})
    for _ in range(3):
        assert ask(claim("empty", "a"), dry_run=True)["allowed"] is True
    assert ask(claim("empty", "a"))["allowed"] is True
    assert ask(claim("empty", "b"))["allowed"] is False


def test_a_limit_of_memory_counts_the_most_a_claim_can_take(demo, ask, rule):
    rule("gib", kind="limits", params={"namespaces": ["empty"], "vramGib": 100})
    assert ask(claim("empty", "a", deviceClassName="mig.nvidia.com"))["allowed"] is True
    denied = ask(claim("empty", "b", count=2))
    assert denied["allowed"] is False
    assert "GiB of GPU memory" in denied["status"]["message"]


def test_rules_of_the_other_failure_policy_are_left_to_their_own_webhook(demo, ask):
    body = claim(adminAccess=True, count=40)
    strict = ask(body, path="/demo/fail")["status"]["message"]
    assert "[admin-access]" in strict
    assert "[diagnostics]" not in strict
    lenient = ask(body, path="/demo/ignore")["status"]["message"]
    assert "[admin-access]" not in lenient


def test_a_pod_is_judged_as_the_claim_that_it_will_become(load_fleets, ask, rule):
    mapped = device_class('device.driver == "gpu.nvidia.com"', name="whole")
    mapped["spec"]["extendedResourceName"] = "nvidia.com/gpu"
    load_fleets("nvidia-t4-l40s", extra=[mapped])
    rule("no-whole", kind="forbidden", params={"classes": ["whole"]})
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ai-training"},
        "spec": {
            "containers": [
                {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
            ]
        },
    }
    assert "whole is not allowed" in ask(pod, ADA)["status"]["message"]
    pod["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "1"}
    assert ask(pod, ADA)["allowed"] is True
