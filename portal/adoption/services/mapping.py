"""Map an extended resource to a DeviceClass: shown, tried, then written as the admin.

An unchanged pod that asks for `nvidia.com/gpu: 1` then gets a claim, made by the
scheduler, on nodes where no device plugin offers the resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.translation import gettext as _

from inventory.domain.kinds import DEVICE_CLASS
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.models import Cluster
from inventory.queries.classes import class_rows
from inventory.services.availability import devices_of_class
from inventory.services.connections import kube_for
from portal.accounts.queries import groups_of
from portal.adoption.domain.facts import RESOURCE
from portal.adoption.domain.mapping import (
    AskingPod,
    device_types,
    is_extended_name,
    serves,
)
from portal.adoption.models import AppliedMapping
from portal.adoption.queries.mapping import (
    nodes_offering,
    pods_asking,
    resources_asked,
    told_by,
)
from portal.audit.context import acting
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from datetime import datetime

    from portal.accounts.models import User

Json = dict[str, Any]


class MappingRefused(PortalError):
    """The mapping cannot be shown or written; the message says why."""

    code = "mapping.refused"


class MappingChanged(PortalError):
    """The class in the cluster is not the one that was shown."""

    code = "mapping.changed"


@dataclass(frozen=True, slots=True)
class MappingPreview:
    """What a mapping would serve, and what stands in its way.

    Attributes:
        pods: that ask for the resource now; None where pods are not read.
        devices: how many the class selects; None where that is not known.
        problem: why it is not known, or "".
        types: of those devices, type → number.
        rivals: other classes that map the resource.
        plugin_nodes: where a device plugin still offers it; None: nodes are not read.
        both: of those, the nodes that publish devices of the class too.
    """

    device_class: str
    resource: str
    before: str
    pods: list[AskingPod] | None
    devices: int | None
    problem: str
    types: Mapping[str, int]
    rivals: tuple[str, ...]
    plugin_nodes: list[str] | None
    both: tuple[str, ...]

    @property
    def mixed(self) -> bool:
        """Whether one that asks for a card may be given something else."""
        return len(self.types) > 1


@dataclass(frozen=True, slots=True)
class MappingPlan:
    """What the server answered to a dry run; `seen` is the class's resourceVersion."""

    before: str
    after: str
    seen: str
    dropped: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """A class that would serve an extended resource that pods ask for.

    Attributes:
        pods: how many ask for it now; None where pods are not read.
        mapped: whether the class maps it already.
    """

    resource: str
    device_class: str
    pods: int | None
    mapped: bool


def proposals_for(cluster: Cluster) -> list[Proposal]:
    """Return which class would serve each GPU resource that pods ask for now.

    Always `nvidia.com/gpu`, since whoever deploys next may ask for it. A class serves a
    resource if all its devices are of the one kind that the resource stands for.
    """
    asked = resources_asked(cluster)
    resources = {RESOURCE, *(asked or ())}
    rows = class_rows(cluster)
    selected = [
        devices_of_class(cluster, row.facts.name, rows)[0] or () for row in rows
    ]
    told = told_by(cluster, {key[0] for devices in selected for key in devices})
    found = []
    for row, devices in zip(rows, selected, strict=True):
        known = [(key[0], told[key]) for key in devices if key in told]
        faces = {(driver, each.type, each.profile) for driver, each in known}
        for resource in resources:
            if serves(resource, faces):
                pods = None if asked is None else asked.get(resource, 0)
                mapped = row.facts.extended_resource == resource
                found.append(Proposal(resource, row.facts.name, pods, mapped))
    return sorted(found, key=lambda each: (each.resource, each.device_class))


