"""No answer to one tenant names another: every address that can be read is asked.

Each tenant has one of everything, and is asked about with the ids of the other's
things. The addresses come from the URL conf, as in test_permissions. The stream of a
page does not end, and is read in tests/integration/notices/test_streaming.py.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from inventory.models import Device, KubeObject, SavedView
from portal.accounts.domain.scopes import Scope
from portal.accounts.tokens import make_token
from portal.approvals.domain.policy import Effect, Rule
from portal.approvals.models import Approval, Decision, Extension, IdleClaim
from portal.budgets.models import Budget
from portal.notices.models import Notice, Receipt
from portal.notices.queries.log import span
from portal.notices.services.numbering import number_new
from tests.integration.api.stored import make_own, make_request
from tests.integration.api.test_permissions import (  # noqa: F401  world: a fixture
    PARTS,
    PUBLIC_ID,
    ROUTES,
    filled,
    world,
)

# Neither is the API's document, which is one for all and names what it makes up.
LEFT_OUT = frozenset({"events", "api:openapi"})
# What is asked at the same address beside the plain page.
QUERIES = ("?q=whole", "?tab=all", "?by=tenant", "?mine=on")


@dataclass(frozen=True)
class Side:
    """A tenant's person and things: each has one of `names` in its name.

    Attributes:
        person: the fixture of who belongs to it.
        word: what is in the names of all that `fill` makes.
        names: what nobody else may read.
        namespace: where its claim `claim` and all else is.
        public_id: of its request, approval, budget, token and subscription.
        pk: of its service account.
    """

    person: str
    word: str
    names: tuple[str, ...]
    namespace: str
    claim: str
    public_id: uuid.UUID
    pk: int

    @property
    def parts(self):
        """Return what stands in the addresses of its things."""
        return {
            **PARTS,
            "namespace": self.namespace,
            "name": self.claim,
            "public_id": str(self.public_id),
            "id": str(self.public_id),
            "operation": f"apply.{self.public_id}",
            "pk": str(self.pk),
        }


ORCHID = Side(
    person="ada",
    word="violet",
    names=("orchid", "ai-serving", "ai-training", "violet", "ada@"),
    namespace="ai-training",
    claim="orchid-whole",
    public_id=PUBLIC_ID,
    pk=900_001,
)
MAPLE = Side(
    person="cleo",
    word="amber",
    names=("maple", "amber", "cleo@"),
    namespace="maple-lab",
    claim="maple-whole",
    public_id=uuid.UUID("0b8d3a52-0000-4000-8000-000000000002"),
    pk=900_002,
)
SIDES = (ORCHID, MAPLE)


@pytest.fixture
def fleets():
    """Return what the cluster is made of."""
    return ("nvidia-t4-l40s",)


@pytest.fixture
def people(world, fleets, load_fleets, held_claims):  # noqa: F811
    """Let each tenant have one of everything that a page or the API could tell."""
    cluster = load_fleets(*fleets, extra=held_claims)
    now = timezone.now()
    maple = world[MAPLE.person]
    where = {"namespace": MAPLE.namespace, "name": MAPLE.claim}
    make_request(MAPLE.public_id, maple, cluster, now, **where)
    make_own(MAPLE.public_id, maple, now, pk=MAPLE.pk, word=MAPLE.word)
    for side in SIDES:
        fill(side, world[side.person], decider=world["ben"], now=now)
    number_new()
    return world


def fill(side, person, *, decider, now):
    """Make what is asked for, decided, granted, told and held in a tenant's name."""
    from claims.models import ClaimRequest, ComposeDraft

    row = ClaimRequest.objects.get(public_id=side.public_id)
    tenant, cluster, word = person.tenants.get(), row.plan.cluster, side.word
    ClaimRequest.objects.filter(pk=row.pk).update(
        justification=f"{word}-justification", message=f"{word}-message"
    )
    approval = Approval.objects.create(
        claim_request=row,
        digest=row.plan.digest,
        policy_version=0,
        rule=Rule(name=f"{word}-rule", effect=Effect.APPROVE).document(),
        needed=2,
        decide_by=now,
        created_at=now,
    )
    Decision.objects.create(
        approval=approval,
        person=decider,
        verdict="approve",
        reason=f"{word}-reason",
        digest=row.plan.digest,
        decided_at=now,
    )
    Extension.objects.create(
        claim_request=row,
        until=now,
        reason=f"{word}-extension",
        rule={},
        needed=1,
        decide_by=now,
        asked_at=now,
    )
    for number, claim_request in enumerate((row, None)):
        IdleClaim.objects.create(
            cluster=cluster,
            namespace=side.namespace,
            name=f"{word}-idle-{number}",
            uid=f"uid-{word}-{number}",
            claim_request=claim_request,
            since=now,
        )
    Budget.objects.create(
        public_id=side.public_id,
        tenant=tenant,
        cards_hard=7,
        changed_by=person.username,
        changed_at=now,
    )
    ComposeDraft.objects.create(
        public_id=side.public_id,
        owner=person,
        cluster=cluster,
        fields={"name": [f"{word}-draft"]},
        created_at=now,
        changed_at=now,
    )
    for tenant_or_none in (tenant, None):
        notice = Notice.objects.create(
            event="claim.active",
            subject=f"{word}-subject",
            tenant=tenant_or_none,
            url="/",
            at=now,
        )
        Receipt.objects.create(notice=notice, person=person)
    SavedView.objects.create(user=person, name=f"{word}-view", query=f"q={word}")
    for body in objects(side):
        name = body["metadata"]["name"]
        KubeObject.objects.create(
            cluster=cluster,
            kind=body["kind"],
            namespace=side.namespace,
            name=name,
            uid=body["metadata"]["uid"],
            resource_version="0",
            body=body,
            revision=cluster.revision,
            seen_at=now,
        )


