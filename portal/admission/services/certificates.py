"""The webhooks' own authority and certificate: made here, kept encrypted, renewed.

API servers trust the authority by caBundle, so both the newest authority and the one
before it are in the bundle: a renewed one is known everywhere before it signs.
"""

from __future__ import annotations

import base64
import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.conf import settings
from django.db import connection, transaction

from portal.admission.models import ServingCertificate
from portal.core.errors import PortalError
from portal.core.secrets import decrypt, encrypt

if TYPE_CHECKING:
    from datetime import datetime

Role = ServingCertificate.Role

AUTHORITY_DAYS = 730
SERVING_DAYS = 90
# What has less than this part of its life left is renewed.
RENEW_AT = 1 / 3
# A new authority signs when every API server has had time to learn of it.
SIGNS_AFTER = timedelta(days=1)
BACKDATED = timedelta(hours=1)


class NoCertificate(PortalError):
    """There is no certificate to serve with."""

    code = "admission.no_certificate"


@dataclass(frozen=True, slots=True)
class Renewed:
    """What was made anew."""

    authority: bool
    serving: bool


def renew(*, now: datetime, force: bool = False) -> Renewed:
    """Make what is missing or close to its end; one process at a time.

    Args:
        now: the moment.
        force: make both anew, however fresh they are.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtext(%s))",
                ["admission.certificates"],
            )
        newest = authorities(now=now)[:1]
        make_authority = force or not newest or _is_due(newest[0], now)
        if make_authority:
            _make_authority(now)
        issuer = signing_authority(now=now)
        serving = serving_certificate(now=now)
        make_serving = (
            force
            or serving is None
            or _is_due(serving, now)
            or serving.names != list(settings.SLICEWISE_ADMISSION_HOSTS)
        )
        if make_serving:
            _make_serving(issuer, now)
        ServingCertificate.objects.filter(not_after__lt=now).delete()
    return Renewed(make_authority, make_serving)


def authorities(*, now: datetime) -> list[ServingCertificate]:
    """Return the authorities that are good now, the newest first."""
    rows = ServingCertificate.objects.filter(role=Role.AUTHORITY, not_after__gt=now)
    return list(rows.order_by("-not_before", "-pk"))


def signing_authority(*, now: datetime) -> ServingCertificate:
    """Return the authority that signs now: the newest that is known long enough.

    Raises:
        NoCertificate: There is none.
    """
    known = authorities(now=now)
    if not known:
        raise NoCertificate(
            "There is no certificate yet: run manage.py admission_certificates."
        )
    old_enough = [a for a in known if a.not_before + BACKDATED <= now - SIGNS_AFTER]
    return old_enough[0] if old_enough else known[-1]


def serving_certificate(*, now: datetime) -> ServingCertificate | None:
    """Return the certificate to serve with now, or None."""
    rows = ServingCertificate.objects.filter(role=Role.SERVING, not_after__gt=now)
    return rows.select_related("issuer").order_by("-not_before", "-pk").first()


def ca_bundle(*, now: datetime) -> str:
    """Return what API servers are to trust: authorities as base64 of PEM.

    Whose certificate is served, who signs now, and all that are newer, since each of
    them signs one day: however often they were made anew within a day.
    """
    known = authorities(now=now)
    serving = serving_certificate(now=now)
    needed = {serving.issuer_id} if serving else set()
    needed |= {signing_authority(now=now).pk} if known else set()
    places = [place for place, each in enumerate(known) if each.pk in needed]
    trusted = known[: max(places, default=-1) + 1]
    text = "".join(each.certificate for each in trusted)
    return base64.b64encode(text.encode()).decode()


def load_into(context: ssl.SSLContext, row: ServingCertificate) -> None:
    """Serve with a certificate from the next handshake on; the key never stays on disk."""
    with tempfile.TemporaryDirectory() as folder:
        chain, key = write_files(Path(folder), row)
        context.load_cert_chain(chain, key)


def write_files(folder: Path, row: ServingCertificate) -> tuple[Path, Path]:
    """Write a certificate and its key where only we can read them; return their paths."""
    chain, key = folder / "tls.crt", folder / "tls.key"
    chain.write_text(row.certificate)
    key.touch(mode=0o600)
    key.write_text(decrypt(row.key_encrypted))
    return chain, key


def _is_due(row: ServingCertificate, now: datetime) -> bool:
    life = row.not_after - row.not_before
    return row.not_after - now < life * RENEW_AT


def _make_authority(now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"slicewise-admission-{now:%Y%m%d}")]
    )
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    subject = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _builder(name, name, key, now, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(subject, critical=False)
        .sign(key, hashes.SHA256())
    )
    _store(Role.AUTHORITY, certificate, key, None, [])


def _make_serving(issuer: ServingCertificate, now: datetime) -> None:
    names = list(settings.SLICEWISE_ADMISSION_HOSTS)
    key = ec.generate_private_key(ec.SECP256R1())
    authority = x509.load_pem_x509_certificate(issuer.certificate.encode())
    signer = serialization.load_pem_private_key(
        decrypt(issuer.key_encrypted).encode(), None
    )
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise NoCertificate(
            "The authority's key is of another kind: renew with --force."
        )
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, "slicewise-admission")]
    )
    of_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        _builder(subject, authority.subject, key, now, SERVING_DAYS)
        .add_extension(
            x509.SubjectAlternativeName([_general_name(each) for each in names]),
            critical=False,
        )
        .add_extension(usage, critical=False)
        .add_extension(of_issuer, critical=False)
        .sign(signer, hashes.SHA256())
    )
    _store(Role.SERVING, certificate, key, issuer, names)


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - BACKDATED)
        .not_valid_after(now.astimezone(UTC) + timedelta(days=days))
    )


def _store(
    role: Role,
    certificate: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    issuer: ServingCertificate | None,
    names: list[str],
) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    ServingCertificate.objects.create(
        role=role,
        certificate=certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key_encrypted=encrypt(text),
        issuer=issuer,
        names=names,
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
    )
