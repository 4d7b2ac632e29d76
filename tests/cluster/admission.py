"""The webhooks as a server of this process, installed in a real control plane."""

from __future__ import annotations

import base64
import socket
import threading
import time
from contextlib import contextmanager, suppress

from django.utils import timezone

from inventory.gateways.errors import NotFound
from inventory.gateways.transport import Call, call
from portal.admission.domain.manifests import NAME, POLICY_NAME, Address, manifests
from portal.admission.queries.rules import rules_in_force
from portal.admission.services.certificates import ca_bundle, renew
from portal.admission.serving import HookServer
from tests.cluster.processes import free_ports

ROOT = "/apis/admissionregistration.k8s.io/v1/"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"
USER = {
    "kind": "User",
    "name": "slicewise",
    "apiGroup": "rbac.authorization.k8s.io",
}


class Installed:
    """Webhooks and policy in an API server, and the server that answers it."""

    def __init__(self, connection, *, admin_namespaces=("gpu-monitoring",)):
        self.connection = connection
        self.admin_namespaces = admin_namespaces
        self.port = free_ports(1)[0]
        self.made: list[tuple[str, str]] = []

    def install(self, *, webhooks=True, policy=True):
        """Install what is wanted, with the rules that are in force."""
        address = Address(
            url=f"https://127.0.0.1:{self.port}",
            cluster="demo",
            ca_bundle=ca_bundle(now=timezone.now()),
        )
        objects = manifests(
            rules_in_force(),
            address,
            pods=True,
            admin_namespaces=self.admin_namespaces,
        )
        for body in objects:
            is_hook = body["kind"].endswith("WebhookConfiguration")
            is_policy = body["kind"].startswith("ValidatingAdmissionPolicy")
            if (is_hook and webhooks) or (is_policy and policy):
                self._post(ROOT, body)
            elif not is_hook and not is_policy:
                self._post(RBAC, {**body, "subjects": [USER]})

    def _post(self, root, body):
        if body["kind"] != "ClusterRoleBinding":
            body = {k: v for k, v in body.items() if k != "subjects"}
        plural = body["kind"].lower().replace("policy", "policie") + "s"
        if plural.endswith("policiebindings"):
            plural = "validatingadmissionpolicybindings"
        path, name = root + plural, body["metadata"]["name"]
        with suppress(NotFound):
            call(self.connection, Call("DELETE", f"{path}/{name}"), ())
        call(self.connection, Call("POST", path, body=body), ())
        self.made.append((path, name))

    def remove(self):
        """Take all of it away again."""
        for path, name in dict.fromkeys(self.made):
            with suppress(NotFound):
                call(self.connection, Call("DELETE", f"{path}/{name}"), ())
        self.made.clear()

    def start(self):
        """Serve, and wait until it does."""
        renew(now=timezone.now())
        self.server = HookServer("127.0.0.1", self.port)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + 20
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert time.monotonic() < deadline, "the webhooks do not serve"
            time.sleep(0.05)

    def stop(self):
        """Stop serving, as a portal that is down."""
        self.server.stop()
        self.thread.join(timeout=20)
        assert not self.thread.is_alive()

    def bundle(self):
        """Return the caBundle that the API server has."""
        path = f"{ROOT}validatingwebhookconfigurations/{NAME}"
        found = call(self.connection, Call("GET", path), ())
        text = found["webhooks"][0]["clientConfig"]["caBundle"]
        return base64.b64decode(text).decode()


@contextmanager
def installed(connection, **more):
    """Serve and install all of it; gone afterwards."""
    made = Installed(connection, **more)
    made.start()
    try:
        made.install()
        yield made
    finally:
        made.remove()
        made.stop()


POLICIES = (NAME, POLICY_NAME)
