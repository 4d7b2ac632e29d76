"""What cannot be changed once it is stored: the specs of claims and templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding
from claims.domain.checks.shape import shape_findings
from claims.domain.checks.world import name_of, namespace_of
from claims.domain.defaulting import defaulted_claim
from claims.domain.manifest import is_same_spec
from claims.domain.preview import claim_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.world import World

Json = dict[str, Any]


def immutable_findings(
    manifest: Json, earlier: list[Json], world: World
) -> Iterator[Finding]:
    """Yield that another object of its name stands already, with another spec.

    Args:
        manifest: a claim or template.
        earlier: objects of its name that stand before it in a file.
        world: the cluster, that may have one.
    """
    kind, name = str(manifest["kind"]), name_of(manifest)
    stored = world.find(kind, namespace_of(manifest), name)
    for other in [*earlier, *([stored] if stored else [])]:
        if _is_changed(other, manifest):
            yield Finding("template.immutable", "spec", {"kind": kind, "name": name})
            return


def _is_changed(before: Json, now: Json) -> bool:
    """Return whether the server would refuse to store one in the place of another."""
    broken = (finding.code == "claim.invalid" for finding in shape_findings(before))
    return any(broken) or not is_same_spec(_stored(before), _stored(now))


def _stored(manifest: Json) -> Json:
    """Return a claim or template as it would be stored."""
    claim = defaulted_claim(claim_of(manifest))
    if manifest["kind"] == "ResourceClaim":
        return claim
    return {**manifest, "spec": {**manifest["spec"], "spec": claim["spec"]}}
