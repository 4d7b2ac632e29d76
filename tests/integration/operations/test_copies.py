"""The drill: copy, lose, bring back; and the data of the first release, brought up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import migrated

FIRST = Path(__file__).parents[2] / "data" / "releases" / "first.sql"
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
    import psycopg

    given = f"host={deployment.env['DATABASE_URL'].split('@')[1].rpartition('/')[0]}"
    with psycopg.connect(
        f"{given} user=postgres dbname={deployment.database}", autocommit=True
    ) as link:
        link.execute(FIRST.read_text())
    _done(deployment.run("manage.py", "migrate", "--noinput"))
    names = _done(_python(deployment, PEOPLE + "print(User.objects.get().username)"))
    assert names.split() == ["first"]
    cluster = "c = Cluster.objects.get(); print(c.name, c.revision, c.pools.count())"
    assert _done(_python(deployment, PEOPLE + cluster)).split() == ["demo", "1", "1"]
    _done(deployment.run("manage.py", "verify_audit"))
    _done(deployment.run("manage.py", "makemigrations", "--check", "--dry-run"))
