"""What a pending claim waits for: whose end would free it, and Kueue's queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync, sync_to_async
from django.utils.translation import gettext as _

from claims.domain.follow import POD_CLAIM_NAME, owner_pod_uid
from claims.domain.kueue import Sought
from claims.domain.manifest import TEMPLATE
from claims.domain.preview import claim_of
from claims.services.change_sentences import change_sentence, where_sentence
from claims.services.counterfactual import aendings
from claims.services.explaining import awhy, question_of
from claims.services.preview import apreview
from claims.services.previewing import reader_of
from claims.services.queueing import queueing_of
from claims.services.why_sentences import pod_error_sentence
from inventory.models import KubeObject
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.services.counterfactual import Proven
    from claims.services.previewing import Reader
    from claims.services.queueing import Queueing
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """The pod that a claim was made for, or that names it.

    Attributes:
        priority: a number, or None where it is not read.
        priority_class: by name, or "".
    """

    name: str
    priority: int | None
    priority_class: str


@dataclass(frozen=True, slots=True)
class Ending:
    """A claim by whose end this one would fit.

    Attributes:
        claim: `namespace/name`, or "" where the reader may not know it.
        text: the same as a sentence; `where` on which nodes it fits then.
        lower: its pods' priority is lower than that of the pod that waits; None where
            that is not known.
    """

    claim: str
    text: str
    where: str
    lower: bool | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a claim waits.

    Attributes:
        pods: that wait for it.
        fitting: nodes where it would fit now; None where that could not be asked.
        problem: why not, or what ends scheduling everywhere; "".
        template: the one that the claim was made from, or None.
        queueing: None where there is no Kueue.
    """

    pods: tuple[WaitingPod, ...]
    fitting: tuple[str, ...] | None
    problem: str
    endings: tuple[Ending, ...]
    template: Json | None
    queueing: Queueing | None

    @property
    def priority(self) -> int | None:
        """The highest priority of the pods, or None where none is known."""
        return _highest(self.pods)


def _highest(pods: Iterable[WaitingPod]) -> int | None:
    known = (pod.priority for pod in pods if pod.priority is not None)
    return max(known, default=None)


def waiting_of(cluster: Cluster, user: User, body: Json) -> Waiting:
    """Return why a pending claim waits; asks the engine and, for Kueue, the cluster.

    Args:
        cluster: which.
        user: who reads; other tenants' claims are not named to them.
        body: the ResourceClaim, whose name this person may see.
    """
    pods = _pods_of(cluster, body)
    template = _template_of(cluster, body, pods)
    waiting = tuple(map(_waiting_pod, pods))
    reader = reader_of(user, cluster)
    fitting: tuple[str, ...] | None = None
    problem = ""
    proven: list[Proven] = []
    try:
        fitting, problem, proven = async_to_sync(_asked)(cluster, body, reader)
    except PortalError as error:
        problem = error.message
    own = _highest(waiting)
    return Waiting(
        pods=waiting,
        fitting=fitting,
        problem=problem,
        endings=tuple(_ending(cluster, each, reader, own) for each in proven),
        template=template,
        queueing=queueing_of(
            cluster,
            user,
            body["metadata"]["namespace"],
            _sought(body, template, pods),
            template,
        ),
    )


async def _asked(
    cluster: Cluster, body: Json, reader: Reader
) -> tuple[tuple[str, ...], str, list[Proven]]:
    """Return where a claim fits, what ends scheduling, and whose end would help."""
    preview = await apreview(cluster, [claim_of(body)])
    error = pod_error_sentence(preview)
    question = await sync_to_async(question_of)(cluster, body)
    if question is None or error or preview.fitting:
        return tuple(preview.fitting), error, []
    why = await awhy(question, preview)
    return (), "", await aendings(question, preview, why, own=reader.own)


