"""Outcomes kept, thresholds chosen, and the page and API that show both."""

from __future__ import annotations

import base64
import datetime as dt
import io
import json

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from django.core.management import call_command

from inventory.models import KubeObject
from portal.admission.models import (
    AdmissionDecision,
    AdvisorSetting,
    Calibration,
    GuardRule,
)
from portal.admission.services.calibrating import NotCalibrated, make_calibration
from portal.admission.services.certificates import (
    authorities,
    ca_bundle,
    renew,
    serving_certificate,
    signing_authority,
)
from portal.admission.services.outcomes import IN_TIME, look
from tests.unit.admission.test_calibration import CONFIDENCE, SAFE, history

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(fleet_cluster):
    return fleet_cluster


@pytest.fixture
def stored(demo):
    """Store the synthetic history as decisions."""
    AdmissionDecision.objects.bulk_create(
        AdmissionDecision(
            at=each.at,
            cluster=demo,
            kind="ResourceClaim",
            namespace="ai-training",
            name=f"c{i}",
            uid=f"u{i}",
            username="ada@orchid",
            outcome="admit",
            asked_digest="sha256:x",
            advisor_mode="shadow",
            advice={
                "safe": each.safe,
                "action": each.action,
                "confidence": each.confidence,
                "severity": each.severity,
            },
            advised="deny" if each.safe < 0.9 else "admit",
            exact_severity=each.exact,
            result="waited" if each.waited else "allocated",
        )
        for i, each in enumerate(history(1_000))
    )


def test_the_command_finds_the_known_thresholds(stored, tmp_path):
    out = io.StringIO()
    call_command("calibrate_advisor", precision=0.99, svg=str(tmp_path), stdout=out)
    found = json.loads(out.getvalue())
    assert found["thresholds"]["safe"] == pytest.approx(SAFE, abs=0.02)
    assert found["thresholds"]["confidence"] == pytest.approx(CONFIDENCE, abs=0.04)
    assert found["unsafe_curve"]
    assert "<path d=" in (tmp_path / "unsafe.svg").read_text()
    assert Calibration.objects.get().digest == found["digest"]


def test_too_little_is_refused(demo, now):
    with pytest.raises(NotCalibrated, match="0 outcomes"):
        make_calibration(precision=0.9, by="dora", now=now)


@pytest.mark.parametrize(
    ("request_name", "minutes", "result"),
    [
        ("gpu", 1, "allocated"),
        ("gpu/asked", 1, "allocated"),
        ("gpu/mig", 1, "fell-back"),
        ("gpu", 11, "waited"),
        (None, 0, "waited"),
    ],
)
def test_what_became_of_a_claim(demo, now, request_name, minutes, result):
    row = AdmissionDecision.objects.create(
        at=now,
        cluster=demo,
        kind="ResourceClaim",
        namespace="ai-training",
        uid="u",
        username="ada",
        outcome="admit",
        asked_digest="x",
        advice={"safe": 1},
    )
    moment = (now + dt.timedelta(minutes=minutes)).isoformat()
    status = {
        "allocation": {
            "allocationTimestamp": moment,
            "devices": {"results": [{"request": request_name}]},
        }
    }
    KubeObject.objects.create(
        cluster=demo,
        kind="ResourceClaim",
        namespace="ai-training",
        name="c",
        uid="u",
        body={"status": status if request_name else {}},
        revision=1,
        seen_at=now,
    )
    if request_name is None:
        assert look(now=now) == 0
    assert look(now=now + IN_TIME + dt.timedelta(minutes=2)) == 1
    row.refresh_from_db()
    assert row.result == result
    assert look(now=now + IN_TIME * 2) == 0


def test_the_page_recomputes_and_sets(stored, client, dora, ada):
    client.force_login(ada)
    assert client.get("/admission/").status_code == 403
    client.force_login(dora)
    page = client.get("/admission/?safe=0.7&confidence=0.6&severity=1.5")
    assert page.status_code == 200
    assert page.context["judged"]["unsafe"]["precision"] == 1.0
    wild = client.get("/admission/?safe=7&confidence=x")
    assert wild.status_code == 200
    refused = client.post(
        "/admission/advisor", {"mode": "enforce", "source": "kept"}, follow=True
    )
    assert "needs a calibration" in refused.content.decode()
    client.post("/admission/calibrate", {"precision": "0.99"})
    client.post("/admission/advisor", {"mode": "enforce", "source": "calibrated"})
    setting = AdvisorSetting.objects.get()
    assert setting.mode == "enforce"
    assert setting.safe == pytest.approx(SAFE, abs=0.02)
    assert "<path d=" in client.get("/admission/").content.decode()


