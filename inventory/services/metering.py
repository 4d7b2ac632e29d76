"""Ask each cluster's Prometheus what its cards use, and keep the last answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from django.utils.translation import gettext as _

from inventory.domain.meters import Sample, Told, readings_of
from inventory.gateways.prometheus import Prometheus, PrometheusFailed
from inventory.models import Cluster, Meters
from inventory.queries.cards import fleet_of
from inventory.queries.clusters import COLUMNS
from portal.core.errors import PortalError
from portal.core.outward import AddressRefused, check_address

if TYPE_CHECKING:
    import datetime as dt

logger = structlog.get_logger(__name__)

USED = "DCGM_FI_DEV_FB_USED"
UTILISATION = "DCGM_FI_DEV_GPU_UTIL"
PEAK = f"max_over_time({UTILISATION}[5m])"


class Unset(PortalError):
    """A Prometheus address that cannot be kept."""

    code = "inventory.prometheus_address"


def set_prometheus(cluster: Cluster, url: str) -> None:
    """Keep where a cluster's Prometheus is; "" for none. Readings begin anew.

    Raises:
        AddressRefused: The portal does not speak to such an address.
    """
    url = url.strip()
    if url:
        check_address(url)
    changed = (
        Cluster.objects.filter(pk=cluster.pk)
        .exclude(prometheus_url=url)
        .update(prometheus_url=url)
    )
    if changed:
        Meters.objects.filter(cluster=cluster).delete()
        logger.info("prometheus set", cluster=cluster.name, is_set=bool(url))
    cluster.prometheus_url = url


def read_all(*, now: dt.datetime) -> int:
    """Ask the Prometheus of every cluster that has one; returns how many answered."""
    rows = Cluster.objects.only(*COLUMNS).exclude(prometheus_url="")
    return sum(read(cluster, now=now) for cluster in rows)


def read(cluster: Cluster, *, now: dt.datetime) -> bool:
    """Ask one cluster's Prometheus and keep what it says.

    What fails leaves the readings that were there, with the moment they are of.

    Returns:
        Whether it answered at all.
    """
    told, problem = _ask(cluster.prometheus_url)
    kept = Meters.objects.filter(cluster=cluster).first()
    values: dict[str, object] = {"asked_at": now, "problem": problem}
    answered = told.used is not None or told.utilisation is not None
    if answered:
        values["read_at"] = now
        values["readings"] = readings_of(
            fleet_of(cluster).occupancies,
            told,
            kept.readings if kept else {},
            last=kept.read_at if kept else None,
            now=now,
        )
    same = Cluster.objects.filter(
        pk=cluster.pk, prometheus_url=cluster.prometheus_url
    ).exists()
    if same:
        Meters.objects.update_or_create(cluster=cluster, defaults=values)
    return answered


def _ask(url: str) -> tuple[Told, str]:
    """Return the answers, and one sentence on what could not be said, or ""."""
    try:
        with Prometheus(url) as prometheus:
            answers, problems = _answers(prometheus)
    except AddressRefused as error:
        return Told(None, None, None), error.message
    told = Told(answers[USED], answers[UTILISATION], answers[PEAK])
    if not problems and not told.used and not told.utilisation:
        problems = [
            _(
                "Prometheus knows no DCGM figures: is dcgm-exporter installed, and is"
                " it scraped?"
            )
        ]
    return told, " ".join(dict.fromkeys(problems))


def _answers(
    prometheus: Prometheus,
) -> tuple[dict[str, list[Sample] | None], list[str]]:
    answers: dict[str, list[Sample] | None] = {}
    problems: list[str] = []
    for expression in (USED, UTILISATION, PEAK):
        try:
            answers[expression], warnings = prometheus.query(expression)
        except PrometheusFailed as error:
            answers[expression] = None
            problems.append(error.message)
        else:
            if warnings:
                problems.append(
                    _("Prometheus warns that its answer may be incomplete: %(text)s.")
                    % {"text": warnings.rstrip(".")}
                )
    return answers, problems
