"""Every code of the catalogue, and each of its variants, in English and in Korean."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from claims.domain.checks.findings import CATALOGUE, Finding
from claims.services.finding_sentences import SENTENCES, sentence

HOLE = re.compile(r"%\((\w+)\)s")

# What has one name in every language: fields, values, kinds and products.
NAMES = frozenset(
    """
    API All ComputeDomain DRA DRAListTypeAttributes DeviceClass Equal ExactCount Exists
    GPU Gi Kubernetes Kueue KueueDRAIntegrationPrioritizedList NVIDIA NVLink NoExecute
    NoSchedule ResourceClaimTemplate Single adminAccess allocationMode allowMultipleAllocations
    cel com count device deviceClassName deviceSelector distinctAttribute effect exactly
    expression firstAvailable gpu has io k kube key matchAttribute nvidia operator orValue
    productName resource s scheduler semver spec startsWith type v
    """.split()  # noqa: SIM905  a list of words
)


def finding_of(key: str) -> Finding:
    """Return a finding whose values all look like nothing else."""
    code = next(code for code in CATALOGUE if key == code or key.startswith(f"{code}."))
    values = {
        name: f"값{at}" for at, name in enumerate(HOLE.findall(str(SENTENCES[key])))
    }
    return Finding(code, values=values, variant=key[len(code) + 1 :])


@pytest.mark.parametrize("key", SENTENCES)
def test_a_code_is_said_in_both_languages_with_all_its_values(key):
    finding = finding_of(key)
    with translation.override("en"):
        english = sentence(finding)
    with translation.override("ko"):
        korean = sentence(finding)

    assert english != korean
    for value in finding.values.values():
        assert value in english
        assert value in korean
    assert "%(" not in english + korean
    assert re.search("[가-힣]", re.sub(r"값\d+", "", korean))
    assert set(re.findall("[A-Za-z]+", korean)) <= NAMES
