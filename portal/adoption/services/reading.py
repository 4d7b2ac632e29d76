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
from portal.adoption.domain.facts import ClusterFacts, NodeFacts, Role
from portal.adoption.domain.mig import MigSum, mig_sums
from portal.adoption.domain.readiness import (
    Verdict,
    cluster_verdicts,
    node_verdicts,
)
from portal.adoption.queries.facts import stored_facts
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from inventory.gateways.kube import Kube
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]
GROUP = "resource.k8s.io"
MIG_CONFIG = "default-mig-parted-config"
MIG_NAMESPACE = "gpu-operator"
PROBE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"generateName": "slicewise-probe-"},
    "spec": {
        "extendedResourceName": "slicewise.dev/probe",
        "selectors": [{"cel": {"expression": "false"}}],
    },
}


@dataclass(frozen=True, slots=True)
class Readiness:
    """Every verdict on a cluster and on its nodes with GPUs, and its MIG layouts."""

    facts: ClusterFacts
    cluster: tuple[Verdict, ...]
    nodes: tuple[tuple[NodeFacts, tuple[Verdict, ...]], ...]
    mig: tuple[MigSum, ...] = ()


def readiness_of(cluster: Cluster, user: User, *, probe: bool) -> Readiness:
    """Judge what is known; arguments as for `facts_of`."""
    facts = facts_of(cluster, user, probe=probe)
    return Readiness(
        facts,
        tuple(cluster_verdicts(facts)),
        tuple((node, tuple(node_verdicts(facts, node))) for node in facts.nodes),
        mig_sums(facts),
    )


def facts_of(cluster: Cluster, user: User, *, probe: bool) -> ClusterFacts:
    """Return what is known; asks the API server three times at most.

    Args:
        cluster: which.
        user: who asks; the probe is a dry run as that person.
        probe: ask by a dry run whether extendedResourceName is kept.
    """
    facts = _asked(cluster, stored_facts(cluster))
    if probe and facts.served and "v1" in facts.served:
        facts = replace(facts, mapping_kept=_kept(cluster, user))
    return facts


def _asked(cluster: Cluster, facts: ClusterFacts) -> ClusterFacts:
    with suppress(PortalError):
        kube = kube_for(cluster, AS_ITSELF)
        facts = replace(facts, served=kube.group_versions(GROUP))
        facts = replace(facts, mig_configs=_mig_configs(kube, facts))
    return facts


def _kept(cluster: Cluster, user: User) -> bool | None:
    """Return whether the field came back; None where the person may not ask."""
    try:
        identity = Identity(user.username, tuple(groups_of(user)))
        answer = kube_for(cluster, identity).create(PROBE, dry_run=True)
    except PortalError:
        return None
    return bool(answer["spec"].get("extendedResourceName"))


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
