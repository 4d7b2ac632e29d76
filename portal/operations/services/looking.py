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
from django.utils.translation import gettext as _

from inventory.domain.engine import MINORS
from inventory.gateways.engine_process import SOURCES
from portal.core.heartbeats import ADMISSION, LIMITS
from portal.core.kept import AWAY as CACHE_AWAY
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
        yield no("postgres", first, _("Start Postgres, or correct DATABASE_URL."))
        return
    if version < OLDEST_POSTGRES:
        found, advice = _("It is Postgres %(is)d."), _("Use %(least)d or newer.")
        yield no("postgres", found, advice, **{"is": version, "least": OLDEST_POSTGRES})
    elif not writable:
        advice = _("Let DATABASE_URL name the primary.")
        yield no("postgres", _("It only reads: it is a standby."), advice)
    else:
        found = _("Postgres %(version)d answers and can be written to.")
        yield yes("postgres", found, version=version)


def migrations() -> Iterator[Finding]:
    """Look whether the tables are those of this release."""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    plan = executor.migration_plan(loader.graph.leaf_nodes())
    unknown_here = set(loader.applied_migrations) - set(loader.graph.nodes)
    if plan:
        found = _("Migrations that are not applied: %(count)d.")
        yield no("migrations", found, _("Run manage.py migrate."), count=len(plan))
    elif any(app in loader.migrated_apps for app, _name in unknown_here):
        found = _("The database was migrated by a newer release.")
        advice = _("Start the newer release, or restore a copy.")
        yield no("migrations", found, advice)
    else:
        yield yes("migrations", _("All are applied."))


def clock() -> Iterator[Finding]:
    """Compare this host's clock with Postgres', however long that takes to answer."""
    with connection.cursor() as cursor:
        asked = timezone.now()
        cursor.execute("SELECT clock_timestamp()")
        (there,) = cursor.fetchone()
    skew = max(asked - there, there - timezone.now()).total_seconds()
    if skew > SKEW_SECONDS:
        found = _("This host's clock and Postgres' differ by %(seconds)d s.")
        yield no("clock", found, _("Synchronise both with NTP."), seconds=round(skew))
    else:
        yield yes("clock", _("This host and Postgres agree on the time."))


def redis() -> Iterator[Finding]:
    """Look whether Redis takes and gives back; without it all is only slower."""
    try:
        cache.set("doctor", "well", 5)
        well = cache.get("doctor") == "well"
    except CACHE_AWAY as error:
        advice = _(
            "Start Redis or Valkey, or correct REDIS_URL; meanwhile all is slower."
        )
        yield no("redis", str(error), advice)
        return
    if well:
        yield yes("redis", _("It takes and gives back."))
    else:
        yield no("redis", _("It forgets at once."), _("Give it memory (maxmemory)."))


def engines() -> Iterator[Finding]:
    """Look for the engine of each supported minor."""
    folder = SOURCES / "bin"
    missing = [m for m in MINORS if not (folder / f"engine-{m}").is_file()]
    if missing:
        advice = _("Run python engine/build.py --versions all; the image has them.")
        yield no(
            "engines",
            _("There is none for %(minors)s."),
            advice,
            minors=", ".join(missing),
        )
    else:
        found = _("There is one each for %(minors)s.")
        yield yes("engines", found, minors=", ".join(MINORS))


def run_dir() -> Iterator[Finding]:
    """Look whether sockets and signs of life can be left."""
    folder = Path(settings.SLICEWISE_RUN_DIR)
    try:
        probe = folder / ".doctor"
        probe.touch()
        probe.unlink()
    except OSError as error:
        advice = _("Let SLICEWISE_RUN_DIR name a folder that can be written to.")
        yield no("run folder", str(error), advice)
        return
    yield yes("run folder", _("%(folder)s can be written to."), folder=folder)


def secret_key() -> Iterator[Finding]:
    """Look at the key; never show it."""
    key = settings.SECRET_KEY
    if len(key) < KEY_LENGTH or key.startswith("django-insecure"):
        found = _("It is too weak (%(length)d characters).")
        advice = _("Make SECRET_KEY at least %(least)d random characters.")
        yield no("secret key", found, advice, length=len(key), least=KEY_LENGTH)
    elif settings.SECRET_KEY_FALLBACKS:
        found = _("It is long enough; earlier keys are still accepted.")
        advice = _(
            "Run manage.py rotate_keys, and empty SECRET_KEY_FALLBACKS a day later."
        )
        yield unknown("secret key", found, advice)
    else:
        yield yes("secret key", _("It is long enough."))


def settings_are_safe() -> Iterator[Finding]:
    """Ask Django's own deployment checks."""
    if not settings.PRODUCTION:
        advice = _("Set SLICEWISE_PRODUCTION=true where this is more than a trial.")
        yield unknown("settings", _("This is no production set-up."), advice)
        return
    found = checks.run_checks(include_deployment_checks=True)
    for each in found:
        yield no(
            "settings", f"{each.id}: {each.msg}", each.hint or _("See Django's docs.")
        )
    if not found:
        yield yes("settings", _("Django's deployment checks find nothing."))


def proxies() -> Iterator[Finding]:
    """Look whose word is taken on who asks; uvicorn passes over what is no address."""
    given = os.environ.get("FORWARDED_ALLOW_IPS", "").replace(" ", "").split(",")
    trusted = [each for each in given if each]
    wrong = [each for each in trusted if not _is_network(each)]
    advice = _(
        "Let FORWARDED_ALLOW_IPS name the proxy; see docs/admin.md, “Behind a proxy”."
    )
    if "*" in wrong:
        yield no("proxies", _("Whoever asks may say from where."), advice)
    elif wrong:
        found = _("%(name)s is neither an address nor a network, and is passed over.")
        yield no("proxies", found, advice, name=wrong[0])
    elif not trusted and settings.SECURE_PROXY_SSL_HEADER:
        found = _("There is a proxy, and all who come by it have its address.")
        yield unknown("proxies", found, advice)
    else:
        found = _("Trusted to say who asks: %(names)s.")
        yield yes("proxies", found, names=", ".join(trusted) or _("nobody"))


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def static_files() -> Iterator[Finding]:
    """Look whether pages would find their styles."""
    if not settings.PRODUCTION:
        yield yes("static files", _("They are served from the checkout."))
        return
    try:
        staticfiles_storage.url("css/base.css")
    except ValueError as error:
        yield no(
            "static files", str(error), _("Run manage.py collectstatic --noinput.")
        )
        return
    yield yes("static files", _("They are collected."))


def processes(now: dt.datetime) -> Iterator[Finding]:
    """Look when each process but web last gave a sign of life, on any host."""
    for process, seconds in LIMITS.items():
        if process == ADMISSION and not settings.SLICEWISE_ADMISSION:
            continue
        last = Heartbeat.objects.filter(process=process).order_by("-at").first()
        if last is None:
            advice = _("Start it; deploy/ and docker-compose.yml say how.")
            yield no(process, _("It has given no sign of life for a day."), advice)
        elif last.at < now - dt.timedelta(seconds=seconds):
            found = _("Its last sign came at %(at)s UTC, of %(host)s.")
            advice = _("Look into its log, and restart it.")
            at = f"{last.at:%Y-%m-%d %H:%M:%S}"
            yield no(process, found, advice, at=at, host=last.host)
        else:
            yield yes(process, _("It is alive on %(host)s."), host=last.host)
