"""Write what readers found, in one thread per cluster, in the order it was found.

A kind's resourceVersion is stored in the transaction that stores its changes, so
that whoever leads next resumes exactly there.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.models import F, Func, JSONField, Value
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory.models import Cluster
from inventory.services.store import TooMuchChange, apply_changes, replace_kinds
from inventory.services.watching.messages import (
    Changed,
    Happened,
    KindState,
    Listed,
    Message,
    Noted,
    Seen,
    Silent,
)
from portal.core.wake import notify

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.domain.changes import Change
    from inventory.services.watching.messages import Inbox

logger = structlog.get_logger(__name__)

Json = dict[str, Any]

HEARD_SECONDS = 1
# What one object can do to a transaction; a lost connection is none of these.
_BAD_OBJECT = (DatabaseError, ValueError, TypeError, LookupError, AttributeError)
_LOST = (OperationalError, InterfaceError, Cluster.DoesNotExist)


class Writer:
    """One cluster's row and objects, as its leader writes them."""

    def __init__(self, cluster: Cluster, inbox: Inbox) -> None:
        """Take the cluster as it is stored; nothing is written yet."""
        self._cluster = cluster
        self._inbox = inbox
        self._entries: dict[str, Json] = {k: dict(v) for k, v in cluster.kinds.items()}
        self._unsaved: set[str] = set()
        self._silence = ""
        self._news = False
        self._heard_saved = 0.0

    def write(self, messages: Iterable[Message]) -> bool:
        """Write what a batch says; return False where the cluster is another now.

        Raises:
            DatabaseError: The connection is lost; what was not committed is undone.
        """
        changes: list[Change] = []
        for message in messages:
            if isinstance(message, Happened):
                self._move_on(message.kind, message.resource_version)
                if message.change is not None:
                    changes.append(message.change)
                continue
            if isinstance(message, Listed | Changed):
                self._flush(changes)
                changes = []
            if not self._heed(message):
                return False
        self._flush(changes)
        return True

    def accepted(self) -> list[str]:
        """Return the kinds held whose removals a person has accepted meanwhile."""
        held = [k for k, e in self._entries.items() if e["state"] == KindState.HELD]
        if not held:
            return []
        stored = Cluster.objects.values_list("kinds", flat=True).get(
            pk=self._cluster.pk
        )
        accepted = [kind for kind in held if (stored.get(kind) or {}).get("accept")]
        news = [kind for kind in accepted if not self._entries[kind].get("accept")]
        for kind in news:
            self._entries[kind]["accept"] = True
        return news

    def _heed(self, message: Message) -> bool:
        match message:
            case Listed():
                self._replace(message)
            case Noted(kind, state, text):
                self._note(kind, state, text)
            case Seen(uid, version, gates):
                self._identify(uid, version)
                self._learn_gates(gates)
            case Silent(text):
                self._silence = text
            case Changed(uid):
                self._start_over(uid)
                return False
        return True

    # Objects

    def _flush(self, changes: list[Change]) -> None:
        """Store changes and how far they bring each kind, in one transaction."""
        with transaction.atomic():
            self._apply(changes)
            self._save()

    def _apply(self, changes: list[Change]) -> None:
        """Store changes; where one cannot be, all but that one."""
        if not changes:
            return
        try:
            with transaction.atomic():
                apply_changes(self._cluster, changes, now=timezone.now())
        except _LOST:
            raise
        except _BAD_OBJECT:
            if len(changes) > 1:
                for change in changes:
                    self._apply([change])
                return
            logger.exception("an object could not be stored", key=changes[0].key)
            self._report_bad(changes[0])

    def _report_bad(self, change: Change) -> None:
        name = f"{change.namespace}/{change.name}".lstrip("/")
        text = _("%(kind)s %(name)s cannot be stored: look into the watcher's log.")
        self._set(change.kind, message=text % {"kind": change.kind, "name": name})

    def _replace(self, listed: Listed) -> None:
        """Store a list, unless the guard holds it; answer its reader."""
        kind = listed.kind
        try:
            with transaction.atomic():
                replace_kinds(
                    self._cluster,
                    {kind: listed.objects},
                    now=timezone.now(),
                    guard=not self._entries.get(kind, {}).get("accept"),
                )
            listed.verdict = KindState.WATCHING
            self._settle(kind, listed.verdict, version=listed.resource_version)
        except TooMuchChange as error:
            listed.verdict = KindState.HELD
            self._set(kind, listed.verdict, error.message, version="")
        except _LOST:
            raise
        except _BAD_OBJECT:
            logger.exception("a list could not be stored", kind=kind)
            listed.verdict = KindState.FAILING
            text = _(
                "The list of %(kind)s cannot be stored: look into the watcher's log."
            )
            self._set(kind, listed.verdict, text % {"kind": kind})
        finally:
            listed.done.set()
        self._save()

    # States

    def _note(self, kind: str, state: KindState, text: str) -> None:
        unreadable = state in {KindState.FORBIDDEN, KindState.NOT_SERVED}
        if unreadable and self._entries.get(kind, {}).get("accept"):
            # What is stored is of the cluster that was here before.
            replace_kinds(self._cluster, {kind: []}, now=timezone.now(), guard=False)
            self._settle(kind, state, text)
        else:
            self._set(kind, state, text)

    def _identify(self, uid: str, version: str) -> None:
        self._silence = ""
        cluster = self._cluster
        uid = uid or cluster.kube_system_uid
        if (uid, version) != (cluster.kube_system_uid, cluster.kubernetes_version):
            cluster.kube_system_uid, cluster.kubernetes_version = uid, version
            cluster.save(update_fields=["kube_system_uid", "kubernetes_version"])
            self._news = True

    def _learn_gates(self, gates: dict[str, bool] | None) -> None:
        """Keep what the server says of its gates; what it does not say stays."""
        cluster = self._cluster
        if gates is not None and gates != cluster.feature_gates:
            cluster.feature_gates = gates
            cluster.save(update_fields=["feature_gates"])
            self._news = True

    def _start_over(self, uid: str) -> None:
        """Forget how far each kind was; of another cluster, let everything go."""
        logger.warning("reading a cluster anew", cluster=self._cluster.name, uid=uid)
        for kind in self._entries:
            self._set(kind, KindState.LISTING, version="")
            if uid:
                self._entries[kind]["accept"] = True
                self._unsaved.add(kind)
        if uid:
            self._cluster.kube_system_uid = uid
            self._cluster.save(update_fields=["kube_system_uid"])
        self._save()

    def _move_on(self, kind: str, version: str) -> None:
        entry = self._entries.get(kind)
        if entry and entry["resourceVersion"] != version:
            entry["resourceVersion"] = version
            self._unsaved.add(kind)

    def _settle(
        self, kind: str, state: KindState, text: str = "", *, version: str | None = None
    ) -> None:
        """Set a kind's entry, and use up the leave to remove much."""
        if self._entries.get(kind, {}).pop("accept", None):
            self._unsaved.add(kind)
        self._set(kind, state, text, version=version)

    def _set(
        self,
        kind: str,
        state: KindState | None = None,
        message: str = "",
        *,
        version: str | None = None,
    ) -> None:
        """Change a kind's entry; None leaves its state or version as it is."""
        old = self._entries.get(kind) or {}
        new = {
            **old,
            "state": str(state or old.get("state") or KindState.LISTING),
            "message": message,
            "resourceVersion": old.get("resourceVersion", "")
            if version is None
            else version,
        }
        if new != old:
            shown = ("state", "message")
            self._news |= any(new[key] != old.get(key) for key in shown)
            self._entries[kind] = new
            self._unsaved.add(kind)

    # The row

    def _save(self) -> None:
        """Write of the cluster's row what has changed, if anything."""
        fields: Json = {}
        if self._unsaved:
            fields["kinds"] = _merged({k: self._entries[k] for k in self._unsaved})
        failure = self._failure()
        if failure != self._cluster.failure:
            fields |= {"failure": failure} | (
                {"failed_at": timezone.now()} if failure else {}
            )
            self._cluster.failure = failure
            self._news = True
        if self._inbox.heard - self._heard_saved >= HEARD_SECONDS:
            self._heard_saved = self._inbox.heard
            fields["heard_at"] = datetime.fromtimestamp(self._heard_saved, UTC)
        if fields:
            Cluster.objects.filter(pk=self._cluster.pk).update(**fields)
        self._unsaved.clear()
        if self._news:
            self._news = False
            notify(
                cluster=self._cluster.name, revision=self._cluster.revision, kinds=[]
            )

    def _failure(self) -> str:
        """Return what is wrong in one text: the server's silence, or the kinds' own."""
        if self._silence:
            return self._silence
        wrong = {KindState.FAILING, KindState.HELD}
        texts = [e["message"] for e in self._entries.values() if e["state"] in wrong]
        return " ".join(dict.fromkeys(texts))


def _merged(entries: dict[str, Json]) -> Func:
    """Return Cluster.kinds with these entries in it, as the database computes it."""
    return Func(
        F("kinds"),
        Value(entries, output_field=JSONField()),
        template="%(expressions)s",
        arg_joiner=" || ",
        output_field=JSONField(),
    )
