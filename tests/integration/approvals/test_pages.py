"""The inbox, the decision page, the exposure page, and the compose page's ruling."""

from __future__ import annotations

import datetime as dt
import re
import time

import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.services.starting import start_pod
from inventory.domain.kinds import BY_NAME
from portal.approvals.queries.exposure import exposure_of
from tests.integration.claims.objects import manifest_of

pytestmark = pytest.mark.django_db


def text_of(response):
    body = re.sub(r"<[^>]+>", " ", response.content.decode())
    return " ".join(body.split())


def address(claim_request, tail=""):
    return f"/approvals/{claim_request.public_id}/{tail}"


def press(client, claim_request, verdict, **more):
    approval = claim_request.approval
    data = {"verdict": verdict, "digest": approval.digest, **more}
    return client.post(address(claim_request, "decide/"), data)


def held_by_cleo(admin, observe):
    """Let Cleo's tenant hold a device, so that there is something to see."""
    claim = manifest_of(namespace="maple-lab", kind="Claim")
    admin.create(claim)
    name = claim["metadata"]["name"]
    from claims.domain.pod import demo_pod

    admin.create(demo_pod("ResourceClaim", name, "maple-lab", "22222222"))
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        body = admin.get(BY_NAME["ResourceClaim"], name, "maple-lab")
        if (body.get("status") or {}).get("allocation"):
            observe()
            return name
        time.sleep(0.2)
    raise AssertionError("not allocated")


@pytest.fixture
def cleos_claim(admin, observe):
    name = held_by_cleo(admin, observe)
    yield name
    for kind in ("Pod", "ResourceClaim"):
        for body in admin.list(BY_NAME[kind], "maple-lab").items:
            admin.delete(
                BY_NAME[kind],
                body["metadata"]["name"],
                "maple-lab",
                gracePeriodSeconds=0,
            )


def test_who_sees_an_approval(client, asked, ada, ben, dora, eli, cleo):
    claim_request = asked()
    for person, status in (
        (ada, 200),
        (ben, 200),
        (dora, 200),
        (eli, 200),
        (cleo, 404),
    ):
        client.force_login(person)
        assert client.get(address(claim_request)).status_code == status
        assert client.get("/approvals/").status_code == 200
    client.force_login(cleo)
    assert claim_request.plan.name not in text_of(client.get("/approvals/?tab=all"))


def test_buttons_are_shown_to_those_who_may_press_them(
    client, asked, ada, ben, dora, eli
):
    claim_request = asked()
    for person, may in ((ada, False), (ben, True), (dora, True), (eli, False)):
        client.force_login(person)
        page = client.get(address(claim_request)).content.decode()
        assert ('value="approve"' in page) is may, person
    client.force_login(eli)
    assert press(client, claim_request, "approve").status_code == 403


def test_the_page_says_what_it_would_see_and_whose(
    client, asked, ben, dora, cleo, ada, cleos_claim
):
    claim_request = asked()
    client.force_login(ben)
    page = text_of(client.get(address(claim_request)))
    assert "8 devices" in page
    assert "maple" in page
    assert "Watch XID errors." in page
    assert claim_request.plan.digest in page
    assert "2 people have to approve it, out of ben@platform, dora@platform" in page
    assert "is set" in page
    # Its requester is not told whose work it would see.
    client.force_login(ada)
    page = text_of(client.get(address(claim_request)))
    assert "maple" not in page
    assert "It is your own, so others decide." in page


def test_decide_by_the_buttons(client, asked, ben, dora):
    claim_request = asked()
    client.force_login(ben)
    refused = press(client, claim_request, "deny", reason="")
    assert refused.status_code == 409
    assert "Say why" in text_of(refused)
    assert press(client, claim_request, "approve").status_code == 302
    assert "ben@platform approved" in text_of(client.get(address(claim_request)))
    client.force_login(dora)
    assert press(client, claim_request, "approve", reason="OK").status_code == 302
    claim_request.refresh_from_db()
    assert claim_request.state == State.APPROVED


def test_too_late_is_said_and_what_was_typed_stays(client, asked, say, ben, dora):
    claim_request = asked()
    say(claim_request, ben, "deny", "No.")
    client.force_login(dora)
    late = press(client, claim_request, "deny", reason="My long reason.")
    assert late.status_code == 409
    assert "ben@platform decided a moment before you" in text_of(late)


def test_revoke_needs_a_reason_and_the_right(client, granted, ada, ben):
    claim_request = granted()
    client.force_login(ada)
    path = address(claim_request, "revoke/")
    assert client.post(path, {"reason": "x"}).status_code == 403
    client.force_login(ben)
    assert client.post(path, {"reason": " "}).status_code == 422
    assert client.post(path, {"reason": "Over."}).status_code == 302
    claim_request.refresh_from_db()
    assert claim_request.state == State.RELEASING
    assert claim_request.ended_by == "ben@platform"


def test_request_page_tells_its_requester_how_far_it_is(client, asked, say, ada, ben):
    claim_request = asked()
    client.force_login(ada)
    path = f"/requests/{claim_request.public_id}/"
    page = text_of(client.get(path))
    assert "0 of 2 approvals" in page
    assert "It waits for an approval" in page
    say(claim_request, ben, "deny", "Use the metrics.")
    page = text_of(client.get(path))
    assert "ben@platform denied" in page
    assert "Use the metrics." in page


def test_cancel_is_its_requesters(client, asked, ada, ben, dora):
    claim_request = asked()
    path = f"/requests/{claim_request.public_id}/cancel/"
    client.force_login(ben)
    assert client.post(path).status_code == 404
    client.force_login(ada)
    assert client.post(path).status_code == 302
    claim_request.refresh_from_db()
    assert claim_request.state == State.CANCELLED
    assert client.post(path, follow=True).status_code == 200


