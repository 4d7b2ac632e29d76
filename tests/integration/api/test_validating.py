"""Check, preview and CEL: nothing is done, and nothing of others is told."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from claims.models import ClaimRequest
from inventory.domain.kinds import WATCHED
from inventory.models import KubeObject


@pytest.fixture
def as_ada(call, ada, held_cluster):
    return call(ada)


def claim(name="mine", namespace="ai-serving", device_class="gpu.nvidia.com", **asked):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {"deviceClassName": device_class, **asked},
                    }
                ]
            }
        },
    }


def test_a_check_answers_with_findings_and_a_preview(as_ada):
    bad = claim("bad", selectors=[{"cel": {"expression": "device.nope"}}])

    answer = as_ada.post("clusters/demo/check", {"objects": [claim(), bad]})

    assert answer.status_code == 200, answer.content
    good, faulty = answer.json()["items"]
    assert {n["outcome"] for n in good["preview"]["nodes"].values()} >= {"fits", "no"}
    (finding,) = [d for d in faulty["diagnostics"] if d["code"] == "cel.compile"]
    assert (finding["level"], finding["line"], finding["column"]) == ("error", 1, 7)


def test_yaml_is_taken_as_it_is_and_lines_are_told(as_ada):
    text = """# a comment
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: mine}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors:
        - cel: {expression: device.nope}
