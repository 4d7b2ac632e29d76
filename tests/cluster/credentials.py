"""Keys, certificates and tokens of a control plane that lives on loopback.

Files are written once into the state folder and reused, so that a control plane started
again on the same folder is the same cluster to whoever holds its kubeconfig.
"""

from __future__ import annotations

import csv
import datetime as dt
import ipaddress
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ADMIN = "admin"
PORTAL = "slicewise"
SCHEDULER = "system:kube-scheduler"
CONTROLLER_MANAGER = "system:kube-controller-manager"

PEOPLE: Mapping[str, tuple[str, ...]] = {
    "ada@orchid": ("slicewise:orchid",),
    "ben@platform": ("slicewise:approvers",),
    "cleo@maple": ("slicewise:maple",),
}
"""People with tokens of their own, and their groups."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the files lie, and each user's token."""

    folder: Path
    tokens: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """Return the path of one of ca.crt, tls.crt, tls.key, sa.key, sa.pub, tokens.csv."""
        return str(self.folder / name)


def prepare(folder: Path, users: Mapping[str, tuple[str, ...]]) -> Credentials:
    """Return the folder's credentials, making what is not there.

    Args:
        folder: Where to keep them; made when missing, readable by its owner alone.
        users: Groups of each user beside those that every control plane has.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (folder / "tls.crt").exists():
        _write_service_account_key(folder)
        _write_serving_certificate(folder)
    return Credentials(folder, _tokens(folder / "tokens.csv", _all_users(users)))


def _all_users(users: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    built_in = {
        ADMIN: ("system:masters",),
        PORTAL: (),
        SCHEDULER: (),
        CONTROLLER_MANAGER: (),
    }
    return {**built_in, **PEOPLE, **users}


def _tokens(path: Path, users: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    known = {}
    if path.exists():
        with path.open(newline="") as handle:
            known = {row[1]: row[0] for row in csv.reader(handle)}
    tokens = {user: known.get(user) or secrets.token_urlsafe(24) for user in users}
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        for number, (user, groups) in enumerate(users.items(), 1):
            row = [tokens[user], user, str(number)]
            writer.writerow([*row, ",".join(groups)] if groups else row)
    return tokens


def _write_service_account_key(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / "sa.key").write_bytes(_pem(key))
    (folder / "sa.pub").write_bytes(public)


def _write_serving_certificate(folder: Path) -> None:
    """Write a CA and a certificate of 127.0.0.1, localhost and kubernetes, good for a year."""
    ca_key, key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    ca_name, name = _name("slicewise-test-ca"), _name("kubernetes")
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()),
            critical=False,
        )
        .sign(ca_key, hashes.SHA256())
    )
    names = [x509.DNSName("localhost"), x509.DNSName("kubernetes")]
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    certificate = (
        _builder(name, ca_name, key.public_key())
        .add_extension(x509.SubjectAlternativeName([*names, loopback]), critical=False)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .add_extension(authority, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.key").write_bytes(_pem(key))
    (folder / "tls.crt").write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)  # noqa: TID251  an edge, and Django is not here
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=365))
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def write_kubeconfig(
    path: Path, *, server: str, ca_file: str, user: str, token: str
) -> Path:
    """Write a kubeconfig for one user; JSON, which is YAML too. Returns its path."""
    name = "slicewise"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority": ca_file},
            }
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": user, "context": {"cluster": name, "user": user}}],
        "current-context": user,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path
