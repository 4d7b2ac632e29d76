"""Celery's ways in: each task is one service call, and each is also the sweep's.

A worker sweeps by itself as well, in a thread of its own, so that requests are
applied while there is no broker to bring it a message.
"""

from __future__ import annotations

import threading
from typing import Any

import structlog
from celery import shared_task
from celery.signals import (
    celeryd_after_setup,
    worker_process_init,
    worker_shutting_down,
)
from django.db import close_old_connections
from django.utils import timezone

from claims.services.working import sweep, work_on
from portal.core.heartbeats import beat

logger = structlog.get_logger(__name__)

SWEEP_SECONDS = 5.0


@shared_task(name="claims.apply", ignore_result=True)
def apply(*, claim_request_id: int, **_newer: Any) -> None:
    """Apply or release one request, as a message asked; a second message does nothing."""
    work_on(claim_request_id, now=timezone.now())


@shared_task(name="claims.sweep", ignore_result=True)
def sweep_due(**_newer: Any) -> None:
    """Do what messages were lost for, and what is to be tried again."""
    sweep(clock=timezone.now)


class Sweeper:
    """The sweep of one process, every five seconds until it stops.

    It gives signs of life as well: Celery's own loop, which else does, stands still
    while the broker is away.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start sweeping, unless this process already does."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Begin no further sweep."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(SWEEP_SECONDS):
            _beat()
            close_old_connections()
            try:
                sweep(clock=timezone.now, goes_on=_beat)
            except Exception:
                logger.exception("a sweep failed; the next one comes")
            close_old_connections()


def _beat() -> None:
    beat("worker")


_sweeper = Sweeper()


@celeryd_after_setup.connect
def _start_beside_threads(instance: Any = None, **_: Any) -> None:
    """Sweep in the worker itself, unless it forks: threads do not survive that."""
    if "prefork" not in instance.pool_cls.__module__:
        _sweeper.start()


@worker_process_init.connect
def _start_in_child(**_: Any) -> None:
    """Sweep in each process of a pool of processes; leases keep them apart."""
    _sweeper.start()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    _sweeper.stop()
