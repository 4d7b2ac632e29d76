"""Who may do what: every address and method of the URL conf, for every role.

An address that the table does not name fails the test, and so does a method that it
does not name but that is answered: what nobody thought of is denied. One letter a
role, in the order of ROLES:

    p public   a allowed, as far as access goes   s has to sign in first
    f forbidden   h hidden: there is nothing of that name for this person
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from itertools import product

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone

from portal.accounts.domain.scopes import Scope
from portal.accounts.tokens import make_token
from tests.integration.api.conftest import Caller
from tests.integration.api.stored import make_own, make_request

ROLES = ("anonymous", "ada", "cleo", "ben", "dora", "eli")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PUBLIC_ID = uuid.UUID("0b8d3a52-0000-4000-8000-000000000001")
PARTS = {
    "cluster": "demo",
    "driver": "gpu.nvidia.com",
    "pool": "gpu-l40s-a",
    "name": "gpu-0",
    "preset": "none-such",
    "namespace": "ai-training",
    "public_id": str(PUBLIC_ID),
    "id": str(PUBLIC_ID),
    "token_id": str(PUBLIC_ID),
    "operation": f"apply.{PUBLIC_ID}",
    "pk": "900001",
    "view": "1",
    "uidb64": "x",
    "token": "x",
    "phase": "canary",
}
CLAIM_PARTS = {**PARTS, "name": "orchid-whole"}

# Below /api/, but for a browser.
PAGES = frozenset({"api:docs", "api:openapi"})
EVERYBODY = "saaaaa"
TENANT = "sahaaa"  # of the tenant, or allowed to see all
OWNER = "sahhhh"
READ = {"GET": EVERYBODY}
TABLE: dict[str, dict[str, str]] = {
    "healthz": {"GET": "pppppp"},
    "readyz": {"GET": "pppppp"},
    # By a token alone, as the API; here everybody comes with a session.
    "metrics": {"GET": "ssssss"},
    # Switched off, there is none of them for anybody.
    "admission:overview": {"GET": "sfffaf"},
    "admission:advisor": {"POST": "sfffaf"},
    "admission:calibrate": {"POST": "sfffaf"},
    "admission:rule": {"POST": "sfffhf"},
    "admission:fallback-new": {"GET": "sfffaf", "POST": "sfffaf"},
    "admission:fallback": {"GET": "sfffhf", "POST": "sfffhf"},
    "admission:fallback-switch": {"POST": "sfffhf"},
    "api:admission-rule-list": {"GET": "sfffaf", "POST": "sfffaf"},
    "api:admission-rule": {"GET": "sfffhf", "PATCH": "sfffhf", "DELETE": "sfffhf"},
    "api:admission-fallback-list": {"GET": "sfffaf", "POST": "sfffaf"},
    "api:admission-fallback": {
        **dict.fromkeys(("GET", "PATCH", "DELETE"), "sfffhf"),
    },
    "api:admission-decision-list": {"GET": "sfffaf"},
    "api:admission-advisor": {"GET": "sfffaf", "PATCH": "sfffaf"},
    "api:admission-tried": {"GET": "sfffaf"},
    "api:admission-calibration-list": {"GET": "sfffaf", "POST": "sfffaf"},
    "api:admission-calibration": {"GET": "sfffhf"},
    "events": READ,
    "freshness": READ,
    # Whoever is signed in already is led to the start, whatever they send.
    "accounts:sign-in": {
        **dict.fromkeys(("GET", "POST", "PUT"), "pppppp"),
        **dict.fromkeys(("PATCH", "DELETE"), "-aaaaa"),
    },
    # Without a password that fitted a moment ago, it leads back to the sign-in.
    "accounts:sign-in-code": {"GET": "ssssss", "POST": "ssssss"},
    # A link that works no longer says so.
    "accounts:set-password": {"GET": "pppppp", "POST": "pppppp"},
    "accounts:account": READ,
    "accounts:password-change": {"POST": EVERYBODY},
    "accounts:factor": {"GET": EVERYBODY, "POST": EVERYBODY},
    "accounts:factor-begin": {"POST": EVERYBODY},
    "accounts:factor-image": {"GET": "shhhhh"},  # nobody sets a phone up
    "accounts:factor-off": {"POST": EVERYBODY},
    "accounts:recovery-renew": {"POST": EVERYBODY},
    "accounts:person-list": {"GET": "sfffaf", "POST": "sfffaf"},
    # That id is of a service account, which is no person.
    "accounts:person-detail": {"GET": "sfffhf", "POST": "sfffhf"},
    "accounts:person-link": {"POST": "sfffhf"},
    "accounts:person-reset": {"POST": "sfffhf"},
    "accounts:tenant-list": READ,
    "accounts:tenant-new": {"GET": "sfffaf", "POST": "sfffaf"},
    "accounts:tenant-detail": {"GET": "shhhhh"},  # there is none of that name
    "accounts:tenant-edit": {"GET": "sfffhf", "POST": "sfffhf"},
    "accounts:tenant-remove": {"POST": "sfffhf"},
    "api:person-list": {"GET": "sfffaf", "POST": "sfffaf"},
    "api:person-detail": {"GET": "sfffhf", "PUT": "sfffhf"},
    "api:person-link": {"POST": "sfffhf"},
    "api:person-reset": {"POST": "sfffhf"},
    "api:tenant-list": {"GET": EVERYBODY, "POST": "sfffaf"},
    "api:tenant-detail": {"GET": "shhhhh", "PUT": "sfffhf", "DELETE": "sfffhf"},
    "api:group-mapping-list": {"GET": "sfffaf", "POST": "sfffaf"},
    "api:group-mapping-detail": {"DELETE": "sfffhf"},
    "api:service-account-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    "api:service-account-detail": {"GET": OWNER, "DELETE": OWNER},
    "api:service-token-list": {"GET": OWNER, "POST": OWNER},
    "api:service-token-detail": {"DELETE": "shhhhh"},  # it has no such token
    # Without a provider, there is neither.
    "accounts:provider-begin": {"GET": "hhhhhh"},
    "accounts:provider-back": {"GET": "hhhhhh"},
    "accounts:group-list": {"GET": "sfffaf", "POST": "sfffaf"},
    "accounts:group-remove": {"POST": "sfffhf"},
    # It leads to where one signs in, whoever one was.
    "accounts:sign-out": {"POST": "ssssss"},
    "accounts:language": {"POST": "pppppp"},
    "accounts:theme": {"POST": "pppppp"},
    "accounts:token-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    "accounts:token-revoke": {"POST": OWNER},
    "accounts:service-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    "accounts:service-detail": {"GET": OWNER, "POST": OWNER},
    "accounts:service-end": {"POST": OWNER},
    "accounts:service-revoke": {"POST": "shhhhh"},  # it has no such token
    "notices:notice-list": READ,
    "notices:bell": READ,
    "notices:notice-read": {"POST": EVERYBODY},
    "notices:notice-open": {"POST": "shhhhh"},  # nobody was told anything
    "notices:subscription-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    "notices:subscription-detail": {"GET": OWNER},
    "notices:subscription-rotate": {"POST": OWNER},
    "notices:subscription-test": {"POST": OWNER},
    "notices:subscription-on": {"POST": OWNER},
    "notices:subscription-remove": {"POST": OWNER},
    "notices:delivery-again": {"POST": OWNER},
    "inventory:home": READ,
    "inventory:overview": READ,
    "inventory:gpu-list": READ,
    "inventory:gpu-csv": READ,
    "inventory:view-save": {"POST": EVERYBODY},
    "inventory:view-remove": {"POST": "shhhhh"},  # nobody has a saved view
    "inventory:device-list": READ,
    "inventory:device-detail": READ,
    "inventory:pool-list": READ,
    "inventory:class-list": READ,
    "inventory:domain-list": READ,
    "inventory:history": READ,
    "inventory:history-csv": READ,
    "inventory:cluster-list": READ,
    "inventory:prometheus-set": {"POST": "sfffaf"},
    "inventory:pool-detail": READ,
    "claims:compose": {"GET": EVERYBODY, "POST": EVERYBODY},
    "claims:compose-domain": {"GET": EVERYBODY, "POST": EVERYBODY},
    "claims:compose-keep": {"POST": EVERYBODY},
    "claims:compose-given": {"POST": EVERYBODY},
    "claims:draft-list": READ,
    # There is no draft of that id; taking none away is no error.
    "claims:draft-discard": {"GET": "shhhhh", "POST": EVERYBODY},
    "claims:template-list": READ,
    "claims:template-detail": {"GET": "shhhhh"},  # there is none of that name
    "claims:compose-availability": {"GET": EVERYBODY},
    "claims:compose-builder": {"POST": EVERYBODY},
    "claims:compose-cel": {"POST": EVERYBODY},
    "claims:compose-checks": {"POST": EVERYBODY},
    "claims:compose-manifest": {"POST": EVERYBODY},
    "claims:compose-preview": {"POST": EVERYBODY},
    "claims:whatif": {"GET": EVERYBODY, "POST": EVERYBODY},
    "claims:moves": READ,
    "claims:selector-list": {"GET": "sfffaf"},
    "claims:request-list": READ,
    "claims:import": {"GET": EVERYBODY, "POST": EVERYBODY},
    "claims:compose-snippets": {"GET": EVERYBODY, "POST": EVERYBODY},
    "claims:request-snippet": {"GET": "shhhhh"},  # there is none of that name
    "claims:request-detail": {"GET": TENANT},
    "claims:request-release": {"GET": OWNER, "POST": OWNER},
    "claims:request-cancel": {"POST": OWNER},
    "claims:request-retry": {"POST": OWNER},
    "claims:request-pod": {"POST": OWNER},
    "claims:claim-list": READ,
    "claims:claim-detail": {"GET": TENANT},
    "claims:claim-waiting": {"GET": TENANT},
    "claims:request-queue": {"GET": TENANT},
    "approvals:approval-list": READ,
    # The request of this world needed no approval: there is none to look at.
    "approvals:approval-detail": {"GET": "shhhhh"},
    "approvals:approval-decide": {"POST": "sffhhf"},
    "approvals:approval-revoke": {"POST": "sffhhf"},
    "approvals:policy-detail": READ,
    "approvals:extension": {"GET": TENANT, "POST": TENANT},
    "approvals:lifetime": READ,
    "approvals:policy-edit": {"GET": "sfffaf", "POST": "sfffaf"},
    "adoption:readiness": {"GET": "sffaaa"},
    "adoption:plan": {"GET": "sffaaa"},
    "adoption:plan-move": {"POST": "sfffaf"},
    "adoption:plan-record": {"GET": "sffaaa"},
    "adoption:plan-manifest": {"GET": "sffhhh"},  # there is none of that name
    "adoption:savings": {"GET": "sffaaa"},
    "adoption:convert": {"GET": EVERYBODY, "POST": EVERYBODY},
    "adoption:savings-csv": {"GET": "sffaaa"},
    "adoption:mapping": {"GET": "sfffaf", "POST": "sfffaf"},
    "adoption:needs": {"GET": EVERYBODY, "POST": EVERYBODY},
    "adoption:needs-ask": {"POST": "sfffaf"},
    "api:savings": {"GET": "sffaaa"},
    "api:need-list": READ,
    "api:need-questions": {"POST": "sfffaf"},
    "api:need-answers": {"POST": EVERYBODY},
    "api:readiness": {"GET": "sffaaa"},
    "api:convertible-list": {"GET": EVERYBODY},
    "api:convert": {"POST": EVERYBODY},
    "api:claim-waiting": {"GET": TENANT},
    "api:mapping-proposal-list": {"GET": "sfffaf"},
    "api:mapping-preview": {"POST": "sfffaf"},
    "api:mapping-list": {"GET": "sfffaf", "POST": "sfffaf"},
    "api:migration-plan": {"GET": "sffaaa"},
    "api:migration-phase": {"GET": "sffaaa"},
    "api:migration-move": {"POST": "sfffaf"},
    "api:migration-step-list": {"GET": "sffaaa"},
    "claims:preset-list": READ,
    "claims:preset-compose": {"GET": "shhhhh", "POST": "shhhhh"},  # of that name
    "claims:preset-room": {"GET": "shhhhh"},
    "claims:preset-catalogue": {"GET": "sfffaf"},
    "claims:preset-new": {"GET": "sfffaf", "POST": "sfffaf"},
    "claims:preset-edit": {"GET": "sfffhf", "POST": "sfffhf"},
    "budgets:budget-list": READ,
    "budgets:budget-new": {"GET": "sfffaf", "POST": "sfffaf"},
    # The budget of this world is of no such id: there is none to look at.
    "budgets:budget-edit": {"GET": "sfffhf", "POST": "sfffhf"},
    "budgets:budget-quota": {"GET": "sfffhf", "POST": "sfffhf"},
    "approvals:exposure": {"GET": "sffaaa"},
    "audit:audit-list": {"GET": "sfffaa"},
    "audit:audit-csv": {"GET": "sfffaa"},
    "api:openapi": {"GET": "pppppp"},
    "api:docs": READ,
    "api:nothing": dict.fromkeys(METHODS, "hhhhhh"),
    "api:me": READ,
    "api:token-list": READ,
    "api:token-detail": {"DELETE": OWNER},
    "api:events": READ,
    "api:notice-list": READ,
    "api:notice-read": {"POST": EVERYBODY},
    "api:subscription-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    "api:subscription-detail": {"GET": OWNER, "DELETE": OWNER},
    "api:subscription-rotate": {"POST": OWNER},
    "api:subscription-test": {"POST": OWNER},
    "api:subscription-on": {"POST": OWNER},
    "api:delivery-list": {"GET": OWNER},
    "api:delivery-redeliver": {"POST": OWNER},
    "api:cluster-list": READ,
    "api:cluster-detail": {"GET": EVERYBODY, "PATCH": "sfffaf"},
    "api:node-list": READ,
    "api:pool-list": READ,
    "api:device-list": READ,
    "api:device-ndjson": READ,
    "api:device-csv": READ,
    "api:device-detail": READ,
    "api:card-list": READ,
    "api:class-list": READ,
    "api:occupancy": READ,
    "api:pool-detail": READ,
    "api:card-detail": READ,
    "api:class-detail": READ,
    "api:domain-list": READ,
    "api:attribute-list": READ,
    "api:fragmentation": READ,
    "api:history": READ,
    "api:history-csv": READ,
    "api:view-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    "api:view-detail": {"DELETE": "shhhhh"},  # nobody has a saved view
    "api:claim-list": READ,
    "api:claim-detail": {"GET": TENANT},
    "api:audit-list": {"GET": "sfffaa"},
    "api:audit-verify": {"GET": "sfffaa"},
    "api:approval-list": READ,
    "api:approval-detail": {"GET": "shhhhh"},
    "api:approval-decide": {"POST": "sffhhf"},
    "api:approval-revoke": {"POST": "sffhhf"},
    "api:policy": {"GET": EVERYBODY, "PUT": "sfffaf"},
    "api:policy-check": {"POST": "sfffaf"},
    "api:extension-list": {"GET": TENANT, "POST": TENANT},
    "api:extension-decide": {"POST": "sffaaf"},
    "api:lifetime": READ,
    "api:exposure": {"GET": "sffaaa"},
    "api:preset-list": {"GET": EVERYBODY, "POST": "sfffaf"},
    "api:preset": {"GET": "shhhhh", "PUT": "sfffhf"},
    "api:preset-offer": {"POST": "sfffhf"},
    "api:preset-room": {"GET": "shhhhh"},
    "api:preset-render": {"POST": "shhhhh"},
    "api:budget-list": {"GET": EVERYBODY, "POST": "sfffaf"},
    "api:budget-detail": {"GET": "shhhhh", "PUT": "sfffhf"},
    "api:quota-list": {"GET": EVERYBODY, "POST": "sfffaf"},
    "api:quota-preview": {"POST": EVERYBODY},
    "api:check": {"POST": EVERYBODY},
    "api:import": {"POST": EVERYBODY},
    "api:draft-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    # There is no draft of that id; taking none away is no error.
    "api:draft": {"GET": "shhhhh", "PUT": EVERYBODY, "DELETE": EVERYBODY},
    "api:template-list": READ,
    "api:template": {"GET": "shhhhh"},  # there is none of that name
    "api:selector-key-list": READ,
    "api:repeated-selector-list": {"GET": "sfffaf"},
    "api:conditions": {"POST": EVERYBODY},
    "api:availability": READ,
    "api:domain-preview": {"POST": EVERYBODY},
    "api:workloads": {"POST": EVERYBODY},
    "api:preview": {"POST": EVERYBODY},
    "api:cel": {"POST": EVERYBODY},
    "api:what-if": {"POST": EVERYBODY},
    "api:copies": {"POST": EVERYBODY},
    "api:explain": {"POST": EVERYBODY},
    "api:move-list": READ,
    "api:request-list": {"GET": EVERYBODY, "POST": EVERYBODY},
    "api:request-bulk": {"POST": EVERYBODY},
    "api:request-bulk-release": {"POST": EVERYBODY},
    "api:request-detail": {"GET": TENANT},
    "api:request-usage": {"GET": TENANT},
    "api:request-queue": {"GET": TENANT},
    "api:request-workloads": {"GET": TENANT},
    "api:request-release": {"POST": "sahfff"},
    "api:request-cancel": {"POST": "sahfff"},
    "api:request-retry": {"POST": "sahfff"},
    "api:operation": {"GET": TENANT},
}


def routes(patterns, names="", path=""):
    """Yield name and address, with its parts, of every route."""
    for pattern in patterns:
        here = path + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            below = f"{names}{pattern.namespace}:" if pattern.namespace else names
            yield from routes(pattern.url_patterns, below, here)
        else:
            yield f"{names}{pattern.name}", here


ROUTES = dict(routes(get_resolver().url_patterns))


def address_of(name):
    of_claim = name.endswith(("claim-detail", "claim-waiting"))
    parts = CLAIM_PARTS if of_claim else PARTS
    if name == "api:class-detail":
        parts = {**PARTS, "name": "gpu.nvidia.com"}
    path = filled(ROUTES[name], parts)
    assert "<" not in path, path
    return path + ("nothing" if name == "api:nothing" else "")


def filled(pattern, parts):
    """Return the address of a route, as far as its parts are given."""
    path = pattern.removesuffix(r"^.*\Z")
    for part, value in parts.items():
        for kind in ("str", "path", "uuid", "int", "slug"):
            path = path.replace(f"<{kind}:{part}>", value)
    return f"/{path}"


@pytest.fixture
def world(load_fleets, held_claims, ada, cleo, ben, dora, eli, settings):
    """Return the people of each role; there is a claim request of Ada's."""
    settings.SLICEWISE_DEMO = True
    settings.SLICEWISE_ADMISSION = True
    settings.SLICEWISE_API_RATES = dict.fromkeys(("read", "check", "write"), 10**9)
    whole = [c for c in held_claims if c["metadata"]["name"] == "orchid-whole"]
    cluster = load_fleets("nvidia-t4-l40s", extra=whole)
    now = timezone.now()
    make_request(PUBLIC_ID, ada, cluster, now)
    make_own(PUBLIC_ID, ada, now, pk=900_001)
    people = {"ada": ada, "cleo": cleo, "ben": ben, "dora": dora, "eli": eli}
    return {"anonymous": None, **people}


