"""What the doctor says of those that the portal speaks to: real ones, and ones away."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import re
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.management import call_command
from django.utils import timezone
from jevcompat.mock import Handler, MockConfig

from inventory.gateways.errors import ClusterForbidden, NotFound
from inventory.models import Cluster
from portal import alive
from portal.admission.gateways import advisor
from portal.admission.services import installing
from portal.admission.services.certificates import ca_bundle, renew
from portal.core.heartbeats import record
from portal.demo.stack import free_port
from portal.operations.services import looking, speaking
from portal.operations.services.doctor import examine
from portal.operations.services.findings import looked
from tests.integration.notices.conftest import mailbox
from tests.integration.signing.conftest import provider, provider_process

__all__ = ["mailbox", "provider", "provider_process"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def allowed(settings, monkeypatch):
    """Speak to loopback; wait for an advisor on a busy machine."""
    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(advisor, "SECONDS", 20.0)
    advisor._client.cache_clear()
    yield
    advisor._client.cache_clear()


@pytest.fixture
def away():
    """An address where nobody listens."""
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def cluster():
    """A cluster that is never asked itself."""
    return Cluster.objects.create(
        name="prod", kind=Cluster.Kind.LIVE, kubernetes_version="v1.37.2"
    )


@contextmanager
def serving(handler):
    """Serve on loopback; yield the address."""
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


def answering(status: int, body: object = ""):
    """Return a handler that answers everything so."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        do_POST = do_GET  # noqa: N815  so it is called

        def log_message(self, *_args):
            """Say nothing."""

    return Answering


def said(look):
    """Return (name, answer) of each finding; who finds fault says what to do."""
    found = list(look)
    assert all(each.advice for each in found if each.answer != "yes"), found
    return [(each.name, str(each.answer)) for each in found]


def test_the_clock_is_asked_when_it_is_its_turn(monkeypatch):
    """However long what was looked at before took."""
    looks = examine(timezone.now() - dt.timedelta(minutes=1))
    assert [str(each.answer) for each in looks if each.name == "clock"] == ["yes"]
    real = timezone.now
    for hours in (-1, 1):
        shifted = dt.timedelta(hours=hours)
        monkeypatch.setattr(looking.timezone, "now", lambda by=shifted: real() + by)
        assert said(looking.clock()) == [("clock", "no")]


def test_an_admission_process_is_missed_where_admission_is_on(settings, now):
    settings.SLICEWISE_ADMISSION = False
    assert "admission" not in dict(said(looking.processes(now)))
    settings.SLICEWISE_ADMISSION = True
    assert dict(said(looking.processes(now)))["admission"] == "no"
    record("admission", "pod-1", now)
    assert dict(said(looking.processes(now)))["admission"] == "yes"
    later = now + dt.timedelta(minutes=2)
    assert dict(said(looking.processes(later)))["admission"] == "no"


@contextmanager
def blurting(said):
    """Listen on loopback and answer whoever comes with the same bytes; yield the port."""

    class Blurting(socketserver.StreamRequestHandler):
        def handle(self):
            self.request.sendall(said)
            self.request.recv(4096)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Blurting) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "said_there", [b"SSH-2.0-dropbear\r\n", b"HTTP/1.1 x y\r\n\r\n"]
)
def test_what_is_no_web_process_is_said_to_be_none(settings, monkeypatch, said_there):
    settings.SLICEWISE_PUBLIC_URL = ""
    with blurting(said_there) as port:
        monkeypatch.setenv("PORT", str(port))
        found = f"What answers on port {port} is no web process."
        assert alive.verdict(alive.WEB) == (1, found)
        assert said(speaking.web()) == [("web", "unknown")]


@pytest.mark.parametrize("port", ["web", "tcp://10.0.0.1:8000", "99999"])
def test_a_port_that_is_none_is_named(monkeypatch, port):
    monkeypatch.setenv("PORT", port)
    assert alive.verdict(alive.WEB) == (
        1,
        f"PORT is {port!r}, which is no port: say a number.",
    )


def test_a_look_that_breaks_leaves_the_others():
    def look():
        raise http.client.BadStatusLine("SSH-2.0")

    (found,) = looked("web", look)
    assert (found.answer, "SSH-2.0" in found.found) == ("unknown", True)


def test_web_is_asked_as_people_reach_it(settings, away, monkeypatch):
    monkeypatch.setenv("PORT", away.rpartition(":")[2])
    for url, answer in (("", "unknown"), (away, "unknown")):
        settings.SLICEWISE_PUBLIC_URL = url
        assert said(speaking.web()) == [("web", answer)]
    for status, answer in ((200, "yes"), (503, "no")):
        with serving(answering(status)) as settings.SLICEWISE_PUBLIC_URL:
            assert said(speaking.web()) == [("web", answer)]
    with serving(answering(200)) as here:
        monkeypatch.setenv("PORT", here.rpartition(":")[2])
        assert said(speaking.web()) == [("web", "yes")]


