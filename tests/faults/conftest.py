"""A world to break, and requests in it."""

from __future__ import annotations

import time
import uuid

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from kombu import pools

from claims.domain.lifecycle import State
from portal.operations.services import copies
from tests.faults import table
from tests.faults.counting import all_are, duplicates, lost, states_of
from tests.faults.faulty import FaultyServer
from tests.faults.postgres import OwnPostgres
from tests.faults.table import HEALED_SECONDS, Seen
from tests.faults.world import World, database_url, until
from tests.folders import state_folder
from tests.integration.claims.objects import manifest_of, prepare

EMPTY, OF_A_TEST = "faults_empty", "faults_test"


@pytest.fixture(scope="session", autouse=True)
def _table():
    """Write the table once every fault was seen, where that is asked for."""
    yield
    table.write()


@pytest.fixture
def healed(world):
    """Return a function that waits for healing, counts, and fails on any loss."""

    def check(name, claim_requests, *, since):
        until(lambda: all_are(claim_requests, State.ACTIVE), seconds=HEALED_SECONDS)
        found = Seen(
            count=len(claim_requests),
            state=", ".join(sorted(states_of(claim_requests))),
            healed_seconds=time.monotonic() - since,
            duplicates=duplicates(world, claim_requests),
            lost=lost(world, claim_requests),
        )
        table.tell(name, found)
        assert found.state == "Active"

    return check


@pytest.fixture(scope="session")
def own_postgres():
    """Yield a Postgres of these tests' own; EMPTY is what tests begin with, once made."""
    with state_folder() as folder:
        own = OwnPostgres(folder)
        yield own
        own.stop()


@pytest.fixture
def postgres(own_postgres, transactional_db, tmp_path):
    """Return a Postgres of the tests' own, in which everything of this test is.

    Name it before `world`, whose processes use the database that is set then.
    """
    shared = connection.settings_dict
    kept = (shared["HOST"], shared["NAME"])
    if not own_postgres.has(EMPTY):
        own_postgres.create_database(EMPTY)
        copies.make(tmp_path / "copy.dump")
        _use(own_postgres.host, EMPTY)
        copies.bring_back(tmp_path / "copy.dump", replace=False)
        connection.close()
    own_postgres.create_database(OF_A_TEST, like=EMPTY)
    _use(own_postgres.host, OF_A_TEST)
    yield own_postgres
    _use(*kept)
    own_postgres.drop_database(OF_A_TEST)


def _use(host, name):
    """Have this process' threads use another database from now on."""
    connection.close()
    connection.settings_dict |= {"HOST": host, "NAME": name}


@pytest.fixture
def world(transactional_db, tmp_path):
    """Yield a running API server and Valkey over this test's database; no worker."""
    from inventory.gateways.kubeconfig import connect

    made = World(
        tmp_path, database_url(settings.DATABASES["default"]), settings.SECRET_KEY
    )
    made.start_server()
    made.start_valkey()
    link = connect("demo", made.kubeconfig("admin"))
    prepare(link)
    yield made
    link.close()
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
def faulty(world, cluster):
    """Yield a server between the portal and its API server; no faults yet."""
    from portal.core.secrets import decrypt, encrypt

    made = FaultyServer(world.port, seed=20261130)
    text = decrypt(cluster.kubeconfig_encrypted).replace(world.url, made.url)
    cluster.kubeconfig_encrypted = encrypt(text)
    cluster.save()
    yield made
    made.close()


@pytest.fixture
def ask(cluster, ada, world, monkeypatch):
    """Return a function that submits a new template as Ada, through this Valkey."""
    from claims.services.submit import submit
    from portal.celery import app

    monkeypatch.setattr(app.conf, "broker_url", world.broker)
    monkeypatch.setattr(app.conf, "broker_write_url", world.broker)
    _forget_connections(app)

    def do(manifest=None, key=None, **more):
        return submit(
            user=ada,
            cluster=cluster,
            manifest=manifest or manifest_of(),
            preview=None,
            submission_key=key or uuid.uuid4(),
            request_id="fault-test-id",
            now=timezone.now(),
            **more,
        )

    yield do
    _forget_connections(app)


def _forget_connections(app):
    """Close what this process has open to a broker, so that the next use connects."""
    pools.reset()
    app._after_fork()
