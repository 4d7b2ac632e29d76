"""What a deployment needs of this host, its Postgres and its Redis."""

from __future__ import annotations

import datetime as dt
import os
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core import checks
from django.core.cache import cache
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from redis.exceptions import RedisError

from inventory.domain.engine import MINORS
from inventory.gateways.engine_process import SOURCES
from portal.core.heartbeats import ADMISSION, LIMITS
from portal.core.models import Heartbeat
from portal.operations.services.findings import no, unknown, yes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portal.operations.services.findings import Finding

OLDEST_POSTGRES = 15
SKEW_SECONDS = 5.0
KEY_LENGTH = 50


def database() -> Iterator[Finding]:
    """Look at Postgres: does it answer, is it new enough, can it be written to?"""
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version_num')::int / 10000,"
                " current_setting('transaction_read_only') = 'off'"
            )
            version, writable = cursor.fetchone()
    except Error as error:
        first = str(error).strip().splitlines()[0]
        yield no("postgres", first, "Start Postgres, or correct DATABASE_URL.")
        return
    if version < OLDEST_POSTGRES:
        found, advice = f"It is Postgres {version}.", f"Use {OLDEST_POSTGRES} or newer."
        yield no("postgres", found, advice)
    elif not writable:
        advice = "Let DATABASE_URL name the primary."
        yield no("postgres", "It only reads: it is a standby.", advice)
    else:
        yield yes("postgres", f"Postgres {version} answers and can be written to.")


def migrations() -> Iterator[Finding]:
    """Look whether the tables are those of this release."""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    plan = executor.migration_plan(loader.graph.leaf_nodes())
    unknown_here = set(loader.applied_migrations) - set(loader.graph.nodes)
    if plan:
        found = f"{len(plan)} migrations are not applied."
        yield no("migrations", found, "Run manage.py migrate.")
    elif any(app in loader.migrated_apps for app, _name in unknown_here):
        found = "The database was migrated by a newer release."
        yield no("migrations", found, "Start the newer release, or restore a copy.")
    else:
        yield yes("migrations", "All are applied.")


def clock() -> Iterator[Finding]:
    """Compare this host's clock with Postgres', however long that takes to answer."""
    with connection.cursor() as cursor:
        asked = timezone.now()
        cursor.execute("SELECT clock_timestamp()")
        (there,) = cursor.fetchone()
    skew = max(asked - there, there - timezone.now()).total_seconds()
    if skew > SKEW_SECONDS:
        found = f"This host's clock and Postgres' differ by {skew:.0f} s."
        yield no("clock", found, "Synchronise both with NTP.")
    else:
        yield yes("clock", "This host and Postgres agree on the time.")


def redis() -> Iterator[Finding]:
    """Look whether Redis takes and gives back; without it all is only slower."""
    try:
        cache.set("doctor", "well", 5)
        well = cache.get("doctor") == "well"
    except (RedisError, OSError) as error:
        advice = "Start Redis or Valkey, or correct REDIS_URL; meanwhile all is slower."
        yield no("redis", str(error), advice)
        return
    if well:
        yield yes("redis", "It takes and gives back.")
    else:
        yield no("redis", "It forgets at once.", "Give it memory (maxmemory).")


def engines() -> Iterator[Finding]:
    """Look for the engine of each supported minor."""
    folder = SOURCES / "bin"
    missing = [m for m in MINORS if not (folder / f"engine-{m}").is_file()]
    if missing:
        advice = "Run python engine/build.py --versions all; the image has them."
        yield no("engines", f"There is none for {', '.join(missing)}.", advice)
    else:
        yield yes("engines", f"There is one each for {', '.join(MINORS)}.")


def run_dir() -> Iterator[Finding]:
    """Look whether sockets and signs of life can be left."""
    folder = Path(settings.SLICEWISE_RUN_DIR)
    try:
        probe = folder / ".doctor"
        probe.touch()
        probe.unlink()
    except OSError as error:
        advice = "Let SLICEWISE_RUN_DIR name a folder that can be written to."
        yield no("run folder", str(error), advice)
        return
    yield yes("run folder", f"{folder} can be written to.")


def secret_key() -> Iterator[Finding]:
    """Look at the key; never show it."""
    key = settings.SECRET_KEY
    if len(key) < KEY_LENGTH or key.startswith("django-insecure"):
        advice = f"Make SECRET_KEY at least {KEY_LENGTH} random characters."
        yield no("secret key", f"It is too weak ({len(key)} characters).", advice)
    elif settings.SECRET_KEY_FALLBACKS:
        found = "It is long enough; earlier keys are still accepted."
        advice = (
            "Run manage.py rotate_keys, and empty SECRET_KEY_FALLBACKS a day later."
        )
        yield unknown("secret key", found, advice)
    else:
        yield yes("secret key", "It is long enough.")


def settings_are_safe() -> Iterator[Finding]:
    """Ask Django's own deployment checks."""
    if not settings.PRODUCTION:
        advice = "Set SLICEWISE_PRODUCTION=true where this is more than a trial."
        yield unknown("settings", "This is no production set-up.", advice)
        return
    found = checks.run_checks(include_deployment_checks=True)
    for each in found:
        yield no(
            "settings", f"{each.id}: {each.msg}", each.hint or "See Django's docs."
        )
    if not found:
        yield yes("settings", "Django's deployment checks find nothing.")


def proxies() -> Iterator[Finding]:
    """Look whose word is taken on who asks; uvicorn passes over what is no address."""
    given = os.environ.get("FORWARDED_ALLOW_IPS", "").replace(" ", "").split(",")
    trusted = [each for each in given if each]
    wrong = [each for each in trusted if not _is_network(each)]
    advice = (
        "Let FORWARDED_ALLOW_IPS name the proxy; see docs/admin.md, “Behind a proxy”."
    )
    if "*" in wrong:
        yield no("proxies", "Whoever asks may say from where.", advice)
    elif wrong:
        found = f"{wrong[0]} is neither an address nor a network, and is passed over."
        yield no("proxies", found, advice)
    elif not trusted and settings.SECURE_PROXY_SSL_HEADER:
        found = "There is a proxy, and all who come by it have its address."
        yield unknown("proxies", found, advice)
    else:
        found = f"Trusted to say who asks: {', '.join(trusted) or 'nobody'}."
        yield yes("proxies", found)


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def static_files() -> Iterator[Finding]:
    """Look whether pages would find their styles."""
    if not settings.PRODUCTION:
        yield yes("static files", "They are served from the checkout.")
        return
    try:
        staticfiles_storage.url("css/base.css")
    except ValueError as error:
        yield no("static files", str(error), "Run manage.py collectstatic --noinput.")
        return
    yield yes("static files", "They are collected.")


def processes(now: dt.datetime) -> Iterator[Finding]:
    """Look when each process but web last gave a sign of life, on any host."""
    for process, seconds in LIMITS.items():
        if process == ADMISSION and not settings.SLICEWISE_ADMISSION:
            continue
        last = Heartbeat.objects.filter(process=process).order_by("-at").first()
        if last is None:
            advice = f"Start it; deploy/ and docker-compose.yml say how ({process})."
            yield no(process, "It has given no sign of life for a day.", advice)
        elif last.at < now - dt.timedelta(seconds=seconds):
            found = f"Its last sign came at {last.at:%Y-%m-%d %H:%M:%S} UTC, of {last.host}."
            yield no(process, found, "Look into its log, and restart it.")
        else:
            yield yes(process, f"It is alive on {last.host}.")
