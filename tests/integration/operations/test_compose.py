"""docker-compose.yml as Compose's own library reads it, and README's first start."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import build
from tests.integration.watcher.servers import SimServer

ROOT = Path(__file__).parents[3]
OURS = ("web", "watcher", "worker", "beat")
NAME = re.compile(r"^([A-Z][A-Z0-9_]*)=", re.MULTILINE)
READ = re.compile(r'\benv(?:\.\w+)?\(\s*"([A-Z0-9_]+)"')
BLOCK = re.compile(r"^```sh compose\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What the file says itself, whatever .env says.
FIXED = {
    "SLICEWISE_PRODUCTION": "true",
    "DATABASE_URL": "postgres://slicewise@postgres:5432/slicewise",
    "REDIS_URL": "redis://valkey:6379/0",
    "SLICEWISE_RUN_DIR": "/run/slicewise",
    "SLICEWISE_STATE_DIR": "/var/lib/slicewise",
    "PORT": "8000",
}
SAID = {
    "Username": "mina",
    "Email": "mina@example.com",
    "Password": "correct horse battery",
    "Password (again)": "correct horse battery",
}
SEE = """
import django; django.setup()
from portal.accounts.models import User
from inventory.models import Cluster
print(User.objects.get(username="mina").may("people.manage"))
print([str(each) for each in Cluster.objects.all()])
"""
CONNECTION = """
import django; django.setup()
from django.db import connection
from psycopg import pq
own = {k: v for k, v in connection.get_connection_params().items() if isinstance(v, str)}
usual = {o.keyword.decode(): o.val.decode() for o in pq.Conninfo.get_defaults() if o.val}
found = usual | own
print([found[name] for name in ("host", "user", "dbname", "password")])
"""


@pytest.fixture
def project(tmp_path):
    """Return a folder with the compose file, and a function that reads it with a .env."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("docker-compose.yml", ".env.example"):
        shutil.copy(ROOT / name, folder)

    def read(env: str) -> dict:
        (folder / ".env").write_text(env)
        done = _composed(folder)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["services"]

    read.folder = folder
    return read


def _composed(folder: Path) -> subprocess.CompletedProcess[str]:
    # What this machine has set would come before what .env says.
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        [str(build.compose())], cwd=folder, env=env, capture_output=True, text=True
    )


def _example() -> set[str]:
    return set(NAME.findall((ROOT / ".env.example").read_text()))


def test_the_example_lists_every_variable_that_is_read():
    read = READ.findall((ROOT / "portal" / "settings.py").read_text())
    assert len(read) > 40
    assert set(read) - _example() == set()


def test_every_variable_reaches_every_process(project):
    given = {name: f"given-{name}" for name in _example()} | {"PORT": "8123"}
    services = project("".join(f"{name}={value}\n" for name, value in given.items()))
    for process in OURS:
        found = services[process]["environment"]
        for name in _example() - {"SLICEWISE_DATABASE_POOL"}:
            assert found[name] == FIXED.get(name, given[name]), (process, name)
    pools = {p: services[p]["environment"]["SLICEWISE_DATABASE_POOL"] for p in OURS}
    # The threads of a web process take turns; the others hold what they need.
    own = given["SLICEWISE_DATABASE_POOL"]
    assert pools == {"web": own, "watcher": "0", "worker": "0", "beat": "0"}
    assert services["web"]["ports"][0]["published"] == "8123"


@pytest.mark.parametrize("missing", ["SECRET_KEY", "POSTGRES_PASSWORD"])
def test_it_does_not_start_without_secrets(project, missing):
    given = "SECRET_KEY=a\nPOSTGRES_PASSWORD=b\n".replace(f"{missing}=", "OTHER=")
    (project.folder / ".env").write_text(given)
    done = _composed(project.folder)
    assert done.returncode == 1
    assert f"set {missing} in .env" in done.stderr


def test_a_password_may_hold_any_character(project, deployment):
    password = 'a/b@c#d e:f?g%h$i"j'
    services = project(f"SECRET_KEY={'k' * 60}\nPOSTGRES_PASSWORD='{password}'\n")
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"] == password
    given = services["web"]["environment"] | {
        "DJANGO_SETTINGS_MODULE": "portal.settings"
    }
    for folder in ("SLICEWISE_RUN_DIR", "SLICEWISE_STATE_DIR"):
        given[folder] = deployment.env[folder]
    done = deployment.run("-c", CONNECTION, **given)
    wanted = ["postgres", "slicewise", "slicewise", password]
    assert (done.stdout, done.stderr) == (f"{wanted}\n", "")


def test_every_service_has_an_end_to_its_memory(project):
    services = project("SECRET_KEY=a\nPOSTGRES_PASSWORD=b\n")
    limits = {name: int(each["mem_limit"]) >> 20 for name, each in services.items()}
    # Room for the process itself and two engines, which keep to 1 GiB if they can.
    assert limits["web"] == limits["worker"] == 3072
    assert all(limits.values()), limits


def _at_a_terminal(block: str, folder: Path, env: dict[str, str]) -> tuple[int, str]:
    """Run a block where a person sits, who answers what SAID has; return what was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=folder,
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown, answered = "", 0
    while True:
        try:
            shown += os.read(ours, 4096).decode()
        except OSError:  # Nobody has the terminal any more.
            break
        asked = re.search(
            r"(\w[\w ()]*?)(?: address| \(leave.*\))?: $", shown[answered:]
        )
        if asked and asked[1] in SAID:
            os.write(ours, f"{SAID[asked[1]]}\n".encode())
            answered = len(shown)
    os.close(ours)
    return process.wait(60), shown


def test_the_readme_starts_it_as_written(project, deployment, tmp_path):
    """Word for word; only Docker itself is played, by running commands here."""
    first, add = BLOCK.findall((ROOT / "README.md").read_text())
    programs = tmp_path / "bin"
    programs.mkdir()
    docker = programs / "docker"
    script = Path(__file__).with_name("docker.py")
    docker.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    docker.chmod(0o755)
    ours = ("DATABASE_URL", "REDIS_URL", "SLICEWISE_STATE_DIR", "SLICEWISE_RUN_DIR")
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "COMPOSE": str(build.compose()),
        "DONE": str(tmp_path / "done"),
        "ROOT": str(ROOT),
        "OVERRIDES": json.dumps({name: deployment.env[name] for name in ours}),
    }

    status, shown = _at_a_terminal(first, project.folder, env)
    assert status == 0, shown
    assert "Superuser created successfully." in shown
    kept = project.folder / ".env"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "slicewise.example.com" not in kept.read_text()

    server = SimServer(tmp_path)
    config = json.loads(server.kubeconfig().read_text())
    config["clusters"][0]["cluster"].pop("certificate-authority")
    (project.folder / "kubeconfig").write_text(json.dumps(config))
    try:
        status, shown = _at_a_terminal(add, project.folder, env)
    finally:
        server.kill()
    assert (status, shown) == (0, "prod: v1.37.2, added\r\n")
    assert (tmp_path / "done").read_text().split() == [
        *("build", "run", "run", "up", "exec")
    ]

    given = {"DJANGO_SETTINGS_MODULE": "portal.settings"}
    given["SECRET_KEY"] = re.search(
        "^SECRET_KEY=(.*)$", kept.read_text(), re.MULTILINE
    )[1]
    found = deployment.run("-c", SEE, **given)
    assert found.stdout == "True\n['prod']\n", found.stderr
