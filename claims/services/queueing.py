"""Where a claim's workload stands in Kueue's queues, read as a person."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from claims.domain.checks.asks import asked_of
from claims.domain.checks.queueing import refused_by_kueue
from claims.domain.checks.shape import shape_findings
from claims.domain.kueue import (
    Admission,
    Queue,
    Queued,
    Sought,
    belongs,
    queue_of,
    queued_of,
)
from claims.domain.manifest import TEMPLATE
from claims.domain.snippets import queued_workload, uses_of
from claims.services.finding_sentences import sentence
from claims.services.yaml_text import dump
from inventory.domain.kinds import (
    LOCAL_QUEUE,
    QUEUED_WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from inventory.gateways.errors import ClusterForbidden, NotFound, NotServed
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.services.connections import NoServer, kube_for
from portal.accounts.queries import groups_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]

# State → (kind of badge, word).
WORDS: dict[Admission, tuple[str, _StrPromise]] = {
    Admission.PENDING: ("warn", pgettext_lazy("queue", "Waits for quota")),
    Admission.RESERVED: ("info", pgettext_lazy("queue", "Has quota, is being checked")),
    Admission.ADMITTED: ("good", pgettext_lazy("queue", "Admitted")),
    Admission.EVICTED: ("warn", pgettext_lazy("queue", "Evicted")),
    Admission.INACTIVE: ("", pgettext_lazy("queue", "Stopped")),
    Admission.FINISHED: ("", pgettext_lazy("queue", "Finished")),
}


@dataclass(frozen=True, slots=True)
class Queueing:
    """What Kueue says in a namespace.

    Attributes:
        workloads: of the claim or template that was asked about.
        queues: of the namespace.
        priorities: WorkloadPriorityClasses; None where they are not read.
        unread: why nothing is known, or "".
        refused: what Kueue would refuse of the template, in sentences.
    """

    workloads: tuple[Queued, ...] = ()
    queues: tuple[Queue, ...] = ()
    priorities: tuple[str, ...] | None = None
    unread: str = ""
    refused: tuple[str, ...] = ()

    @property
    def shown(self) -> list[tuple[Queued, str, str]]:
        """Each workload with its badge's kind and word."""
        return [
            (each, WORDS[each.state][0], str(WORDS[each.state][1]))
            for each in self.workloads
        ]


def queueing_of(
    cluster: Cluster, user: User, namespace: str, sought: Sought, manifest: Json | None
) -> Queueing | None:
    """Return what Kueue says of a claim's workload; None where there is no Kueue.

    Asks the API server twice as the person, and once as the portal for the classes of
    priority, which belong to nobody.

    Args:
        cluster: which.
        user: who asks.
        namespace: of the claim or template.
        sought: what its workloads are known by.
        manifest: the template that pods use, to say what Kueue would refuse of it.
    """
    try:
        person = kube_for(cluster, Identity(user.username, tuple(groups_of(user))))
        queues = person.list(LOCAL_QUEUE, namespace).items
        bodies = person.list(QUEUED_WORKLOAD, namespace).items
    except (NotServed, NotFound, NoServer):
        return None
    except ClusterForbidden:
        return Queueing(
            unread=_("You may not read the queues of %(namespace)s.")
            % {"namespace": namespace}
        )
    except PortalError as error:
        return Queueing(unread=error.message)
    return Queueing(
        workloads=tuple(queued_of(body) for body in bodies if belongs(body, sought)),
        queues=tuple(sorted(map(queue_of, queues), key=lambda each: each.name)),
        priorities=_priorities(cluster),
        refused=tuple(_refused(manifest)),
    )


def kueue_form(manifest: Json, queue: str, priority: str) -> str:
    """Return a Job that uses a template through a queue, as YAML; "" without one."""
    uses = uses_of(manifest)
    if uses is None or uses.kind != TEMPLATE or not queue:
        return ""
    return "---\n".join(dump(each) for each in queued_workload(uses, queue, priority))


def _priorities(cluster: Cluster) -> tuple[str, ...] | None:
    with suppress(PortalError):
        rows = kube_for(cluster, AS_ITSELF).list(WORKLOAD_PRIORITY_CLASS).items
        return tuple(sorted(str(body["metadata"]["name"]) for body in rows))
    return None


def _refused(manifest: Json | None) -> list[str]:
    if manifest is None or shape_findings(manifest):
        return []
    found = refused_by_kueue(asked_of(manifest))
    return list(dict.fromkeys(sentence(each) for each in found))