def objects(side):
    """Return what the cluster holds of a tenant besides claims."""
    claims = [{"name": "gpu", "resourceClaimName": side.claim}]
    requests = [{"name": f"{side.word}-request"}]
    pod = {"nodeName": f"{side.word}-free", "resourceClaims": claims, "containers": []}
    hard = {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "7"}
    made = {
        ("v1", "Pod"): {"spec": pod, "status": {"phase": "Running"}},
        ("v1", "ResourceQuota"): {"spec": {"hard": hard}, "status": {"hard": hard}},
        ("resource.k8s.io/v1", "ResourceClaimTemplate"): {
            "spec": {"spec": {"devices": {"requests": requests}}}
        },
        ("resource.nvidia.com/v1beta1", "ComputeDomain"): {
            "spec": {"numNodes": 1, "channel": {}},
            "status": {"status": "NotReady", "nodes": []},
        },
    }
    for (version, kind), rest in made.items():
        name = f"{side.word}-{kind.lower()}"
        metadata = {"name": name, "namespace": side.namespace, "uid": f"uid-{name}"}
        yield {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def addresses():
    """Yield (route, address) of everything that is read, each tenant's own too."""
    devices = [
        {"driver": row.driver, "pool": row.pool, "name": row.name}
        for row in Device.objects.filter(cluster__name="demo")[:60]
    ]
    theirs = [
        {**side.parts, "name": name}
        for side in SIDES
        for name in (side.claim, *side.names[:1], side.word)
    ]
    for route, pattern in sorted(ROUTES.items()):
        if route in LEFT_OUT:
            continue
        seen = set()
        for parts in (PARTS, *theirs, *({**PARTS, **each} for each in devices)):
            path = filled(pattern, parts)
            if path not in seen:
                seen.add(path)
                yield route, path


def told(answer, address, names):
    """Return all that an answer says, without the address that was asked itself."""
    parts = answer.streaming_content if answer.streaming else [answer.content]
    text = b"".join(parts).decode(errors="replace")
    heads = "\n".join(f"{name}: {value}" for name, value in answer.items())
    for own in {address, address.replace("&", "&amp;"), *address.split("/")}:
        if any(name in own for name in names):
            text, heads = text.replace(own, ""), heads.replace(own, "")
    return (heads + text).lower()


def readings(person, names, *, token):
    """Yield (address, status, what it says) of all that a person can ask for."""
    client = Client(headers={"Authorization": f"Bearer {token}"} if token else {})
    if not token:
        client.force_login(person)
    for route, address in addresses():
        if bool(token) != route.startswith("api:"):
            continue
        queries = QUERIES if address.count("/") < 6 and not token else ()
        if route == "api:events":
            queries = (f"?after={span()[0]}&cluster=demo",)
        for query in ("", *queries):
            with transaction.atomic():
                answer = client.get(address + query)
                text = told(answer, address, names)
                transaction.set_rollback(True)
            assert answer.status_code < 500, address
            yield address + query, text
            if answer.status_code != 200:
                break  # whatever it is asked, it refuses with the same words


def all_scopes(person):
    """Return a token of a person that may be used for everything."""
    scopes = [scope.value for scope in Scope]
    return make_token(user=person, name="x", scopes=scopes, days=1, now=timezone.now())[
        1
    ]


@pytest.mark.parametrize("by", ["session", "token"])
@pytest.mark.parametrize(
    ("reader", "other"), [(MAPLE, ORCHID), (ORCHID, MAPLE)], ids=["maple", "orchid"]
)
def test_nothing_that_is_read_names_another_tenant(reader, other, by, people):
    person = people[reader.person]
    token = all_scopes(person) if by == "token" else ""

    leaks = [
        (address, name)
        for address, text in readings(person, other.names, token=token)
        for name in other.names
        if name in text
    ]

    assert leaks == []


@pytest.mark.parametrize("by", ["session", "token"])
def test_the_scan_sees_each_name_where_it_may_be_read(by, people):
    """An auditor reads all of them, and each tenant's person their own."""
    for reader, sides in (("eli", SIDES), ("ada", [ORCHID]), ("cleo", [MAPLE])):
        person = people[reader]
        token = all_scopes(person) if by == "token" else ""
        missing = {name for side in sides for name in side.names}
        for _address, text in readings(person, (), token=token):
            missing -= {name for name in missing if name in text}
            if not missing:
                break
        assert not missing
