"""Import over anything: no document or field is lost, no text makes it stumble."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claims.services.importing import import_text
from claims.services.yaml_source import pieces_of
from claims.services.yaml_text import UnreadableYaml
from tests.conftest import DATA
from tests.integration.importing.texts import CASES

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 40),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(
        ["gpu.nvidia.com", "nvidia.com/gpu", "x", "16Gi", "All", "A_b", ""]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=6),
)
KEYS = st.sampled_from(
    [
        *("requests", "constraints", "config", "exactly", "firstAvailable", "name"),
        *("deviceClassName", "deviceClass", "selectors", "cel", "expression", "count"),
        *("allocationMode", "capacity", "matchAttribute", "tolerations", "spec", "odd"),
        *("containers", "resources", "limits", "claims", "nvidia.com/gpu", "source"),
        *("resourceClaims", "template", "runtimeClassName", "metadata", "devices"),
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "Pod", "Job", "Service"]
)
VERSIONS = st.sampled_from(
    [
        "resource.k8s.io/v1",
        "resource.k8s.io/v1beta1",
        "resource.k8s.io/v1alpha2",
        "v1",
        7,
    ]
)
WRONG = st.fixed_dictionaries(
    {"apiVersion": VERSIONS, "kind": KINDS, "spec": VALUES},
    optional={"metadata": VALUES, "status": VALUES},
)
ASK = st.fixed_dictionaries(
    {"deviceClassName": st.sampled_from(["gpu.nvidia.com", "nvidia.com/gpu", "mig"])},
    optional={
        "count": st.sampled_from([0, 1, 2, "3"]),
        "allocationMode": st.sampled_from(["ExactCount", "all", "All"]),
        "selectors": st.lists(
            st.sampled_from(
                [
                    {"cel": {"expression": 'device.attributes["memory"] == "x"'}},
                    {"cel": "device.driver.architecture == 'Hopper'"},
                    {"expression": "device.allowMultipleAllocations"},
                ]
            ),
            max_size=2,
        ),
        "capacity": st.sampled_from(
            [{"memory": "8Gi"}, {"requests": {"memory": "1Gi"}}]
        ),
        "odd": st.just({"kept": [1, "two"]}),
        "tolerations": st.just([{"operator": "Exists"}]),
    },
)


@st.composite
def claims(draw):
    """Return a claim or template of mixed shapes, near to what people write."""
    requests = []
    for name in draw(
        st.lists(st.sampled_from("abcAB"), min_size=1, max_size=3, unique=True)
    ):
        ask = draw(ASK)
        shape = draw(st.sampled_from(["flat", "exactly", "list"]))
        if shape == "list":
            subs = [
                {"name": f"s{i}", **draw(ASK)} for i in range(draw(st.integers(1, 2)))
            ]
            requests.append({"name": name, "firstAvailable": subs})
        elif shape == "exactly":
            requests.append({"name": name, "exactly": ask})
        else:
            requests.append({"name": name, **ask})
    devices = {"requests": requests}
    if draw(st.booleans()):
        names = [request["name"] for request in requests]
        devices["constraints"] = [{"requests": names, "matchAttribute": "pcieRoot"}]
    kind = draw(st.sampled_from(["ResourceClaim", "ResourceClaimTemplate"]))
    inner = {"devices": devices}
    return {
        "apiVersion": draw(
            st.sampled_from(["resource.k8s.io/v1", "resource.k8s.io/v1beta1"])
        ),
        "kind": kind,
        "metadata": {"name": "it", "labels": {"kept": "yes"}},
        "spec": {"spec": inner} if kind.endswith("Template") else inner,
    }


STEADY = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def leaves(value, key=""):
    """Yield every scalar of a document with the key that it stands under."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, key)
    else:
        yield key, value


