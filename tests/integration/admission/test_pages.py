"""What the claim's page says of admission, and what sliders recompute."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from portal.admission.models import AdmissionDecision
from tests.integration.admission.reviews import claim, stored

pytestmark = pytest.mark.django_db
SPACE = "ai-training"
BATCH = {"slicewise.io/workload-tier": "batch-offline"}


@pytest.fixture
def demo(fleet_cluster):
    return fleet_cluster


def cells(html):
    """Return the rows of the table of outcomes, as texts."""
    start = html.index("<caption>")
    table = html[start : html.index("</table>", start)]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", table)
    return {
        name: re.findall(r"<td class=\"n\"[^>]*>(.*?)</td>", rest)
        for name, rest in rows
    }


@pytest.fixture
def outcomes(demo):
    """Store five claims: P(safe), action, confidence, severity, exact and if it waited."""
    rows = [
        (0.2, "mutate_to_fallback", 0.9, 2.5, 0, True),
        (0.4, "mutate_to_fallback", 0.7, 2.0, 1, True),
        (0.6, "admit_primary", 0.5, 1.0, 2, False),
        (0.8, "mutate_to_fallback", 0.3, 0.5, 3, True),
        (0.9, "admit_primary", 0.9, 0.1, 3, False),
    ]
    now = timezone.now()
    for i, (safe, action, confidence, severity, exact, waited) in enumerate(rows):
        AdmissionDecision.objects.create(
            at=now,
            cluster=demo,
            kind="ResourceClaim",
            namespace=SPACE,
            name=f"c{i}",
            uid=f"u{i}",
            username="ada@orchid",
            outcome="admit",
            asked_digest="x",
            advisor_mode="shadow",
            advice={
                "safe": safe,
                "action": action,
                "confidence": confidence,
                "severity": severity,
            },
            exact_severity=exact,
            result="waited" if waited else "allocated",
        )


@pytest.mark.parametrize(
    ("safe", "confidence", "severity", "unsafe", "fallback"),
    [
        # Flagged, precision, recall: of five claims three waited, all advised three did.
        (0.5, 0.8, 2, ["2", "1.000", "0.667"], ["1", "1.000", "0.333"]),
        (0.7, 0.6, 2, ["3", "0.667", "0.667"], ["2", "1.000", "0.667"]),
        (0.95, 0.2, 0.25, ["5", "0.600", "1.000"], ["3", "1.000", "1.000"]),
        (0.1, 1, 3, ["0", "–", "0.000"], ["0", "–", "0.000"]),
    ],
)
def test_sliders_recompute_on_the_stored_outcomes(
    outcomes, client, dora, safe, confidence, severity, unsafe, fallback
):
    client.force_login(dora)
    query = {"safe": safe, "confidence": confidence, "severity": severity}
    page = client.get("/admission/", query)
    part = client.get("/admission/", query, headers={"HX-Request": "true"})
    for html in (page.content.decode(), part.content.decode()):
        assert cells(html) == {"Denied as unsafe": unsafe, "Fallback put in": fallback}
        # What is tried is what “as tried above” sets.
        assert f'name="safe" value="{safe}"' in html
    assert part.content.decode().strip().startswith('<div id="judged"')
    assert "HX-Request" in part.headers["Vary"]
    # The severities of those that waited, in the order of each, by average precision.
    assert "The advisor’s told it better." in page.content.decode()


def test_the_api_tries_thresholds_too(outcomes, client, dora, ada):
    client.force_login(dora)
    path = "/api/v1/admission/advisor/tried"
    found = client.get(path, {"safe": "0.7", "confidence": "0.6"}).json()
    assert found["count"] == 5
    assert found["unsafe"]["flagged"] == 3
    assert found["unsafe"]["precision"] == pytest.approx(2 / 3)
    assert found["fallback"]["recall"] == pytest.approx(2 / 3)
    # What is left out is what is in force.
    assert found["severity"] == 2.0
    assert found["better"] == "advised"
    assert client.get(path, {"safe": "7"}).status_code == 400
    assert client.get(path, {"sure": "1"}).status_code == 400
    AdmissionDecision.objects.all().delete()
    empty = client.get(path).json()
    assert (empty["count"], empty["unsafe"]["precision"]) == (0, None)
    assert empty["better"] is None
    client.force_login(ada)
    assert client.get(path).status_code == 403


def test_the_claims_page_says_what_admission_did(demo, ask, client, ada, rule, now):
    from portal.admission.models import Fallback

    Fallback.objects.create(
        name="to-mig",
        device_class="gpu.nvidia.com",
        alternatives=[{"name": "mig", "deviceClassName": "mig.nvidia.com"}],
        needs_advice=False,
        changed_by="dora",
        changed_at=now,
    )
    rule("no-whole", kind="forbidden", mode="warn", params={"classes": ["gpu.*"]})
    body = claim(name="train", labels=BATCH, count=8)
    asked = {**body, "metadata": {**body["metadata"], "uid": ""}}
    patched = ask(asked, endpoint="mutate")
    assert patched["allowed"] is True
    assert patched["warnings"]
    row = AdmissionDecision.objects.get()
    request = row.patch[1]["value"]
    body["spec"]["devices"]["requests"] = [request]
    assert ask(body)["warnings"]
    stored(demo, body)

    client.force_login(ada)
    html = client.get(f"/c/demo/claims/{SPACE}/train/").content.decode()

    section = html[html.index('aria-labelledby="admission"') :]
    section = section[: section.index("</section>")]
    assert "What admission did" in section
    assert "fallback put in" in section
    assert "the fallback “mig” does" in section
    assert "The class gpu.nvidia.com is not allowed here" in section
    row.refresh_from_db()
    assert row.asked_digest in section
    assert row.mutated_digest in section


def test_a_claim_that_admission_let_be_has_no_such_section(demo, ask, client, ada):
    body = claim(name="plain")
    assert ask(body)["allowed"] is True
    stored(demo, body)
    client.force_login(ada)
    html = client.get(f"/c/demo/claims/{SPACE}/plain/").content.decode()
    assert "What admission did" not in html


def test_the_page_says_what_shadow_mode_would_have_done(demo, client, dora):
    AdmissionDecision.objects.create(
        at=timezone.now(),
        cluster=demo,
        kind="ResourceClaim",
        namespace=SPACE,
        name="doubted",
        username="ada@orchid",
        outcome="admit",
        asked_digest="x",
        advisor_mode="shadow",
        advised="deny",
        advised_code="advice.unsafe",
        advice={"safe": 0.2, "action": "admit_primary", "confidence": 0.5}
        | {"severity": 1.0},
    )
    client.force_login(dora)
    html = client.get("/admission/").content.decode()
    row = html[html.index(f"ResourceClaim {SPACE}/doubted") :]
    row = row[: row.index("</tr>")]
    assert "admitted" in row
    assert re.search(r"The advisor would have\">denied <small>shadow</small>", row)
