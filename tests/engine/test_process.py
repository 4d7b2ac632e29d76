"""Engines come when they are needed, one of a kind, and go when nobody asks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from inventory.domain.engine import Fit, minor_for
from inventory.gateways.engine import Engine, EngineUnavailable
from inventory.gateways.engine_process import EngineProcess, pid_at, stop


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
