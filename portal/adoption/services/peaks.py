"""The most memory that pods had in use, as DCGM's exporter told Prometheus.

Source: dcgm-exporter with its mapping to pods: labels `namespace` and `pod`, which
Prometheus renames to `exported_…` where it has its own of that name.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.domain.meters import MIB
from inventory.gateways.prometheus import Prometheus
from inventory.services.metering import USED
from portal.core.errors import PortalError
from portal.core.kept import keep, recall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.domain.meters import Sample
    from inventory.models import Cluster

WITHIN = "1d"
KEPT_SECONDS = 300
_LABELS = ("namespace", "pod", "exported_namespace", "exported_pod")
QUESTION = f"max by ({', '.join(_LABELS)}) (max_over_time({USED}[{WITHIN}]))"


@dataclass(frozen=True, slots=True)
class Peaks:
    """What was measured.

    Attributes:
        of: (namespace, pod) → bytes of the card of which it had most in use.
        problem: why there is less than could be, or "".
    """

    of: Mapping[tuple[str, str], int] = field(default_factory=dict)
    problem: str = ""


def peaks_of(cluster: Cluster) -> Peaks:
    """Return what pods had in use within a day; nothing where no Prometheus is set.

    Asked anew every five minutes at most, since a page that is open is drawn anew
    with every change of the cluster.
    """
    if not cluster.prometheus_url:
        return Peaks()
    digest = hashlib.sha256(cluster.prometheus_url.encode()).hexdigest()[:16]
    key = f"adoption-peaks-{cluster.pk}-{digest}"
    kept = recall(key)
    if isinstance(kept, Peaks):
        return kept
    found = _asked(cluster.prometheus_url)
    keep(key, found, KEPT_SECONDS)
    return found


def peaks_in(samples: Iterable[Sample]) -> dict[tuple[str, str], int]:
    """Return what samples say of pods; those that name none are of no use."""
    found: dict[tuple[str, str], int] = {}
    for each in samples:
        labels = each.labels
        pod = labels.get("exported_pod") or labels.get("pod", "")
        namespace = labels.get("exported_namespace") or labels.get("namespace", "")
        if pod and namespace and math.isfinite(each.value) and each.value > 0:
            key = (namespace, pod)
            found[key] = max(found.get(key, 0), int(each.value * MIB))
    return found


def _asked(url: str) -> Peaks:
    try:
        with Prometheus(url) as prometheus:
            samples, problem = prometheus.query(QUESTION)
    except PortalError as error:
        return Peaks(problem=error.message)
    return Peaks(peaks_in(samples), problem)