def _ending(
    cluster: Cluster, proven: Proven, reader: Reader, own: int | None
) -> Ending:
    namespace, name = proven.ending or ("", "")
    is_hidden = namespace in reader.hidden
    theirs = None if is_hidden else _priority_of(cluster, namespace, name)
    return Ending(
        claim="" if is_hidden else f"{namespace}/{name}",
        text=change_sentence(proven, hide=reader.hidden, own=reader.own),
        where=where_sentence(proven),
        lower=None if own is None or theirs is None else theirs < own,
    )


def _priority_of(cluster: Cluster, namespace: str, name: str) -> int | None:
    """Return the highest priority of the pods that use a claim."""
    row = KubeObject.objects.filter(
        cluster=cluster,
        kind="ResourceClaim",
        namespace=namespace,
        name=name,
        deleted_at=None,
    ).first()
    users = (row.body.get("status") or {}).get("reservedFor") or [] if row else []
    names = [str(each.get("name")) for each in users]
    found = KubeObject.objects.filter(
        cluster=cluster,
        kind="Pod",
        namespace=namespace,
        name__in=names,
        deleted_at=None,
    ).values_list("body", flat=True)
    return _highest(map(_waiting_pod, found))


def _pods_of(cluster: Cluster, body: Json) -> list[Json]:
    """Return the pods of a claim: the one it was made for, or those that name it."""
    rows = KubeObject.objects.filter(
        cluster=cluster,
        kind="Pod",
        namespace=body["metadata"]["namespace"],
        deleted_at=None,
    )
    if uid := owner_pod_uid(body):
        return list(rows.filter(uid=uid).values_list("body", flat=True))
    named = [{"resourceClaimName": body["metadata"]["name"]}]
    found = rows.filter(body__spec__resourceClaims__contains=named).order_by("name")
    return list(found.values_list("body", flat=True))


def _template_of(cluster: Cluster, body: Json, pods: Iterable[Json]) -> Json | None:
    """Return the template that a claim was made from, if it is still there."""
    notes = body["metadata"].get("annotations") or {}
    entry = notes.get(POD_CLAIM_NAME)
    for pod in pods:
        for ref in (pod.get("spec") or {}).get("resourceClaims") or []:
            if ref.get("name") == entry and ref.get("resourceClaimTemplateName"):
                row = KubeObject.objects.filter(
                    cluster=cluster,
                    kind=TEMPLATE,
                    namespace=body["metadata"]["namespace"],
                    name=ref["resourceClaimTemplateName"],
                    deleted_at=None,
                ).first()
                return {**row.body, "kind": TEMPLATE} if row else None
    return None


def _sought(body: Json, template: Json | None, pods: list[Json]) -> Sought:
    names = {("ResourceClaim", str(body["metadata"]["name"]))}
    if template:
        names.add((TEMPLATE, str(template["metadata"]["name"])))
    uids = set()
    for pod in pods:
        metadata = pod["metadata"]
        owners = metadata.get("ownerReferences") or []
        uids |= {str(metadata.get("uid")), *(str(each.get("uid")) for each in owners)}
    return Sought(frozenset(names), frozenset(uids))


def _waiting_pod(pod: Json) -> WaitingPod:
    spec = pod.get("spec") or {}
    priority = spec.get("priority")
    return WaitingPod(
        name=str(pod["metadata"]["name"]),
        priority=priority if isinstance(priority, int) else None,
        priority_class=str(spec.get("priorityClassName") or ""),
    )


def preemption_words(waiting: Waiting) -> str:
    """Return what a priority does for a pod that waits for devices, in a sentence."""
    if not waiting.priority:
        return _(
            "Kubernetes’ scheduler ends no pod to free the devices of its claims: this"
            " claim waits until enough of them end."
        )
    return _(
        "The pod has the priority %(priority)d, and is tried before others. But"
        " preemption is limited with DRA: the scheduler does not end pods of lower"
        " priority to free the devices of their claims."
    ) % {"priority": waiting.priority}
