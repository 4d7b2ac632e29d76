"""What `slicewise get` lists: the address of each list, and its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slicewise_cli.output import Column, gib

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the API; `path` may hold {cluster}."""

    path: str
    columns: tuple[Column, ...]


def member(name: str) -> Any:
    """Return what takes a member of a row."""
    return lambda row: row[name]


def _holders(row: Json) -> str:
    named = [f"{each['namespace']}/{each['claim']}" for each in row["holders"]]
    others = row["otherHolders"]
    return ", ".join([*named, *([f"{others} in use by others"] if others else [])])


def _free(row: Json) -> str:
    memory = row["memory"]
    return gib(memory["available"])


def _used(row: Json) -> str:
    memory = row["memory"]
    return gib(memory["allocated"], at_least=memory["allocatedAtLeast"])


def _total(row: Json) -> str:
    memory = row["memory"]
    return gib(memory["total"], at_least=memory["totalAtLeast"])


def _count(name: str) -> Any:
    return lambda row: "?" if row[name] is None else row[name]


LISTINGS = {
    "clusters": Listing(
        "clusters",
        (
            ("name", member("name")),
            ("version", member("kubernetesVersion")),
            ("freshness", member("freshness")),
            ("revision", member("revision")),
        ),
    ),
    "nodes": Listing(
        "clusters/{cluster}/nodes",
        (
            ("name", member("name")),
            ("ready", member("ready")),
            ("cordoned", member("cordoned")),
            ("cards", lambda row: row["cards"]["count"]),
            ("free", lambda row: gib(row["cards"]["memory"]["available"])),
            (
                "total",
                lambda row: gib(
                    row["cards"]["memory"]["total"],
                    at_least=row["cards"]["memory"]["totalAtLeast"],
                ),
            ),
        ),
    ),
    "gpus": Listing(
        "clusters/{cluster}/cards",
        (
            ("node", member("node")),
            ("name", member("name")),
            ("product", member("product")),
            ("used", _used),
            ("free", _free),
            ("total", _total),
            ("largest", lambda row: gib(row["memory"]["largest"])),
            ("usable", member("usable")),
            ("holders", _holders),
        ),
    ),
    "devices": Listing(
        "clusters/{cluster}/devices",
        (
            ("id", member("id")),
            ("type", member("type")),
            ("product", member("product")),
            ("memory", lambda row: gib(row["memoryBytes"])),
            ("state", member("state")),
            ("holders", _holders),
        ),
    ),
    "pools": Listing(
        "clusters/{cluster}/pools",
        (
            ("driver", member("driver")),
            ("name", member("name")),
            ("verdict", member("verdict")),
            ("slices", lambda row: f"{row['seenSlices']}/{row['expectedSlices']}"),
            ("devices", member("devices")),
            ("problem", lambda row: (row["problem"] or {}).get("code")),
        ),
    ),
    "classes": Listing(
        "clusters/{cluster}/classes",
        (
            ("name", member("name")),
            ("matching", _count("matching")),
            ("free", _count("free")),
            ("problem", member("problem")),
        ),
    ),
    "claims": Listing(
        "clusters/{cluster}/claims",
        (
            ("namespace", member("namespace")),
            ("name", member("name")),
            ("state", member("state")),
            ("node", member("node")),
            ("devices", lambda row: len(row["devices"])),
            ("pods", lambda row: ", ".join(row["pods"])),
        ),
    ),
    "approvals": Listing(
        "approvals",
        (
            ("id", member("id")),
            ("state", lambda row: row["request"]["state"]),
            ("approvals", lambda row: f"{row['approved']} of {row['needed']}"),
            ("requester", lambda row: row["request"]["requester"]),
            (
                "name",
                lambda row: f"{row['request']['namespace']}/{row['request']['name']}",
            ),
            ("decide by", member("decideBy")),
        ),
    ),
    "requests": Listing(
        "claim-requests",
        (
            ("id", member("id")),
            ("state", member("state")),
            ("cluster", member("cluster")),
            ("namespace", member("namespace")),
            ("kind", member("kind")),
            ("name", member("name")),
            ("message", member("message")),
        ),
    ),
}
