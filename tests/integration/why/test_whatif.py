"""What if: before and after, from overlays alone."""

from __future__ import annotations

import pytest
import yaml
from asgiref.sync import async_to_sync
from django.urls import reverse

from claims.domain.why.suppose import Kind, Supposition
from claims.services.fits import ClaimFit
from claims.services.whatif import NotThere, awhatif
from inventory.models import KubeObject
from tests.integration.why.conftest import holder, request, template

pytestmark = pytest.mark.django_db(transaction=True)

FULL = "nvidia-h100-full-8gpu"


def ask(cluster, manifest, kind, target, **more):
    return async_to_sync(awhatif)(cluster, manifest, Supposition(kind, target), **more)


def outcomes(preview):
    return {name: node.outcome.value for name, node in preview.nodes.items()}


def test_a_drained_node_is_gone_and_its_claims_are_named(load_fleets):
    held = holder("train", "gpu-h100-a/gpu-0")
    cluster = load_fleets(FULL, "nvidia-t4-l40s", extra=[held])

    found = ask(cluster, template(request()), Kind.DRAIN, "gpu-h100-a")

    assert outcomes(found.before)["gpu-h100-a"] == "fits"
    assert "gpu-h100-a" not in found.after.nodes
    assert found.displaced == (("team-orchid", "train"),)
    assert (found.nodes[0].node, found.nodes[0].after) == ("gpu-h100-a", None)


def test_a_tainted_device_is_not_given(load_fleets):
    cluster = load_fleets(FULL)

    found = ask(
        cluster,
        template(request(count=8)),
        Kind.TAINT,
        "gpu.nvidia.com/gpu-h100-a/gpu-3",
    )

    assert outcomes(found.before) == {"gpu-h100-a": "fits"}
    assert outcomes(found.after) == {"gpu-h100-a": "no"}


def test_one_more_node_gives_what_its_like_gives(load_fleets):
    held = [holder(f"h{n}", f"gpu-h100-a/gpu-{n}") for n in range(8)]
    cluster = load_fleets(FULL, extra=held)

    found = ask(cluster, template(request(count=8)), Kind.ADD, "gpu-h100-a")

    assert outcomes(found.before) == {"gpu-h100-a": "no"}
    assert outcomes(found.after) == {"gpu-h100-a": "no", "gpu-h100-a-more": "fits"}


def test_a_claim_that_ended_leaves_its_device(load_fleets):
    cluster = load_fleets(FULL, extra=[holder("train", "gpu-h100-a/gpu-0")])

    found = ask(cluster, template(request(count=8)), Kind.END, "team-orchid/train")

    assert outcomes(found.after) == {"gpu-h100-a": "fits"}
    assert found.document()["changed"] == ["gpu-h100-a"]


@pytest.mark.parametrize("kind", list(Kind))
def test_nothing_is_written(load_fleets, kind):
    cluster = load_fleets(FULL, extra=[holder("train", "gpu-h100-a/gpu-0")])
    before = list(KubeObject.objects.order_by("pk").values("pk", "body", "revision"))
    target = {
        Kind.TAINT: "gpu.nvidia.com/gpu-h100-a/gpu-3",
        Kind.END: "team-orchid/train",
    }.get(kind, "gpu-h100-a")

    ask(cluster, template(request()), kind, target)
    again = ask(cluster, template(request(count=7)), kind, target)

    assert outcomes(again.before) == {"gpu-h100-a": "fits"}
    assert before == list(
        KubeObject.objects.order_by("pk").values("pk", "body", "revision")
    )


@pytest.mark.parametrize("kind", list(Kind))
def test_what_is_not_there_is_said(load_fleets, kind):
    with pytest.raises(NotThere, match="“a/b/c”"):
        ask(load_fleets(FULL), template(request()), kind, "a/b/c")


