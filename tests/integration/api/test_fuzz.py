"""Whatever the document allows, and much that it does not: never a 500, always the shape.

Addresses are drawn from what is there and what is not, so that most calls get beyond
a 404. The number of examples is bounded; FUZZ=500 draws more.
"""

from __future__ import annotations

import os
from collections import Counter

import orjson
import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.utils import timezone
from hypothesis import HealthCheck, settings
from schemathesis import checks

from portal.accounts.domain.roles import Role
from portal.accounts.models import User
from portal.accounts.tokens import make_token
from portal.api.document import openapi_document
from portal.core.secrets import encrypt
from portal.notices.domain.signing import new_secret
from portal.notices.models import Subscription
from tests.integration.api.conftest import ALL
from tests.integration.api.stored import make_request
from tests.integration.api.test_keys import CLAIM

PUBLIC_ID = "0b8d3a52-0000-4000-8000-000000000001"
KNOWN = {
    "cluster": ["demo", "demo", "nowhere"],
    "driver": ["gpu.nvidia.com", "gpu.nvidia.com", "dra.net"],
    "pool": ["gpu-l40s-a", "a/b"],
    "name": ["gpu-0", "orchid-whole", "x"],
    "namespace": ["ai-training", "maple-lab"],
    "id": [PUBLIC_ID, "0b8d3a52-0000-4000-8000-000000000002"],
    # The numbers of people, accounts and views; 901 is a service account's.
    "view": [901, 1, 999_999],
    "preset": ["fuzz", "none-such"],
    "phase": ["p1", "p5", "p9"],
    "token_id": [PUBLIC_ID, "0b8d3a52-0000-4000-8000-000000000002"],
    "operation": [f"apply.{PUBLIC_ID}", f"release.{PUBLIC_ID}", "x"],
}
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
# What a body says where it has to name what is there, so that most are taken.
FITTING = {
    "cluster": {"enum": ["demo"]},
    "tenant": {"enum": ["orchid"]},
    "name": {"type": "string", "pattern": "^fuzz-[a-z]{3,9}$"},
    "username": {"type": "string", "pattern": "^fuzz-[a-z]{3,9}$"},
    "group": {"type": "string", "pattern": "^fuzz-[a-z]{3,9}$"},
    "deviceClass": {"enum": ["gpu.nvidia.com"]},
    "alternatives": {"enum": [[{"name": "mig", "deviceClassName": "mig.nvidia.com"}]]},
    "manifest": {"enum": [CLAIM]},
    "kind": {"enum": ["admin-access"]},
    "params": {"enum": [{}]},
    "members": {"enum": [[]]},
    "namespaces": {"enum": [[]]},
    "addresses": {"enum": [[]]},
    "channel": {"enum": ["webhook"]},
    "address": {"enum": ["https://192.0.2.7/"]},
}
# What only the answer to something that was made can name.
LED_TO = {
    *("getSubscription", "rotateSubscriptionSecret", "deleteSubscription"),
    *("getDraft", "changeDraft", "discardDraft"),
    *("getTenant", "changeTenant", "deleteTenant"),
    *("getPerson", "changePerson", "createPasswordLink"),
    *("getFallback", "changeFallback", "deleteFallback"),
    *("getGuardRule", "changeGuardRule", "deleteGuardRule"),
    *("getBudget", "changeBudget"),
    *("createServiceAccountToken", "endServiceAccount"),
}
EXAMPLES = int(os.environ.get("FUZZ", "8"))


def _document():
    """Return the document with the names that there are for the parts of addresses."""
    document = orjson.loads(openapi_document())
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    kind = parameter["schema"]["type"]
                    known = (
                        KNOWN["view"] if kind == "integer" else KNOWN[parameter["name"]]
                    )
                    parameter["schema"] = {
                        "type": kind,
                        "enum": [*dict.fromkeys(known)],
                    }
    return document


schema = schemathesis.openapi.from_dict(_document())
# With FULL=1 each rule of each shape is broken by itself, too: ten thousand calls more.
schema.config.phases.coverage.enabled = bool(os.environ.get("FULL"))
# Which methods an address has is the table's of test_permissions.py.
schema.config.phases.coverage.unexpected_methods = set()
schema.app = WSGIHandler()


@pytest.fixture
def world(held_cluster, ada, settings, one_connection):
    """Return a token of somebody who may do all; a claim request of theirs is there."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.SLICEWISE_API_RATES = dict.fromkeys(("read", "check", "write"), 10**9)
    now = timezone.now()
    # Whoever may do all gets beyond a 403 everywhere.
    ada.roles = [role.value for role in Role]
    ada.save()
    make_request(PUBLIC_ID, ada, held_cluster, now)
    User.objects.create(
        pk=901, username="service:orchid:fuzz", service_of=ada.tenants.get()
    )
    Subscription.objects.create(
        public_id=PUBLIC_ID,
        person=ada,
        name="fuzz",
        channel="webhook",
        address_encrypted=encrypt("https://hooks.example.com/"),
        secret_encrypted=encrypt(new_secret()),
        events=["claim.active"],
        created_at=now,
    )
    return make_token(user=ada, name="fuzz", scopes=ALL, days=1, now=now)[1]


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
        checks=CHECKS,
        headers={"Authorization": f"Bearer {world}"},
    )
    if answer.status_code >= 400:
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert problem["detail"]
        assert "." in problem["code"]


def _linked_document():
    """Return the part of the document whose operations follow from each other."""
    document = orjson.loads(openapi_document())
    followed = {
        link
        for operations in document["paths"].values()
        for operation in operations.values()
        for answer in operation["responses"].values()
        for link in answer.get("links", {})
    }
    for path, operations in list(document["paths"].items()):
        for method, operation in list(operations.items()):
            has_links = any("links" in a for a in operation["responses"].values())
            if not has_links and operation["operationId"] not in followed:
                del operations[method]
        if not operations:
            del document["paths"][path]
    for shape in document["components"]["schemas"].values():
        if shape.get("additionalProperties") is False:  # a body's
            own = shape.get("properties", {})
            own.update({name: FITTING[name] for name in own if name in FITTING})
    return document


def test_what_follows_from_an_answer_is_answered_too(world):
    """Make things, then go where their answers lead: read, change and end them."""
    linked = schemathesis.openapi.from_dict(_linked_document())
    linked.app = WSGIHandler()
    linked.config.generation.modes = [schemathesis.GenerationMode.POSITIVE]
    headers = {"Authorization": f"Bearer {world}"}
    seen = Counter()

    class Walk(linked.as_state_machine()):
        def get_call_kwargs(self, case):
            return {"headers": headers}

        def after_call(self, response, case):
            operation = case.operation.definition.raw["operationId"]
            seen[operation, response.status_code] += 1

        def validate_response(self, response, case, additional_checks=None, **_more):
            case.validate_response(response, checks=CHECKS, headers=headers)

    Walk.run(
        settings=settings(
            max_examples=max(12, EXAMPLES),
            stateful_step_count=8,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
    )
    # Some walks got to where only an answer's own id leads.
    followed = {name for name, status in seen if status < 300}
    assert len(followed & LED_TO) >= 3, dict(seen)
