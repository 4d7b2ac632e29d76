"""Kueue's objects, read: how far a workload is, and whose it is."""

from __future__ import annotations

import pytest

from claims.domain.kueue import Admission, Sought, belongs, queue_of, queued_of


def workload(*conditions, spec=None, **metadata):
    rows = [
        {"type": kind, "status": status, "message": f"about {kind}"}
        for kind, status in conditions
    ]
    return {
        "metadata": {"name": "job-train", **metadata},
        "spec": spec or {},
        "status": {"conditions": rows},
    }


@pytest.mark.parametrize(
    ("conditions", "spec", "state", "message"),
    [
        ([], {}, Admission.PENDING, ""),
        ([("QuotaReserved", "False")], {}, Admission.PENDING, "about QuotaReserved"),
        ([("QuotaReserved", "True")], {}, Admission.RESERVED, "about QuotaReserved"),
        (
            [("QuotaReserved", "True"), ("Admitted", "True")],
            {},
            Admission.ADMITTED,
            "about Admitted",
        ),
        (
            [("Evicted", "True"), ("QuotaReserved", "False")],
            {},
            Admission.EVICTED,
            "about Evicted",
        ),
        (
            [("Evicted", "True"), ("QuotaReserved", "True"), ("Admitted", "True")],
            {},
            Admission.ADMITTED,
            "about Admitted",
        ),
        ([], {"active": False}, Admission.INACTIVE, ""),
        (
            [("Admitted", "True"), ("Finished", "True")],
            {},
            Admission.FINISHED,
            "about Finished",
        ),
    ],
)
def test_state_is_the_last_that_holds(conditions, spec, state, message):
    found = queued_of(workload(*conditions, spec=spec))
    assert (found.state, found.message) == (state, message)


@pytest.mark.parametrize(
    "spec",
    [
        {"priorityClassName": "high", "priority": 7, "queueName": "q"},
        {"priorityClassRef": {"name": "high"}, "priority": 7, "queueName": "q"},
    ],
)
def test_both_versions_name_their_priority(spec):
    found = queued_of(workload(spec=spec))
    assert (found.priority_class, found.priority, found.queue) == ("high", 7, "q")


def podset(**entry):
    return {"podSets": [{"template": {"spec": {"resourceClaims": [entry]}}}]}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (workload(spec=podset(resourceClaimTemplateName="t")), True),
        (workload(spec=podset(resourceClaimTemplateName="other")), False),
        (workload(spec=podset(resourceClaimName="c")), True),
        (workload(ownerReferences=[{"uid": "job-1"}]), True),
        (workload(labels={"kueue.x-k8s.io/job-uid": "job-1"}), True),
        (workload(ownerReferences=[{"uid": "job-2"}]), False),
        ({"spec": {"podSets": "odd"}, "metadata": None}, False),
    ],
)
def test_a_workload_is_known_by_its_claims_and_owners(body, expected):
    names = frozenset({("ResourceClaimTemplate", "t"), ("ResourceClaim", "c")})
    assert belongs(body, Sought(names, frozenset({"job-1"}))) is expected


def test_what_a_queue_does_not_say_is_unknown_and_not_zero():
    found = queue_of({"metadata": {"name": "q"}})
    assert (found.pending, found.admitted, found.active) == (None, None, None)
    stopped = [{"type": "Active", "status": "False", "message": "no such queue"}]
    found = queue_of({"status": {"pendingWorkloads": 0, "conditions": stopped}})
    assert (found.pending, found.active, found.message) == (0, False, "no such queue")
