"""What node selectors on GPU labels mean, said as CEL over what devices publish.

Source: NVIDIA's GPU feature discovery and MIG manager for the labels; a product's
label is its name with `-` for blanks, and `-SHARED` or `-MIG-<profile>` behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claims.domain.importing.asking import listed
from claims.domain.importing.edits import Drop, Edit, Path, at
from claims.domain.importing.published import ATTRIBUTES, CAPACITY, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.importing.published import Published

Json = dict[str, Any]

_DOMAIN = "nvidia.com/"
_PROFILE = re.compile(r"(?:all-|.*-MIG-)(\d+g\.\d+gb(?:[.+-]me(?:\.all)?)?)")
_REQUIRED = (
    *("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
    "nodeSelectorTerms",
)
_PREFERRED = (
    *("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"),
)
# True of every node whose devices a driver publishes.
_IMPLIED = {"gpu.present": "true", "mig.capable": "", "mig.config.state": "success"}
_SIGNS = {"In": "== 0", "Gt": "> 0", "Lt": "< 0"}


@dataclass(frozen=True, slots=True)
class Label:
    """One condition on a node's label.

    Attributes:
        path: where it stands.
        operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
    """

    path: Path
    key: str
    operator: str
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """The condition as people write it."""
        values = ",".join(self.values)
        signs = {"In": "=", "NotIn": "!=", "Gt": ">", "Lt": "<"}
        if self.operator in signs:
            return f"{self.key}{signs[self.operator]}{values}"
        return f"{self.key} {self.operator}"


@dataclass(slots=True)
class Meaning:
    """What a pod's node selectors ask of its devices.

    Attributes:
        texts: CEL conditions, all of which hold.
        said: each condition on a label beside what it became.
        edits: take those conditions out of the pod.
        profile: a MIG profile that `nvidia.com/gpu` stands for there, or "".
        shared: whether `nvidia.com/gpu` stands for a time slice there.
        kept: conditions that stay, each with why.
    """

    texts: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    profile: str = ""
    shared: bool = False
    kept: list[tuple[Label, str]] = field(default_factory=list)


def gpu_labels(base: Path, spec: Json) -> Iterator[Label]:
    """Yield the conditions on NVIDIA's labels that a pod's node must meet."""
    selector = spec.get("nodeSelector")
    for key, value in selector.items() if isinstance(selector, dict) else ():
        if str(key).startswith(_DOMAIN):
            yield Label((*base, "nodeSelector", key), str(key), "In", (str(value),))
    terms = at(spec, _REQUIRED)
    if not isinstance(terms, list) or len(terms) != 1:
        return
    for i, row in enumerate(listed(terms[0], "matchExpressions")):
        key = row.get("key") if isinstance(row, dict) else None
        if isinstance(key, str) and key.startswith(_DOMAIN):
            path = (*base, *_REQUIRED, 0, "matchExpressions", i)
            values = tuple(map(str, listed(row, "values")))
            yield Label(path, key, str(row.get("operator")), values)


def vague_labels(base: Path, spec: Json) -> Iterator[tuple[Label, str]]:
    """Yield conditions on GPU labels that are no condition of every node."""
    for where in (_REQUIRED, _PREFERRED):
        rows = at(spec, where)
        if not isinstance(rows, list) or (where == _REQUIRED and len(rows) == 1):
            continue
        for i, row in enumerate(rows):
            term = row.get("preference") if where == _PREFERRED else row
            for each in listed(term, "matchExpressions"):
                key = each.get("key") if isinstance(each, dict) else None
                if isinstance(key, str) and key.startswith(_DOMAIN):
                    values = tuple(map(str, listed(each, "values")))
                    label = Label(
                        (*base, *where, i), key, str(each.get("operator")), values
                    )
                    yield label, "preferred" if where == _PREFERRED else "either"


def meaning_of(base: Path, spec: Json, driver: str, known: Published) -> Meaning:
    """Return what a pod's conditions on GPU labels ask of the devices of a driver."""
    meant = Meaning(kept=list(vague_labels(base, spec)))
    gone: list[Label] = []
    for label in gpu_labels(base, spec):
        name = label.key.removeprefix(_DOMAIN)
        text, why = _said(name, label, driver, known, meant)
        if why:
            meant.kept.append((label, why))
            continue
        gone.append(label)
        if text:
            meant.texts.append(text)
        meant.said.append(f"{label.text} → {text or _short(meant)}")
    meant.edits = list(_without(base, spec, gone))
    return meant


