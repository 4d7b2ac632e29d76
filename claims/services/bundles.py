"""Snippets as YAML, and bundles of a claim with its workload, ready for Git."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from claims.domain.checks.shape import shape_findings
from claims.domain.manifest import CLAIM, DOMAIN, KINDS, TEMPLATE, ordered
from claims.domain.snippets import (
    IMAGE,
    Workload,
    kustomization,
    offered,
    uses_of,
    workload,
)
from claims.services.yaml_text import dump, load
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.utils.functional import _StrPromise

Json = dict[str, Any]

# A fixed moment, so that the same bundle is the same bytes.
_WHEN = (2026, 1, 1, 0, 0, 0)
YAML, PLAIN, KUSTOMIZE = "yaml", "plain", "kustomize"
LAYOUTS = (YAML, PLAIN, KUSTOMIZE)
FILES = {CLAIM: "claim.yaml", TEMPLATE: "template.yaml", DOMAIN: "domain.yaml"}

WORDS: dict[Workload, _StrPromise] = {
    Workload.POD: _("A pod"),
    Workload.DEPLOYMENT: _("A Deployment"),
    Workload.JOB: _("A Job"),
    Workload.STATEFUL_SET: _("A StatefulSet"),
    Workload.TWO_CONTAINERS: _("Two containers that share the devices"),
    Workload.SHARED: _("Two pods that share the claim"),
}


_ONLY = _("Give one ResourceClaim or ResourceClaimTemplate of resource.k8s.io/v1.")


class NoBundle(PortalError):
    """A manifest that no workload could use, or a shape that is not offered."""

    code = "snippet.refused"


@dataclass(frozen=True, slots=True)
class SnippetFile:
    """A file to download."""

    name: str
    media: str
    content: bytes


def claim_in(text: str) -> Json:
    """Return the claim or template that a YAML text holds.

    Raises:
        UnreadableYaml, NoBundle: each says why it holds none.
    """
    return checked_claim(load(text).body)


def checked_claim(body: Any) -> Json:
    """Return a manifest that is a claim or template of a shape that servers take.

    Raises:
        NoBundle: It is none.
    """
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise NoBundle(str(_ONLY))
    if shape_findings(body) or body.get("kind") not in KINDS:
        raise NoBundle(str(_ONLY))
    return dict(body)


def snippets_of(
    manifest: Mapping[str, Any], image: str = IMAGE
) -> list[dict[str, str]]:
    """Return each workload that fits a manifest: its shape, words and YAML."""
    uses = uses_of(manifest)
    return [
        {
            "shape": shape.value,
            "word": str(WORDS[shape]),
            "yaml": snippet(manifest, shape, image=image),
        }
        for shape in (offered(uses) if uses else ())
    ]


def file_of(manifest: Mapping[str, Any], shape: str, layout: str) -> SnippetFile:
    """Return a workload as a file: its YAML alone, or a bundle.

    Raises:
        NoBundle: The shape does not fit the manifest, or there is no such layout.
    """
    uses = uses_of(manifest)
    fitting = offered(uses) if uses else ()
    if uses is None or shape not in fitting or layout not in LAYOUTS:
        values = {"shapes": ", ".join(fitting), "layouts": ", ".join(LAYOUTS)}
        raise NoBundle(
            _("What fits here is one of %(shapes)s, as one of %(layouts)s.") % values
        )
    name = f"{uses.stem}-{shape}"
    if layout == YAML:
        text = snippet(manifest, Workload(shape))
        return SnippetFile(f"{name}.yaml", "application/yaml", text.encode())
    content = bundle(manifest, Workload(shape), layout=layout)
    return SnippetFile(f"{name}-{layout}.zip", "application/zip", content)


def snippet(manifest: Mapping[str, Any], shape: Workload, *, image: str = IMAGE) -> str:
    """Return a workload that uses a claim or template, as YAML documents.

    Raises:
        NoBundle: The manifest is no claim and no template.
    """
    uses = uses_of(manifest, image)
    if uses is None:
        raise NoBundle(str(_ONLY))
    return "---\n".join(dump(each) for each in workload(shape, uses))


def bundle_files(
    manifest: Mapping[str, Any], shape: Workload, *, layout: str, image: str = IMAGE
) -> dict[str, str]:
    """Return a claim or template, its workload and what applies both, file by file.

    Args:
        manifest: as it was sent or would be.
        shape: of the workload.
        layout: `plain`, for `kubectl apply -f`, or `kustomize`.
        image: of its containers.

    Raises:
        NoBundle: The manifest is no claim and no template.
    """
    text = snippet(manifest, shape, image=image)
    claim = FILES[manifest["kind"]]
    # kubectl applies a folder in the order of its files' names.
    order = ("", "") if layout == KUSTOMIZE else ("10-", "20-")
    files = {
        f"{order[0]}{claim}": dump(ordered(_own(manifest))),
        f"{order[1]}workload.yaml": text,
    }
    if layout == KUSTOMIZE:
        namespace = str(manifest["metadata"].get("namespace") or "default")
        files["kustomization.yaml"] = dump(kustomization(list(files), namespace))
    return files


def bundle(manifest: Mapping[str, Any], shape: Workload, *, layout: str) -> bytes:
    """Return a bundle's files as a zip; arguments and errors as for `bundle_files`."""
    name = str(manifest["metadata"]["name"])
    return zipped(name, bundle_files(manifest, shape, layout=layout))


def zipped(folder: str, files: Mapping[str, str]) -> bytes:
    """Return files in a folder as a zip, the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"{folder}/{file}", _WHEN), content)
    return out.getvalue()


def _own(manifest: Mapping[str, Any]) -> Json:
    """Return a manifest as a person keeps it: without what only a server sets."""
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {k: v for k, v in manifest["metadata"].items() if k in kept and v}
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": metadata,
        "spec": manifest["spec"],
    }
