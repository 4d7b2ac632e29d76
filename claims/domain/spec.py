"""What a claim may hold, and how much of it, in Kubernetes' own words.

Source: resource.k8s.io/v1 DeviceClaim and what is inside it.
"""

from __future__ import annotations

from enum import StrEnum

MAX_ALTERNATIVES = 8
MAX_REQUESTS = 32
MAX_CONSTRAINTS = 32
MAX_CONFIGS = 32
MAX_SELECTORS = 32
MAX_TOLERATIONS = 16
MAX_DERIVED = 32
MAX_DEVICES = 32
MAX_PAIRS = 64
MAX_EXPRESSION_BYTES = 10 * 1024


class Kind(StrEnum):
    """The two kinds that a person may compose."""

    TEMPLATE = "ResourceClaimTemplate"
    CLAIM = "ResourceClaim"


class AllocationMode(StrEnum):
    """How many of the matching devices are meant."""

    EXACT_COUNT = "ExactCount"
    ALL = "All"
