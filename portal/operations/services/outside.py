"""What a deployment needs of its clusters, its certificates and its copies."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext as _

from inventory.domain.kinds import RESOURCE_SLICE, WATCHED
from inventory.gateways.errors import KubeError
from inventory.gateways.identity import AS_ITSELF
from inventory.models import Cluster
from inventory.services.connections import kube_for
from portal.admission.services.certificates import serving_certificate
from portal.core.errors import PortalError
from portal.core.freshness import freshness_of
from portal.operations.services.copies import last_copy
from portal.operations.services.findings import no, unknown, yes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portal.operations.services.findings import Finding

# A night's copy is there a day after the last one, and as long as it takes.
COPY_AGE = dt.timedelta(hours=26)
SOON = dt.timedelta(days=7)


def clusters(now: dt.datetime) -> Iterator[Finding]:
    """Ask each cluster's API server, and look how fresh its record is."""
    rows = Cluster.objects.exclude(kind=Cluster.Kind.OFFLINE).order_by("name")
    for cluster in rows:
        yield _reached(cluster)
        state = freshness_of(cluster, now=now)
        if state.kind == "good":
            yield yes(
                f"record of {cluster.name}", _("The watcher keeps it up to date.")
            )
        else:
            advice = _("See whether the watcher runs, and what its log says.")
            yield no(
                f"record of {cluster.name}",
                _("It is: %(how)s."),
                advice,
                how=state.text,
            )
    if not rows:
        yield unknown(
            "clusters", _("There is none yet."), _("Run manage.py add_cluster.")
        )


def _reached(cluster: Cluster) -> Finding:
    name = f"cluster {cluster.name}"
    try:
        kube = kube_for(cluster, AS_ITSELF)
        version = kube.version()
        if not kube.review_access("list", RESOURCE_SLICE).allowed:
            found = _("It answers, but slices may not be listed.")
            return no(name, found, _("Apply deploy/rbac.yaml there."))
        closed = [k.plural for k in WATCHED if _is_closed(cluster, k.kind)]
    except (KubeError, PortalError) as error:
        advice = _(
            "Check its address and kubeconfig: manage.py add_cluster replaces it."
        )
        return no(name, str(error), advice)
    if closed:
        found = _("It answers; what may not be read: %(kinds)s.")
        advice = _("Apply deploy/rbac.yaml there, if these should be seen.")
        return unknown(name, found, advice, kinds=", ".join(closed))
    found = _("Kubernetes %(version)s answers, and slices may be listed.")
    return yes(name, found, version=version)


def _is_closed(cluster: Cluster, kind: str) -> bool:
    return cluster.state_of(kind) == "forbidden"


def certificates(now: dt.datetime) -> Iterator[Finding]:
    """Look at the certificate that API servers are shown."""
    if not settings.SLICEWISE_ADMISSION:
        yield yes("certificates", _("None is needed: admission is switched off."))
        return
    row = serving_certificate(now=now)
    advice = _(
        "Run manage.py admission_certificates; beat and worker renew it by themselves."
    )
    if row is None:
        yield no("certificates", _("There is none for admission."), advice)
    elif row.not_after < now + SOON:
        found = _("It ends at %(at)s UTC.")
        yield no("certificates", found, advice, at=f"{row.not_after:%Y-%m-%d %H:%M}")
    else:
        found = _("It is good until %(day)s.")
        yield yes("certificates", found, day=f"{row.not_after:%Y-%m-%d}")


def copies(now: dt.datetime) -> Iterator[Finding]:
    """Look when `manage.py backup` last made a copy."""
    last = last_copy()
    if last is None:
        found = _("manage.py backup has made none; your own tools may have.")
        yield unknown("backups", found, _("See docs/runbook.md, “Copies”."))
        return
    found, at = _("The last was made at %(at)s UTC."), f"{last:%Y-%m-%d %H:%M}"
    if last < now - COPY_AGE:
        advice = _("See why the nightly copy was not made.")
        yield no("backups", found, advice, at=at)
    else:
        yield yes("backups", found, at=at)
