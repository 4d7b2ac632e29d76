"""Random claims: all that a request can say, sensible and not."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.agreement.fleets import GPU, V1, Features
from tests.cluster.client import Object

NAMESPACE = "walk"
_ATTRIBUTES = f'device.attributes["{GPU}"]'
_MEMORY = f'device.capacity["{GPU}"].memory'
SELECTORS = (
    "true",
    f'device.driver == "{GPU}"',
    f'{_ATTRIBUTES}.architecture == "Hopper"',
    f'{_ATTRIBUTES}.productName.lowerAscii().matches("^.*l40s.*$")',
    f'{_MEMORY}.compareTo(quantity("40Gi")) >= 0',
    f'{_MEMORY}.isGreaterThan(quantity("15Gi"))',
    f"{_ATTRIBUTES}.index < 2",
    f'{_ATTRIBUTES}.driverVersion.isGreaterThan(semver("580.0.0"))',
    f'"numa" in {_ATTRIBUTES} && {_ATTRIBUTES}.numa == 0',
)
RISKY = (
    f"{_ATTRIBUTES}.numa == 0",
    f"{_ATTRIBUTES}.ecc",
    f"has({_ATTRIBUTES}.profile) && {_ATTRIBUTES}.profile.startsWith('1g')",
    f"{_ATTRIBUTES}.profile == '2g.20gb'",
)
"""Those that fail on a device without the key, and one that looks like it."""

CONSTRAINED = (
    "resource.kubernetes.io/pcieRoot",
    f"{GPU}/productName",
    f"{GPU}/uuid",
    f"{GPU}/parentUUID",
    f"{GPU}/numa",
)


def random_claim(random: Random, name: str, features: Features) -> Object:
    """Return a claim of one to three requests."""
    count = random.choice((1, 1, 1, 1, 1, 2, 2, 3))
    requests = [_request(random, f"r{each}", features) for each in range(count)]
    devices: Object = {"requests": requests}
    if random.random() < 0.2:
        devices["constraints"] = [_constraint(random, requests, features)]
    return {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"devices": devices},
    }


def _request(random: Random, name: str, features: Features) -> Object:
    if random.random() < 0.45:
        subs = random.randint(1, 3)
        listed = [_one(random, features) | {"name": f"s{n}"} for n in range(subs)]
        return {"name": name, "firstAvailable": listed}
    exactly = _one(random, features)
    if random.random() < 0.1:
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


def _one(random: Random, features: Features) -> Object:
    """Return what `exactly` and each of `firstAvailable` have in common."""
    made: Object = {"deviceClassName": _class(random, features)}
    if random.random() < 0.05:
        made["allocationMode"] = "All"
    else:
        made["count"] = random.choice((1, 1, 1, 1, 2, 2, 3))
    if selectors := _selectors(random, features):
        made["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    if features.shares and random.random() < 0.3:
        made["capacity"] = {"requests": _capacity(random)}
    if features.taints and random.random() < 0.3:
        made["tolerations"] = [{"key": f"{GPU}/health", "operator": "Exists"}]
    return made


def _class(random: Random, features: Features) -> str:
    chance = random.random()
    if chance < 0.02:
        return random.choice(("bad-semver", "nowhere"))
    if chance < 0.05:
        return random.choice(("numa-zero", "everything"))
    names = ["gpu"] * 6 + ["any-gpu"] * 4 + ["hopper", "nic"]
    if features.counters:
        names += ["mig"] * 2
    if features.shares:
        names += ["shared"] * 3
    return random.choice(names)


def _selectors(random: Random, features: Features) -> list[str]:
    many = random.choice((0, 0, 0, 1, 1, 2))
    chosen = [
        random.choice(RISKY if random.random() < 0.08 else SELECTORS)
        for _ in range(many)
    ]
    if features.shares and random.random() < 0.15:
        sign = random.choice(("", "!"))
        chosen.insert(0, f"{sign}device.allowMultipleAllocations")
    return chosen


def _capacity(random: Random) -> dict[str, str]:
    asked = {"memory": random.choice(("500Mi", "1Gi", "3Gi", "10Gi", "16Gi", "40Gi"))}
    if random.random() < 0.3:
        asked["cores"] = random.choice(("5", "10", "30", "60", "101"))
    if random.random() < 0.05:
        asked = {f"{GPU}/memory": "1Gi"}
    return asked


def _constraint(random: Random, requests: list[Object], features: Features) -> Object:
    """Return a constraint on all requests, on some, or on one alternative."""
    kinds = ["matchAttribute"] * 2 + ["distinctAttribute"] * features.shares
    made: dict[str, Any] = {random.choice(kinds): random.choice(CONSTRAINED)}
    if random.random() < 0.6:
        made["requests"] = [
            _named(random, each)
            for each in random.sample(requests, random.randint(1, len(requests)))
        ]
    return made


def _named(random: Random, request: Object) -> str:
    subs = request.get("firstAvailable")
    if subs and random.random() < 0.5:
        return f"{request['name']}/{random.choice(subs)['name']}"
    return str(request["name"])


def pod(name: str, claims: list[str], node: str | None) -> Object:
    """Return a pod that uses claims, on one node only where one is named."""
    spec: Object = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example.com/app:1",
                "resources": {"claims": [{"name": each} for each in claims]},
            }
        ],
        "resourceClaims": [
            {"name": each, "resourceClaimName": each} for each in claims
        ],
    }
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
