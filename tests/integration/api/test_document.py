"""The OpenAPI document: without warnings, as it is committed, and its examples true."""

from __future__ import annotations

import warnings
from io import StringIO
from pathlib import Path

import orjson
import pytest
from django.core.management import call_command
from drf_spectacular.drainage import GENERATOR_STATS

from portal.api.document import openapi_document

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def document():
    return orjson.loads(openapi_document())


def test_the_generator_has_nothing_to_warn_of():
    with warnings.catch_warnings(), GENERATOR_STATS.silence():
        call_command("spectacular", validate=True, fail_on_warn=True, stdout=StringIO())


def test_the_committed_document_is_this_one(document):
    assert orjson.loads(COMMITTED.read_bytes()) == document, (
        "The API has changed: run `make openapi`, and commit docs/openapi.json."
    )


def test_every_operation_says_what_it_is_and_who_may(document):
    assert document["openapi"] == "3.1.0"
    operations = [
        operation for path in document["paths"].values() for operation in path.values()
    ]
    ids = [operation["operationId"] for operation in operations]
    assert len(ids) == len(set(ids)) > 20
    for operation in operations:
        assert operation["summary"]
        assert {"token": []} in operation["security"]
        assert {} not in operation["security"]
        assert {"401", "403", "429"} <= set(operation["responses"])


def test_what_can_be_changed_has_an_etag_and_its_change_demands_it(document):
    changing = 0
    for path, operations in document["paths"].items():
        if not {"put", "patch"} & set(operations):
            continue
        assert "ETag" in operations["get"]["responses"]["200"]["headers"], path
        for method in {"put", "patch", "delete"} & set(operations):
            changing += 1
            operation = operations[method]
            names = {each["name"] for each in operation["parameters"]}
            assert "If-Match" in names, (method, path)
            assert {"412", "428"} <= set(operation["responses"]), (method, path)
    assert changing > 10


def test_every_tag_is_named_in_the_document_for_people(document):
    text = (COMMITTED.parent / "api.md").read_text()
    section = text.partition("## What there is")[2].partition("\n## ")[0]
    named = {line.split("`")[1] for line in section.splitlines() if "| `" in line}
    tags = {
        tag
        for operations in document["paths"].values()
        for operation in operations.values()
        for tag in operation["tags"]
    }
    assert named == tags


def test_anybody_reads_the_document(client, db):
    answer = client.get("/api/v1/openapi.json")

    assert answer.status_code == 200
    assert answer.json()["info"]["title"] == "Slicewise"


def examples(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            for media, body in content.items():
                for name, example in body.get("examples", {}).items():
                    yield pytest.param(method, path, media, example["value"], id=name)


@pytest.mark.parametrize(
    ("method", "path", "media", "value"),
    list(examples(orjson.loads(openapi_document()))),
)
def test_examples_do_what_they_show(
    method, path, media, value, call, ada, dora, held_cluster
):
    path = path.replace("{cluster}", "demo")

    admins = "/adoption/mapping" in path or path.endswith("/needs/questions")
    person = dora if admins else ada

    answer = call(person).send(method.upper(), path, value, content_type=media)

    if path.endswith("claim-requests"):
        # All is well with it but that this cluster was loaded from files.
        assert answer.json()["code"] == "submit.offline", answer.content
    elif method == "patch" or path.endswith("/plan/moves"):
        assert answer.json()["code"] == "auth.permission"  # an admin's
    elif "/adoption/needs/" in path:
        # No such workload is there.
        assert answer.json()["code"] == "need.refused", answer.content
    elif path.endswith(("saved-views", "subscriptions")):
        assert answer.status_code == 201, answer.content
    elif path.endswith("/bulk"):
        assert answer.status_code == 207, answer.content
        (item,) = answer.json()["items"]
        assert item["problem"]["code"] == "submit.offline"
    else:
        assert answer.status_code == 200, answer.content
        for item in answer.json().get("items", []):
            levels = {found["level"] for found in item.get("diagnostics", [])}
            assert "error" not in levels
            assert item["preview"]["nodes"]


def test_the_page_shows_the_document_under_a_policy_of_its_own(client, ada):
    client.force_login(ada)

    page = client.get("/api/v1/docs")

    assert page.status_code == 200
    assert "swagger-ui-bundle.js" in page.text
    policy = page["Content-Security-Policy"]
    assert "script-src 'self';" in policy + ";"
    assert "'unsafe-inline'" not in client.get("/tokens/")["Content-Security-Policy"]


def test_the_page_demands_signing_in(client, db):
    assert client.get("/api/v1/docs").status_code == 302
