"""The people and tenants of the demo; a table without Django, printed and stored."""

from __future__ import annotations

from dataclasses import dataclass

CLUSTER = "demo"


@dataclass(frozen=True)
class Person:
    """A log-in of the demo. The passwords are fixed, since the demo holds no secrets."""

    username: str
    password: str
    what: str
    roles: tuple[str, ...] = ()
    tenant: str = ""


PEOPLE = (
    Person("ada@orchid", "orchid-demo-ada", "tenant orchid", tenant="orchid"),
    Person("cleo@maple", "maple-demo-cleo", "tenant maple", tenant="maple"),
    Person("ben@platform", "platform-demo-ben", "approver", ("approver",)),
    Person("dora@platform", "platform-demo-dora", "admin", ("admin",)),
    Person("eli@audit", "audit-demo-eli", "auditor", ("auditor",)),
)
# Tenant → its namespaces in the demo's cluster; its Kubernetes group is `tenant-group`.
# In gpu-monitoring, administrative access may be asked for.
TENANTS = {
    "orchid": ("ai-serving", "ai-training", "gpu-monitoring"),
    "maple": ("maple-lab",),
}
# Tenant → limits in GiB, cards, memory slices and hours of cards in a month.
BUDGETS = {
    "orchid": {
        "vram_soft": 2400,
        "vram_hard": 3072,
        "cards_soft": 24,
        "cards_hard": 32,
        "slices_soft": 32,
        "slices_hard": 40,
        "hours_soft": 20000,
        "hours_hard": 30000,
    }
}
BUDGETS_BY = "dora@platform"


def log_ins() -> str:
    """Return one line a person: what to sign in with, and as whom."""
    return "\n".join(
        f"  {person.username:<15}{person.password:<20}{person.what}"
        for person in PEOPLE
    )
