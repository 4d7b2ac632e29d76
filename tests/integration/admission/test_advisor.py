"""The advisor as admission asks it: against a server of its protocol, and every fault."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.utils import timezone
from jevcompat import cli
from jevcompat.mock import FAULTS, Handler, MockConfig

from portal.admission.domain import questions as q
from portal.admission.domain.advice import Malformed, read_advice
from portal.admission.gateways import advisor
from portal.admission.gateways.advisor import AdvisorFault, Server, ask
from portal.admission.models import AdmissionDecision, AdvisorSetting, Calibration
from portal.admission.services import advising
from tests.integration.admission.reviews import claim, patch_of
from tests.unit.admission.test_advice import answers

pytestmark = pytest.mark.django_db
GIVEN = advisor.SECONDS
STATE = {"cluster_resource_slices": {}, "incoming_claim_spec": {}}
BATCH = {"slicewise.io/workload-tier": "batch-offline"}
# What a fault of these breaks is nothing that we ask for or look at.
HARMLESS = {
    "plain-content-type",
    "text-errors",
    "models-404",
    "auth-plain",
    "auth-invalid-403-text",
    "reject-array-state",
    "strict-ids",
    "nfd-keys",
    "forbid-extra",
    "string-only-text",
    "noul-two-sided",
    "noul-needs-instructions",
    "no-null-description",
    "cap-64",
    "cap-5-levels",
    "accept-map-score",
    "nan",
    "unprefixed-extra",
    "choice-key-case",
    "confidence-margin",
    "500-on-unknown-type",
    "accept-boolean",
    "validation-400",
    "error-flat",
    "id-leaks",
    "batch-leaks",
    "order-leaks",
}


@pytest.fixture(autouse=True)
def patient(monkeypatch, settings):
    """Wait longer than admission does: a busy machine is no fault of a server."""
    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(advisor, "SECONDS", 20.0)
    advisor._client.cache_clear()
    yield
    advisor._client.cache_clear()


@contextlib.contextmanager
def served(handler):
    """Serve on loopback; the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def mock(*faults, key="secret"):
    config = MockConfig(key=key, faults=frozenset(faults))
    return served(type("OfTest", (Handler,), {"cfg": config}))


def call(url, *, key="secret", language="ko"):
    return ask(Server(url, key, "jev-latest"), STATE, q.QUESTIONS[language])


@pytest.mark.parametrize("language", q.LANGUAGES)
def test_a_sound_server_answers(language):
    with mock() as url:
        advice = read_advice(call(url, language=language))
    assert advice.action in q.ACTIONS
    assert 0 <= advice.safe <= 1


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_fault_ends_in_a_sound_answer_or_in_none(fault):
    key = None if fault == "auth-rejects-header" else "secret"
    with mock(key=key) as url:
        sound = None if key is None else read_advice(call(url))
    with mock(fault, key=key) as url:
        try:
            found = read_advice(call(url))
        except (AdvisorFault, Malformed):
            found = None
    if fault not in HARMLESS:
        assert found is None
    elif not fault.endswith("-leaks") and found is not None:
        assert found == sound


def test_our_own_calls_are_of_a_server_that_conforms():
    out = io.StringIO()
    with mock() as url, contextlib.redirect_stdout(out):
        status = cli.main(["test", url, "--key", "secret"])
    assert status == 0, out.getvalue()


class Hanging(BaseHTTPRequestHandler):
    """Answers a byte at a time, for ever."""

    ended = threading.Event()

    def do_POST(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(20):
                self.wfile.write(b" ")
                self.wfile.flush()
                if self.ended.wait(0.1):
                    return

    def log_message(self, *_args):
        pass


@pytest.mark.parametrize("handler", [Hanging])
def test_a_server_that_drips_holds_us_for_half_a_second(handler, monkeypatch):
    monkeypatch.setattr(advisor, "SECONDS", GIVEN)
    advisor._client.cache_clear()
    with served(handler) as url:
        with pytest.raises(AdvisorFault, match=r"within 0\.5 s"):
            call(url)
        handler.ended.set()


class Refusing(BaseHTTPRequestHandler):
    """Says to try again, and counts how often anybody does."""

    asked = 0
    status = 503

    def do_POST(self):
        type(self).asked += 1
        self.send_response(self.status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args):
        pass


@pytest.mark.parametrize("status", [429, 500, 503])
def test_nobody_is_asked_twice(status):
    handler = type("OfTest", (Refusing,), {"status": status})
    with served(handler) as url, pytest.raises(AdvisorFault):
        call(url)
    assert handler.asked == 1


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:{port}", "leads to 127.0.0.1"),
        ("http://localhost:{port}", "does not speak to"),
        ("http://169.254.169.254", "leads to 169.254.169.254"),
        ("http://advisor.invalid", "is not known"),
        ("ftp://advisor.example.com", "is no address"),
        ("http://user:word@127.0.0.1:{port}", "Leave user"),
    ],
)
def test_an_address_that_leads_inward_is_not_spoken_to(settings, url, why):
    settings.SLICEWISE_OUTWARD_ALLOW = []
    handler = type("OfTest", (Refusing,), {})
    with served(handler) as own, pytest.raises(AdvisorFault, match=why):
        call(url.format(port=own.rpartition(":")[2]))
    assert handler.asked == 0


