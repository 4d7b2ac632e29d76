"""An API server that answers for real, and Postgres filled from it on demand."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from django.utils import timezone

from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import NotFound
from tests.cluster import credentials
from tests.cluster.controlplane import ControlPlane
from tests.integration.claims.objects import manifest_of, prepared
from tests.integration.watcher.servers import SimServer

OBSERVED = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "Pod")


@pytest.fixture(scope="session")
def kubeconfigs(tmp_path_factory):
    """Yield the kubeconfigs of an API server's administrator and of the portal.

    SLICEWISE_CLAIMS_API chooses: `sim` (the default), a version of Kubernetes, or
    the path of an administrator's kubeconfig.
    """
    chosen = os.environ.get("SLICEWISE_CLAIMS_API", "sim")
    if "/" in chosen:
        yield Path(chosen).read_text(), Path(chosen).read_text()
    elif chosen == "sim":
        server = SimServer(tmp_path_factory.mktemp("simcluster"))
        names = (credentials.ADMIN, "slicewise")
        yield tuple(server.kubeconfig(name).read_text() for name in names)
        server.close()
    else:
        with ControlPlane(chosen) as plane:
            names = (credentials.ADMIN, "slicewise")
            yield tuple(plane.kubeconfig(name).read_text() for name in names)


@pytest.fixture(scope="session")
def admin(kubeconfigs):
    """Return the server as its administrator, with what the tests need in it."""
    return prepared(kubeconfigs[0])


@pytest.fixture
def cluster(db, admin, kubeconfigs):
    """Return the server as a cluster of the portal, observed once."""
    from inventory.models import Cluster
    from portal.core.secrets import encrypt

    row = Cluster.objects.create(
        name="demo",
        kind=Cluster.Kind.LIVE,
        kubernetes_version="v1.37.2",
        kubeconfig_encrypted=encrypt(kubeconfigs[1]),
    )
    observe_now(row, admin)
    return row


@pytest.fixture
def observe(cluster, admin):
    """Return a function that does what the watcher does, once."""
    return lambda: observe_now(cluster, admin)


def observe_now(cluster, admin, kinds=OBSERVED):
    from inventory.services.store import replace_kinds

    lists = {kind: admin.list(BY_NAME[kind]).items for kind in kinds}
    replace_kinds(cluster, lists, now=timezone.now())
    type(cluster).objects.filter(pk=cluster.pk).update(heard_at=timezone.now())


@pytest.fixture
def template():
    """Return a function that makes a template's manifest under a new name."""
    return manifest_of


@pytest.fixture
def active(submitted, observe):
    """Return a function that submits and applies, and lets the portal see it."""
    from claims.services.working import work_on

    def do(manifest):
        claim_request = submitted(manifest)
        assert work_on(claim_request.pk, now=timezone.now())
        observe()
        claim_request.refresh_from_db()
        assert claim_request.state == "Active", claim_request.message
        return claim_request

    return do


@pytest.fixture
def no_pods(admin):
    """Leave no pods behind, so that the devices are free again."""
    yield
    for body in admin.list(BY_NAME["Pod"], "ai-serving").items:
        with suppress(NotFound):
            admin.delete(
                BY_NAME["Pod"],
                body["metadata"]["name"],
                "ai-serving",
                gracePeriodSeconds=0,
            )


@pytest.fixture
def until(admin, observe):
    """Return a function that observes until something is true, for 20 seconds."""

    def wait(condition, *, tick=lambda: None):
        deadline = time.monotonic() + 20
        while True:
            observe()
            if found := condition():
                return found
            assert time.monotonic() < deadline, "not within 20 s"
            tick()
            time.sleep(0.2)

    return wait


@pytest.fixture
def submitted(cluster, ada, now):
    """Return a function that submits a manifest as Ada."""
    from claims.services.submit import submit

    def do(manifest, *, user=ada, preview=None, key=None):
        return submit(
            user=user,
            cluster=cluster,
            manifest=manifest,
            preview=preview,
            submission_key=key or uuid.uuid4(),
            request_id="test-request-id",
            now=timezone.now(),
        )

    return do
