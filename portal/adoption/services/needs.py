"""Ask owners how much of a card their workloads need, and keep what they tell."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext as _

from inventory.domain.quantity import GIB
from portal.accounts.domain.roles import Permission
from portal.accounts.models import User
from portal.accounts.queries import namespaces_of, tenant_of
from portal.adoption.models import WorkloadNeed
from portal.adoption.queries.needs import needs_of
from portal.adoption.queries.savings import uses_in
from portal.adoption.services.peaks import peaks_of
from portal.audit.context import acting
from portal.core.errors import PortalError
from portal.notices.services.announce import announce

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from inventory.models import Cluster
    from portal.accounts.models import Tenant
    from portal.adoption.domain.savings import PodUse, Source, Workload

# More than any card has.
MOST_GIB = 4096
# Asked about at once: a notice names them.
MOST_ASKED = 500


class NeedRefused(PortalError):
    """Nobody can be asked, or what was told cannot be; the message says why."""

    code = "need.refused"


class NeedChanged(PortalError):
    """Somebody asked or told since the workload was looked at."""

    code = "need.changed"


@dataclass(frozen=True, slots=True)
class WorkloadUse:
    """A workload whose pods hold whole cards, and what is known of its need.

    Attributes:
        cards: that all its pods hold.
        card_memory: bytes of the smallest of them, None where one is not published.
        need: bytes of each card that its pods need, the most of them; None: not known.
        row: what was asked and told; None where nobody asked.
    """

    namespace: str
    kind: str
    name: str
    pods: int
    cards: int
    products: tuple[str, ...]
    card_memory: int | None
    need: int | None
    source: Source
    row: WorkloadNeed | None

    @property
    def key(self) -> str:
        """What names it in a form."""
        return f"{self.namespace}/{self.kind}/{self.name}"

    @property
    def version(self) -> int:
        """Of what was asked and told; 0 where nobody did."""
        return self.row.version if self.row else 0


def workload_uses(cluster: Cluster, user: User) -> list[WorkloadUse]:
    """Return the workloads on whole cards that a person may see, most cards first.

    Everybody sees those of their own namespaces.
    """
    seen = None
    if not user.may(Permission.SEE_HOLDERS):
        seen = namespaces_of(user, cluster.name)
    return by_workload(cluster, uses_in(cluster, seen, peaks_of(cluster).of))


def own_workload_uses(cluster: Cluster, user: User) -> list[WorkloadUse]:
    """Return those of a person's own namespaces: the ones that they may tell of."""
    spaces = namespaces_of(user, cluster.name)
    return by_workload(cluster, uses_in(cluster, spaces, peaks_of(cluster).of))


def ask_owners(
    cluster: Cluster,
    keys: Iterable[Workload],
    *,
    user: User,
    request_id: str,
    now: datetime,
) -> tuple[int, tuple[str, ...]]:
    """Ask the members of each workload's tenant, by one notice a tenant.

    Returns:
        How many workloads were asked about, and the namespaces that are no tenant's.

    Raises:
        NeedRefused: None or too many are named, or one holds no whole card any more.
    """
    wanted = sorted(set(keys))
    if not 0 < len(wanted) <= MOST_ASKED:
        raise NeedRefused(_("Choose 1 to %(limit)d workloads.") % {"limit": MOST_ASKED})
    held = {use.workload for use in uses_in(cluster, None, {})}
    _check_held(wanted, held)
    by_tenant, orphans = _by_tenant(cluster, wanted)
    with transaction.atomic(), acting(actor=user.username, request_id=request_id):
        for tenant, rows in by_tenant.items():
            for key in rows:
                _put(cluster, key, None, asked_by=user.username, asked_at=now)
            _tell_tenant(cluster, tenant, rows, now)
    return sum(map(len, by_tenant.values())), tuple(orphans)


def tell_need(  # noqa: PLR0913  each is one fact of the act
    cluster: Cluster,
    key: Workload,
    memory: int,
    *,
    version: int,
    user: User,
    request_id: str,
    now: datetime,
) -> WorkloadNeed:
    """Keep what an owner says; whoever asked is told.

    Args:
        cluster: where it runs.
        key: which workload.
        memory: bytes of each card.
        version: of what this person saw; 0 where nobody had asked or told.
        user: a member of the namespace's tenant.
        request_id: of the HTTP request, for the audit trail.
        now: the moment.

    Raises:
        NeedRefused: It is not theirs, it holds no whole card, or that is no amount.
        NeedChanged: Somebody was first.
    """
    if key[0] not in namespaces_of(user, cluster.name):
        raise NeedRefused(
            _("“%(namespace)s” is not one of your namespaces: choose another.")
            % {"namespace": key[0][:63]},
            code="need.not_yours",
        )
    if not 0 < memory <= MOST_GIB * GIB:
        raise NeedRefused(
            _(
                "Write how many GiB of each card it needs: more than 0, at most %(most)d."
            )
            % {"most": MOST_GIB}
        )
    _check_held([key], {use.workload for use in uses_in(cluster, [key[0]], {})})
    with transaction.atomic(), acting(actor=user.username, request_id=request_id):
        told = {"memory": memory, "told_by": user.username, "told_at": now}
        row = _put(cluster, key, version, **told)
        _tell_asker(cluster, row, now)
    return row


