"""What a cluster shows of itself: what is stored, and what is asked when it is wanted.

Whatever may not be read, or is not served, stays unknown.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml

from inventory.domain.kinds import CONFIG_MAP
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.services.connections import kube_for
from portal.accounts.queries import groups_of
from portal.adoption.domain.facts import (
    MAPPING,
    PARTITIONS,
    SHARES,
    ClusterFacts,
    NodeFacts,
    Role,
)
from portal.adoption.domain.mig import MigSum, mig_sums
from portal.adoption.domain.readiness import (
    Verdict,
    cluster_verdicts,
    node_verdicts,
)
from portal.adoption.queries.facts import stored_facts
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.gateways.kube import Kube
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]
GROUP = "resource.k8s.io"
MIG_CONFIG = "default-mig-parted-config"
MIG_NAMESPACE = "gpu-operator"
_V1 = "resource.k8s.io/v1"
_PROBE = "slicewise-probe-"
# Gate → an object with a field that it guards, and where that field is. Nothing of them
# is stored: a server drops the field where the gate is off.
PROBES: dict[str, tuple[Json, tuple[str | int, ...]]] = {
    MAPPING: (
        {
            "apiVersion": _V1,
            "kind": "DeviceClass",
            "metadata": {"generateName": _PROBE},
            "spec": {
                "extendedResourceName": "slicewise.dev/probe",
                "selectors": [{"cel": {"expression": "false"}}],
            },
        },
        ("extendedResourceName",),
    ),
    PARTITIONS: (
        {
            "apiVersion": _V1,
            "kind": "ResourceSlice",
            "metadata": {"generateName": _PROBE},
            "spec": {
                "driver": "probe.slicewise.dev",
                "allNodes": True,
                "pool": {"name": "probe", "generation": 1, "resourceSliceCount": 2},
                "sharedCounters": [
                    {"name": "probe", "counters": {"memory": {"value": "1Gi"}}}
                ],
            },
        },
        ("sharedCounters",),
    ),
    SHARES: (
        {
            "apiVersion": _V1,
            "kind": "ResourceClaim",
            "metadata": {"generateName": _PROBE, "namespace": "default"},
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "probe",
                            "exactly": {
                                "deviceClassName": "slicewise-probe",
                                "capacity": {"requests": {"memory": "1Gi"}},
                            },
                        }
                    ]
                }
            },
        },
        ("devices", "requests", 0, "exactly", "capacity"),
    ),
}


@dataclass(frozen=True, slots=True)
class Readiness:
    """Every verdict on a cluster and on its nodes with GPUs, and its MIG layouts."""

    facts: ClusterFacts
    cluster: tuple[Verdict, ...]
    nodes: tuple[tuple[NodeFacts, tuple[Verdict, ...]], ...]
    mig: tuple[MigSum, ...] = ()


def readiness_of(cluster: Cluster, user: User, *, probe: bool) -> Readiness:
    """Judge what is known; with `probe`, gates are tried by dry runs as the user."""
    facts = facts_of(cluster, user, probes=PROBES if probe else ())
    return Readiness(
        facts,
        tuple(cluster_verdicts(facts)),
        tuple((node, tuple(node_verdicts(facts, node))) for node in facts.nodes),
        mig_sums(facts),
    )


def facts_of(cluster: Cluster, user: User, *, probes: Iterable[str]) -> ClusterFacts:
    """Return what is known; asks the API server twice, and once a probe.

    Args:
        cluster: which.
        user: who asks; the probes are dry runs as that person.
        probes: gates to try by a dry run.
    """
    facts = _asked(cluster, stored_facts(cluster))
    if facts.served and "v1" in facts.served:
        tried = {gate: _kept(cluster, user, gate) for gate in probes}
        kept = {gate: each for gate, each in tried.items() if each is not None}
        facts = replace(facts, kept=kept)
    return facts


def _asked(cluster: Cluster, facts: ClusterFacts) -> ClusterFacts:
    with suppress(PortalError):
        kube = kube_for(cluster, AS_ITSELF)
        facts = replace(facts, served=kube.group_versions(GROUP))
        facts = replace(facts, mig_configs=_mig_configs(kube, facts))
    return facts


def _kept(cluster: Cluster, user: User, gate: str) -> bool | None:
    """Return whether the field came back; None where the person may not ask."""
    body, place = PROBES[gate]
    try:
        identity = Identity(user.username, tuple(groups_of(user)))
        found: Any = kube_for(cluster, identity).create(body, dry_run=True)["spec"]
    except PortalError:
        return None
    for key in place:
        try:
            found = found[key]
        except (KeyError, IndexError):
            return False
    return bool(found)


def _mig_configs(kube: Kube, facts: ClusterFacts) -> dict[str, list[Json]] | None:
    """Return the MIG manager's layouts by name.

    Raises:
        PortalError: They cannot be read.
    """
    managers = facts.of_role(Role.MIG_MANAGER)
    named = [each.mig_config for each in facts.policies or () if each.mig_config]
    name = named[0] if named else MIG_CONFIG
    namespace = managers[0].namespace if managers else MIG_NAMESPACE
    data = kube.get(CONFIG_MAP, name, namespace).get("data") or {}
    return _layouts(str(data.get("config.yaml") or ""))


def _layouts(text: str) -> dict[str, list[Json]] | None:
    """Return name → entries of mig-parted's file; None where it is no such file."""
    try:
        read = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    configs = read.get("mig-configs") if isinstance(read, dict) else None
    if not isinstance(configs, dict):
        return None
    return {
        str(name): [each for each in entries if isinstance(each, dict)]
        for name, entries in configs.items()
        if isinstance(entries, list)
    }