def preview_mapping(
    cluster: Cluster, device_class: str, resource: str
) -> MappingPreview:
    """Return what a mapping would serve; of "" nothing.

    Raises:
        MappingRefused: There is no such class, or that is no resource's name.
    """
    if resource:
        _check_name(resource)
    rows = class_rows(cluster)
    row = next((each for each in rows if each.facts.name == device_class), None)
    if row is None:
        raise MappingRefused(
            _("There is no class of the name “%(name)s”.") % {"name": device_class}
        )
    devices, problem = devices_of_class(cluster, device_class, rows)
    told = told_by(cluster, {key[0] for key in devices or ()})
    known = [told[key] for key in devices or () if key in told]
    offering = nodes_offering(cluster, resource) if resource else []
    published = {each.node for each in known}
    return MappingPreview(
        device_class=device_class,
        resource=resource,
        before=row.facts.extended_resource,
        pods=pods_asking(cluster, resource) if resource else [],
        devices=None if devices is None else len(devices),
        problem=problem,
        types=device_types(each.type for each in known),
        rivals=tuple(
            each.facts.name
            for each in rows
            if resource and each.facts.extended_resource == resource and each is not row
        ),
        plugin_nodes=offering,
        both=tuple(sorted(published.intersection(offering or ()))),
    )


def try_mapping(
    cluster: Cluster, device_class: str, resource: str, user: User
) -> MappingPlan:
    """Have the API server check a mapping as a person; "" takes it away.

    Raises:
        MappingRefused: That is no resource's name, or the cluster has no server.
        KubeError: The API server says no.
    """
    found = _found(cluster, device_class, resource)
    answer = _write(cluster, found, resource, user, dry_run=True)
    return MappingPlan(
        before=_mapped(found),
        after=_mapped(answer),
        seen=_version(found),
        dropped=_mapped(answer) != resource,
    )


def apply_mapping(  # noqa: PLR0913  each is one fact of the act
    cluster: Cluster,
    device_class: str,
    resource: str,
    *,
    seen: str,
    user: User,
    request_id: str,
    now: datetime,
) -> AppliedMapping:
    """Write a mapping as a person, if the class is the one that the person was shown.

    Raises:
        MappingRefused, MappingChanged: The portal says no.
        KubeError: The API server says no.
    """
    found = _found(cluster, device_class, resource)
    if _version(found) != seen:
        raise _changed(device_class)
    made = _write(cluster, found, resource, user, dry_run=False)
    with transaction.atomic(), acting(actor=user.username, request_id=request_id):
        applied = AppliedMapping.objects.create(
            cluster=cluster.name,
            device_class=device_class,
            before=_mapped(found),
            after=_mapped(made),
            object_uid=str(made["metadata"].get("uid") or ""),
            applied_by=user.username,
            applied_at=now,
        )
    if applied.after != resource:
        raise MappingRefused(
            _(
                "The server dropped extendedResourceName: switch on its gate"
                " DRAExtendedResource, or upgrade to 1.36."
            ),
            code="apply.field_dropped",
        )
    return applied


def _check_name(resource: str) -> None:
    if not is_extended_name(resource):
        raise MappingRefused(
            _("“%(name)s” is no extended resource: write one such as nvidia.com/gpu.")
            % {"name": resource},
            code="mapping.name",
        )


def _found(cluster: Cluster, device_class: str, resource: str) -> Json:
    if resource:
        _check_name(resource)
    if cluster.kind == Cluster.Kind.OFFLINE:
        raise MappingRefused(
            _("%(cluster)s was loaded from files, so nothing can be applied there.")
            % {"cluster": cluster.name}
        )
    return kube_for(cluster, AS_ITSELF).get(DEVICE_CLASS, device_class)


def _write(
    cluster: Cluster, found: Json, resource: str, user: User, *, dry_run: bool
) -> Json:
    """Replace the class, at the version that was read."""
    person = kube_for(cluster, Identity(user.username, tuple(groups_of(user))))
    spec = {k: v for k, v in found["spec"].items() if k != "extendedResourceName"}
    if resource:
        spec["extendedResourceName"] = resource
    return person.update({**found, "spec": spec}, dry_run=dry_run)


def _changed(device_class: str) -> MappingChanged:
    return MappingChanged(
        _("The class %(name)s has changed since you looked: look again.")
        % {"name": device_class}
    )


def _mapped(body: Json) -> str:
    return str(body["spec"].get("extendedResourceName") or "")


def _version(body: Json) -> str:
    return str(body["metadata"].get("resourceVersion") or "")