def gib_of(text: str) -> int:
    """Return GiB as a person writes them, such as 12.5, in bytes; 0 for what is none."""
    try:
        found = float(text.strip().removesuffix("GiB").removesuffix("Gi").strip())
    except ValueError:
        return 0
    return round(found * GIB) if 0 < found <= MOST_GIB else 0


def by_workload(cluster: Cluster, uses: Iterable[PodUse]) -> list[WorkloadUse]:
    """Return pods by what made them, most cards first, beside what was asked."""
    by_key: dict[Workload, list[PodUse]] = defaultdict(list)
    for use in uses:
        by_key[use.workload].append(use)
    rows = needs_of(cluster)
    found = [_workload(key, each, rows.get(key)) for key, each in by_key.items()]
    return sorted(found, key=lambda each: (-each.cards, each.key))


def _workload(
    key: Workload, uses: list[PodUse], row: WorkloadNeed | None
) -> WorkloadUse:
    memories = [use.card_memory for use in uses if use.card_memory is not None]
    known = [use for use in uses if use.need is not None]
    largest = max(known, key=lambda use: use.need or 0, default=uses[0])
    is_known = len(known) == len(uses)
    namespace, kind, name = key
    return WorkloadUse(
        namespace=namespace,
        kind=kind,
        name=name,
        pods=len(uses),
        cards=sum(use.cards for use in uses),
        products=tuple(sorted({use.product for use in uses} - {""})),
        card_memory=min(memories) if len(memories) == len(uses) else None,
        need=largest.need if is_known else None,
        source=largest.source if is_known else "",
        row=row,
    )


def _check_held(keys: Iterable[Workload], held: set[Workload]) -> None:
    gone = [key for key in keys if key not in held]
    if gone:
        raise NeedRefused(
            _("%(name)s holds no whole card any more: look again.")
            % {"name": "/".join(gone[0])[:380]}
        )


def _by_tenant(
    cluster: Cluster, keys: Iterable[Workload]
) -> tuple[dict[Tenant, list[Workload]], list[str]]:
    spaces: dict[str, list[Workload]] = defaultdict(list)
    for key in keys:
        spaces[key[0]].append(key)
    found: dict[Tenant, list[Workload]] = defaultdict(list)
    orphans = []
    for namespace, rows in spaces.items():
        tenant = tenant_of(cluster.name, namespace)
        if tenant is None:
            orphans.append(namespace)
        else:
            found[tenant] += rows
    return found, orphans


def _put(
    cluster: Cluster, key: Workload, version: int | None, **fields: object
) -> WorkloadNeed:
    """Write what was asked or told, if nobody did meanwhile; None: whatever there is."""
    namespace, kind, name = key
    place = {
        "cluster": cluster.name,
        "namespace": namespace,
        "kind": kind,
        "name": name,
    }
    rows = WorkloadNeed.objects.filter(**place)
    known = rows if version is None else rows.filter(version=version)
    if not known.update(version=F("version") + 1, **fields):
        if version:
            raise _changed()
        try:
            with transaction.atomic():
                return WorkloadNeed.objects.create(**place, **fields)
        except IntegrityError as error:
            raise _changed() from error
    return rows.get()


def _changed() -> NeedChanged:
    return NeedChanged(
        _("Somebody asked or told meanwhile: look at it, then decide again.")
    )


def _tell_tenant(
    cluster: Cluster, tenant: Tenant, keys: list[Workload], now: datetime
) -> None:
    names = ", ".join(f"{namespace}/{name}" for namespace, _kind, name in keys)
    announce(
        "adoption.need-asked",
        subject=f"{names} ({cluster.name})",
        tenant=tenant,
        people=tenant.members.filter(is_active=True),
        payload={"cluster": cluster.name, "workloads": ["/".join(key) for key in keys]},
        url=reverse("adoption:needs", args=[cluster.name]),
        at=now,
    )


def _tell_asker(cluster: Cluster, row: WorkloadNeed, now: datetime) -> None:
    if not row.asked_by:
        return
    announce(
        "adoption.need-told",
        subject=f"{row.namespace}/{row.name} ({cluster.name})",
        tenant=tenant_of(cluster.name, row.namespace),
        people=User.objects.filter(username=row.asked_by, is_active=True),
        payload={
            "cluster": cluster.name,
            "workload": f"{row.namespace}/{row.kind}/{row.name}",
            "memoryBytes": row.memory,
        },
        url=reverse("adoption:savings", args=[cluster.name]),
        at=now,
    )
