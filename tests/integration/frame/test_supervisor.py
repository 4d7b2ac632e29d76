from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from portal import supervisor
from portal.demo import memory, people
from portal.demo.children import Child, stop_all
from portal.demo.stack import free_port, port_is_free

ROOT = Path(supervisor.__file__).resolve().parent.parent


def _child(tmp_path, script, name="child"):
    return Child(
        name,
        [sys.executable, "-c", script],
        dict(os.environ),
        tmp_path / f"{name}.log",
        tmp_path,
    )


def _until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _gone(pid):
    """Return whether a process has ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rsplit(")", 1)[1].split()[0] == "Z"


def test_child_is_started_again_after_a_growing_pause(tmp_path):
    child = _child(tmp_path, "raise SystemExit(7)")
    child.start()
    pauses = []
    for _ in range(2):
        _until(lambda: child.process is None or child.process.poll() is not None)
        line = child.tend()
        assert "child ended (exit 7)" in line
        assert str(child.log) in line
        pauses.append(child.next_start_at - time.monotonic())
        assert child.tend() is None
        assert child.process is None
        child.next_start_at = 0
        child.tend()

    assert pauses[0] < 0.5 + 0.1 < pauses[1] <= 1.0
    stop_all([child], patience_seconds=1)


def test_stop_all_asks_first_and_then_insists(tmp_path):
    polite = _child(tmp_path, "import time; time.sleep(60)", "polite")
    stubborn = _child(
        tmp_path,
        "import signal, time; signal.signal(15, signal.SIG_IGN);"
        " print('on', flush=True); time.sleep(60)",
        "stubborn",
    )
    for each in (polite, stubborn):
        each.start()
    _until(lambda: "on" in stubborn.log.read_text())
    pids = [polite.pid, stubborn.pid]

    assert stop_all([polite, stubborn], patience_seconds=0.5) == ["stubborn"]
    assert all(_gone(pid) for pid in pids)


def test_children_die_with_a_killed_parent(tmp_path):
    script = f"""
import os, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from portal.demo.children import Child
child = Child("c", [sys.executable, "-c", "import time; time.sleep(60)"],
              dict(os.environ), Path("c.log"), Path("."))
child.start()
print(child.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as parent:
        pid = int(parent.stdout.readline())
        assert not _gone(pid)

        parent.send_signal(signal.SIGKILL)
        parent.wait()

        _until(lambda: _gone(pid))


def test_memory_counts_a_process_with_its_descendants():
    text = memory.table({"us": os.getpid(), "init": 1})

    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[1:]}
    assert int(rows["us"][0]) == 1
    assert int(rows["us"][1]) > 10


def test_log_ins_name_everybody():
    for person in people.PEOPLE:
        assert f"{person.username}" in people.log_ins()
        assert f"{person.password}" in people.log_ins()


def _run(tmp_path, *arguments, **env):
    return subprocess.run(
        [sys.executable, "-m", "portal.supervisor", *arguments],
        cwd=ROOT,
        env={**os.environ, "SLICEWISE_STATE_DIR": str(tmp_path), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_taken_port_is_said_plainly(tmp_path):
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = _run(tmp_path, "--port", str(port))

    assert done.returncode == 2
    assert done.stderr.startswith(f"Port {port} is taken by another program.")
    assert not port_is_free(port) or port_is_free(free_port())


def test_a_missing_kubeconfig_is_said_plainly(tmp_path):
    done = _run(tmp_path, "--port", "0", SLICEWISE_KUBECONFIG="/nowhere/config")

    assert done.returncode == 2
    assert "/nowhere/config, which is not a file" in done.stderr


def test_a_second_start_says_where_the_first_is(tmp_path):
    import fcntl

    run = tmp_path / "run"
    run.mkdir()
    (run / "supervisor.json").write_text(
        '{"pid": 42, "address": "http://localhost:8123", "owns": []}'
    )
    with (run / "supervisor.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = _run(tmp_path)

    assert done.returncode == 0
    assert "at http://localhost:8123 (process 42)" in done.stdout


@pytest.mark.django_db
def test_prepare_demo_twice_changes_nothing():
    from django.core.management import call_command

    from portal.accounts.models import Tenant, User
    from portal.accounts.queries import namespaces_of

    call_command("prepare_demo")
    before = list(User.objects.order_by("pk").values())
    call_command("prepare_demo")

    assert list(User.objects.order_by("pk").values()) == before
    ada = User.objects.get(username="ada@orchid")
    assert namespaces_of(ada, "demo") == ["ai-serving", "ai-training", "gpu-monitoring"]
    assert ada.check_password("orchid-demo-ada")
    assert set(Tenant.objects.values_list("group", flat=True)) == {
        "slicewise:orchid",
        "slicewise:maple",
    }
