"""No answer to what one tenant sends names another: what is judged, refused or changed.

Asked are claims that do not fit because another tenant holds cards, partitions and
shares, so that foreign claims are in the way. And every address that changes anything,
with the ids of the other's things. What is read is in test_isolation.
"""

from __future__ import annotations

import uuid
from itertools import product

import pytest
import yaml
from django.core.management import call_command
from django.db import transaction
from django.test import Client

from portal.accounts.models import Membership, User
from tests.integration.api.conftest import Caller
from tests.integration.api.test_isolation import (  # noqa: F401  fixtures
    MAPLE,
    ORCHID,
    Side,
    all_scopes,
    people,
    told,
)
from tests.integration.api.test_permissions import (  # noqa: F401  world: a fixture
    ROUTES,
    TABLE,
    filled,
    session_of,
    world,
)
from tests.integration.composer.conftest import fields_of

DEMO = "/api/v1/clusters/demo"
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
REQUESTS = "/api/v1/claim-requests"
FRAGMENT = {"HX-Request": "true"}
# Where foreign claims are named to who may see them.
TOLD = {
    f"{DEMO}/{address}"
    for address in ("check", "explain", "copies", "what-if", "quota-preview")
}
TOLD_BY_PAGES = {
    "/c/demo/compose/checks/",
    "/c/demo/compose/preview/",
    "/c/demo/whatif/",
}
# What answers htmx with less than a browser without script gets.
WITHOUT_SCRIPT = ("/c/demo/compose/", "/c/demo/compose/preview/")
WHOLE = {"deviceClassName": "gpu.nvidia.com", "count": 4}
L40S = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA L40S"'
WHOLE_CARD = 'device.attributes["gpu.nvidia.com"].profile == "7g.80gb"'
SHARED = {"capacity": {"requests": {"memory": "75Gi"}}}
# Each has claims of both tenants in the way: cards, all cards, a card's partitions, and
# a card's memory.
ASKED = {
    "cards": WHOLE | {"selectors": [{"cel": {"expression": L40S}}]},
    "every-card": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"},
    "partitions": {
        "deviceClassName": "mig.nvidia.com",
        "count": 2,
        "selectors": [{"cel": {"expression": WHOLE_CARD}}],
    },
    "shares": {"deviceClassName": "gpu.nvidia.com", **SHARED},
}
POD = """apiVersion: v1
kind: Pod
metadata: {name: chat, namespace: NAMESPACE}
spec:
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
  containers:
  - name: main
    image: registry.example.com/chat:1
    resources: {limits: {nvidia.com/gpu: "4"}}
"""
# Who belongs to no tenant; what is asked in a namespace where nothing is.
NOBODY = Side(
    person="nora",
    word="grey",
    names=(),
    namespace="empty-space",
    claim="none-such",
    public_id=uuid.uuid4(),
    pk=0,
)


@pytest.fixture
def fleets():
    """Return what the cluster is made of."""
    return (
        "nvidia-t4-l40s",
        "nvidia-h100-dynamic-mig-k8s135",
        "nvidia-h100-consumable-shares",
    )


def manifests(namespace):
    """Yield a claim and a template of each thing that is asked for."""
    for name, exactly in ASKED.items():
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
        metadata = {"name": name, "namespace": namespace}
        for kind, inner in (
            ("ResourceClaim", spec),
            ("ResourceClaimTemplate", {"spec": spec}),
        ):
            yield {
                "apiVersion": "resource.k8s.io/v1",
                "kind": kind,
                "metadata": metadata,
                "spec": inner,
            }


def domain(namespace):
    """Return a ComputeDomain."""
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {
            "numNodes": 2,
            "channel": {"resourceClaimTemplate": {"name": "d-channel"}},
        },
    }


def suppositions(other):
    """Yield what a what-if may suppose of nodes and devices that others hold."""
    yield {"kind": "drain", "target": "gpu-l40s-a"}
    yield {"kind": "drain", "target": "gpu-h100-share-a"}
    yield {"kind": "taint", "target": "gpu.nvidia.com/gpu-l40s-a/gpu-1"}
    yield {"kind": "add", "target": "gpu-l40s-a"}
    yield {"kind": "end", "target": f"{other.namespace}/{other.claim}"}


