"""urllib3's connections, but their answers end in time: see `portal.core.deadlines`.

Imported by `kubeconfig.py` once the `kubernetes` package is.
"""

from __future__ import annotations

import http.client
import io
from typing import TYPE_CHECKING, Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from portal.core.deadlines import TimedReader

if TYPE_CHECKING:
    import socket


class _Answer(http.client.HTTPResponse):
    """An answer that is read for so long."""

    def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self.fp.close()
        self.fp = io.BufferedReader(TimedReader(sock))


class _Connection(HTTPConnection):
    response_class = _Answer


class _TlsConnection(HTTPSConnection):
    response_class = _Answer


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


POOLS = {"http": _Pool, "https": _TlsPool}
