"""From a cluster's row to its API server, as a named identity."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.gateways.kube import Kube
from inventory.gateways.kubeconfig import Connection, connect
from inventory.models import Cluster
from portal.core import secrets
from portal.core.errors import PortalError
from portal.core.sentences import Said

if TYPE_CHECKING:
    from inventory.gateways.identity import Identity

# Files that a kubeconfig names, and exec plugins, are read again this often.
OLDEST_SECONDS = 600


class NoServer(PortalError):
    """An offline cluster: it was loaded from files and has no API server."""

    code = "inventory.no_server"


@dataclass(frozen=True, slots=True)
class _Known:
    connection: Connection
    made: tuple[int, str, str]
    at: float


@dataclass(frozen=True, slots=True)
class _Failed:
    error: PortalError
    made: tuple[int, str, str]
    at: float


_known: dict[int, _Known] = {}
_failed: dict[int, _Failed] = {}
# Making a connection may run a program, which may hang: one cluster's must not hold up
# the others', so each has a lock of its own. The first guards these dictionaries alone.
_lock = threading.Lock()
_making: dict[int, threading.Lock] = {}


def kube_for(cluster: Cluster, identity: Identity) -> Kube:
    """Return a cluster's API server, spoken to as an identity; sends nothing.

    Raises:
        NoServer: The cluster is an offline one.
        SecretUnreadable: Its kubeconfig was encrypted with a key that is gone.
        BadKubeconfig: Its kubeconfig cannot be used.
        BadIdentity: We never act as that identity.
    """
    return Kube(_connection(cluster), identity)


def _connection(cluster: Cluster) -> Connection:
    """Return this process' connection to a cluster, made anew when it must be.

    Another process' sockets are not ours after a fork, hence the pid.
    """
    if cluster.kind == Cluster.Kind.OFFLINE:
        raise NoServer(Said("cluster.offline", {"cluster": cluster.name}))
    made = (os.getpid(), cluster.kubeconfig_encrypted, cluster.context)
    asked_at = time.monotonic()
    with _lock:
        if found := _found(cluster.pk, made):
            return found
        making = _making.setdefault(cluster.pk, threading.Lock())
    with making:
        with _lock:
            if found := _found(cluster.pk, made):
                return found
            failed = _failed.get(cluster.pk)
        # Whoever waited for one that failed does not wait for another as well.
        if failed and failed.made == made and failed.at > asked_at:
            raise failed.error
        return _made(cluster, made)


def _found(key: int, made: tuple[int, str, str]) -> Connection | None:
    known = _known.get(key)
    if known and known.made == made and not _is_old(known):
        return known.connection
    return None


def _made(cluster: Cluster, made: tuple[int, str, str]) -> Connection:
    try:
        connection = connect(
            cluster.name,
            secrets.decrypt(cluster.kubeconfig_encrypted),
            context=cluster.context,
        )
    except PortalError as error:
        with _lock:
            _failed[cluster.pk] = _Failed(error, made, time.monotonic())
        raise
    with _lock:
        _known[cluster.pk] = _Known(connection, made, time.monotonic())
    return connection


def _is_old(known: _Known) -> bool:
    return known.connection.stale or time.monotonic() - known.at > OLDEST_SECONDS