def sent_to_api(side, other):
    """Yield (address, body) of all that is judged of what a body says."""
    named = list(manifests(side.namespace))
    yield f"{DEMO}/preview", {"objects": named[::2], "together": True}
    for one in named:
        yield f"{DEMO}/check", {"objects": [one]}
        yield f"{DEMO}/preview", {"objects": [one]}
        for address in ("explain", "copies", "workloads", "quota-preview"):
            yield f"{DEMO}/{address}", {"manifest": one}
        yield REQUESTS, {"cluster": "demo", "manifest": one}
        yield "/api/v1/drafts", {"cluster": "demo", "manifest": one}
    items = [{"manifest": one} for one in named]
    yield f"{REQUESTS}/bulk", {"cluster": "demo", "items": items}
    for suppose, one in product(suppositions(other), named[:4:2]):
        yield f"{DEMO}/what-if", {"manifest": one, "suppose": suppose}
    for expression in (L40S, "device.nothing"):
        yield f"{DEMO}/cel", {"expression": expression}
    pod = POD.replace("NAMESPACE", side.namespace)
    for text in (yaml.safe_dump_all(named), pod, "a: ["):
        yield f"{DEMO}/import", {"text": text}
        yield f"{DEMO}/adoption/convert", {"text": text}
    for namespace in (side.namespace, other.namespace):
        live = {"namespace": namespace, "workloads": ["Pod/x"]}
        yield f"{DEMO}/adoption/convert", live
        made = domain(namespace)
        yield f"{DEMO}/compute-domains/preview", {"manifest": made}
        yield REQUESTS, {"cluster": "demo", "manifest": made}
        for preset in ("h100-else-l40s-else-mig", "mig-small"):
            body = {"name": "a", "namespace": namespace}
            yield f"{DEMO}/presets/{preset}/render", body


def set_elsewhere(other):
    """Yield (address, body) of claims in the other's namespace, where they fail checks."""
    for one in manifests(other.namespace):
        for address in ("explain", "copies", "quota-preview"):
            yield f"{DEMO}/{address}", {"manifest": one}
        yield f"{DEMO}/check", {"objects": [one]}
        yield f"{DEMO}/preview", {"objects": [one]}
        suppose = {"kind": "drain", "target": "gpu-l40s-a"}
        yield f"{DEMO}/what-if", {"manifest": one, "suppose": suppose}
        yield REQUESTS, {"cluster": "demo", "manifest": one}
        items = [{"manifest": one}]
        yield f"{REQUESTS}/bulk", {"cluster": "demo", "items": items}


def composed(client, manifest):
    """Return what the composer's form holds once a manifest was pasted into it."""
    sent = {"action": "take", "yaml": yaml.safe_dump(manifest)}
    page = client.post("/c/demo/compose/", sent)
    form = fields_of(page.content.decode())
    assert form["name"] == [manifest["metadata"]["name"]]
    return form


def sent_by_pages(client, side, other):
    """Yield (address, form) of all that the composer and its neighbours send."""
    here = "/c/demo/compose/"
    field = "requests-0-alternatives-0-selectors-0"
    named = list(manifests(side.namespace))[::2]
    for one in named:
        form = composed(client, one)
        for part in ("preview", "checks"):
            yield f"{here}{part}/", form
    for action in ("check", "submit", "builder:0:0"):
        yield here, {**form, "action": action}
    for part in ("manifest", "keep"):
        yield f"{here}{part}/", form
    yield f"{here}builder/", {**form, "at": "0:0"}
    yield f"{here}cel/", {**form, field: L40S, "judge": field}
    elsewhere = {**form, "namespace": other.namespace}
    for part in ("preview", "checks", "manifest"):
        yield f"{here}{part}/", elsewhere
    yield here, {**elsewhere, "action": "submit"}
    text = yaml.safe_dump_all(named)
    yield f"{here}workloads/", {"manifest": yaml.safe_dump(named[0])}
    yield "/c/demo/import/", {"text": text}
    text = yaml.safe_dump(named[0])
    for suppose in suppositions(other):
        kind, target = suppose["kind"], suppose["target"]
        place = {"taint": "device", "end": "claim"}.get(kind, "node")
        yield "/c/demo/whatif/", {"manifest": text, "kind": kind, place: target}
    pod = POD.replace("NAMESPACE", side.namespace)
    yield "/c/demo/import/", {"text": pod}
    yield "/c/demo/adoption/convert/", {"text": pod}
    live = {"namespace": other.namespace, "action": "live"}
    yield "/c/demo/adoption/convert/", live
    for namespace in (side.namespace, other.namespace):
        form = {"name": "d", "namespace": namespace, "nodes": "2", "template": "d-c"}
        for action in ("look", "submit"):
            yield f"{here}domain/", {**form, "action": action}
        form = {"name": "a", "namespace": namespace, "action": "check"}
        yield "/c/demo/presets/mig-small/", form


