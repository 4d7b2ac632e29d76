"""A worker whose broker goes away lives on, as its probe sees it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time

import redis

from portal import embedded

WORKER = ("-m", "celery", "--app", "portal", "worker", "--pool", "threads")
SECONDS = 60


def _await(deployment, condition) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        log = (deployment.folder / "log").read_text()[-2000:]
        assert time.monotonic() < deadline, log
        time.sleep(0.1)


def _is_fetching(broker: redis.Redis) -> bool:
    with contextlib.suppress(redis.ConnectionError):
        return any(each["cmd"] == "brpop" for each in broker.client_list())
    return False


def test_a_worker_gives_signs_of_life_while_its_broker_is_away(deployment):
    place = deployment.folder / "valkey.sock"
    server = subprocess.Popen(embedded.valkey_command(place), stdout=subprocess.DEVNULL)
    worker = deployment.start(*WORKER, REDIS_URL=f"unix://{place}")
    sign = deployment.folder / "alive-worker"
    try:
        with redis.Redis(unix_socket_path=str(place)) as broker:
            _await(deployment, lambda: _is_fetching(broker))
        server.kill()
        server.wait()
        # The first may still be of the loop that is about to stand still.
        for _sign in range(3):
            sign.unlink(missing_ok=True)
            _await(deployment, sign.exists)
        assert deployment.run("-m", "portal.alive", "worker").returncode == 0
    finally:
        server.kill()
        worker.send_signal(signal.SIGQUIT)
        worker.wait(20)