def test_a_rule_is_changed_once(client, dora, demo):
    client.force_login(dora)
    for mode in ("warn", "off"):
        data = {"mode": mode, "version": "1"}
        client.post("/admission/rules/diagnostics/mode", data)
    assert GuardRule.objects.get(name="diagnostics").mode == "warn"


def test_the_api_makes_changes_and_removes_rules(client, dora, demo):
    client.force_login(dora)

    def call(method, path, body=None, **headers):
        return client.generic(
            method,
            f"/api/v1/admission/{path}",
            json.dumps(body) if body is not None else "",
            content_type="application/json",
            headers=headers,
        )

    bad = {"name": "x", "kind": "limits", "params": {"gpus": 3}}
    assert call("POST", "rules", bad).status_code == 422
    made = call(
        "POST", "rules", {"name": "few", "kind": "limits", "params": {"devices": 3}}
    )
    assert made.status_code == 201, made.content
    assert call("PATCH", "rules/few", {"mode": "deny"}).status_code == 428
    tag = made.headers["ETag"]
    seen = {"If-Match": tag}
    changed = call("PATCH", "rules/few", {"mode": "deny"}, **seen)
    assert changed.json()["mode"] == "deny"
    assert call("DELETE", "rules/few").status_code == 428
    assert call("DELETE", "rules/few", **seen).status_code == 412
    seen = {"If-Match": changed.headers["ETag"]}
    assert call("DELETE", "rules/few", **seen).status_code == 204
    fallback = {
        "name": "to-mig",
        "deviceClass": "gpu.nvidia.com",
        "alternatives": [{"name": "mig", "deviceClassName": "mig.nvidia.com"}],
    }
    assert call("POST", "fallbacks", fallback).status_code == 201
    assert call("POST", "fallbacks", fallback).status_code == 422
    for path in ("rules", "fallbacks", "decisions", "advisor", "calibrations"):
        assert call("GET", path).status_code == 200
    assert call("DELETE", "fallbacks/to-mig").status_code == 428
    tag = call("GET", "fallbacks/to-mig").headers["ETag"]
    assert call("DELETE", "fallbacks/to-mig", **{"If-Match": tag}).status_code == 204
    assert call("PATCH", "advisor", {"mode": "enforce"}).status_code == 428
    seen = {"If-Match": call("GET", "advisor").headers["ETag"]}
    assert call("PATCH", "advisor", {"mode": "enforce"}, **seen).status_code == 422
    assert call("PATCH", "advisor", {"mode": "shadow"}, **seen).status_code == 200
    assert call("PATCH", "advisor", {"mode": "off"}, **seen).status_code == 412


def test_certificates_are_kept_encrypted_and_renewed_in_time(now):
    assert renew(now=now).serving
    first = serving_certificate(now=now)
    assert "PRIVATE" not in first.key_encrypted
    assert not renew(now=now + dt.timedelta(days=10)).serving
    later = now + dt.timedelta(days=62)
    done = renew(now=later)
    assert (done.authority, done.serving) == (False, True)
    assert serving_certificate(now=later).pk != first.pk
    much_later = now + dt.timedelta(days=500)
    assert renew(now=much_later).authority
    old = authorities(now=much_later)[1]
    assert signing_authority(now=much_later).pk == old.pk
    next_day = much_later + dt.timedelta(days=2)
    assert signing_authority(now=next_day).pk == authorities(now=next_day)[0].pk
    assert ca_bundle(now=next_day) == ca_bundle(now=much_later)


def test_what_is_served_is_always_trusted_however_often_it_was_made_anew(now):
    def trusted(at):
        text = base64.b64decode(ca_bundle(now=at)).decode()
        return x509.load_pem_x509_certificates(text.encode())

    def signer_is_among(bundle, at):
        served = serving_certificate(now=at).certificate.encode()
        served = x509.load_pem_x509_certificate(served)
        issuers = [each for each in bundle if _has_signed(each, served)]
        return len(issuers) == 1

    renew(now=now)
    for hour in range(1, 5):
        at = now + dt.timedelta(hours=hour)
        renew(now=at, force=True)
        assert signer_is_among(trusted(at), at)
    told = trusted(at)
    # A day later another one signs: everybody was told of it before.
    for hour in (5, 15, 25, 26, 30, 40, 41, 60):
        at = now + dt.timedelta(hours=hour)
        renew(now=at, force=hour == 40)
        assert signer_is_among(trusted(at), at)
        if hour < 40:
            assert signer_is_among(told, at)


def _has_signed(authority, certificate):
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError):
        return False
    return True