def _short(meant: Meaning) -> str:
    return f"MIG {meant.profile}" if meant.profile else "✓"


def _said(
    name: str, label: Label, driver: str, known: Published, meant: Meaning
) -> tuple[str, str]:
    """Return the CEL of a condition, or why it has none; both "" where it is implied."""
    if name in ("gpu.product", "mig.config"):
        meant.profile = meant.profile or _profile(label)
    if name in ("gpu.sharing-strategy", "gpu.replicas"):
        meant.shared = meant.shared or label.values not in (("none",), ("1",), ("0",))
        return "", ""
    if name == "gpu.product":
        return _product(label, driver, known, meant)
    if name in _READ:
        return _READ[name](label, driver, known)
    if name == "mig.config":
        return "", "" if _profile(label) else "mig_config"
    implied = label.operator == "In" and name in _IMPLIED
    return "", "" if implied and _IMPLIED[name] in ("", *label.values) else "node"


def _profile(label: Label) -> str:
    found = {m[1] for v in label.values if (m := _PROFILE.fullmatch(v))}
    return found.pop() if len(found) == 1 and label.operator == "In" else ""


def _product(
    label: Label, driver: str, known: Published, meant: Meaning
) -> tuple[str, str]:
    place = Place(ATTRIBUTES, driver, "productName")
    names = known.values(driver, place).get("string", set())
    by_label = {_as_label(name): name for name in names}
    found = []
    for value in label.values:
        meant.shared = meant.shared or value.endswith("-SHARED")
        plain = re.sub(r"(-SHARED|-MIG-.*)$", "", value)
        if _as_label(plain) not in by_label:
            return "", "product"
        found.append(by_label[_as_label(plain)])
    return _either(label, place.text, found)


def _as_label(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


def _either(label: Label, text: str, values: list[str]) -> tuple[str, str]:
    quoted = [f'"{value}"' for value in dict.fromkeys(values)]
    if label.operator not in ("In", "NotIn") or not quoted:
        return "", "operator"
    sign = "==" if label.operator == "In" else "!="
    if len(quoted) == 1:
        return f"{text} {sign} {quoted[0]}", ""
    inner = f"{text} in [{', '.join(quoted)}]"
    return (inner if label.operator == "In" else f"!({inner})"), ""


def _memory(label: Label, driver: str, known: Published) -> tuple[str, str]:
    """The label counts MiB of the whole card."""
    place = Place(CAPACITY, driver, "memory")
    if not known.has(driver, place):
        return "", "unpublished"
    sign = _SIGNS.get(label.operator)
    if sign is None or not all(v.isascii() and v.isdecimal() for v in label.values):
        return "", "operator"
    texts = [
        f'{place.text}.compareTo(quantity("{value}Mi")) {sign}'
        for value in label.values
    ]
    return (f"({' || '.join(texts)})" if len(texts) > 1 else "".join(texts)), ""


def _family(label: Label, driver: str, known: Published) -> tuple[str, str]:
    place = Place(ATTRIBUTES, driver, "architecture")
    names = known.values(driver, place).get("string", set())
    by_label = {_as_label(name): name for name in names}
    found = [by_label.get(_as_label(value), "") for value in label.values]
    if not all(found):
        return "", "product"
    return _either(label, place.text, found)


_READ = {"gpu.memory": _memory, "gpu.family": _family}


def _without(base: Path, spec: Json, gone: list[Label]) -> Iterator[Edit]:
    """Yield edits that take conditions out; what would be empty then goes whole."""
    selectors = [each for each in gone if "nodeSelector" in each.path]
    if selectors and len(selectors) == len(spec["nodeSelector"]):
        yield Drop((*base, "nodeSelector"))
    else:
        yield from (Drop(each.path) for each in selectors)
    rows = [each for each in gone if "matchExpressions" in each.path]
    if not rows:
        return
    [term] = at(spec, _REQUIRED)
    if len(rows) == len(term["matchExpressions"]) and set(term) == {"matchExpressions"}:
        others = set(spec["affinity"]) - {"nodeAffinity"}
        more = set(spec["affinity"]["nodeAffinity"]) - {_REQUIRED[2]}
        depth = 3 if more else 2 if others else 1
        yield Drop((*base, *_REQUIRED[:depth]))
        return
    yield from (Drop(each.path) for each in reversed(rows))
