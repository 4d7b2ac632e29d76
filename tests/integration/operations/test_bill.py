"""The bill of materials names all that ships: packages, Go modules and scripts."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command

from engine.build import VERSIONS

ROOT = Path(__file__).parents[3]
# Script that is collected → what it is in the bill; the rest is the portal's own.
SERVED = {
    r"js/[\w-]+\.js": "",
    r"django_htmx/django-htmx\.js": "pkg:pypi/django-htmx",
    r"django_htmx/htmx-2(\.min)?\.js": "pkg:npm/htmx.org",
    r"django_htmx/ext/hx-sse-2(\.min)?\.js": "pkg:npm/htmx-ext-sse",
    r"drf_spectacular_sidecar/swagger-ui-dist/[\w-]+\.js": "pkg:npm/swagger-ui-dist",
}


@pytest.fixture(scope="module")
def bill():
    done = subprocess.run(
        [sys.executable, "scripts/sbom.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["components"]


def of(bill, kind):
    return [each for each in bill if each["purl"].startswith(f"pkg:{kind}/")]


def test_each_is_there_once(bill):
    assert len({each["bom-ref"] for each in bill}) == len(bill)


def test_it_names_every_pinned_package(bill):
    lock = (ROOT / "requirements" / "run.lock").read_text()
    pins = re.findall(r"^[A-Za-z0-9]\S*==", lock, re.MULTILINE)
    assert len(of(bill, "pypi")) == len(pins) > 50
    assert all(each["properties"] for each in of(bill, "pypi"))


@pytest.mark.parametrize("minor", VERSIONS)
def test_it_names_every_module_of_every_engine(minor, bill):
    name = "go.mod" if minor == VERSIONS[-1] else f"go.{minor}.mod"
    lines = (ROOT / "engine" / name).read_text().splitlines()
    wanted = {
        "@".join(line.removeprefix("require ").split()[:2])
        for line in lines
        if " v" in line and not line.startswith(("module", "//"))
    }
    mine = {"name": "slicewise:engine", "value": minor}
    named = [each for each in of(bill, "golang") if mine in each["properties"]]
    found = {each["purl"].removeprefix("pkg:golang/") for each in named}
    assert found == wanted
    assert len(found) > 40
    sums = [each["properties"][-1]["value"] for each in named]
    assert all(re.fullmatch(r"h1:[\w+/]{43}=", each) for each in sums)


@pytest.fixture
def collected(capsys, settings, tmp_path):
    """Return the addresses of what is collected, below that of static files."""
    settings.STATIC_ROOT = tmp_path
    call_command("collectstatic", "--noinput", "--dry-run", verbosity=2)
    told = re.findall(r"Pretending to copy '([^']+)'", capsys.readouterr().out)
    return {re.sub(r".*?(/site-packages/\w+)?/static/", "", name) for name in told}


def test_every_script_that_is_served_is_named(bill, collected):
    purls = {each["purl"].partition("@")[0] for each in bill}
    scripts = {name for name in collected if name.endswith("js")}
    assert "js/composer.js" in scripts
    for script in scripts:
        owner = next(
            (SERVED[known] for known in SERVED if re.fullmatch(known, script)), None
        )
        assert owner is not None, f"{script} is in no bill: leave it out, or name it."
        assert not owner or owner in purls
    assert {*filter(None, SERVED.values())} <= purls


def test_scripts_are_of_the_versions_that_it_says(bill):
    versions = {each["name"]: each.get("version") for each in of(bill, "npm")}
    htmx = Path(finders.find("django_htmx/htmx-2.min.js")).read_text()
    assert f'version:"{versions["htmx.org"]}"' in htmx
    told = importlib.metadata.metadata("drf-spectacular-sidecar").get_payload()
    assert f"`Swagger UI`_ version ``{versions['swagger-ui-dist']}``" in told


def test_what_pages_ask_for_is_served(collected):
    asked = re.compile(r"{% static '([^']+)' %}")
    names = {
        name
        for page in (ROOT / "templates").rglob("*.html")
        for name in asked.findall(page.read_text())
    }
    loaded = {"django_htmx/htmx-2.min.js", "django_htmx/ext/hx-sse-2.min.js"}
    assert len(names) > 5
    assert names | loaded <= collected
