"""What every test may use: people with names, a fixed clock, and fleets."""

from __future__ import annotations

import datetime as dt
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db.backends.postgresql.operations import DatabaseOperations
from django.utils import translation
from hypothesis import HealthCheck, settings
from structlog.contextvars import clear_contextvars

from portal.core import counting
from portal.core.garbage import spare_what_is_imported
from tests import migrated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.models import Cluster
    from portal.accounts.models import User

# Two busy cores: a slow example is no failure. Without FULL=1, which tries more of
# them and others each time, they are the same each time: who changes something else
# does not come upon them.
settings.register_profile(
    "slicewise",
    deadline=None,
    derandomize=not os.environ.get("FULL"),
    max_examples=100 if os.environ.get("FULL") else 30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("slicewise")

DATA = Path(__file__).parent / "data"

# No thread of its own writes sums while tests own the database. Here, since
# modules that start it are imported when tests are collected.
counting.start = lambda: None

# The same algorithm at its cheapest: thousands of tests begin with making people.
Argon2PasswordHasher.time_cost = 1
Argon2PasswordHasher.memory_cost = 8
Argon2PasswordHasher.parallelism = 1


_truncate = DatabaseOperations.sql_flush
# Where the rows that migrations made are kept while a test empties the database.
KEPT = "made_by_migrations"


def _empty(self, style, tables, *, reset_sequences=False, allow_cascade=False):
    """Return statements that leave what migrations made: to truncate all takes far longer."""
    if reset_sequences or allow_cascade:
        more = {"reset_sequences": reset_sequences, "allow_cascade": allow_cascade}
        return _truncate(self, style, tables, **more)
    with self.connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = %s",
            [KEPT],
        )
        kept = {row[0] for row in cursor.fetchall()} & {*tables}
        filled = _filled(cursor, [name for name in tables if name not in MADE_ANEW])
    # Neither keys nor the triggers that keep what may only grow are asked.
    role = "SET LOCAL session_replication_role = replica"
    return [
        role,
        *(f'DELETE FROM "{name}"' for name in filled),
        *(f'INSERT INTO "{name}" SELECT * FROM {KEPT}."{name}"' for name in kept),
    ]


# What is made anew after each flush can stay.
MADE_ANEW = frozenset({"django_content_type", "auth_permission"})


def _filled(cursor, tables: list[str]) -> list[str]:
    """Return the tables that hold rows."""
    one = (f"""(SELECT '{name}' FROM "{name}" LIMIT 1)""" for name in tables)
    cursor.execute(" UNION ALL ".join(one))
    return [row[0] for row in cursor.fetchall()]


DatabaseOperations.sql_flush = _empty


@pytest.fixture(autouse=True)
def unmarked() -> Iterator[None]:
    """Begin each test in English and under no request, whatever the one before left."""
    translation.activate("en")
    clear_contextvars()
    yield
    translation.deactivate()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_blocker) -> None:
    """Give each test run a database of its own, so that two runs never meet."""
    from django.db import connection

    test = connection.settings_dict["TEST"]
    test["NAME"] = f"test_slicewise_{os.getpid()}"
    with django_db_blocker.unblock():
        test["TEMPLATE"] = migrated.template()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Keep what migrations made; close what threads left open, so that all can go."""
    from django.db import connection

    with django_db_blocker.unblock(), connection.cursor() as cursor:
        tables = connection.introspection.django_table_names(only_existing=True)
        cursor.execute(f"CREATE SCHEMA {KEPT}")
        for name in _filled(cursor, [each for each in tables if each not in MADE_ANEW]):
            cursor.execute(f'CREATE TABLE {KEPT}."{name}" AS TABLE "{name}"')
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
def now() -> dt.datetime:
    """Return the moment that tests call now."""
    return dt.datetime(2026, 11, 30, 9, 0, tzinfo=dt.UTC)


@cache
def _read(path: Path) -> bytes:
    from inventory.gateways.files import read_objects

    return orjson.dumps(list(read_objects(str(path))))


def objects_of(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of YAML, which a test process reads once."""
    return orjson.loads(_read(path))