def leaves(body):
    """Yield the words that a body sends."""
    if isinstance(body, dict | list):
        for each in body.values() if isinstance(body, dict) else body:
            yield from leaves(each)
    elif isinstance(body, str):
        yield body


def answers(person, side, other, *, by):
    """Yield (address, what was sent, answer) of all that is judged."""
    if by == "token":
        caller = Caller(all_scopes(person))
        for sent in (sent_to_api(side, other), set_elsewhere(other)):
            for address, body in sent:
                yield address, body, caller.post(address, body)
        query = f"?namespace={other.namespace}"
        for address in ("availability", "adoption/workloads"):
            answer = caller.get(f"{DEMO}/{address}{query}")
            yield f"{DEMO}/{address}", other.namespace, answer
        return
    client = Client()
    client.force_login(person)
    for address, form in sent_by_pages(client, side, other):
        yield address, form, client.post(address, form, headers=FRAGMENT)
        if address in WITHOUT_SCRIPT:
            yield address, form, client.post(address, form)
    query = {"namespace": other.namespace}
    address = "/c/demo/compose/availability/"
    yield address, query, client.get(address, query)


def heard(person, side, other, names, *, by):
    """Yield (address, what was sent, what it says); nothing that is done stays."""
    with transaction.atomic():
        for address, body, answer in answers(person, side, other, by=by):
            # 503: on a busy machine an engine may be late, and says so.
            assert answer.status_code not in (404, 405, 500), (address, body)
            own = "/".join([address, *leaves(body)])
            yield address, body, told(answer, own, names)
        transaction.set_rollback(True)


@pytest.fixture
def judged_for(people):  # noqa: F811
    """Let the presets be there too, a person of no tenant, and one who sees all."""
    call_command("load_presets")
    nora = User.objects.create_user("nora", password="correct horse battery")
    maple = people[MAPLE.person].tenants.get()
    Membership.objects.create(user=people["eli"], tenant=maple)
    return {**people, NOBODY.person: nora}


@pytest.mark.parametrize(
    ("side", "other", "by"),
    [
        (MAPLE, ORCHID, "session"),
        (MAPLE, ORCHID, "token"),
        (ORCHID, MAPLE, "session"),
        (ORCHID, MAPLE, "token"),
        (NOBODY, ORCHID, "token"),
    ],
    ids=lambda each: getattr(each, "person", each),
)
def test_nothing_that_is_judged_names_another_tenant(side, other, by, judged_for):
    names = tuple(
        name for each in (MAPLE, ORCHID) if each is not side for name in each.names
    )
    leaks = [
        (address, name, body)
        for address, body, text in heard(
            judged_for[side.person], side, other, names, by=by
        )
        for name in names
        if name in text
    ]
    assert leaks == []


@pytest.mark.parametrize(("by", "where"), [("session", TOLD_BY_PAGES), ("token", TOLD)])
def test_foreign_claims_are_in_the_way_of_what_is_asked(by, where, judged_for):
    """Who may see all holders reads their names in the same answers."""
    missing = set(where)
    for address, _body, text in heard(
        judged_for["eli"], MAPLE, ORCHID, ORCHID.names, by=by
    ):
        if any(name in text for name in ORCHID.names):
            missing.discard(address)
        if not missing:
            break
    assert missing == set()


def changes(person, other):
    """Yield (address, method, answer) of all that changes something of the other's."""
    caller, cookies = Caller(all_scopes(person)), session_of(person)
    for route, methods in sorted(TABLE.items()):
        for name in (other.claim, other.names[0], other.word):
            address = filled(ROUTES[route], {**other.parts, "name": name})
            for method in methods.keys() & UNSAFE:
                if route.startswith("api:"):
                    yield address, method, caller.send(method, address, {})
                    continue
                client = Client()
                client.cookies.load(cookies)
                yield address, method, client.generic(method, address)


@pytest.mark.parametrize(
    ("side", "other"), [(MAPLE, ORCHID), (ORCHID, MAPLE)], ids=["maple", "orchid"]
)
def test_nothing_that_is_changed_names_another_tenant(side, other, people):  # noqa: F811
    asked, leaks = 0, []
    with transaction.atomic():
        for address, method, answer in changes(people[side.person], other):
            assert answer.status_code < 500, (address, method)
            text = told(answer, address, other.names)
            leaks += [(address, method, n) for n in other.names if n in text]
            asked += 1
        transaction.set_rollback(True)
    assert asked > 300
    assert leaks == []
