"""The drill: copy, lose, bring back; and the data of the first release, brought up."""

from __future__ import annotations

import contextlib
import re
import socket as sockets
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from inventory.models import Cluster
from portal.accounts.models import User
from portal.core.secrets import SecretUnreadable, decrypt, encrypt
from portal.operations.services import copies

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


def _python(deployment, text: str, **env: str):
    env |= {"DJANGO_SETTINGS_MODULE": "portal.settings"}
    return deployment.run("-c", text, **env)


def _done(result) -> str:
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.fixture
def filled(deployment):
    deployment.migrate()
    with deployment.inside():
        User.objects.create_user("mina", password="correct horse battery")
        key = encrypt("kc")
        Cluster.objects.create(name="prod", kind="live", kubeconfig_encrypted=key)
    return deployment


def _lose(deployment) -> None:
    with deployment.inside():
        Cluster.objects.all().delete()


def _see(deployment) -> tuple[list[str], list[str]]:
    """Return its people, and the kubeconfigs of its clusters as its keys open them."""
    with deployment.inside():
        names = list(User.objects.values_list("username", flat=True))
        return names, [decrypt(c.kubeconfig_encrypted) for c in Cluster.objects.all()]


def test_what_was_copied_comes_back(filled, tmp_path):
    copy = tmp_path / "copy.dump"
    _done(filled.run("manage.py", "backup", str(copy)))
    assert copy.stat().st_mode & 0o777 == 0o600
    assert filled.run("manage.py", "backup", str(copy)).returncode == 2
    _lose(filled)
    refused = filled.run("manage.py", "restore", str(copy))
    assert refused.returncode == 2
    assert "--replace" in refused.stderr
    _done(filled.run("manage.py", "restore", str(copy), "--replace"))
    assert _see(filled) == (["mina"], ["kc"])
    filled.execute(f"DROP DATABASE {filled.database} WITH (FORCE)")
    filled.execute(f"CREATE DATABASE {filled.database}")
    broken = tmp_path / "broken.dump"
    broken.write_bytes(copy.read_bytes()[:-2000])
    assert filled.run("manage.py", "restore", str(broken)).returncode == 2
    _done(filled.run("manage.py", "restore", str(copy)))
    assert _see(filled) == (["mina"], ["kc"])


COUNTS = (
    "SELECT (SELECT count(*) FROM accounts_user), (SELECT count(*) FROM stray.kept),"
    " (SELECT count(*) FROM inventory_cluster), to_regclass('public.leftover')::text"
)


def test_replacing_is_done_whole_or_not_at_all(filled, tmp_path):
    copy, broken, other = (tmp_path / name for name in ("copy", "broken", "other"))
    _done(filled.run("manage.py", "backup", str(copy)))
    broken.write_bytes(copy.read_bytes()[:-400])
    _lose(filled)
    filled.rows("CREATE TABLE leftover (n int)")
    filled.rows("CREATE SCHEMA stray CREATE TABLE kept (n int)")
    with filled.inside():
        copies._run("pg_dump", *copies.DUMP, "--schema=stray", f"--file={other}")
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
    assert _see(filled) == (["mina"], ["kc"])


def _dying_programs(deployment, folder: Path) -> Path:
    """Return a folder whose pg_restore ends once it has made the tables."""
    with deployment.inside():
        real = Path(copies._program("pg_restore"))
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


def test_nobody_else_reads_a_copy_or_what_it_is_made_with(filled, tmp_path):
    """Neither while it is written, nor on the command line of who writes it."""
    with filled.inside():
        real = copies._program("pg_dump")
    programs, seen = tmp_path / "programs", tmp_path / "seen"
    programs.mkdir()
    telling = programs / "pg_dump"
    telling.write_text(
        f'#!/bin/sh\nif [ "$1" != --version ]; then echo "$@" > {seen}; stat -c %a'
        f' {tmp_path}/.copy.part "$PGSERVICEFILE" >> {seen}; cat "$PGSERVICEFILE" >>'
        f' {seen}; fi\nexec {real} "$@"\n'
    )
    telling.chmod(0o700)
    (tmp_path / ".copy.part").touch(mode=0o644)
    env = {
        "PATH": f"{programs}:{filled.env['PATH']}",
        "DATABASE_URL": f"{filled.env['DATABASE_URL']}?sslpassword=hush-hush",
    }
    _done(filled.run("manage.py", "backup", str(tmp_path / "copy"), **env))
    command, *modes, title, secret = seen.read_text().splitlines()
    assert "hush" not in command
    assert (modes, title) == (["600", "600"], "[secret]")
    assert secret == "sslpassword=hush-hush"


def test_the_runbooks_pipes_copy_and_bring_back(filled, tmp_path):
    """As it says: out of and into a pod that has nowhere to write."""
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    out, back = re.findall(
        r"^    (kubectl .* - .*slicewise\.dump)$", runbook, re.MULTILINE
    )
    _done(_shell(filled, tmp_path, out))
    _lose(filled)
    (tmp_path / "slicewise.part").write_bytes(
        (tmp_path / "slicewise.dump").read_bytes()[:-400]
    )
    done = _shell(filled, tmp_path, back.replace("slicewise.dump", "slicewise.part"))
    assert done.returncode == 2, done.stderr
    assert filled.rows("SELECT count(*) FROM accounts_user") == [(1,)]
    assert "Restored" in _done(_shell(filled, tmp_path, back))
    assert _see(filled) == (["mina"], ["kc"])


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
        with filled.inside():
            program = copies._program("pg_restore")
        found = f"{PROGRAMS}copies._program = lambda _: {program!r}\n"
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
    with pytest.raises(SecretUnreadable):
        _see(filled)
    filled.env["SECRET_KEY"] = new
    assert _see(filled) == (["mina"], ["kc"])


def test_the_first_releases_data_are_brought_up(deployment):
    deployment.rows(FIRST.read_text())
    _done(deployment.run("manage.py", "migrate", "--noinput"))
    with deployment.inside():
        assert User.objects.get().username == "first"
        cluster = Cluster.objects.get()
        found = (cluster.name, cluster.revision, cluster.pools.count())
        assert found == ("demo", 1, 1)
    _done(deployment.run("manage.py", "verify_audit"))
