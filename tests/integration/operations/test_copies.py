"""The drill: copy, lose, bring back; and the data of the first release, brought up."""

from __future__ import annotations

import contextlib
import json
import re
import socket as sockets
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests import migrated

ROOT = Path(__file__).parents[3]
FIRST = ROOT / "tests" / "data" / "releases" / "first.sql"
# The server speaks none, or the wheel's programs do not.
NO_TLS = "server does not support SSL|these programs of Postgres speak no TLS"
PROGRAMS = """
from pathlib import Path
import django; django.setup()
from portal.operations.services import copies
"""
# A pod is here: what stands behind -- is run in the image's folder, at a pipe's end.
KUBECTL = """
kubectl() { while [ "$1" != -- ]; do shift; done; shift 2; (cd "$ROOT" && "$PYTHON" "$@") | cat; }
"""
PEOPLE = """
import django; django.setup()
from portal.accounts.models import User
from inventory.models import Cluster
from portal.core.secrets import encrypt, decrypt
"""
MAKE = (
    PEOPLE
    + """
User.objects.create_user("mina", password="correct horse battery")
Cluster.objects.create(name="prod", kind="live", kubeconfig_encrypted=encrypt("kc"))
"""
)
SEE = (
    PEOPLE
    + """
import json
print(json.dumps([list(User.objects.values_list("username", flat=True)),
    [decrypt(c.kubeconfig_encrypted) for c in Cluster.objects.all()]]))
"""
)


def _python(deployment, text: str, **env: str):
    env |= {"DJANGO_SETTINGS_MODULE": "portal.settings"}
    return deployment.run("-c", text, **env)


def _done(result) -> str:
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.fixture
def filled(deployment, django_db_blocker):
    deployment.execute(f"DROP DATABASE {deployment.database}")
    with django_db_blocker.unblock():
        made = f"CREATE DATABASE {deployment.database} TEMPLATE {migrated.template()}"
    deployment.execute(made)
    _done(_python(deployment, MAKE))
    return deployment


def test_what_was_copied_comes_back(filled, tmp_path):
    copy = tmp_path / "copy.dump"
    _done(filled.run("manage.py", "backup", str(copy)))
    assert copy.stat().st_mode & 0o777 == 0o600
    assert filled.run("manage.py", "backup", str(copy)).returncode == 2
    _done(_python(filled, PEOPLE + "Cluster.objects.all().delete()"))
    refused = filled.run("manage.py", "restore", str(copy))
    assert refused.returncode == 2
    assert "--replace" in refused.stderr
    _done(filled.run("manage.py", "restore", str(copy), "--replace"))
    assert json.loads(_done(_python(filled, SEE))) == [["mina"], ["kc"]]
    filled.execute(f"DROP DATABASE {filled.database} WITH (FORCE)")
    filled.execute(f"CREATE DATABASE {filled.database}")
    broken = tmp_path / "broken.dump"
    broken.write_bytes(copy.read_bytes()[:-2000])
    assert filled.run("manage.py", "restore", str(broken)).returncode == 2
    _done(filled.run("manage.py", "restore", str(copy)))
    assert json.loads(_done(_python(filled, SEE))) == [["mina"], ["kc"]]


COUNTS = (
    "SELECT (SELECT count(*) FROM accounts_user), (SELECT count(*) FROM stray.kept),"
    " (SELECT count(*) FROM inventory_cluster), to_regclass('public.leftover')::text"
)


def test_replacing_is_done_whole_or_not_at_all(filled, tmp_path):
    copy, broken, other = (tmp_path / name for name in ("copy", "broken", "other"))
    _done(filled.run("manage.py", "backup", str(copy)))
    broken.write_bytes(copy.read_bytes()[:-400])
    _done(_python(filled, PEOPLE + "Cluster.objects.all().delete()"))
    filled.rows("CREATE TABLE leftover (n int)")
    filled.rows("CREATE SCHEMA stray CREATE TABLE kept (n int)")
    taken = f"'pg_dump', *copies.DUMP, '--schema=stray', '--file={other}'"
    _done(_python(filled, f"{PROGRAMS}copies._run({taken})"))
    for wrong, why in ((broken, "could not read"), (other, "already exists")):
        done = filled.run("manage.py", "restore", str(wrong), "--replace")
        assert done.returncode == 2, done.stderr
        assert "Nothing was changed" in done.stderr
        assert why in done.stderr
        assert filled.rows(COUNTS) == [(1, 0, 0, "leftover")]
    filled.rows("DROP SCHEMA stray CASCADE")
    path = f"{_dying_programs(filled, tmp_path)}:{filled.env['PATH']}"
    done = filled.run("manage.py", "restore", str(copy), "--replace", PATH=path)
    assert done.returncode == 2, done.stderr
    assert filled.rows("SELECT count(*) FROM accounts_user") == [(1,)]
    done = filled.run("manage.py", "restore", str(other), "--replace")
    assert "it is no copy of a portal" in done.stderr
    assert filled.rows("SELECT count(*) FROM leftover") == [(0,)]
    _done(filled.run("manage.py", "restore", str(copy), "--replace"))
    filled.rows("CREATE SCHEMA stray CREATE TABLE kept (n int)")
    assert filled.rows(COUNTS) == [(1, 0, 1, None)]
    assert json.loads(_done(_python(filled, SEE))) == [["mina"], ["kc"]]


