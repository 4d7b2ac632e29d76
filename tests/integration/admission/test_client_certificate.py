"""Where an authority of API servers is named, nobody else gets as far as asking."""

from __future__ import annotations

import base64
import datetime as dt
import json
import socket
import ssl
import threading
import time
from contextlib import suppress

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.management import call_command
from django.utils import timezone

from portal.admission.services.certificates import ca_bundle, renew
from portal.admission.serving import HookServer
from portal.demo.stack import free_port
from tests.integration.admission.reviews import claim, review

pytestmark = pytest.mark.django_db(transaction=True)


def key_and_certificate(folder, name, issuer=None):
    """Write a key and its certificate, signed by an issuer or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signing_key, signer = issuer or (key, subject)
    now = timezone.now()
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(issuer is None, None), critical=True)
        .sign(signing_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / f"{name}.crt").write_bytes(made.public_bytes(pem))
    text = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / f"{name}.key").write_bytes(text)
    return key, subject


@pytest.fixture
def folder(tmp_path):
    """Return a folder with an authority, an API server that it vouches for, a stranger."""
    key_and_certificate(tmp_path, "apiserver", key_and_certificate(tmp_path, "ca"))
    key_and_certificate(tmp_path, "stranger")
    return tmp_path


@pytest.fixture
def address(folder, settings):
    """Serve the webhooks to whom the authority vouches for; the address."""
    settings.SLICEWISE_ADMISSION_HOSTS = ["127.0.0.1"]
    renew(now=timezone.now())
    port = free_port()
    server = HookServer("127.0.0.1", port, client_ca=folder / "ca.crt")
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        assert time.monotonic() < deadline, "the webhooks do not serve"
        time.sleep(0.05)
    yield f"https://127.0.0.1:{port}/admission/validate/nowhere"
    server.stop()
    thread.join(20)
    assert not thread.is_alive()


def asked(address, folder, name=""):
    """Send a review as somebody; the answer."""
    context = ssl.create_default_context(
        cadata=base64.b64decode(ca_bundle(now=timezone.now())).decode()
    )
    if name:
        context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    with httpx.Client(verify=context, trust_env=False, timeout=20) as client:
        return client.post(
            address,
            content=json.dumps(review(claim())),
            headers={"Content-Type": "application/json"},
        )


def test_only_whom_the_authority_vouches_for_is_answered(address, folder):
    for name in ("", "stranger"):
        with pytest.raises(httpx.TransportError):
            asked(address, folder, name)
    answer = asked(address, folder, "apiserver")
    assert answer.status_code == 404
    assert "nowhere" in answer.text


@pytest.mark.parametrize("text", [None, "no certificate\n"])
def test_an_authority_that_cannot_be_read_is_named(folder, text, capsys):
    path = folder / "other.crt"
    if text:
        path.write_text(text)
    with pytest.raises(SystemExit) as ended:
        call_command("serve_admission", "--client-ca", str(path))
    assert ended.value.code == 2
    assert f"--client-ca {path} holds no certificate in PEM" in capsys.readouterr().err
