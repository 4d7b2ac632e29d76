"""Workloads on device plugins turned to claims: what is kept, lost, and would fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from claims.domain.snippets import kustomization
from claims.services.bundles import KUSTOMIZE, PLAIN, SnippetFile, zipped
from claims.services.imported import LEFT
from claims.services.importing import import_text
from claims.services.yaml_text import dump
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.services.fits import ClaimFit
    from claims.services.imported import (
        Choice,
        Fault,
        Imported,
        ImportedDocument,
    )
    from inventory.models import Cluster
    from portal.accounts.models import User

LAYOUTS = (PLAIN, KUSTOMIZE)
_FOLDER = "converted"
# What a repair says that no claim can stand for.
_NO_EQUAL = frozenset({"import.extended_resource", "import.node_label"})


class NoLayout(PortalError):
    """A bundle is asked for in a shape that there is not."""

    code = "convert.layout"


@dataclass(frozen=True, slots=True)
class NewTemplate:
    """A template that a conversion makes.

    Attributes:
        fit: what the preview says; None where it could not be asked.
    """

    name: str
    text: str
    document: ImportedDocument
    fit: ClaimFit | None


@dataclass(frozen=True, slots=True)
class Conversion:
    """An import, read as a conversion.

    Attributes:
        templates: that were made, in order.
        lost: each fault that says what has no equal, beside its document.
    """

    imported: Imported
    templates: tuple[NewTemplate, ...]
    lost: tuple[tuple[ImportedDocument, Fault], ...]

    @property
    def is_clear(self) -> bool:
        """Whether everything became a claim, and no error is left."""
        return bool(self.templates) and not self.lost and self.imported.is_valid


def convert(
    cluster: Cluster, text: str, *, user: User, choice: Choice | None = None
) -> Conversion:
    """Return manifests with claims in place of device plugins' resources.

    Args:
        cluster: whose classes and devices they are to fit.
        text: YAML or JSON, any number of documents.
        user: whose namespaces are theirs.
        choice: which changes are not made.

    Raises:
        UnreadableYaml: The text is too long, or no text.
    """
    found = import_text(cluster, text, user=user, choice=choice)
    return Conversion(
        found,
        tuple(_templates(found)),
        tuple(
            (document, fault)
            for document in found.documents
            for fault in document.faults
            if fault.code in _NO_EQUAL and fault.state == LEFT
        ),
    )


def converted_files(found: Imported, layout: str) -> dict[str, str]:
    """Return a conversion file by file: templates first, since workloads name them.

    Args:
        found: what was converted.
        layout: `plain`, for `kubectl apply -f`, or `kustomize`.

    Raises:
        NoLayout: There is no such layout.
    """
    if layout not in LAYOUTS:
        raise NoLayout(
            _("A bundle is one of %(layouts)s.") % {"layouts": ", ".join(LAYOUTS)}
        )
    # kubectl applies a folder in the order of its files' names.
    first, second = ("10-", "20-") if layout == PLAIN else ("", "")
    files: dict[str, str] = {}
    for document in found.documents:
        for name, text in document.added:
            _put(files, f"{first}{name}", text)
    for document in found.documents:
        stem = f"{document.kind or 'document'}-{document.name or document.number}"
        _put(files, f"{second}{stem}", document.written)
    if layout == KUSTOMIZE:
        spaces = {each.namespace for each in found.documents}
        namespace = spaces.pop() if len(spaces) == 1 else ""
        files["kustomization.yaml"] = dump(kustomization(list(files), namespace))
    return files


def bundle_of(found: Imported, layout: str) -> SnippetFile:
    """Return a conversion as a zip.

    Raises:
        NoLayout: There is no such layout.
    """
    content = zipped(_FOLDER, converted_files(found, layout))
    return SnippetFile(f"{_FOLDER}-{layout}.zip", "application/zip", content)


def _templates(found: Imported) -> Iterator[NewTemplate]:
    for document in found.documents:
        fits = {each.name: each for each in document.fits}
        for name, text in document.added:
            yield NewTemplate(name, text, document, fits.get(name))


def _put(files: dict[str, str], stem: str, text: str) -> None:
    """Keep a text under a name that a file may have and that is free."""
    plain = re.sub(r"[^a-z0-9.-]+", "-", stem.lower()).strip(".-")[:120]
    number, name = 1, f"{plain}.yaml"
    while name in files:
        number += 1
        name = f"{plain}-{number}.yaml"
    files[name] = text if text.endswith("\n") else f"{text}\n"