@STEADY
@given(claims())
def test_what_is_not_said_to_change_is_there(fleet_cluster, body):
    text = yaml.safe_dump(body, sort_keys=False)

    found = import_text(fleet_cluster, text)

    (document,) = found.documents
    (after,) = list(yaml.safe_load_all(found.corrected))
    kept = {("kept", 1), ("kept", "two"), ("kept", "yes"), ("operator", "Exists")}
    gone = set(leaves(body)) - set(leaves(after))
    assert not gone & kept
    # A leaf that went was under a key that some repair speaks of.
    told = " ".join(f"{f.path} {f.message}" for f in document.repaired)
    unsaid = {key for key, _value in gone} - {
        *("apiVersion", "expression", "cel", "memory", "requests")
    }
    assert all(key in told for key in unsaid), (unsaid, told)
    assert bool(document.repaired) == (found.corrected != text)
    again = import_text(fleet_cluster, found.corrected)
    assert again.corrected == found.corrected
    assert not [f for f in again.documents[0].faults if f.state == "repaired"]


@settings(STEADY, max_examples=50)
@given(st.lists(WRONG, min_size=1, max_size=3))
def test_wrong_types_everywhere_lose_nothing(fleet_cluster, documents):
    text = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True)

    found = import_text(fleet_cluster, text)

    assert len(found.documents) == len(documents)
    after = [each for each in yaml.safe_load_all(found.corrected) if each]
    assert len(after) >= len(documents)
    for document in found.documents:
        if not document.repaired:
            assert document.after == document.before


@given(st.text(st.sampled_from("-.: ab[]{}#&*|>'\"\n\t%"), max_size=200))
def test_the_pieces_of_a_text_are_the_text(text):
    pieces = pieces_of(text)
    assert "".join(piece.mark + piece.text for piece in pieces) == text


@settings(STEADY, max_examples=60)
@given(st.text(max_size=120))
def test_any_text_gets_an_answer(fleet_cluster, text):
    try:
        found = import_text(fleet_cluster, text)
    except UnreadableYaml:
        return
    assert found.corrected == text.removeprefix("\ufeff").replace("\r\n", "\n")


BOMB = "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\nkind: ResourceClaim\n"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (BOMB, "Aliases"),
        ("kind: ResourceClaim\nspec: " + "[" * 5_000, "nested too deeply"),
        ("kind: ResourceClaim\nspec: " + '{"a":' * 5_000, "nested too deeply"),
        ('{"kind": "ResourceClaim", "spec": ' + "[" * 100_000, "nested too deeply"),
        ("kind: ResourceClaim\nspec:\n" + "  - 1\n" * 30_000, "too long"),
        ("kind: a\nkind: b\n", "no YAML"),
        ('{"kind": "A", "kind": "B"}', "twice"),
        ("kind: ResourceClaim\n\tspec: 1\n", "no YAML"),
        ("kind: !!python/object:os.system ls\n", "no kind"),
    ],
)
def test_hostile_documents_are_one_sentence_beside_the_others(
    fleet_cluster, text, word
):
    good = CASES["v1beta1"][0]

    found = import_text(fleet_cluster, f"{good}---\n{text}")

    first, second = found.documents
    assert first.is_valid
    assert first.repaired
    (fault,) = second.faults
    assert word in fault.message
    assert "\n" not in fault.message
    assert second.after == text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("x" * 10_000_000, "KiB long"),
        ("a\x00b", "no text"),
        ("---\na: b\n" * 101, "more than 100 documents"),
    ],
)
def test_hostile_texts_are_one_sentence(fleet_cluster, text, word):
    with pytest.raises(UnreadableYaml, match=word):
        import_text(fleet_cluster, text)


@pytest.mark.parametrize(
    "path",
    sorted([*(DATA / "claims").iterdir(), *(DATA / "guides").iterdir()]),
    ids=lambda path: path.name,
)
def test_recorded_manifests_end_where_nothing_is_left_to_repair(fleet_cluster, path):
    text = path.read_text()
    found = import_text(fleet_cluster, text)
    again = import_text(fleet_cluster, found.corrected)
    assert again.corrected == found.corrected
    before = [each for each in yaml.safe_load_all(text) if each]
    after = [each for each in yaml.safe_load_all(found.corrected) if each]
    assert [b.get("kind") for b in before] == [a.get("kind") for a in after]