def test_an_engine_has_to_answer(cluster, settings, tmp_path, monkeypatch):
    assert said(speaking.engines()) == [("engine 1.37", "yes")]
    monkeypatch.setattr(speaking, "SOURCES", tmp_path)
    assert said(speaking.engines()) == []
    settings.SLICEWISE_RUN_DIR = str(tmp_path)
    settings.SLICEWISE_ENGINES_EXTERNAL = True
    assert said(speaking.engines()) == [("engine 1.37", "no")]


class Configurations:
    """An API server that knows webhook configurations with a caBundle, or none."""

    def __init__(self, bundle: str | None, refusal: type[Exception] = NotFound) -> None:
        self.bundle = bundle
        self.refusal = refusal

    def get(self, kind, name):
        if self.bundle is None:
            raise self.refusal(name)
        config = {"name": name, "clientConfig": {"caBundle": self.bundle}}
        return {"kind": kind.kind, "webhooks": [config]}


def test_webhooks_have_to_trust_the_newest_authority(
    settings, cluster, now, monkeypatch
):
    settings.SLICEWISE_ADMISSION = False
    assert said(speaking.webhooks(now)) == [("webhooks", "yes")]
    settings.SLICEWISE_ADMISSION = True
    renew(now=now)
    for server, answer in (
        (Configurations(ca_bundle(now=now)), "yes"),
        (Configurations("b3RoZXI="), "no"),
        (Configurations(None), "unknown"),
        (Configurations(None, ClusterForbidden), "unknown"),
    ):
        monkeypatch.setattr(installing, "kube_for", lambda *_, to=server: to)
        assert said(speaking.webhooks(now)) == [("webhooks of prod", answer)]


def test_each_prometheus_is_asked(cluster, away):
    assert said(speaking.meters()) == [("prometheus", "yes")]
    one = {"metric": {}, "value": [1_800_000_000, "1"]}
    vector = {"status": "success", "data": {"resultType": "vector", "result": [one]}}
    with serving(answering(200, vector)) as url:
        Cluster.objects.update(prometheus_url=url)
        assert said(speaking.meters()) == [("prometheus of prod", "yes")]
    Cluster.objects.update(prometheus_url=away)
    assert said(speaking.meters()) == [("prometheus of prod", "no")]


def test_mail_is_handed_over_where_it_is_taken(mailbox, settings):
    assert said(speaking.mail()) == [("mail", "yes")]
    assert mailbox == []
    settings.EMAIL_PORT = free_port()
    assert said(speaking.mail()) == [("mail", "no")]
    settings.SLICEWISE_EMAIL_URL = ""
    assert said(speaking.mail()) == [("mail", "yes")]


def test_the_provider_is_asked_anew(provider, settings, away):
    assert said(speaking.sign_in()) == [("sign-in provider", "yes")]
    for wrong in (f"{provider.url}/", away):
        settings.SLICEWISE_OIDC_ISSUER = wrong
        assert said(speaking.sign_in()) == [("sign-in provider", "no")]
    settings.SLICEWISE_OIDC_ISSUER = ""
    assert said(speaking.sign_in()) == [("sign-in provider", "yes")]


def test_the_advisor_is_asked(settings, away):
    settings.SLICEWISE_ADVISOR_KEY = "secret"
    config = MockConfig(key="secret", faults=frozenset())
    for url, answer in (("", "yes"), (away, "no")):
        settings.SLICEWISE_ADVISOR_URL = url
        assert said(speaking.advisor()) == [("advisor", answer)]
    handler = type("OfTest", (Handler,), {"cfg": config})
    with serving(handler) as settings.SLICEWISE_ADVISOR_URL:
        assert said(speaking.advisor()) == [("advisor", "yes")]
        settings.SLICEWISE_ADVISOR_KEY = "wrong"
        assert said(speaking.advisor()) == [("advisor", "no")]
        settings.SLICEWISE_ADVISOR_LANGUAGE = "fr"
        assert said(speaking.advisor()) == [("advisor", "no")]


def test_it_speaks_korean_and_names_things_in_the_same_words(capsys):
    told = {}
    for language in ("en", "ko"):
        with pytest.raises(SystemExit):
            call_command("doctor", "--language", language, "--format", "json")
        told[language] = json.loads(capsys.readouterr().out)
    english, korean = told["en"], told["ko"]
    assert [each["name"] for each in korean] == [each["name"] for each in english]
    assert len(korean) > 15
    for each in korean:
        for text in (each["found"], each["do"]):
            assert not text or re.search("[가-힣]", text), each
    assert not re.search("[가-힣]", json.dumps(english, ensure_ascii=False))
