"""A real API server shows the webhooks the certificate that docs/admission.md asks for."""

from __future__ import annotations

import json

import pytest

from portal.admission.serving import HookServer
from tests.cluster import admission
from tests.cluster.controlplane import ControlPlane
from tests.cluster.test_admission import (  # noqa: F401  fixtures
    admin,
    afresh,
    cluster,
    first_rules,
    kubeconfigs,
    observe,
    refused,
    rule,
    wait_for,
)
from tests.integration.admission.test_client_certificate import key_and_certificate
from tests.integration.claims.objects import manifest_of

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]
PLUGINS = ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with two authorities, and an API server that one vouches for."""
    made = tmp_path_factory.mktemp("certificates")
    key_and_certificate(made, "apiserver", key_and_certificate(made, "ca"))
    key_and_certificate(made, "other")
    return made


@pytest.fixture(scope="module")
def plane(folder):
    """Yield a control plane that shows its certificate to webhooks."""
    files = {
        "client-certificate": str(folder / "apiserver.crt"),
        "client-key": str(folder / "apiserver.key"),
    }
    shown = {
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": "*", "user": files}],
    }
    (folder / "shown.json").write_text(json.dumps(shown))
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(folder / "shown.json"),
    }
    named = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": p, "configuration": configuration} for p in PLUGINS],
    }
    (folder / "admission.json").write_text(json.dumps(named))
    flag = f"--admission-control-config-file={folder / 'admission.json'}"
    with ControlPlane("1.37.2", flags={"kube-apiserver": [flag]}) as made:
        yield made


@pytest.mark.parametrize(
    ("authority", "says"),
    [("ca", "through the portal"), ("other", "failed calling")],
)
def test_only_an_api_server_with_its_certificate_is_answered(
    admin,  # noqa: F811
    cluster,  # noqa: F811
    observe,  # noqa: F811
    first_rules,  # noqa: F811
    folder,
    monkeypatch,
    authority,
    says,
):
    monkeypatch.setattr(
        admission,
        "HookServer",
        lambda *where: HookServer(*where, client_ca=folder / f"{authority}.crt"),
    )
    body = manifest_of(namespace="gpu-monitoring", kind="Claim", adminAccess=True)
    made = admission.Installed(admin.connection)
    made.start()
    try:
        made.install(policy=False)
        wait_for(lambda: says in refused(admin, body, dry_run=True))
    finally:
        made.remove()
        made.stop()