def test_a_server_that_is_not_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(AdvisorFault):
        call(f"http://127.0.0.1:{port}")


# In admission


@pytest.fixture
def demo(fleet_cluster):
    return fleet_cluster


@pytest.fixture
def trusted(db, settings, afresh, now):
    """Return a function that sets how far the advisor is trusted, and what it says."""
    settings.SLICEWISE_ADVISOR_URL = "http://advisor.invalid"

    def do(monkeypatch, mode, said=None, *, calibrated=True, made_at=None):
        calibration = None
        if calibrated:
            calibration = Calibration.objects.create(
                made_at=made_at or timezone.now(),
                made_by="dora",
                digest="sha256:x",
                first_at=now,
                last_at=now,
                precision=0.9,
                safe=0.9,
                confidence=0.82,
                severity=2.0,
                document={"model": settings.SLICEWISE_ADVISOR_MODEL},
            )
        AdvisorSetting.objects.update_or_create(
            id=1, defaults={"mode": mode, "calibration": calibration}
        )
        calls = []

        def answer(server, state, questions):
            calls.append((state, questions))
            if isinstance(said, Exception):
                raise said
            return said

        monkeypatch.setattr(advising, "ask", answer)
        afresh()
        return calls

    return do


def judged(ask_webhook, body=None, **more):
    return ask_webhook(body or claim(labels=BATCH), endpoint="mutate", **more)


def test_off_asks_nobody(demo, ask, trusted, monkeypatch):
    calls = trusted(monkeypatch, "off", answers(safe=0.1))
    assert judged(ask)["allowed"] is True
    assert not calls
    assert not AdmissionDecision.objects.exists()


def test_shadow_keeps_what_it_would_have_done(demo, ask, trusted, monkeypatch):
    calls = trusted(monkeypatch, "shadow", answers(safe=0.1), calibrated=False)
    assert judged(ask)["allowed"] is True
    (row, *_more) = AdmissionDecision.objects.all()
    assert (row.outcome, row.advised, row.advised_code) == (
        "admit",
        "deny",
        "advice.unsafe",
    )
    state, questions = calls[0]
    assert state["incoming_claim_spec"]["workload_tier"] == "batch-offline"
    assert state["cluster_resource_slices"]["total_hopper_gpus"] > 0
    assert questions is q.QUESTIONS["ko"]
    assert row.exact_severity in {0, 1, 2, 3}


def test_enforce_denies_with_the_probability(demo, ask, trusted, monkeypatch):
    trusted(monkeypatch, "enforce", answers(safe=0.1))
    answer = judged(ask)
    assert answer["allowed"] is False
    assert "probability of 0.1" in answer["status"]["message"]
    assert judged(ask, dry_run=True)["allowed"] is False
    assert AdmissionDecision.objects.count() == 1


@pytest.mark.parametrize("why", ["none", "stale", "thresholds", "model"])
def test_enforce_needs_a_fresh_calibration(
    demo, ask, trusted, monkeypatch, settings, why, afresh
):
    old = timezone.now() - advising.FRESH * 2
    trusted(
        monkeypatch,
        "enforce",
        answers(safe=0.1),
        calibrated=why != "none",
        made_at=old if why == "stale" else None,
    )
    if why == "thresholds":
        AdvisorSetting.objects.update(safe=0.5)
        afresh()
    if why == "model":
        settings.SLICEWISE_ADVISOR_MODEL = "another"
    assert judged(ask)["allowed"] is True
    assert AdmissionDecision.objects.get().advisor_mode == "shadow"


def test_the_guard_denies_before_any_call(demo, ask, trusted, monkeypatch):
    calls = trusted(monkeypatch, "enforce", answers())
    answer = judged(ask, claim(adminAccess=True))
    assert answer["allowed"] is False
    assert "needs the label" in answer["status"]["message"]
    assert not calls


