"""What the product is made of and runs as: pinned, licensed, listed, and well-formed."""

from __future__ import annotations

import copy
import json
import re
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
# The published schema of the Compose specification, Apache-2.0.
SCHEMA = json.loads((ROOT / "tests" / "data" / "compose-spec.json").read_text())
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)
# What may be given on with a product of ours, by the words of packages' metadata.
LICENCES = re.compile(
    r"\b(MIT|BSD|Apache|Python|PSF|ISC|MPL|Mozilla|LGPL|Lesser|Unlicense|Zlib"
    r"|PostgreSQL|ZPL|CC0|0BSD|Public Domain)",
    re.IGNORECASE,
)


def lock(name):
    return (ROOT / "requirements" / f"{name}.lock").read_text()


def pins(name):
    return dict(PIN.findall(lock(name)))


def licence_of(package):
    """Return all that a package's metadata says of its licence."""
    found = metadata.metadata(package)
    said = [found.get("License-Expression") or "", (found.get("License") or "")[:300]]
    said += [c for c in found.get_all("Classifier") or [] if c.startswith("License")]
    if not any(said):
        files = metadata.files(package) or []
        named = [f for f in files if re.search(r"LICEN[CS]E|COPYING", str(f))]
        said += [each.read_text()[:300] for each in named[:1]]
    return " ".join(said)


def test_compose_is_as_its_specification_says():
    assert [
        error.message for error in Draft202012Validator(SCHEMA).iter_errors(COMPOSE)
    ] == []


@pytest.mark.parametrize(
    ("service", "key", "value"),
    [
        ("web", "read_onyl", True),
        ("web", "cap_drop", "ALL"),
        ("worker", "healthcheck", {"tests": ["CMD"]}),
        ("postgres", "volumes", "postgres"),
    ],
)
def test_a_slip_in_compose_would_be_found(service, key, value):
    slipped = copy.deepcopy(COMPOSE)
    slipped["services"][service][key] = value
    assert list(Draft202012Validator(SCHEMA).iter_errors(slipped))


@pytest.mark.parametrize(("name", "least"), [("uv", 1), ("run", 51), ("dev", 100)])
def test_every_pin_has_hashes(name, least):
    parts = re.split(r"^(?=[A-Za-z0-9])", lock(name), flags=re.MULTILINE)
    packages = [part for part in parts if PIN.match(part)]
    assert len(packages) >= least
    assert [p.split("\n")[0] for p in packages if "--hash=sha256:" not in p] == []


def test_what_tests_need_changes_nothing_of_what_runs():
    run, dev = pins("run"), pins("dev")
    assert {name: dev.get(name) for name in run} == run


def test_what_is_installed_is_what_is_pinned():
    installed = {
        each.name.lower().replace("_", "-"): each.version
        for each in metadata.distributions()
    }
    wanted = {name.lower().replace("_", "-"): v for name, v in pins("run").items()}
    here = {name: installed.get(name, version) for name, version in wanted.items()}
    assert here == wanted


def test_every_package_that_runs_has_a_licence_that_allows_it():
    refused = {}
    for name in pins("run"):
        try:
            said = licence_of(name)
        except metadata.PackageNotFoundError:
            continue  # For another platform.
        is_strong = re.search(r"\bA?GPL", said) and not re.search("LGPL|Lesser", said)
        if is_strong or not LICENCES.search(said):
            refused[name] = said[:80]
    assert refused == {}
