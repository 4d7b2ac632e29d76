"""Add a cluster with an API server: its kubeconfig is tried before it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from inventory.domain.kinds import RESOURCE_SLICE
from inventory.gateways.identity import AS_ITSELF
from inventory.gateways.kube import Kube
from inventory.gateways.kubeconfig import connect, standing_alone
from inventory.models import Cluster
from portal.core import secrets
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from pathlib import Path


class NotAdded(PortalError):
    """A cluster that cannot be added as it is given."""

    code = "inventory.not_added"


@dataclass(frozen=True, slots=True)
class Added:
    """What was added, and whether a cluster of that name was there before."""

    cluster: Cluster
    replaced: bool


def add_cluster(
    name: str, kubeconfig: Path | None, *, context: str, simulated: bool
) -> Added:
    """Try a kubeconfig, then keep it, encrypted; a second time it replaces the first.

    Args:
        name: what the cluster is called here.
        kubeconfig: its file; None for the service account of the pod we run in.
        context: which of its contexts; its current one by default.
        simulated: whether the server is the simulated one.

    Raises:
        NotAdded: The name cannot be used, or the account may not list slices.
        BadKubeconfig: The kubeconfig cannot be used.
        KubeError: The server does not answer, or does not take the credentials.
    """
    _check_name(name)
    text = standing_alone(kubeconfig, context=context) if kubeconfig else ""
    version = _try(name, text)
    kind = Cluster.Kind.SIMULATED if simulated else Cluster.Kind.LIVE
    with transaction.atomic():
        _check_name(name)
        cluster, made = Cluster.objects.update_or_create(
            name=name,
            defaults={
                "kind": kind,
                "kubeconfig_encrypted": secrets.encrypt(text),
                "context": "",
                "kubernetes_version": version,
            },
        )
    return Added(cluster, replaced=not made)


def _check_name(name: str) -> None:
    """Refuse what is no name, and the name of a cluster that was loaded from files."""
    try:
        Cluster._meta.get_field("name").run_validators(name)
    except ValidationError as error:
        raise NotAdded(
            _(
                "%(name)s cannot be a cluster's name: use at most 63 lower-case letters,"
                " digits, “-” and “.”, with a letter or digit at both ends."
            )
            % {"name": repr(name)}
        ) from error
    if Cluster.objects.filter(name=name, kind=Cluster.Kind.OFFLINE).exists():
        raise NotAdded(
            _("%(name)s is a cluster loaded from files: choose another name.")
            % {"name": name}
        )


def _try(name: str, kubeconfig: str) -> str:
    """Return the server's version, having seen that slices may be listed there."""
    kube = Kube(connect(name, kubeconfig), AS_ITSELF)
    version = kube.version()
    if not kube.review_access("list", RESOURCE_SLICE).allowed:
        raise NotAdded(
            _(
                "The account of this kubeconfig may not list resourceslices: apply"
                " deploy/rbac.yaml to the cluster and use the account that it names."
            )
        )
    return version
