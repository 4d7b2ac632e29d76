"""Drafts that are claims, made by hypothesis: every field of the form is used."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from claims.domain.draft import (
    AlternativeDraft,
    ConfigDraft,
    ConstraintDraft,
    Draft,
    RequestDraft,
    TolerationDraft,
    places,
)

CLASSES = ("gpu.example.com", "mig.example.com")

labels = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n"), max_size=30
)
expressions = texts.filter(lambda text: text.strip() and text == text.rstrip())
quantities = st.sampled_from(["16Gi", "1", "500m", "1e3", "0", "3.5T", "+2"])
pairs = st.dictionaries(labels, labels, max_size=2).map(lambda d: tuple(d.items()))
notes = st.dictionaries(labels, texts, max_size=2).map(lambda d: tuple(d.items()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(labels, inner),
    max_leaves=5,
)
tolerations = st.builds(
    TolerationDraft,
    key=labels,
    operator=st.just("Equal"),
    value=labels,
    effect=st.sampled_from(["", "NoSchedule", "None"]),
) | st.builds(
    TolerationDraft,
    operator=st.just("Exists"),
    effect=st.just("NoExecute"),
    seconds=st.sampled_from(["", "0", "300"]),
)


@st.composite
def alternatives(draw, name=""):
    mode = draw(st.sampled_from(["ExactCount", "All"]))
    capacity = draw(st.dictionaries(labels, quantities, max_size=2))
    return AlternativeDraft(
        name=name,
        device_class=draw(st.sampled_from(CLASSES)),
        allocation_mode=mode,
        count=str(draw(st.integers(1, 32))) if mode == "ExactCount" else "1",
        selectors=tuple(draw(st.lists(expressions, max_size=2))),
        capacity=tuple(sorted(capacity.items())),
        tolerations=tuple(draw(st.lists(tolerations, max_size=2))),
        derived=tuple(draw(st.lists(st.tuples(labels, expressions), max_size=2))),
    )


@st.composite
def requests(draw, name):
    if draw(st.booleans()):
        return RequestDraft(name, "exactly", (draw(alternatives()),))
    names = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    rows = tuple(draw(alternatives(each)) for each in names)
    return RequestDraft(name, "firstAvailable", rows)


@st.composite
def configs(draw, bound):
    binds = tuple(draw(st.lists(st.sampled_from(bound), unique=True, max_size=2)))
    if draw(st.booleans()):
        body = draw(st.dictionaries(labels, json_values, max_size=2))
        return ConfigDraft("nic.example.com", json=json.dumps(body), binds=binds)
    form, driver, values = draw(
        st.sampled_from(
            [
                ("GpuConfig", "gpu.nvidia.com", {}),
                (
                    "GpuConfig",
                    "gpu.nvidia.com",
                    {"strategy": "TimeSlicing", "interval": "Long"},
                ),
                (
                    "MigDeviceConfig",
                    "gpu.nvidia.com",
                    {
                        "strategy": "MPS",
                        "threads": "25",
                        "memory": "8Gi",
                        "limits": "0=8Gi, 1=4Gi",
                    },
                ),
                (
                    "VfioDeviceConfig",
                    "gpu.nvidia.com",
                    {"policy": "LegacyOnly", "device": "false"},
                ),
                (
                    "ComputeDomainChannelConfig",
                    "compute-domain.nvidia.com",
                    {"domain": "7a3d5a50", "mode": "All"},
                ),
            ]
        )
    )
    return ConfigDraft(driver, form, tuple(sorted(values.items())), binds=binds)


@st.composite
def drafts(draw):
    names = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    kind = draw(st.sampled_from(["ResourceClaimTemplate", "ResourceClaim"]))
    is_template = kind == "ResourceClaimTemplate"
    rows = tuple(draw(requests(name)) for name in names)
    bound = list(places(Draft(requests=rows)))
    constraints = st.builds(
        ConstraintDraft,
        st.sampled_from(["matchAttribute", "distinctAttribute"]),
        st.just("x.example.com/rack"),
        st.lists(st.sampled_from(bound), unique=True, max_size=3).map(tuple),
    )
    return Draft(
        kind=kind,
        namespace=draw(labels),
        name=draw(labels),
        requests=rows,
        constraints=tuple(draw(st.lists(constraints, max_size=2))),
        configs=tuple(draw(st.lists(configs(bound), max_size=2))),
        labels=draw(pairs),
        annotations=draw(notes),
        claim_labels=draw(pairs) if is_template else (),
        claim_annotations=draw(notes) if is_template else (),
    )
