from __future__ import annotations

from claims.domain.preview import (
    NodePreview,
    Preview,
    claim_of,
    only_alternative,
)
from inventory.domain.engine import Outcome

CLAIM = {
    "metadata": {"name": "c"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "gpus", "firstAvailable": [{"name": "a"}, {"name": "b"}]},
                {"name": "nic", "exactly": {}},
            ],
            "constraints": [
                {"requests": ["gpus/a"], "distinctAttribute": "u"},
                {"requests": ["gpus/b", "nic"], "matchAttribute": "p"},
                {"matchAttribute": "q"},
            ],
        }
    },
}


def test_only_alternative_leaves_one_and_its_constraints():
    devices = only_alternative(CLAIM, "gpus", "a")["spec"]["devices"]

    assert devices["requests"] == [
        {"name": "gpus", "firstAvailable": [{"name": "a"}]},
        {"name": "nic", "exactly": {}},
    ]
    assert devices["constraints"] == [
        {"requests": ["gpus/a"], "distinctAttribute": "u"},
        {"requests": ["nic"], "matchAttribute": "p"},
        {"matchAttribute": "q"},
    ]
    assert len(CLAIM["spec"]["devices"]["requests"][0]["firstAvailable"]) == 2


def test_claim_of_a_template_has_its_inner_spec():
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "n"},
        "spec": {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {}}},
    }

    claim = claim_of(template)

    assert claim["metadata"] == {"labels": {"a": "b"}, "name": "t", "namespace": "n"}
    assert claim["spec"] == {"devices": {}}


def test_preview_keeps_outcomes_apart():
    results = [{"devices": {"results": [{"request": "gpus/a"}, {"request": "gpus/a"}]}}]
    preview = Preview(
        7,
        {"minor": "1.37"},
        {
            "n2": NodePreview(Outcome.FITS, "", results, 8),
            "n1": NodePreview(Outcome.ERROR, "CEL runtime error", None, None),
            "n3": NodePreview(Outcome.NO, "", None, None),
        },
    )

    assert preview.fitting == ["n2"]
    assert preview.pod_error == "CEL runtime error"
    assert preview.nodes["n2"].alternatives() == ["gpus/a"]
    assert list(preview.document()["nodes"]) == ["n1", "n2", "n3"]
