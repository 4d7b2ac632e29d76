"""Whatever the document allows, and much that it does not: never a 500, always the shape.

Addresses are drawn from what is there and what is not, so that most calls get beyond
a 404. The number of examples is bounded; FUZZ=500 draws more.
"""

from __future__ import annotations

import os

import orjson
import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.utils import timezone
from hypothesis import HealthCheck, settings
from schemathesis import checks

from portal.accounts.tokens import make_token
from portal.api.document import openapi_document
from tests.integration.api.stored import make_request

PUBLIC_ID = "0b8d3a52-0000-4000-8000-000000000001"
KNOWN = {
    "cluster": ["demo", "demo", "nowhere"],
    "driver": ["gpu.nvidia.com", "gpu.nvidia.com", "dra.net"],
    "pool": ["gpu-l40s-a", "a/b"],
    "name": ["gpu-0", "orchid-whole", "x"],
    "namespace": ["ai-training", "maple-lab"],
    "id": [PUBLIC_ID, "0b8d3a52-0000-4000-8000-000000000002"],
    "view": ["1", "x"],
    "operation": [f"apply.{PUBLIC_ID}", f"release.{PUBLIC_ID}", "x"],
}
EXAMPLES = int(os.environ.get("FUZZ", "12"))


def _document():
    """Return the document with the names that there are for the parts of addresses."""
    document = orjson.loads(openapi_document())
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    names = dict.fromkeys(KNOWN[parameter["name"]])
                    parameter["schema"] = {"type": "string", "enum": list(names)}
    return document


schema = schemathesis.openapi.from_dict(_document())
schema.app = WSGIHandler()


@pytest.fixture
def world(held_cluster, ada, settings, one_connection):
    """Return a token; a claim request of its owner is there."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.SLICEWISE_API_RATES = dict.fromkeys(("read", "check", "write"), 10**9)
    now = timezone.now()
    make_request(PUBLIC_ID, ada, held_cluster, now)
    scopes = ["inventory:read", "claims:check", "claims:read", "claims:write"]
    return make_token(user=ada, name="fuzz", scopes=scopes, days=1, now=now)[1]


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_any_call_is_answered_as_documented(case, world):
    if case.operation.definition.raw["operationId"] == "revokeToken":
        case.path_parameters = {"id": PUBLIC_ID}
    answer = case.call(headers={"Authorization": f"Bearer {world}"})

    case.validate_response(
        answer,
        checks=[
            checks.not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
        ],
        headers={"Authorization": f"Bearer {world}"},
    )
    if answer.status_code >= 400:
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert problem["detail"]
        assert "." in problem["code"]