"""

    answer = as_ada.send(
        "POST",
        "clusters/demo/check?namespace=ai-training",
        text,
        content_type="application/yaml",
    )

    (item,) = answer.json()["items"]
    assert item["namespace"] == "ai-training"
    assert item["diagnostics"][0]["fileLine"] == 12


def test_objects_beside_the_claims_stand_over_the_clusters(as_ada):
    own = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "mine.example.com"},
        "spec": {
            "selectors": [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}]
        },
    }
    asked = claim(device_class="mine.example.com")

    with_class = as_ada.post("clusters/demo/preview", {"objects": [own, asked]})
    without = as_ada.post("clusters/demo/preview", {"objects": [asked]})

    def outcomes(answer):
        nodes = answer.json()["items"][-1]["preview"]["nodes"]
        return {node["outcome"] for node in nodes.values()}

    assert "fits" in outcomes(with_class)
    assert "fits" not in outcomes(without)


def test_claims_of_one_pod_are_previewed_together(as_ada):
    objects = [claim("one", count=4), claim("two", count=4)]

    each = as_ada.post("clusters/demo/preview", {"objects": objects}).json()
    both = as_ada.post(
        "clusters/demo/preview", {"objects": objects, "together": True}
    ).json()

    assert len(each["items"]) == 2
    (pod,) = both["items"]
    assert pod["kind"] == "Pod"
    assert pod["preview"]["nodes"]


def test_the_first_own_namespace_stands_for_a_missing_one(as_ada):
    answer = as_ada.post("clusters/demo/check", {"objects": [claim(namespace="")]})

    assert answer.json()["items"][0]["namespace"] == "ai-serving"


@pytest.mark.parametrize("path", ["check", "preview"])
def test_manifests_in_foreign_namespaces_are_refused(path, as_ada, call, dora):
    foreign = {"objects": [claim(namespace="maple-lab")]}

    answer = as_ada.post(f"clusters/demo/{path}", foreign)

    assert answer.status_code == 403
    assert answer.json()["code"] == "check.namespace"
    assert call(dora).post(f"clusters/demo/{path}", foreign).status_code == 200


@pytest.mark.parametrize("name", ["ada", "cleo"])
def test_checks_name_no_other_tenant(name, held_cluster, call, request):
    own, *foreign = {
        "ada": ["ai-serving", "maple-"],
        "cleo": ["maple-lab", "ai-training", "orchid-"],
    }[name]
    objects = [
        claim("one", own, count=4),
        claim("all", own, allocationMode="All"),
        claim("monitor", own, adminAccess=True),
        claim("huge", own, count=64),
    ]

    caller = call(request.getfixturevalue(name))
    answer = caller.post("clusters/demo/check", {"objects": objects})

    assert answer.status_code == 200
    for word in foreign:
        assert word not in answer.text


def test_findings_on_other_objects_name_everybody_to_those_who_may_see(
    call, dora, as_ada
):
    body = {"objects": [claim(namespace="ai-serving")]}

    def idle(caller):
        found = caller.post("clusters/demo/check", body).json()["cluster"]
        return {f["namespace"] for f in found if f["kind"] == "ResourceClaim"}

    assert idle(as_ada) <= {"ai-serving", "ai-training"}
    assert "maple-lab" in idle(call(dora))


def test_validating_leaves_no_trace(as_ada, held_cluster):
    before = KubeObject.objects.count(), held_cluster.revision

    as_ada.post("clusters/demo/check", {"objects": [claim()]})
    as_ada.post("clusters/demo/preview", {"objects": [claim()]})
    as_ada.post("clusters/demo/cel", {"expression": "true"})

    held_cluster.refresh_from_db()
    assert (KubeObject.objects.count(), held_cluster.revision) == before
    assert not ClaimRequest.objects.exists()


def test_an_expression_is_judged_and_counted(as_ada):
    good = as_ada.post(
        "clusters/demo/cel", {"expression": 'device.driver == "dra.net"'}
    ).json()
    bad = as_ada.post("clusters/demo/cel", {"expression": "device.driver ==\n"}).json()

    assert good["devices"] == {"match": 3, "noMatch": 78, "error": 0}
    assert bad["compile"]["apiserver"]["ok"] is False
    assert bad["compile"]["apiserver"]["line"]
    assert bad["devices"] is None


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"objects": []}, 400, "request.invalid"),
        ({"objects": [{}]}, 422, "inventory.bad_file"),
        ({"objects": [{"kind": "Pod"}]}, 422, "inventory.bad_input"),
        ({"objects": [{"kind": "ResourceClaim"}]}, 422, "inventory.bad_input"),
        ({"objects": [{"kind": "Secret", "metadata": {}}]}, 422, "check.nothing"),
        ({"objects": [claim(f"c{n}") for n in range(21)]}, 422, "check.too_many"),
        ({"objects": [claim()], "colour": 1}, 400, "request.invalid"),
        ({"objects": "x"}, 400, "request.invalid"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_words(body, status, code, as_ada):
    answer = as_ada.post("clusters/demo/check", body)

    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content


@pytest.mark.parametrize("text", ["{", "a: [", "\t", "", "just text", "&a [*a]"])
def test_text_that_is_no_manifest_is_refused_in_words(text, as_ada):
    answer = as_ada.send(
        "POST", "clusters/demo/check", text, content_type="application/yaml"
    )

    assert answer.status_code in (400, 422), answer.content
    assert answer.json()["detail"]


def test_a_supposition_is_previewed_beside_what_is(as_ada):
    body = {
        "manifest": claim(count=4),
        "suppose": {"kind": "drain", "target": "gpu-l40s-a"},
    }

    found = as_ada.post("clusters/demo/what-if", body)

    assert found.status_code == 200, found.content
    told = found.json()
    assert "gpu-l40s-a" in told["before"]["nodes"]
    assert "gpu-l40s-a" not in told["after"]["nodes"]
    assert told["changed"] == ["gpu-l40s-a"]


def test_a_drained_node_names_only_own_claims(call, ada, cleo, held_cluster):
    for person, own in (
        (ada, ("ai-serving/", "ai-training/")),
        (cleo, ("maple-lab/",)),
    ):
        body = {
            "manifest": claim(namespace=own[0].rstrip("/")),
            "suppose": {"kind": "drain", "target": "gpu-l40s-a"},
        }
        told = call(person).post("clusters/demo/what-if", body).json()

        assert told["displaced"] > len(told["displacedClaims"])
        assert all(name.startswith(own) for name in told["displacedClaims"])


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"suppose": {"kind": "drain", "target": "nowhere"}}, 422, "whatif.not_there"),
        (
            {"suppose": {"kind": "end", "target": "maple-lab/x"}},
            422,
            "whatif.not_there",
        ),
        ({"suppose": {"kind": "sell", "target": "x"}}, 400, "request.invalid"),
        ({"suppose": {"kind": "drain"}}, 400, "request.invalid"),
        (
            {"manifest": {"kind": "Pod", "metadata": {"name": "x"}}},
            422,
            "check.nothing",
        ),
        ({"manifest": claim(nonsense=1)}, 422, "whatif.manifest"),
        ({"manifest": claim(namespace="maple-lab")}, 403, "check.namespace"),
        ({"more": 1}, 400, "request.invalid"),
    ],
)
def test_a_supposition_that_makes_no_sense_is_refused(change, status, code, as_ada):
    body = {
        "manifest": claim(),
        "suppose": {"kind": "drain", "target": "gpu-l40s-a"},
    }

    answer = as_ada.post("clusters/demo/what-if", body | change)

    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content


DOMAIN = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "ComputeDomain",
    "metadata": {"name": "mine", "namespace": "ai-serving"},
    "spec": {
        "numNodes": 0,
        "channel": {"resourceClaimTemplate": {"name": "mine-channel"}},
    },
}
SUPPOSED = {"kind": "drain", "target": "gpu-l40s-a"}
JUDGED = [
    ("check", {"objects": [claim()]}),
    ("preview", {"objects": [claim()]}),
    ("preview", {"objects": [claim()], "together": True}),
    ("what-if", {"manifest": claim(), "suppose": SUPPOSED}),
    ("cel", {"expression": "true"}),
    ("explain", {"manifest": claim()}),
    ("copies", {"manifest": claim()}),
    ("import", {"text": json.dumps(claim())}),
    ("adoption/convert", {"text": json.dumps(claim())}),
    ("compute-domains/preview", {"manifest": DOMAIN}),
]


@pytest.mark.parametrize(("path", "body"), JUDGED)
def test_an_answer_says_how_old_its_cluster_is(as_ada, held_cluster, path, body):
    for age, told in ((timedelta(minutes=1), None), (timedelta(days=3), "3 d ago")):
        held_cluster.heard_at = timezone.now() - age
        held_cluster.save(update_fields=["heard_at"])

        answer = as_ada.post(f"clusters/demo/{path}", body)

        assert answer.status_code == 200, answer.content
        said = answer.json()
        assert datetime.fromisoformat(said["heardAt"]) == held_cluster.heard_at
        assert (told in said["stale"]) if told else (said["stale"] is None)


@pytest.mark.parametrize("path", ["moves", "availability"])
def test_what_is_free_says_how_old_its_cluster_is(as_ada, held_cluster, path):
    held_cluster.heard_at = timezone.now() - timedelta(days=2)
    held_cluster.save(update_fields=["heard_at"])

    said = as_ada.get(f"clusters/demo/{path}").json()

    assert datetime.fromisoformat(said["heardAt"]) == held_cluster.heard_at
    assert "2 d ago" in said["stale"]


@pytest.mark.parametrize(
    ("path", "body"), [*JUDGED, ("moves", None), ("availability", None)]
)
def test_an_answer_says_what_of_its_cluster_is_not_seen(
    as_ada, held_cluster, path, body
):
    watched = {kind.kind: {"state": "watching"} for kind in WATCHED}
    held_cluster.kind = held_cluster.Kind.LIVE
    for state, told in (("watching", 0), ("forbidden", 1)):
        held_cluster.kinds = {**watched, "ResourceClaim": {"state": state}}
        held_cluster.save(update_fields=["kind", "kinds"])

        address = f"clusters/demo/{path}"
        said = (as_ada.post(address, body) if body else as_ada.get(address)).json()

        assert len(said["unseen"]) == told, said
        assert all("may be held" in sentence for sentence in said["unseen"])