def _dying_programs(deployment, folder: Path) -> Path:
    """Return a folder whose pg_restore ends once it has made the tables."""
    find = f"{PROGRAMS}print(copies._program('pg_restore'))"
    real = Path(_done(_python(deployment, find)).strip())
    programs = folder / "programs"
    programs.mkdir()
    (programs / "psql").symlink_to(real.with_name("psql"))
    dying = programs / "pg_restore"
    dying.write_text(
        f'#!/bin/sh\ncase "$*" in *--file=-*) {real} "$@" | sed "/^COPY/,\\$d"; exit 1;;'
        f' esac\nexec {real} "$@"\n'
    )
    dying.chmod(0o700)
    return programs


def test_the_runbooks_pipes_copy_and_bring_back(filled, tmp_path):
    """As it says: out of and into a pod that has nowhere to write."""
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    out, back = re.findall(
        r"^    (kubectl .* - .*slicewise\.dump)$", runbook, re.MULTILINE
    )
    _done(_shell(filled, tmp_path, out))
    _done(_python(filled, PEOPLE + "Cluster.objects.all().delete()"))
    (tmp_path / "slicewise.part").write_bytes(
        (tmp_path / "slicewise.dump").read_bytes()[:-400]
    )
    done = _shell(filled, tmp_path, back.replace("slicewise.dump", "slicewise.part"))
    assert done.returncode == 2, done.stderr
    assert filled.rows("SELECT count(*) FROM accounts_user") == [(1,)]
    assert "Restored" in _done(_shell(filled, tmp_path, back))
    assert json.loads(_done(_python(filled, SEE))) == [["mina"], ["kc"]]


def _shell(deployment, folder: Path, line: str):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-euc", f"{KUBECTL}\n{line}"],
        env=deployment.env | {"ROOT": str(ROOT), "PYTHON": sys.executable},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_tls_is_asked_for_wherever_the_address_says_so(filled, tmp_path):
    """Postgres behind TCP, which speaks no TLS here: whoever demands it is refused."""
    with _over_tcp(filled.socket) as port:
        plain = f"postgres://postgres@127.0.0.1:{port}/{filled.database}"
        copy, none = tmp_path / "copy.dump", tmp_path / "none.dump"
        _done(filled.run("manage.py", "backup", str(copy), DATABASE_URL=plain))
        safe = {"DATABASE_URL": f"{plain}?sslmode=require"}
        refused = filled.run("manage.py", "backup", str(none), **safe)
        assert refused.returncode == 3, refused.stderr
        assert "does not support SSL" in refused.stderr
        assert not none.exists()
        # The programs by themselves: as if Django had not asked before.
        program = _done(
            _python(filled, f"{PROGRAMS}print(copies._program('pg_restore'))")
        )
        found = f"{PROGRAMS}copies._program = lambda _: {program.strip()!r}\n"
        done = _python(
            filled, f"{found}copies._fill(Path({str(copy)!r}), before='')", **safe
        )
        assert re.search(NO_TLS, done.stderr), done.stderr
        found = found.replace("pg_restore", "pg_dump")
        dump = f"copies._run('pg_dump', *copies.DUMP, '--file={none}')"
        done = _python(filled, f"{found}{dump}", **safe)
        assert re.search(NO_TLS, done.stderr), done.stderr


@contextlib.contextmanager
def _over_tcp(socket: str):
    """Forward a port of ours to Postgres' socket; yield the port."""

    class Forward(socketserver.BaseRequestHandler):
        def handle(self):
            with sockets.socket(sockets.AF_UNIX) as there:
                there.connect(socket)
                back = threading.Thread(target=_pass, args=(there, self.request))
                back.start()
                _pass(self.request, there)
                back.join()

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forward)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def _pass(here, there) -> None:
    with contextlib.suppress(OSError):
        while data := here.recv(65536):
            there.sendall(data)
        there.shutdown(sockets.SHUT_WR)


def test_keys_are_rotated_and_the_earlier_one_can_go(filled):
    new, old = "n" * 60, filled.env["SECRET_KEY"]
    lost = filled.run("manage.py", "rotate_keys", SECRET_KEY=new)
    assert lost.returncode == 1
    assert "inventory.Cluster" in lost.stderr
    both = {"SECRET_KEY": new, "SECRET_KEY_FALLBACKS": old}
    assert "1 encrypted anew" in _done(filled.run("manage.py", "rotate_keys", **both))
    assert "0 encrypted anew, 1 had" in _done(
        filled.run("manage.py", "rotate_keys", **both)
    )
    assert json.loads(_done(_python(filled, SEE, SECRET_KEY=new)))[1] == ["kc"]
    assert _python(filled, SEE).returncode != 0


def test_the_first_releases_data_are_brought_up(deployment):
    deployment.rows(FIRST.read_text())
    _done(deployment.run("manage.py", "migrate", "--noinput"))
    names = _done(_python(deployment, PEOPLE + "print(User.objects.get().username)"))
    assert names.split() == ["first"]
    cluster = "c = Cluster.objects.get(); print(c.name, c.revision, c.pools.count())"
    assert _done(_python(deployment, PEOPLE + cluster)).split() == ["demo", "1", "1"]
    _done(deployment.run("manage.py", "verify_audit"))
    _done(deployment.run("manage.py", "makemigrations", "--check", "--dry-run"))
