"""Look at everything that a deployment needs, in an order in which to mend it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from portal.operations.services import keys, looking, outside, speaking
from portal.operations.services.findings import looked, no, yes

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator

    from portal.operations.services.findings import Finding


def examine(now: dt.datetime) -> list[Finding]:
    """Return what was found; what cannot be looked at is said to be unknown."""
    looks: dict[str, Callable[[], Iterable[Finding]]] = {
        "postgres": looking.database,
        "migrations": looking.migrations,
        "clock": looking.clock,
        "redis": looking.redis,
        "settings": looking.settings_are_safe,
        "secret key": looking.secret_key,
        "stored secrets": secrets,
        "proxies": looking.proxies,
        "static files": looking.static_files,
        "run folder": looking.run_dir,
        "engines": looking.engines,
        "engines' answers": speaking.engines,
        "processes": partial(looking.processes, now),
        "web": speaking.web,
        "clusters": partial(outside.clusters, now),
        "certificates": partial(outside.certificates, now),
        "webhooks": partial(speaking.webhooks, now),
        "advisor": speaking.advisor,
        "prometheus": speaking.meters,
        "sign-in provider": speaking.sign_in,
        "mail": speaking.mail,
        "backups": partial(outside.copies, now),
    }
    return [each for name, look in looks.items() for each in looked(name, look)]


def secrets() -> Iterator[Finding]:
    """Look whether every stored kubeconfig, address and key can be read."""
    if closed := keys.unreadable():
        found = _("Those that cannot be read: %(count)d, the first: %(first)s.")
        advice = _("Add the earlier SECRET_KEY to SECRET_KEY_FALLBACKS.")
        yield no("stored secrets", found, advice, count=len(closed), first=closed[0])
    else:
        yield yes("stored secrets", _("All can be read."))