def test_a_fallback_on_the_advisors_word(demo, ask, trusted, monkeypatch, now, afresh):
    from portal.admission.models import Fallback

    trusted(monkeypatch, "enforce", answers(q.MUTATE))
    assert judged(ask)["allowed"] is True
    assert AdmissionDecision.objects.latest("pk").advised_code == "advice.no_fallback"
    Fallback.objects.create(
        name="to-mig",
        device_class="gpu.nvidia.com",
        alternatives=[{"name": "mig", "deviceClassName": "mig.nvidia.com"}],
        changed_by="dora",
        changed_at=now,
    )
    afresh()
    answer = judged(ask)
    names = [each["name"] for each in patch_of(answer)[1]["value"]["firstAvailable"]]
    assert names == ["asked", "mig"]
    row = AdmissionDecision.objects.latest("pk")
    assert row.outcome == "mutate"
    assert row.mutated_digest
    assert row.mutated_digest != row.asked_digest
    online = judged(ask, claim())
    assert patch_of(online) is None


def test_a_fallback_that_does_not_fit_is_not_put_in(
    demo, ask, trusted, monkeypatch, now, afresh
):
    from portal.admission.models import Fallback

    trusted(monkeypatch, "enforce", answers(q.MUTATE))
    Fallback.objects.create(
        name="to-nothing",
        device_class="gpu.nvidia.com",
        alternatives=[{"name": "no", "deviceClassName": "no-such-class"}],
        changed_by="dora",
        changed_at=now,
    )
    afresh()
    assert patch_of(judged(ask)) is None


def test_every_fault_ends_in_what_the_rules_say(
    demo, ask, trusted, monkeypatch, settings, afresh
):
    """Where a sound server's word denies, a broken one's is as if nobody was asked."""
    trusted(monkeypatch, "enforce")
    monkeypatch.setattr(advising, "ask", advisor.ask)
    AdvisorSetting.objects.update(safe=1.0)
    Calibration.objects.update(safe=1.0)
    settings.SLICEWISE_ADVISOR_KEY = "secret"

    def answer(*faults):
        with mock(*faults) as url:
            settings.SLICEWISE_ADVISOR_URL = url
            afresh()
            return judged(ask)["allowed"]

    assert answer() is False
    for fault in sorted(set(FAULTS) - HARMLESS - {"auth-rejects-header"}):
        assert answer(fault) is True, fault
        assert AdmissionDecision.objects.latest("pk").fault, fault


@pytest.mark.parametrize(
    "said", [AdvisorFault("no answer within 0.5 s"), {}, answers(safe=7)]
)
def test_a_broken_advisor_leaves_what_the_rules_say(
    demo, ask, trusted, monkeypatch, said
):
    trusted(monkeypatch, "enforce", said)
    assert judged(ask)["allowed"] is True
    assert AdmissionDecision.objects.get().fault


def test_a_broken_advisor_is_left_alone_after_three_failures(
    demo, ask, trusted, monkeypatch
):
    calls = trusted(monkeypatch, "enforce", AdvisorFault("down"))
    for i in range(6):
        judged(ask, claim(name=f"c{i}", labels=BATCH))
    assert len(calls) == 3
    assert "left alone" in AdmissionDecision.objects.latest("pk").fault


def test_one_call_is_let_through_after_a_while():
    breaker = advising.Breaker(failures=1, seconds=0)
    breaker.failed()
    assert breaker.may_try()
    patient = advising.Breaker(failures=1, seconds=60)
    patient.failed()
    assert not patient.may_try()
    patient.succeeded()
    assert patient.may_try()


def test_the_same_state_is_asked_once(demo, ask, trusted, monkeypatch):
    calls = trusted(monkeypatch, "shadow", answers(), calibrated=False)
    for i in range(3):
        judged(ask, claim(name=f"c{i}", labels=BATCH))
    assert len(calls) == 1
    judged(ask, claim(count=2, labels=BATCH))
    assert len(calls) == 2


def test_no_value_of_a_claim_enters_the_questions(demo, ask, trusted, monkeypatch):
    calls = trusted(monkeypatch, "shadow", answers(), calibrated=False)
    name = "zebra-quartz"
    judged(ask, claim(namespace=name, name=name, labels={**BATCH, "a": name}))
    ((state, questions),) = calls
    assert name in str(state)
    assert name not in str(dict(questions))
    assert questions is q.QUESTIONS["ko"]