def test_exposure_answers_who_sees_whose_memory_and_until_when(
    client, granted, admin, observe, cluster, dora, ben, eli, ada, cleo, cleos_claim
):
    claim_request = granted()
    start_pod(claim_request)
    foreign = manifest_of(
        namespace="gpu-monitoring", kind="Claim", adminAccess=True, allocationMode="All"
    )
    # Marked as ours by somebody else: labels can be forged.
    foreign["metadata"]["labels"] = claim_request.plan.manifest["metadata"]["labels"]
    foreign["spec"]["devices"]["requests"][0]["name"] = "other"
    admin.create(foreign)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        observe()
        seers, namespaces = exposure_of(cluster)
        if any(seer.reach for seer in seers):
            break
        time.sleep(0.2)

    ours = [seer for seer in seers if seer.claim_request]
    assert {seer.kind for seer in ours} == {"ResourceClaim", "ResourceClaimTemplate"}
    assert all(seer.ends_at == claim_request.expires_at for seer in ours)
    [claim] = [seer for seer in ours if seer.kind == "ResourceClaim"]
    assert claim.pods
    assert [(w.tenant, len(w.claims)) for w in claim.reach.works] == [("maple", 1)]
    [other] = [seer for seer in seers if not seer.claim_request]
    assert (other.name, other.ends_at) == (foreign["metadata"]["name"], None)
    assert [(each.name, each.tenant) for each in namespaces] == [
        ("gpu-monitoring", "orchid")
    ]

    for person, status in (
        (ada, 403),
        (cleo, 403),
        (ben, 200),
        (dora, 200),
        (eli, 200),
    ):
        client.force_login(person)
        response = client.get("/c/demo/exposure/")
        assert response.status_code == status
        if status == 200:
            page = text_of(response)
            assert "maple" in page
            assert "not the portal’s: no end" in page
            assert f"{claim_request.expires_at:%Y-%m-%d %H:%M}" in page


def test_compose_says_who_would_have_to_approve_it_and_why(
    client, cluster, ada, ben, dora
):
    client.force_login(ada)
    prefix = "requests-0-alternatives-0"
    form = {
        "kind": "ResourceClaimTemplate",
        "namespace": "gpu-monitoring",
        "name": "watcher",
        "requests-0-name": "gpus",
        "requests-0-mode": "exactly",
        f"{prefix}-class": "gpu.example.com",
        f"{prefix}-mode": "All",
        f"{prefix}-count": "1",
        "justification": "Watch.",
        "hours": "4",
    }
    path = "/c/demo/compose/checks/"
    plain = text_of(client.post(path, form))
    assert "no approval needed" in plain
    privileged = text_of(client.post(path, {**form, f"{prefix}-admin": "true"}))
    assert "out of ben@platform, dora@platform" in privileged
    assert "administrative access" in privileged
    assert "rule “admin-access” of the built-in policy" in privileged


def test_compose_and_submit_for_an_approval(client, cluster, ada, ben, dora, observe):
    from claims.models import ClaimRequest

    client.force_login(ada)
    prefix = "requests-0-alternatives-0"
    form = {
        "action": "submit",
        "submission_key": "0d8b8a7e-4d5f-4f8e-9d39-6f6f0c1b2a3d",
        "kind": "ResourceClaimTemplate",
        "namespace": "gpu-monitoring",
        "name": "watcher-by-form",
        "requests-0-name": "gpus",
        "requests-0-mode": "exactly",
        f"{prefix}-class": "gpu.example.com",
        f"{prefix}-mode": "All",
        f"{prefix}-count": "1",
        f"{prefix}-admin": "true",
    }
    missing = client.post("/c/demo/compose/", form)
    assert missing.status_code == 422
    assert "needs a reason" in text_of(missing)
    assert 'name="justification"' in missing.content.decode()
    made = client.post(
        "/c/demo/compose/", {**form, "justification": "W.", "hours": "4"}
    )
    assert made.status_code == 302
    row = ClaimRequest.objects.get()
    assert (row.state, row.justification) == (State.PENDING_APPROVAL, "W.")
    left = row.expires_at - timezone.now()
    assert dt.timedelta(hours=3.9) < left <= dt.timedelta(hours=4)


def test_policy_page_and_command(client, ada, ben, dora, tmp_path, capsys, asked):
    import json

    from django.core.management import call_command

    asked()
    path = tmp_path / "policy.json"
    rules = [
        {"name": "monitor", "effect": "approve", "admin_access": True, "approvals": 1},
        {"name": "large", "effect": "deny", "min_devices": 9},
    ]
    path.write_text(json.dumps(rules))
    call_command("policy", str(path), "--dry-run")
    tried = json.loads(capsys.readouterr().out)
    assert (tried["version"], tried["requests"]) == (None, 1)
    assert list(tried["wouldDiffer"].values()) == [["admin-access", "monitor"]]
    call_command("policy", str(path), "--by", "dora@platform")
    assert json.loads(capsys.readouterr().out)["version"] == 1
    call_command("policy")
    assert json.loads(capsys.readouterr().out)["rules"] == [
        {key: value for key, value in rule.items() if (key, value) != ("approvals", 1)}
        for rule in rules
    ]
    client.force_login(ada)
    page = text_of(client.get("/policy/"))
    assert "monitor" in page
    assert "version 1" in page
    path.write_text('[{"name": "x"}]')
    with pytest.raises(SystemExit) as ended:
        call_command("policy", str(path), "--by", "d")
    assert ended.value.code == 2
    assert "effect is missing" in capsys.readouterr().err
