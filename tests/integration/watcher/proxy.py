"""A TCP proxy on loopback that cuts or silences what goes through it."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Forwards to a port; `cut` ends every connection, mid-byte if need be."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.silent = False
        self.cut_within_events = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _address = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._pairs.append((near, far))
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(
                        target=self._forward, args=(source, sink), daemon=True
                    ).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.silent:
                    continue
                if self.cut_within_events and b'"type":"MODIFIED"' in data:
                    sink.sendall(data[: len(data) // 2])
                    break
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for pair in self._pairs:
            for each in pair:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends the accept that waits
        self._listener.close()
        self.cut()
        for pair in self._pairs:
            for each in pair:
                each.close()