@dataclass(frozen=True)
class Keys:
    """How somebody calls: a token for the API, cookies for pages; empty for nobody."""

    token: str
    cookies: dict[str, str]


@pytest.fixture
def keys(world):
    """Return how each role calls."""
    return {
        name: Keys(token_of(each), session_of(each)) for name, each in world.items()
    }


def token_of(person):
    if person is None:
        return ""
    scopes = [scope.value for scope in Scope]
    return make_token(user=person, name="x", scopes=scopes, days=1, now=timezone.now())[
        1
    ]


def session_of(person):
    client = Client()
    if person is not None:
        client.force_login(person)
    return {name: each.value for name, each in client.cookies.items()}


def send(keys, name, method):
    """Return the status of one call; what it changes is taken back."""
    address = address_of(name)
    with transaction.atomic():
        if name.startswith("api:") and name not in PAGES:
            body = {} if method in ("POST", "PUT", "PATCH") else None
            status = Caller(keys.token).send(method, address, body).status_code
        else:
            client = Client()
            client.cookies.load(keys.cookies)
            answer = client.generic(method, address)
            status = answer.status_code
            if status == 302 and "/sign-in/" in answer["Location"]:
                status = 401
        transaction.set_rollback(True)
    return status


def letter(status, *, public):
    known = {401: "s", 403: "f", 404: "h", 405: "-"}
    return known.get(status, "p" if public else "a")


