"""What Postgres had said yes to is there again after a crash, and the rest goes on."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import DatabaseError, connection, migrations, models
from django.db.migrations.state import ProjectState

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from tests.faults import table
from tests.faults.counting import all_are, states_of, templates
from tests.faults.table import HEALED_SECONDS
from tests.faults.test_watcher_engine_faults import caught_up
from tests.faults.world import until
from tests.integration.watcher import conftest as watching
from tests.integration.watcher.conftest import assert_same
from tests.integration.watcher.test_leaders import command
from tests.integration.watcher.test_upsets import fill

pytestmark = pytest.mark.slow

# More than the files of its log have, which are made whole at once.
FULL_BYTES = 17 * 2**20
sim, add = watching.sim, watching.add
__all__ = ["add", "command", "sim"]


def test_postgres_crashes_while_requests_are_applied(postgres, world, ask, healed):
    claim_requests = [ask() for _ in range(10)]
    world.start_worker()
    active = ClaimRequest.objects.filter(state=State.ACTIVE)
    until(lambda: active.count() >= 2, seconds=HEALED_SECONDS)

    postgres.crash()
    connection.close()
    assert world.is_running(world.workers()[0])
    since = time.monotonic()
    postgres.start()

    healed("Postgres crashed while requests are applied", claim_requests, since=since)
    assert world.is_running(world.workers()[0])


def test_postgres_is_restarted_while_a_watcher_watches(postgres, sim, add, command):
    fill(sim.client(), count=10)
    cluster = add(sim)
    watcher = command()
    assert_same(cluster, seconds=HEALED_SECONDS)

    postgres.stop()
    connection.close()
    fill(sim.client(), count=5, prefix="meanwhile")
    since = time.monotonic()
    postgres.start()

    table.tell(
        "Postgres restarted while objects change",
        caught_up(cluster, since=since),
    )
    assert watcher.poll() is None


def test_the_disk_of_postgres_is_full(postgres, world, ask, healed):
    claim_requests = [ask() for _ in range(5)]
    connection.close()
    postgres.stop()
    postgres.start(file_bytes=FULL_BYTES)
    _fill("claims_claimrequestevent")
    worker = world.start_worker()
    until(lambda: "could not extend file" in world.log(worker), seconds=HEALED_SECONDS)
    assert states_of(claim_requests) == {State.SUBMITTED}
    assert templates(world) == []
    connection.close()
    postgres.stop()
    since = time.monotonic()

    postgres.start()

    healed("Postgres' disk full, then with room again", claim_requests, since=since)
    assert world.is_running(worker)


def _fill(table: str) -> None:
    """Copy a row of a table until its file cannot grow."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(quote_ident(column_name), ', ')"
            " FROM information_schema.columns WHERE table_name = %s"
            " AND is_identity = 'NO'",
            [table],
        )
        names = cursor.fetchone()[0]
        for count in (5000, 100, 1):
            with contextlib.suppress(DatabaseError):
                while True:
                    cursor.execute(
                        f"INSERT INTO {table} ({names}) SELECT {names} FROM"
                        f" (SELECT * FROM {table} LIMIT 1) one,"
                        f" generate_series(1, {count})"
                    )


def test_a_migration_is_run_under_load(postgres, world, ask, healed):
    """It adds a column with a default and an index, as migrations here may."""
    world.start_worker()
    claim_requests: list[ClaimRequest] = []
    over = threading.Event()

    def go_on_asking() -> None:
        while not over.is_set():
            claim_requests.append(ask())
        connection.close()

    thread = threading.Thread(target=go_on_asking)
    thread.start()
    until(lambda: len(claim_requests) > 3, seconds=HEALED_SECONDS)
    try:
        _migrate()
        count = len(claim_requests)
        until(lambda: len(claim_requests) > count + 2, seconds=HEALED_SECONDS)
    finally:
        over.set()
        thread.join()
    since = time.monotonic()

    healed("a migration run under load", claim_requests, since=since)
    assert all_are(claim_requests, State.ACTIVE)


def _migrate() -> None:
    """Add a column with a default, and an index of it, without stopping anybody."""
    from django.apps import apps

    state = ProjectState.from_apps(apps)
    column = models.TextField(db_default="none")
    index = models.Index(fields=["remark"], name="claims_remark")
    for operation in (
        migrations.AddField("claimplan", "remark", column),
        migrations.AddField("claimrequest", "remark", column.clone()),
        AddIndexConcurrently("claimrequest", index),
    ):
        after = state.clone()
        operation.state_forwards("claims", after)
        with connection.schema_editor(atomic=False) as editor:
            operation.database_forwards("claims", editor, state, after)
        state = after