def test_of_another_tenants_claims_not_even_that_they_are_there_is_told(load_fleets):
    pending = holder("waits", "gpu-h100-a/gpu-1")
    del pending["status"]
    cluster = load_fleets(FULL, extra=[holder("train", "gpu-h100-a/gpu-0"), pending])
    told = []

    for name in ("train", "waits", "nowhere"):
        with pytest.raises(NotThere) as caught:
            ask(
                cluster,
                template(request()),
                Kind.END,
                f"team-orchid/{name}",
                own=frozenset({"ai-serving"}),
            )
        told.append(caught.value.message.replace(name, "it"))

    assert len(set(told)) == 1
    assert "that you may see" in told[0]
    for own in (None, frozenset({"team-orchid"})):
        assert ask(cluster, template(request()), Kind.END, "team-orchid/waits", own=own)


@pytest.fixture
def posted(client, load_fleets):
    """Return a function that posts the page as a person; others' claims hold cards."""
    cluster = load_fleets(
        FULL,
        extra=[
            holder("mine", "gpu-h100-a/gpu-0", namespace="ai-serving"),
            holder("theirs", "gpu-h100-a/gpu-1", namespace="maple-lab"),
            {
                **holder("waits", "gpu-h100-a/gpu-2", namespace="maple-lab"),
                "status": {},
            },
        ],
    )
    address = reverse("claims:whatif", args=[cluster.name])

    def post(person, manifest, **fields):
        client.force_login(person)
        text = manifest if isinstance(manifest, str) else yaml.safe_dump(manifest)
        return client.post(address, {"manifest": text, **fields})

    post.address = address
    return post


def test_page_compares_and_hides_what_others_hold(posted, ada):
    asked = template(request(count=6), namespace="ai-serving")

    response = posted(ada, asked, kind="drain", node="gpu-h100-a")
    text = response.content.decode()

    assert response.status_code == 200
    assert "Fits on 1 of 1 nodes now, and on 0 of 0 then." in text
    assert "ai-serving/mine" in text
    assert "1 of others" in text
    assert "maple-lab" not in text


@pytest.mark.parametrize(
    ("undecided", "error", "told"),
    [
        (800, "", "On 800 nodes the search did not end within its time"),
        (0, "no such class", "no such class"),
    ],
)
def test_page_is_never_surer_than_the_search(
    posted, ada, monkeypatch, undecided, error, told
):
    monkeypatch.setattr(
        "claims.services.whatif.fit_of",
        lambda name, _preview: ClaimFit(name, (), undecided, 801, error),
    )
    asked = template(request(count=6), namespace="ai-serving")

    text = posted(ada, asked, kind="drain", node="gpu-h100-a").content.decode()

    assert text.count(told) == 2
    assert "Fits on" not in text
    assert "fits on no node" not in text


@pytest.mark.parametrize(
    "claim", ["maple-lab/theirs", "birch-lab/waits", "birch-lab/x"]
)
def test_page_tells_no_tenant_of_anothers_claim(posted, ada, claim):
    asked = template(request(), namespace="ai-serving")

    response = posted(ada, asked, kind="end", claim=claim)

    assert response.status_code == 422
    assert "that you may see" in response.content.decode()


@pytest.mark.parametrize(
    ("manifest", "fields", "said"),
    [
        ("kind: [", {"kind": "drain"}, "line"),
        ("kind: Pod", {"kind": "drain"}, "Give a ResourceClaim"),
        (template({"name": "gpu"}), {"kind": "drain"}, "either “exactly” or"),
        (template(request()), {"kind": "drain", "node": "x"}, "There is no node “x”"),
        (template(request()), {"kind": "burn"}, "Choose what to suppose"),
    ],
)
def test_page_says_what_is_wrong_and_keeps_it(posted, ada, manifest, fields, said):
    response = posted(ada, manifest, **fields)
    text = response.content.decode()

    assert response.status_code == 422
    assert said.lower() in text.lower()
    first = (manifest if isinstance(manifest, str) else "apiVersion").split("\n")[0]
    assert first in text


def test_page_opens_with_the_composed_claim(posted, ada, client):
    client.force_login(ada)

    assert client.get(posted.address).status_code == 200
    response = client.post(posted.address, {"manifest": "kind: ResourceClaimTemplate"})
    assert response.status_code == 200
    assert "kind: ResourceClaimTemplate" in response.content.decode()