def row(keys, name, method):
    """Return one letter a role."""
    letters = ""
    for role in ROLES:
        found = letter(send(keys[role], name, method), public=role == "anonymous")
        letters += found
    return letters.replace("a", "p") if letters.startswith("p") else letters


def test_every_address_and_method_is_for_those_that_the_table_names(keys):
    assert set(ROUTES) == set(TABLE), "Say in TABLE who may use the new address."

    wrong = []
    for name, method in product(sorted(ROUTES), METHODS):
        expected = TABLE[name].get(method)
        if expected is not None:
            found = row(keys, name, method)
        else:
            expected = "-"
            found = letter(send(keys["dora"], name, method), public=False)
        if found != expected:
            wrong.append((name, method, expected, found))
    assert wrong == []


@pytest.mark.parametrize("role", ROLES)
def test_what_api_servers_ask_is_no_address_of_the_portal(keys, role):
    """Only `manage.py serve_admission` answers there."""
    for path in ("validate", "validate/fail", "validate/demo", "mutate", "mutate/demo"):
        for method in METHODS:
            client = Client()
            client.cookies.load(keys[role].cookies)
            answer = client.generic(method, f"/admission/{path}")
            assert answer.status_code == 404, (path, method)


# Both say which methods they have, to whoever asks.
TELL_METHODS = frozenset({"accounts:sign-in", "accounts:sign-out"})


@pytest.mark.parametrize("role", ["anonymous", "cleo", "dora"])
def test_head_and_options_give_nobody_more_than_get(role, keys):
    wrong = []
    for name in sorted(ROUTES):
        get = TABLE[name].get("GET", "-" * len(ROLES))[ROLES.index(role)]
        for method in ("HEAD", "OPTIONS"):
            found = letter(send(keys[role], name, method), public=role == "anonymous")
            allowed = "sfh-" + (get.replace("p", "ap") if method == "HEAD" else "")
            if found not in allowed and not (
                method == "OPTIONS" and name in TELL_METHODS
            ):
                wrong.append((name, method, get, found))
    assert wrong == []
