"""Every command that answers with a document: a table, JSON and YAML of the same."""

from __future__ import annotations

import json

import pytest
import yaml

from claims.models import ClaimRequest
from slicewise_cli.main import FORMATS, build_parser
from tests.integration.api.stored import make_request
from tests.integration.cli.test_commands import claim_file  # noqa: F401  fixture
from tests.integration.cli.test_deciding import asked  # noqa: F401  fixture

pytestmark = pytest.mark.django_db(transaction=True)

PUBLIC_ID = "0b8d3a52-0000-4000-8000-000000000001"
READ = {"table": str, "json": json.loads, "yaml": yaml.safe_load}
# What looks only: the same each time. {file} is a claim's.
LOOKING = {
    "whoami": (),
    "get": ("clusters",),
    "check": ("{file}",),
    "preview": ("{file}",),
    "import": ("{file}",),
    "what-if": ("{file}", "drain=gpu-l40s-a"),
    "cel": ('device.driver == "dra.net"',),
}
# What changes something, each tested below, and what another file tests.
CHANGING = {"submit", "wait", "release", "approve", "deny"}
ELSEWHERE = {"convert"}
WITHOUT = {"login", "completion", "complete"}


def test_no_command_is_left_out():
    (below,) = (each for each in build_parser()._actions if each.dest == "command")

    assert set(below.choices) == {*LOOKING, *CHANGING, *ELSEWHERE, *WITHOUT}


def test_what_looks_says_the_same_in_each_format(
    slicewise,
    held_cluster,
    claim_file,  # noqa: F811
):
    for command, words in LOOKING.items():
        arguments = [word.replace("{file}", claim_file) for word in words]
        said = {}
        for each in FORMATS:
            status, text, errors = slicewise(command, *arguments, "-o", each)
            assert status == 0, errors
            said[each] = READ[each](text)
        assert said["yaml"] == said["json"], command
        assert isinstance(said["json"], dict | list), command
        assert not said["table"].startswith(("{", "[")), command


@pytest.mark.parametrize("output", FORMATS)
def test_what_changes_answers_in_each_format(output, slicewise, cluster, claim_file):  # noqa: F811
    status, text, errors = slicewise("submit", claim_file, "-o", output)

    assert status == 0, errors
    public_id = str(ClaimRequest.objects.get().public_id)
    if output == "table":
        assert text.split()[:4] == ["ID", "STATE", "NAME", "MESSAGE"]
        assert text.split()[4] == public_id
    else:
        assert READ[output](text)["id"] == public_id


@pytest.mark.parametrize("output", FORMATS)
def test_waiting_and_releasing_answer_in_each_format(
    output, slicewise, ada, held_cluster, now
):
    make_request(PUBLIC_ID, ada, held_cluster, now)

    waited = slicewise("wait", PUBLIC_ID, "-o", output)
    released = slicewise("release", PUBLIC_ID, "-o", output)

    assert (waited[0], released[0]) == (0, 0), waited[2] + released[2]
    if output == "table":
        assert waited[1].split()[:3] == ["OPERATION", "STATUS", "MESSAGE"]
        assert "Releasing" in released[1]
    else:
        assert READ[output](waited[1])["status"] == "succeeded"
        assert READ[output](released[1])["state"] == "Releasing"


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_decisions_answer_in_each_format(output, verdict, slicewise, asked):  # noqa: F811
    status, text, errors = slicewise(verdict, asked, "--reason", "Why.", "-o", output)

    assert status == 0, errors
    if output == "table":
        assert text.split()[:4] == ["ID", "STATE", "APPROVALS", "NAME"]
    else:
        assert READ[output](text)["decisions"][0]["verdict"] == verdict
