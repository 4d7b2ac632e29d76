"""What docker-compose.yml and the Dockerfile say, done by hand in production's settings."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from django.utils import timezone

from portal.core.heartbeats import record
from portal.demo.stack import free_port
from portal.operations.services import outside
from portal.operations.services.copies import BACKUP

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
CHART = ROOT / "deploy" / "helm" / "slicewise" / "templates" / "processes.yaml"
OURS = ("web", "watcher", "worker", "beat")


def _image_command() -> list[str]:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    last = [line for line in lines if line.startswith("CMD ")][-1]
    return list(json.loads(last.removeprefix("CMD ")))


def _command(process: str, deployment, port: int) -> list[str]:
    command = COMPOSE["services"][process].get("command") or _image_command()
    assert command[0] == "python"
    own = {"0.0.0.0": "127.0.0.1", "8000": str(port)}
    own["/tmp/beat-schedule"] = str(deployment.folder / "beat-schedule")
    return [own.get(word, word) for word in command[1:]]


def _await(deployment, *arguments: str, **env: str) -> str:
    """Return what a command says once it succeeds; at most a minute."""
    deadline = time.monotonic() + 60
    while True:
        done = deployment.run(*arguments, **env)
        if done.returncode == 0:
            return done.stdout
        log = (deployment.folder / "log").read_text()[-2000:]
        assert time.monotonic() < deadline, f"{done.stdout}{done.stderr}\n{log}"
        time.sleep(0.5)


@contextlib.contextmanager
def _running(deployment, port: int):
    started = [deployment.start(*_command(p, deployment, port)) for p in OURS]
    try:
        yield started
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            process.wait(20)


@contextlib.contextmanager
def _hooks(deployment):
    """Serve the webhooks, as the chart does where admission is on."""
    listening = ("--host", "127.0.0.1", "--port", str(free_port()))
    process = deployment.start("manage.py", "serve_admission", *listening)
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(20)


def test_hadolint_finds_nothing_in_the_dockerfile():
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [str(hadolint), str(ROOT / "Dockerfile")], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_as_nobody_with_what_is_there():
    text = (ROOT / "Dockerfile").read_text()
    assert "\nUSER 10001:10001\n" in text
    for line in text.splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), source


@pytest.mark.parametrize("process", OURS)
def test_each_service_may_write_nowhere_else(process):
    service = COMPOSE["services"][process]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    mounted = {each.partition(":")[0] for each in service["tmpfs"]}
    assert mounted == {"/tmp", "/run/slicewise", "/var/lib/slicewise"}
    assert (
        set(service["depends_on"]) == {"postgres", "valkey"} <= set(COMPOSE["services"])
    )


def test_compose_and_chart_start_the_same():
    chart = CHART.read_text()
    for process in OURS:
        words = COMPOSE["services"][process].get("command") or _image_command()
        for word in words:
            assert f'"{word}"' in chart or word == "4", (process, word)


def test_all_run_by_hand_are_alive_and_the_doctor_agrees(deployment):
    deployment.migrate()
    port = free_port()
    deployment.env |= {"SLICEWISE_ADMISSION": "true", "PORT": str(port)}
    with _hooks(deployment), _running(deployment, port) as started:
        for process in OURS:
            _await(deployment, "-m", "portal.alive", process)
        deadline = time.monotonic() + 60
        while True:
            done = deployment.run("manage.py", "doctor", "--format", "json")
            found = {each["name"]: each for each in json.loads(done.stdout)}
            alive = {found[p]["ok"] for p in (*OURS, "admission")}
            if alive == {"yes"}:
                break
            assert time.monotonic() < deadline, found
            time.sleep(0.5)
        needed = ("postgres", "migrations", "clock", "redis", "secret key", "settings")
        needed += ("mail", "advisor", "prometheus", "sign-in provider", "certificates")
        for name in (*needed, "engines", "run folder", "stored secrets"):
            assert found[name]["ok"] == "yes", found[name]
        assert all(process.poll() is None for process in started)
    # uvicorn ends by the signal itself once it has said goodbye.
    assert [process.returncode for process in started] == [-signal.SIGTERM, 0, 0, 0]
    log = (deployment.folder / "log").read_text()
    assert "Traceback" not in log, log


def test_the_nightly_copy_of_the_chart_keeps_the_last_ones(deployment, tmp_path):
    """Its script, word for word, but for where the volume is and how many stay."""
    copies, programs = tmp_path / "copies", tmp_path / "bin"
    copies.mkdir()
    programs.mkdir()
    python = programs / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    text = (CHART.parent / "backup.yaml").read_text()
    script = re.search(r"- \|\n(.*?)\n +\{\{- include", text, re.DOTALL)[1]
    script = script.replace("/copies", str(copies))
    script = re.sub(r"\{\{.*?\}\}", "2", script)
    deployment.migrate()
    for day in ("20260101T021500Z", "20260102T021500Z", "20260103T021500Z"):
        (copies / f"slicewise-{day}.dump").touch()
    (copies / "another").touch()
    # What a job that was killed left.
    (copies / ".slicewise-20260102T021500Z.dump.part").touch()

    def copy(**env: str) -> subprocess.CompletedProcess[str]:
        path = f"{programs}:{deployment.env['PATH']}"
        env = deployment.env | {"PATH": path} | env
        return subprocess.run(
            ["sh", "-euc", script], cwd=ROOT, env=env, capture_output=True, text=True
        )

    before = sorted(copies.glob("[!.]*"))
    refused = copy(DATABASE_URL="postgres://postgres@127.0.0.1:1/none")
    assert "The database cannot be used" in refused.stderr
    assert sorted(copies.iterdir()) == before
    done = copy()
    assert done.returncode == 0, done.stderr
    another, old, new = sorted(copies.iterdir())
    assert (another.name, old.name) == ("another", "slicewise-20260103T021500Z.dump")
    assert new.stat().st_size > 10_000
    found = json.loads(deployment.run("manage.py", "doctor", "--format", "json").stdout)
    assert {each["ok"] for each in found if each["name"] == "backups"} == {"yes"}


@pytest.mark.parametrize(("hours", "answer"), [(25, "yes"), (27, "no")])
def test_a_nightly_copy_may_take_a_while(db, hours, answer):
    now = timezone.now()
    record(BACKUP, "host", now - dt.timedelta(hours=hours))
    (said,) = outside.copies(now)
    assert said.answer == answer


@pytest.mark.parametrize(
    ("schedule", "is_taken"),
    [
        ("15 2 * * *", True),
        ("*/30 1,13 * * *", True),
        ("@daily", True),
        ("@weekly", False),
        ("15 2 * * 0", False),
        ("15 2 1 * *", False),
        ("15 2 * 1 *", False),
        ("15 2 * * * *", False),
    ],
)
def test_the_chart_takes_no_schedule_that_the_doctor_would_find_too_rare(
    schedule, is_taken
):
    schema = json.loads((CHART.parents[1] / "values.schema.json").read_text())
    told = schema["properties"]["backup"]["properties"]["schedule"]
    assert bool(re.search(told["pattern"], schedule)) is is_taken


def test_the_deployment_check_finds_nothing(deployment):
    done = deployment.run("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", ["SECRET_KEY", "DATABASE_URL", "REDIS_URL"])
def test_production_demands_what_it_needs(deployment, missing):
    del deployment.env[missing]
    done = deployment.run("manage.py", "check")
    assert done.returncode != 0
    assert f"Set the {missing} environment variable" in done.stderr


def test_a_process_that_stopped_is_not_alive(deployment):
    assert deployment.run("-m", "portal.alive", "worker").returncode == 1
    (deployment.folder / "alive-worker").touch()
    assert deployment.run("-m", "portal.alive", "worker").returncode == 0
    done = deployment.run("-m", "portal.alive", "workr")
    assert done.returncode == 2
    assert "watcher, worker, beat, web" in done.stderr


def test_the_doctor_says_what_to_do_without_a_database(deployment):
    nowhere = "postgres://postgres@127.0.0.1:1/none"
    done = deployment.run("manage.py", "doctor", DATABASE_URL=nowhere, SECRET_KEY="x")
    assert done.returncode == 1, done.stderr
    assert "no      postgres:" in done.stdout
    assert "correct DATABASE_URL" in done.stdout
    assert "no      secret key:" in done.stdout
    assert "Traceback" not in done.stderr
