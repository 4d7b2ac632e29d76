"""A world to break, and requests in it."""

from __future__ import annotations

import uuid

import pytest
from django.conf import settings
from django.utils import timezone
from kombu import pools

from tests.faults.world import World, database_url
from tests.integration.claims.objects import manifest_of, prepare


@pytest.fixture
def world(transactional_db, tmp_path):
    """Yield a running API server and Valkey over this test's database; no worker."""
    from inventory.gateways.kubeconfig import connect

    made = World(
        tmp_path, database_url(settings.DATABASES["default"]), settings.SECRET_KEY
    )
    made.start_server()
    made.start_valkey()
    connection = connect("demo", made.kubeconfig("admin"))
    prepare(connection)
    yield made
    connection.close()
    made.close()


@pytest.fixture
def cluster(world):
    """Return the API server as a cluster of the portal, its classes known."""
    from inventory.domain.kinds import BY_NAME
    from inventory.gateways.kube import AS_ITSELF
    from inventory.models import Cluster
    from inventory.services.connections import kube_for
    from inventory.services.store import replace_kinds
    from portal.core.secrets import encrypt

    row = Cluster.objects.create(
        name="demo",
        kind=Cluster.Kind.LIVE,
        kubeconfig_encrypted=encrypt(world.kubeconfig("slicewise")),
    )
    classes = kube_for(row, AS_ITSELF).list(BY_NAME["DeviceClass"]).items
    replace_kinds(row, {"DeviceClass": classes}, now=timezone.now())
    return row


@pytest.fixture
def ask(cluster, ada, world, monkeypatch):
    """Return a function that submits a new template as Ada, through this Valkey."""
    from claims.services.submit import submit
    from portal.celery import app

    monkeypatch.setattr(app.conf, "broker_url", world.broker)
    monkeypatch.setattr(app.conf, "broker_write_url", world.broker)
    _forget_connections(app)

    def do():
        return submit(
            user=ada,
            cluster=cluster,
            manifest=manifest_of(),
            preview=None,
            submission_key=uuid.uuid4(),
            request_id="fault-test-id",
            now=timezone.now(),
        )

    yield do
    _forget_connections(app)


def _forget_connections(app):
    """Close what this process has open to a broker, so that the next use connects."""
    pools.reset()
    app._after_fork()
