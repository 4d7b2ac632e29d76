"""Import: what is wrong is said with its place, put right, and nothing else is touched."""

from __future__ import annotations

import pytest
import yaml

from claims.services.imported import Choice
from claims.services.importing import import_text
from claims.services.yaml_text import UnreadableYaml
from tests.integration.importing.texts import CASES, FLAT, HEAD, v1


def repaired(found):
    return {f.code for each in found.documents for f in each.repaired}


def bodies(found):
    return [body for body in yaml.safe_load_all(found.corrected) if body]


@pytest.mark.parametrize("name", CASES)
def test_each_mistake_is_put_right_and_said(fleet_cluster, name):
    text, codes, present, absent = CASES[name]

    found = import_text(fleet_cluster, text)

    assert repaired(found) == codes
    for part in present:
        assert part in found.corrected
    for part in absent:
        assert part not in found.corrected
    assert found.is_valid, [f for each in found.documents for f in each.faults]
    # Every comment is still there, and what comes out needs nothing more.
    comments = {
        line[line.index("# kept") :] for line in text.splitlines() if "# kept" in line
    }
    assert all(each in found.corrected for each in comments)
    again = import_text(fleet_cluster, found.corrected)
    assert (again.corrected, repaired(again)) == (found.corrected, set())


def test_each_fault_has_a_place_in_the_text(fleet_cluster):
    text = "# first\n---\n" + HEAD.format(version="v1beta1") + FLAT

    found = import_text(fleet_cluster, text)

    (document,) = found.documents
    assert (document.number, document.line) == (1, 3)
    lines = {fault.code: fault.line for fault in document.repaired}
    assert lines == {"import.version": 4, "claim.invalid": 13}
    (version,) = [f for f in document.repaired if f.code == "import.version"]
    assert version.path == "apiVersion"
    assert "v1beta1 is an older version" in version.message
    assert document.diff.startswith("--- a/resourceclaim-one.yaml\n+++ b/")


def test_only_the_lines_that_changed_are_in_the_diff(fleet_cluster):
    odd = (
        HEAD.format(version="v1").replace("one   #", "'one'    #")
        + FLAT
        + "\n\n# end\n"
    )

    found = import_text(fleet_cluster, odd)

    removed = [line for line in found.diff.splitlines()[2:] if line.startswith("-")]
    assert [line.strip("- ").split("  #")[0] for line in removed] == [
        "deviceClassName: gpu.nvidia.com",
        "count: 2",
    ]
    assert found.corrected.endswith("\n\n# end\n")


def test_each_repair_can_be_declined(fleet_cluster):
    text = HEAD.format(version="v1beta1") + FLAT.replace(
        "gpu.nvidia.com", "nvidia.com/mig"
    )
    whole = import_text(fleet_cluster, text)
    (version,) = [f for f in whole.documents[0].repaired if f.code == "import.version"]
    (wrapped,) = [f for f in whole.documents[0].repaired if f.code == "claim.invalid"]

    one = import_text(fleet_cluster, text, choice=Choice(frozenset({wrapped.key})))

    assert repaired(one) == {"import.version", "class.missing"}
    assert "exactly" not in one.corrected
    assert "deviceClassName: mig.nvidia.com" in one.corrected
    assert not one.is_valid
    none = import_text(
        fleet_cluster, text, choice=Choice(frozenset({wrapped.key, version.key}))
    )
    states = {f.code: f.state for f in none.documents[0].faults if f.key}
    assert states == {"import.version": "declined"}
    assert none.corrected == text


def test_what_changes_the_meaning_is_made_only_when_chosen(fleet_cluster):
    text = v1(FLAT.replace("count: 2", "count: 1")) + (
        "    constraints:\n      - requests: [gpu]\n"
        "        matchAttribute: gpu.nvidia.com/uuid\n"
    )
    found = import_text(fleet_cluster, text)
    (offer,) = [f for f in found.documents[0].faults if f.state == "offered"]
    assert offer.code == "constraint.no_effect"
    assert "constraints" in found.corrected

    chosen = import_text(
        fleet_cluster, text, choice=Choice(chosen=frozenset({offer.key}))
    )

    assert "constraints" not in chosen.corrected


def test_what_cannot_be_put_right_says_why(fleet_cluster):
    text = v1(FLAT.replace("gpu.nvidia.com", "gpu.nvidai.com")) + (
        "---\napiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\n"
        "metadata: {name: old}\nspec: {resourceClassName: gpu}\n"
        "---\nkind: [\n---\njust: data\n"
    )

    found = import_text(fleet_cluster, text)

    first, old, broken, other = found.documents
    (missing,) = [f for f in first.faults if f.code == "class.missing"]
    assert (missing.state, "gpu.nvidia.com" in missing.message) == ("left", True)
    assert next(f.code for f in old.faults if f.level == "error") == "import.old_kind"
    (fault,) = broken.faults
    assert (fault.code, fault.line) == ("import.unreadable", 20)
    assert "no kind" in other.faults[0].message
    assert not found.is_valid
    assert found.corrected.endswith(text[text.index("---\napi") :])


DEVICE_PLUGIN = """    spec:
      runtimeClassName: nvidia
      containers:
        - name: main   # the one that trains
          image: registry.example.com/train:1
          resources:
            limits:
              cpu: "4"
              nvidia.com/gpu: {amount}
"""


