"""Engines come when they are needed, one of a kind, and go when nobody asks."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.domain.engine import Fit, minor_for
from inventory.gateways import engine as gateway
from inventory.gateways import engine_process
from inventory.gateways.engine import AsyncEngine, Engine, EngineUnavailable
from inventory.gateways.engine_process import EngineProcess, owner_at, pid_at, stop
from portal import alive
from tests.faults.postgres import lives


@pytest.fixture
def own():
    """Return an engine of its own folder; it ends with the test."""
    path = Path(tempfile.mkdtemp(prefix="slicewise-own-"))
    yield EngineProcess("1.37", path, idle="5m")
    stop(path)
    shutil.rmtree(path)


def _wait(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_first_question_starts_it_and_stop_ends_it(own):
    assert pid_at(own.socket) is None
    assert Engine(own).check(["true"])[0].scheduler.ok
    pid = pid_at(own.socket)
    assert int(own.pid_file.read_text()) == pid
    assert os.getsid(pid) == pid
    assert own.socket.stat().st_mode & 0o777 == 0o600
    assert stop(own.run_dir) == ["engine 1.37"]
    assert pid_at(own.socket) is None
    assert stop(own.run_dir) == []


def test_an_engine_that_died_is_started_again(own):
    engine = Engine(own)
    engine.check(["true"])
    first = pid_at(own.socket)
    os.kill(first, signal.SIGKILL)
    _wait(lambda: pid_at(own.socket) is None)
    assert engine.check(["true"])[0].scheduler.ok
    assert pid_at(own.socket) not in {None, first}


def test_it_ends_when_nobody_asks(own):
    short = EngineProcess("1.37", own.run_dir, idle="300ms")
    short.ensure()
    _wait(lambda: pid_at(short.socket) is not None)
    time.sleep(0.1)
    assert pid_at(short.socket) is not None
    time.sleep(0.6)
    assert pid_at(short.socket) is None


def test_many_starters_make_one_engine(own):
    code = (
        "import sys; from pathlib import Path;"
        "from inventory.gateways.engine_process import EngineProcess;"
        "EngineProcess('1.37', Path(sys.argv[1]), idle='5m').ensure()"
    )
    command = [sys.executable, "-c", code, str(own.run_dir)]
    starters = [subprocess.Popen(command) for _ in range(2)]
    threads = [threading.Thread(target=own.ensure) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [starter.wait() for starter in starters] == [0, 0]
    assert own.log.read_text().count("serves on") == 1


def test_a_second_engine_leaves_the_first_ones_socket_alone(own):
    own.ensure()
    pid = pid_at(own.socket)
    command = [own.binaries / "engine-1.37", "-socket", own.socket]
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "another engine answers" in second.stderr
    assert pid_at(own.socket) == pid


def test_an_engine_that_cannot_start_says_where_to_look(own, tmp_path):
    broken = tmp_path / "engine-1.37"
    broken.write_text("#!/bin/sh\necho out of luck >&2\nexit 3\n")
    broken.chmod(0o755)
    process = EngineProcess("1.37", own.run_dir, binaries=tmp_path)
    with pytest.raises(EngineUnavailable, match=r"does not start; see .*\.log.*luck"):
        process.ensure()


def test_an_engine_that_is_missing_is_built(own, tmp_path):
    process = EngineProcess("1.37", own.run_dir, binaries=tmp_path / "bin")
    assert Engine(process).check(["true"])[0].scheduler.ok
    assert (tmp_path / "bin" / "engine-1.37").exists()


def test_a_folder_that_is_too_deep_for_a_socket_is_refused(tmp_path):
    deep = tmp_path / ("x" * 100)
    with pytest.raises(EngineUnavailable, match="SLICEWISE_RUN_DIR"):
        EngineProcess("1.37", deep).ensure()


def test_it_serves_on_loopback_too(own):
    binary = own.binaries / "engine-1.37"
    command = [binary, "-listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        line = child.stderr.readline()
        child.terminate()
        child.stderr.read()
    assert "serves on 127.0.0.1:" in line
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("version", "minor", "fit"),
    [
        ("1.37.2", "1.37", Fit.EXACT),
        ("v1.36.1+x", "1.36", Fit.EXACT),
        ("1.34", "1.34", Fit.EXACT),
        ("v1.40.0-alpha.1", "1.37", Fit.SERVER_IS_NEWER),
        ("2.0.0", "1.37", Fit.SERVER_IS_NEWER),
        ("1.33.9", "1.34", Fit.SERVER_IS_OLDER),
        ("1.5.0", "1.34", Fit.SERVER_IS_OLDER),
        ("", "1.37", Fit.UNKNOWN),
        ("x", "1.37", Fit.UNKNOWN),
    ],
)
def test_a_server_gets_the_engine_of_its_minor(version, minor, fit):
    assert minor_for(version) == (minor, fit)


def test_a_new_binary_replaces_the_running_one(own, tmp_path):
    newest = own.binaries / "engine-1.37"
    shutil.copy2(newest, tmp_path / "engine-1.37")
    engine = Engine(EngineProcess("1.37", own.run_dir, binaries=tmp_path))
    engine.check(["true"])
    first = pid_at(own.socket)
    shutil.copy2(newest, tmp_path / "new")
    (tmp_path / "new").replace(tmp_path / "engine-1.37")
    _wait(lambda: pid_at(own.socket) is None)
    assert engine.check(["true"])[0].scheduler.ok
    assert pid_at(own.socket) != first


@pytest.fixture
def hung(own):
    """Return the id of an engine that listens and answers nothing more."""
    own.ensure()
    pid = pid_at(own.socket)
    os.kill(pid, signal.SIGSTOP)
    yield pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("carry", ["threads", "coroutines"])
def test_an_engine_that_hangs_is_ended_and_its_question_answered(
    own, hung, monkeypatch, carry
):
    monkeypatch.setattr(gateway, "CHECK_SECONDS", 0.5)
    monkeypatch.setattr(engine_process, "HUNG_SECONDS", 0.5)
    if carry == "threads":
        (found,) = Engine(own).check(["true"])
    else:
        (found,) = asyncio.run(AsyncEngine(own).check(["true"]))
    assert found.scheduler.ok
    assert not lives(hung)
    assert pid_at(own.socket) not in {None, hung}


def test_an_engine_that_lives_is_left_to_its_work(own):
    own.ensure()
    pid = pid_at(own.socket)
    assert owner_at(own.socket) == pid
    assert not own.end_if_hung()
    assert pid_at(own.socket) == pid


def test_nothing_that_took_its_place_is_ended(own, hung, monkeypatch):
    """Between the question and the end another may have put its own there."""
    owners = iter([hung, None])
    with monkeypatch.context() as played:
        played.setattr(engine_process, "HUNG_SECONDS", 0.2)
        played.setattr(engine_process, "owner_at", lambda _path: next(owners))
        assert own.end_if_hung()
    assert lives(hung)


def test_stop_ends_one_that_hangs(own, hung, monkeypatch):
    monkeypatch.setattr(engine_process, "STOP_SECONDS", 0.2)
    assert own.stop()
    assert not lives(hung)


def test_an_engine_of_another_user_is_none_of_ours(own, monkeypatch):
    own.ensure()
    pid = pid_at(own.socket)
    with monkeypatch.context() as played:
        played.setattr(engine_process.os, "getuid", lambda: os.geteuid() + 1)
        assert owner_at(own.socket) is None
    assert owner_at(own.socket) == pid
    assert pid_at(own.socket) == pid


def test_where_something_else_starts_engines_we_wait_for_it(own):
    ours = EngineProcess("1.37", own.run_dir, external=True)
    answers = []
    thread = threading.Thread(
        target=lambda: answers.extend(Engine(ours).check(["true"]))
    )
    thread.start()
    # As a container that is started anew: over a socket that the last one left.
    own.socket.touch()
    command = [own.binaries / "engine-1.37", "-socket", own.socket]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as sidecar:
        thread.join(20)
        assert pid_at(own.socket) == sidecar.pid
        sidecar.terminate()
        said = sidecar.stderr.read()
    assert answers[0].scheduler.ok
    assert "another engine" not in said
    assert not ours.log.exists()


def test_where_nothing_starts_it_we_say_so_and_start_none(own, monkeypatch):
    monkeypatch.setattr(engine_process, "WAIT_SECONDS", 0.2)
    ours = EngineProcess("1.37", own.run_dir, external=True)
    with pytest.raises(EngineUnavailable, match=r"engine-1\.37\.sock.*container"):
        Engine(ours).check(["true"])
    assert pid_at(own.socket) is None
    assert not ours.pid_file.exists()


def test_a_probe_tells_an_engine_that_hangs(own, monkeypatch):
    monkeypatch.setenv("SLICEWISE_RUN_DIR", str(own.run_dir))
    assert alive.verdict("engine-1.37")[0] == 1
    own.ensure()
    assert alive.verdict("engine-1.37") == (0, "The engine-1.37 is alive.")
    pid = pid_at(own.socket)
    os.kill(pid, signal.SIGSTOP)
    status, said = alive.verdict("engine-1.37")
    os.kill(pid, signal.SIGKILL)
    assert (status, "does not answer" in said) == (1, True)
