"""Import: foreign manifests put right, with nothing done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample
from rest_framework import exceptions

from claims.api import serializers
from claims.api.base import age_of, judging
from claims.services.imported import Choice
from claims.services.importing import import_text
from inventory.api.base import ClusterView

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from claims.services.fits import ClaimFit
    from claims.services.imported import Fault, Imported, ImportedDocument

Json = dict[str, Any]

OLD_CLAIM = """apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: one-gpu, namespace: ai-serving}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: nvidia.com/gpu
"""


class ImportView(ClusterView):
    """Manifests of any version and shape, put right for a cluster."""

    operations = {
        "POST": judging(
            id="importManifests",
            summary="Say what is wrong with foreign manifests, and give them repaired",
            description="YAML or JSON of any number of documents: claims, templates and"
            " classes of v1alpha3 to v1, pods and workloads with device plugin limits."
            " Comments and order stay; nothing is changed that is not said, and each"
            " repair can be declined by its key. Nothing is applied.",
            body=serializers.ImportBody,
            yaml=True,
            answer=serializers.ImportedText,
            examples=(
                OpenApiExample(
                    "A claim of an older version",
                    request_only=True,
                    media_type="application/json",
                    value={"text": OLD_CLAIM},
                ),
                OpenApiExample(
                    "The same, as YAML",
                    request_only=True,
                    media_type="application/yaml",
                    value=OLD_CLAIM,
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return what is wrong and the repaired text."""
        found = self.cluster()
        data = request.data
        choice = Choice()
        if isinstance(data, dict) and isinstance(data.get("text"), bytes):
            try:
                text = data["text"].decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise exceptions.ParseError(_("The body is not UTF-8 text.")) from error
        else:
            body = self.body()
            text = body["text"]
            choice = Choice(frozenset(body["declined"]), frozenset(body["chosen"]))
        imported = import_text(found, text, user=self.person, choice=choice)
        return self.answer({**age_of(found), **imported_document(imported)})


def imported_document(found: Imported) -> Json:
    """Return an import as JSON."""
    return {
        "valid": found.is_valid,
        "text": found.corrected,
        "diff": found.diff,
        "documents": [_document(each) for each in found.documents],
    }


def _document(each: ImportedDocument) -> Json:
    return {
        "number": each.number,
        "line": each.line,
        "kind": each.kind or None,
        "namespace": each.namespace or None,
        "name": each.name or None,
        "valid": each.is_valid,
        "checked": each.checked,
        "fittingNodes": each.fitting,
        "fits": [_fit(fit) for fit in each.fits],
        "diff": each.diff,
        "text": each.after,
        "faults": [_fault(fault) for fault in each.faults],
    }


def _fit(fit: ClaimFit) -> Json:
    return {
        "name": fit.name,
        "fitting": len(fit.nodes),
        "undecided": fit.undecided,
        "nodes": fit.total,
        "error": fit.error or None,
    }


def _fault(fault: Fault) -> Json:
    return {
        "key": fault.key or None,
        "code": fault.code,
        "level": fault.level.value,
        "path": fault.path,
        "line": fault.line,
        "message": fault.message,
        "state": fault.state,
    }
