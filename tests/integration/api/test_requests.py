"""Submitting over the API: once per key, seen before it is changed, followed to its end."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog
from django.apps import apps
from django.db import connection, connections
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.services.working import sweep, work_on
from inventory.domain.kinds import BY_NAME
from portal.api.models import KeptAnswer

pytestmark = pytest.mark.usefixtures("no_pods")


@pytest.fixture
def as_ada(call, ada, cluster):
    return call(ada)


def submit(caller, manifest, **headers):
    return caller.post(
        "claim-requests", {"cluster": "demo", "manifest": manifest}, **headers
    )


def applied(answer):
    row = ClaimRequest.objects.get(public_id=answer.json()["id"])
    work_on(row.pk, now=timezone.now())


def test_the_id_of_a_call_reaches_the_audit_trail_and_the_cluster(
    as_ada, template, admin
):
    answer = submit(as_ada, template(), X_Request_ID="nightly-run-0017")
    applied(answer)

    assert answer["X-Request-ID"] == "nightly-run-0017"
    row = ClaimRequest.objects.select_related("plan").get()
    made = admin.get(BY_NAME[row.plan.kind], row.plan.name, row.plan.namespace)
    annotations = made["metadata"]["annotations"]
    assert annotations["slicewise.io/http-request-id"] == "nightly-run-0017"
    events = apps.get_model("claims", "ClaimRequestEvent").objects
    told = events.order_by("pgh_id").first().pgh_context.metadata
    assert told["request_id"] == "nightly-run-0017"


def test_a_submit_is_accepted_and_followed_to_its_end(as_ada, template, admin, observe):
    manifest = template()
    answer = submit(as_ada, manifest)

    assert answer.status_code == 202, answer.content
    assert answer["Retry-After"]
    assert answer.json()["state"] == "Submitted"
    waiting = as_ada.get(answer["Location"])
    assert (waiting.json()["status"], waiting.json()["done"]) == ("queued", False)
    assert waiting["Retry-After"]

    applied(answer)
    done = as_ada.get(answer["Location"])
    assert (done.json()["status"], done.json()["done"]) == ("succeeded", True)
    assert "Retry-After" not in done
    made = admin.get(
        BY_NAME["ResourceClaimTemplate"], manifest["metadata"]["name"], "ai-serving"
    )
    assert (
        made["metadata"]["uid"]
        == as_ada.get(done.json()["claimRequest"]).json()["objectUid"]
    )


def test_the_request_id_reaches_the_audit_trail(as_ada, template):
    answer = submit(as_ada, template(), X_Request_ID="pipeline-4711-1")

    assert answer["X-Request-ID"] == "pipeline-4711-1"
    row = ClaimRequest.objects.get(public_id=answer.json()["id"])
    assert row.request_id == "pipeline-4711-1"


def test_the_request_id_is_in_the_logs_of_web_and_of_the_sweeps_work(
    as_ada, template, caplog, django_capture_on_commit_callbacks
):
    """Nothing carries it to the sweep but the row; see docs/runbook.md."""

    def told() -> list[tuple[str, str, str]]:
        lines = [r.msg for r in caplog.records if isinstance(r.msg, dict)]
        caplog.clear()
        keys = ("event", "state", "request_id")
        return [
            tuple(line.get(key) for key in keys)
            for line in lines
            if line.get("claim_request") == answer.json()["id"]
        ]

    with django_capture_on_commit_callbacks(execute=True):
        answer = submit(as_ada, template(), X_Request_ID="pipeline-4711-2")
    moved = ("a claim request moved", "pipeline-4711-2")
    assert told() == [(moved[0], "Submitted", moved[1])]

    structlog.contextvars.clear_contextvars()
    with django_capture_on_commit_callbacks(execute=True):
        assert sweep(clock=timezone.now) == 1
    states = ("Applying", "Active")
    assert told() == [(moved[0], state, moved[1]) for state in states]
    assert "request_id" not in structlog.contextvars.get_contextvars()


def test_the_same_key_gives_the_same_answer_and_one_request(as_ada, template):
    manifest = template()

    first = submit(as_ada, manifest, Idempotency_Key="k-1")
    second = submit(as_ada, manifest, Idempotency_Key="k-1")

    assert second.status_code == 202
    assert second.json() == first.json()
    assert second["Location"] == first["Location"]
    assert second["ETag"] == first["ETag"]
    assert second["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert ClaimRequest.objects.count() == 1


def test_a_key_that_comes_with_another_body_is_refused(as_ada, template):
    submit(as_ada, template(), Idempotency_Key="k-1")

    answer = submit(as_ada, template(), Idempotency_Key="k-1")

    assert answer.status_code == 422
    assert answer.json()["code"] == "idempotency.reused"
    assert answer.json()["errors"][0]["header"] == "Idempotency-Key"
    assert ClaimRequest.objects.count() == 1


def test_a_key_belongs_to_its_token(call, ada, as_ada, template):
    manifest = template()
    other = call(ada)

    first = submit(as_ada, manifest, Idempotency_Key="k-1")
    changed = template()
    second = submit(other, changed, Idempotency_Key="k-1")

    assert (first.status_code, second.status_code) == (202, 202)
    assert ClaimRequest.objects.count() == 2


def test_a_key_lives_for_a_day(as_ada, template):
    submit(as_ada, template(), Idempotency_Key="k-1")
    KeptAnswer.objects.update(expires_at=timezone.now())

    assert submit(as_ada, template(), Idempotency_Key="k-1").status_code == 202
    kept = KeptAnswer.objects.get()
    assert dt.timedelta(hours=23) < kept.expires_at - timezone.now() <= dt.timedelta(1)


def test_a_key_in_flight_is_told_to_wait_and_then_taken_over(as_ada, template):
    manifest = template()
    submit(as_ada, manifest, Idempotency_Key="k-1")
    KeptAnswer.objects.update(status=None, document="", headers={})

    answer = submit(as_ada, manifest, Idempotency_Key="k-1")
    assert (answer.status_code, answer["Retry-After"]) == (409, "1")
    assert answer.json()["code"] == "idempotency.in_flight"

    KeptAnswer.objects.update(held_until=timezone.now())
    again = submit(as_ada, manifest, Idempotency_Key="k-1")
    assert again.status_code == 202
    assert ClaimRequest.objects.count() == 1


def test_a_refusal_is_not_kept(as_ada, template):
    bad = template(device_class="missing.example.com")

    assert submit(as_ada, bad, Idempotency_Key="k-1").status_code == 422
    assert submit(as_ada, template(), Idempotency_Key="k-1").status_code == 202


def test_a_key_of_another_form_is_refused(as_ada, template):
    answer = submit(as_ada, template(), Idempotency_Key="has space")

    assert answer.status_code == 400
    assert answer.json()["code"] == "idempotency.key"


@pytest.mark.django_db(transaction=True)
def test_eight_at_once_with_one_key_make_one_request(as_ada, template):
    manifest = template()

    def send(_number):
        try:
            return submit(as_ada, manifest, Idempotency_Key="k-1").status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(send, range(8)))

    assert set(statuses) <= {202, 409}
    assert 202 in statuses
    assert ClaimRequest.objects.count() == 1
    assert connection.is_usable()


def test_findings_refuse_a_submit_with_pointers(as_ada, template):
    manifest = template(selectors=[{"cel": {"expression": "device.driver ==\n 7x"}}])

    answer = submit(as_ada, manifest)

    assert answer.status_code == 422
    assert answer.json()["code"] == "cel.compile"
    error = answer.json()["errors"][0]
    assert error["pointer"] == (
        "#/manifest/spec/spec/devices/requests/0/exactly/selectors/0/cel/expression"
    )
    assert error["line"] == 2
    assert ClaimRequest.objects.count() == 0


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"kind": "Pod"}, "#/manifest/kind"),
        ({"apiVersion": "v1"}, "#/manifest/kind"),
        ({"metadata": {}}, "#/manifest/metadata/name"),
        ({"metadata": {"name": "x"}}, "#/manifest/metadata/namespace"),
        ({"metadata": {"name": 7, "namespace": []}}, "#/manifest/metadata/name"),
        ({"metadata": "x"}, "#/manifest/metadata/name"),
        ({"spec": None}, "#/manifest/spec"),
        ({"spec": {"spec": {"devices": 3}}}, "#/manifest/spec/spec/devices"),
    ],
)
def test_a_manifest_that_is_none_is_refused_at_its_place(
    change, pointer, as_ada, template
):
    answer = submit(as_ada, {**template(), **change})

    assert answer.status_code == 422, answer.content
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/cluster"),
        ({"cluster": "demo", "manifest": []}, "#/manifest"),
        ({"cluster": "demo", "manifest": {}, "colour": "red"}, "#/colour"),
        ({"cluster": "demo", "manifest": {}, "fields": ["id"]}, "#/fields"),
        ({"cluster": "demo", "manifest": {}, "endsAt": "soon"}, "#/endsAt"),
        ([], "#"),
    ],
)
def test_a_body_of_another_shape_is_refused_at_its_place(body, pointer, as_ada):
    answer = as_ada.post("claim-requests", body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"cluster": "a\\u0000b"}', "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (b"[" * 100_000, "application/json", 400),
        (b'{"a":"' + b"x" * 3_000_000 + b'"}', "application/json", 413),
    ],
)
def test_a_body_that_cannot_be_read_is_a_problem(body, content_type, status, as_ada):
    answer = as_ada.send("POST", "claim-requests", body, content_type=content_type)

    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"


def test_a_foreign_namespace_is_forbidden(as_ada, template):
    answer = submit(as_ada, template(namespace="maple-lab"))

    assert answer.status_code == 403
    assert answer.json()["code"] == "submit.namespace"
    assert answer.json()["errors"][0]["pointer"] == "#/manifest/metadata/namespace"


def test_nothing_is_checked_in_a_foreign_namespace(as_ada, template):
    """Its quotas and names are no more told than that something is wrong there."""
    manifest = template(namespace="maple-lab")
    inner = manifest["spec"]["spec"]["devices"]["requests"][0]
    inner["exactly"]["deviceClassName"] = "none-such"

    answer = submit(as_ada, manifest)

    assert (answer.status_code, answer.json()["code"]) == (403, "submit.namespace")


def test_an_unknown_cluster_is_not_found(as_ada, template):
    answer = as_ada.post(
        "claim-requests", {"cluster": "nowhere", "manifest": template()}
    )

    assert answer.status_code == 404
    assert answer.json()["code"] == "inventory.no_such_cluster"


def test_a_taken_name_is_a_conflict(as_ada, template):
    manifest = template()
    applied(submit(as_ada, manifest))

    answer = submit(as_ada, manifest)

    assert answer.status_code == 409
    assert answer.json()["errors"][0]["pointer"] == "#/manifest/metadata/name"


def test_what_the_server_refuses_names_the_place(as_ada, template):
    answer = submit(as_ada, template(count=-1))

    assert answer.status_code == 422
    assert "count" in answer.json()["errors"][0]["pointer"]


def test_a_release_needs_the_state_that_was_seen(as_ada, template, observe):
    answer = submit(as_ada, template())
    path = f"claim-requests/{answer.json()['id']}"
    old = answer["ETag"]
    applied(answer)
    observe()

    missing = as_ada.post(f"{path}/release", {})
    stale = as_ada.post(f"{path}/release", {}, If_Match=old)
    fresh = as_ada.get(path)
    begun = as_ada.post(f"{path}/release", {}, If_Match=fresh["ETag"])

    assert missing.status_code == 428
    assert stale.status_code == 412
    assert begun.status_code == 202, begun.content
    assert begun.json()["state"] == "Releasing"
    assert as_ada.get(begun["Location"]).json()["status"] == "running"
    applied(answer)
    assert as_ada.get(begun["Location"]).json()["status"] == "succeeded"
    assert as_ada.get(path).json()["state"] == "Released"


def test_a_release_of_nothing_is_a_conflict(as_ada, template):
    answer = submit(as_ada, template())

    refused = as_ada.post(
        f"claim-requests/{answer.json()['id']}/release", {}, If_Match="*"
    )

    assert refused.status_code == 409
    assert refused.json()["code"] == "release.nothing_to_release"


def test_only_the_requester_releases(as_ada, call, dora, cleo, template):
    answer = submit(as_ada, template())
    path = f"claim-requests/{answer.json()['id']}/release"

    assert call(dora).post(path, {}, If_Match="*").status_code == 403
    assert call(cleo).post(path, {}, If_Match="*").status_code == 404
    assert ClaimRequest.objects.get().state == State.SUBMITTED


def test_an_unchanged_request_is_not_sent_again(as_ada, template):
    answer = submit(as_ada, template())
    path = f"claim-requests/{answer.json()['id']}"

    same = as_ada.get(path, If_None_Match=answer["ETag"])
    applied(answer)
    changed = as_ada.get(path, If_None_Match=answer["ETag"])

    assert (same.status_code, same.content) == (304, b"")
    assert changed.status_code == 200
    assert changed["ETag"] != answer["ETag"]


def test_requests_are_listed_newest_first_and_by_what_they_are(as_ada, template):
    made = [submit(as_ada, template()).json()["id"] for _number in range(5)]

    listed = as_ada.items("claim-requests?limit=2&fields=id")
    assert [each["id"] for each in listed] == made[::-1]
    assert as_ada.items("claim-requests?state=Active&state=Denied") == []
    assert len(as_ada.items("claim-requests?cluster=demo&mine=true&limit=3")) == 5
    assert as_ada.items("claim-requests?namespace=maple-lab") == []


def test_nobody_of_another_tenant_sees_a_request(as_ada, call, cleo, template):
    answer = submit(as_ada, template())
    public_id = answer.json()["id"]
    other = call(cleo)

    for path in ("", "/usage"):
        assert other.get(f"claim-requests/{public_id}{path}").status_code == 404
    assert other.get(answer["Location"]).status_code == 404
    assert other.items("claim-requests") == []


def test_an_operation_that_was_never_asked_for_is_not_there(as_ada, template):
    answer = submit(as_ada, template())

    assert as_ada.get(f"operations/release.{answer.json()['id']}").status_code == 404
    assert as_ada.get(f"operations/apply.{uuid.uuid4()}").status_code == 404
    assert as_ada.get("operations/dance").status_code == 404


def test_a_failed_application_says_why(as_ada, template, monkeypatch):
    from claims.services import applying

    answer = submit(as_ada, template())

    def refuse(claim_request, *, now):
        raise applying.ApplyFailed("The cluster says no.")

    monkeypatch.setattr(applying, "apply", refuse)
    applied(answer)
    operation = as_ada.get(answer["Location"]).json()

    assert (operation["status"], operation["done"]) == ("failed", True)
    assert operation["problem"]["detail"] == "The cluster says no."


def test_usage_says_what_a_release_would_end(as_ada, template, observe):
    answer = submit(as_ada, template())
    path = f"claim-requests/{answer.json()['id']}/usage"

    before = as_ada.get(path).json()
    applied(answer)
    observe()
    after = as_ada.get(path).json()

    assert before == {"object": None, "claims": [], "pods": []}
    assert after["object"] == "Present"


def test_a_cluster_that_is_away_says_try_again(as_ada, template, cluster):
    from portal.core.secrets import decrypt, encrypt

    text = decrypt(cluster.kubeconfig_encrypted)
    nowhere = re.sub(r"https?://[^\"'\s]+", "http://127.0.0.1:9", text)
    assert nowhere != text
    cluster.kubeconfig_encrypted = encrypt(nowhere)
    cluster.save()

    answer = submit(as_ada, template())

    assert answer.status_code == 503, answer.content
    assert answer.json()["code"] == "cluster.unavailable"
    assert int(answer["Retry-After"]) >= 1