@pytest.mark.parametrize(
    ("api", "kind", "before"),
    [
        ("apps/v1", "Deployment", "  selector: {matchLabels: {a: b}}\n  template:\n"),
        ("apps/v1", "StatefulSet", "  serviceName: s\n  template:\n"),
        ("apps/v1", "DaemonSet", "  template:\n"),
        ("batch/v1", "Job", "  backoffLimit: 3\n  template:\n"),
    ],
)
def test_a_workload_of_the_device_plugin_gets_a_template(
    fleet_cluster, api, kind, before
):
    text = (
        f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: train, namespace: ai-serving}}\n"
        f"spec:\n{before}" + DEVICE_PLUGIN.format(amount=2)
    )

    found = import_text(fleet_cluster, text)

    workload, template = bodies(found)
    pod = workload["spec"]["template"]["spec"]
    assert pod["resourceClaims"] == [
        {"name": "gpu", "resourceClaimTemplateName": "train-gpu"}
    ]
    assert pod["containers"][0]["resources"] == {
        "limits": {"cpu": "4"},
        "claims": [{"name": "gpu"}],
    }
    assert "runtimeClassName" not in pod
    assert "# the one that trains" in found.corrected
    assert template["metadata"] == {"name": "train-gpu", "namespace": "ai-serving"}
    assert template["spec"]["spec"]["devices"]["requests"] == [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}
    ]
    assert found.documents[0].checked
    assert found.documents[0].fitting
    assert repaired(import_text(fleet_cluster, found.corrected)) == set()


def test_containers_with_gpus_of_their_own_name_their_requests(fleet_cluster):
    text = """apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: ai-serving}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - name: big
              resources: {limits: {nvidia.com/gpu: 1}}
            - name: small
              resources:
                requests: {nvidia.com/mig-1g.10gb: "2"}
                limits: {nvidia.com/mig-1g.10gb: "2"}
"""
    found = import_text(fleet_cluster, text)

    job, template = bodies(found)
    spec = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    big, small = template["spec"]["spec"]["devices"]["requests"]
    assert [c["resources"] for c in spec["containers"]] == [
        {"claims": [{"name": "gpu", "request": big["name"]}]},
        {"claims": [{"name": "gpu", "request": small["name"]}]},
    ]
    assert small["exactly"]["deviceClassName"] == "mig.nvidia.com"
    (selector,) = small["exactly"]["selectors"]
    assert selector["cel"]["expression"].endswith('.profile == "1g.10gb"')
    assert found.is_valid


def test_a_time_slice_is_a_share_where_cards_are_shared_by_number(load_fleets):
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
        "    - name: main\n      resources: {limits: {nvidia.com/gpu.shared: 1}}\n"
    )
    by_number = load_fleets("nvidia-l40s-consumable-shares")
    found = import_text(by_number, text)
    asked = bodies(found)[1]["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert asked["capacity"] == {"requests": {"shares": "1"}}

    by_memory = load_fleets("nvidia-h100-consumable-shares", name="other")
    left = import_text(by_memory, text)
    assert left.corrected == text
    assert "shared by number" in left.documents[0].faults[0].message


def test_an_exported_list_is_taken_object_by_object(fleet_cluster):
    inner = "\n".join(f"    {line}" for line in (v1(FLAT)).splitlines())
    text = f"apiVersion: v1\nkind: List\nitems:\n  - {inner.strip()}\n"
    text = text.replace("  - # kept: who wrote this\n    api", "  - api")

    found = import_text(fleet_cluster, text)

    assert repaired(found) == {"claim.invalid"}
    (body,) = bodies(found)
    assert body["items"][0]["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2


def test_json_stays_json(fleet_cluster):
    import json

    text = json.dumps(yaml.safe_load(v1(FLAT)), indent=2)

    found = import_text(fleet_cluster, text)

    body = json.loads(found.corrected)
    assert body["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2
    assert found.is_valid


def test_a_renamed_class_is_followed_by_its_claims(fleet_cluster):
    cls = CASES["a class without a type"][0]
    claim = v1(FLAT.replace("gpu.nvidia.com", "example.com/big-gpu"))

    found = import_text(fleet_cluster, f"{claim}---\n{cls}")

    assert "deviceClassName: big-gpu.example.com" in found.corrected
    assert found.is_valid


def test_nothing_of_a_foreign_namespace_is_told(load_fleets, ada):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "secret-quota", "namespace": "maple-lab"},
        "spec": {"hard": {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "0"}},
        "status": {"hard": {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "0"}},
    }
    cluster = load_fleets("nvidia-t4-l40s", extra=[quota])
    text = v1(FLAT).replace("ai-serving", "maple-lab")

    mine = import_text(cluster, text, user=ada)
    anyone = import_text(cluster, text)

    assert "quota.exceeded" in {f.code for f in anyone.documents[0].faults}
    codes = {f.code for f in mine.documents[0].faults}
    assert "import.namespace" in codes
    assert "quota.exceeded" not in codes
    assert "secret-quota" not in "".join(f.message for f in mine.documents[0].faults)


@pytest.mark.parametrize("text", ["", "\n# only a comment\n---\n", "%YAML 1.2\n---\n"])
def test_nothing_is_said_to_be_nothing(fleet_cluster, text):
    with pytest.raises(UnreadableYaml, match="nothing here"):
        import_text(fleet_cluster, text)