@pytest.fixture
def load_fleets(db, now):
    """Return a function that loads fleets and NVIDIA's classes as a cluster."""
    from inventory.services.loading import load_cluster

    def load(
        *fleets: str,
        name: str = "demo",
        version: str = "1.37.2",
        extra: list[dict] | None = None,
    ) -> Cluster:
        paths = [DATA / "fleets" / f"{fleet}.yaml" for fleet in fleets]
        paths.append(DATA / "claims" / "deviceclasses.yaml")
        objects = [body for path in paths for body in objects_of(path)]
        loaded = load_cluster(
            name,
            [*objects, *(extra or [])],
            kubernetes_version=version,
            feature_gates={},
            now=now,
        )
        return loaded.cluster

    return load


@pytest.fixture
def fleet_cluster(load_fleets) -> Cluster:
    """Return a small mixed cluster: shares, dynamic MIG, whole cards, a broken pool."""
    return load_fleets(
        "nvidia-h100-consumable-shares",
        "nvidia-h100-dynamic-mig-k8s135",
        "nvidia-t4-l40s",
        "pool-incomplete-generation",
    )


def _person(username: str, *, roles: list[str], tenant: str = "") -> User:
    """Make a person, as if they had always been there: nothing is recorded of it."""
    import pgtrigger

    with pgtrigger.ignore():
        return _made(username, roles, tenant)


def _made(username: str, roles: list[str], tenant: str) -> User:
    from portal.accounts.models import Membership, Tenant, TenantNamespace, User

    user = User.objects.create_user(username, password="correct horse battery")
    user.roles = roles
    user.save()
    if tenant:
        row, made = Tenant.objects.get_or_create(
            name=tenant, defaults={"group": f"slicewise:{tenant}"}
        )
        Membership.objects.create(user=user, tenant=row)
        spaces = {"orchid": ["ai-serving", "ai-training"], "maple": ["maple-lab"]}
        if made:
            TenantNamespace.objects.bulk_create(
                TenantNamespace(tenant=row, cluster="demo", namespace=space)
                for space in spaces[tenant]
            )
    return user


@pytest.fixture
def ada(db) -> User:
    """Return a member of the tenant orchid."""
    return _person("ada@orchid", roles=[], tenant="orchid")


@pytest.fixture
def cleo(db) -> User:
    """Return a member of the tenant maple, who must never see orchid's names."""
    return _person("cleo@maple", roles=[], tenant="maple")


@pytest.fixture
def ben(db) -> User:
    """Return an approver."""
    return _person("ben@platform", roles=["approver"])


@pytest.fixture
def dora(db) -> User:
    """Return an admin."""
    return _person("dora@platform", roles=["admin"])


@pytest.fixture
def eli(db) -> User:
    """Return an auditor."""
    return _person("eli@audit", roles=["auditor"])


# What is begun with: first what mostly waits, while the browser tests beside it keep the
# processors busy; then what takes longest, so that no process is alone with it at the
# end. `pytest --durations=0` tells.
FIRST = (
    "integration/frame/test_demo.py",
    "faults/test_release_faults.py",
    "faults/test_apply_faults.py",
    "faults/",
    "integration/operations/test_worker.py",
    "simcluster/",
    "integration/watcher/",
    "integration/operations/test_copies.py",
    "integration/operations/test_deployment.py",
    "integration/operations/test_audit.py",
    "integration/operations/test_compose.py",
    "integration/test_docs.py",
    "unit/claims_compose/test_kept_yaml.py",
    "integration/test_vectors.py",
    "integration/api/test_fuzz.py",
    "engine/test_vectors.py",
    "integration/api/test_isolation.py",
    "integration/api/test_isolation_of_answers.py",
    "integration/api/test_permissions.py",
    "integration/adoption/test_plan.py",
    "bench/",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what FIRST names, in its order."""
    here = str(Path(__file__).parent)

    def place(item: pytest.Item) -> int:
        path = str(item.path).removeprefix(here + os.sep)
        found = (at for at, name in enumerate(FIRST) if path.startswith(name))
        return next(found, len(FIRST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of the collecting of garbage."""
    spare_what_is_imported()
