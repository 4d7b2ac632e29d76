"""The page that takes foreign manifests, shows what is wrong, and gives them back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from claims.services.imported import Choice
from claims.services.importing import import_text
from claims.services.yaml_text import MAX_BYTES, UnreadableYaml
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.services.imported import Imported
    from portal.core.http import PortalRequest

_KINDS = {"+": "added", "-": "removed", "@": "place"}


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
def import_manifests(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the form; with manifests, what is wrong with them and the repaired text."""
    row = get_object_or_404(Cluster, name=cluster)
    context: dict[str, Any] = {"nav": "compose", "cluster": row, "text": ""}
    status = 200
    if request.method == "POST":
        try:
            context["text"] = text = text_given(request)
            found = import_text(
                row, text, user=request.user, choice=choice_made(request, text)
            )
        except PortalError as error:
            context["problem"], status = error.message, 422
        else:
            if request.POST.get("action") == "download":
                return _download(found)
            context |= shown(found, text)
    return render(request, "claims/import.html", context, status=status)


def text_given(request: PortalRequest) -> str:
    """Return what was uploaded, or else pasted.

    Raises:
        UnreadableYaml: The file is too large, or no text.
    """
    file = request.FILES.get("file")
    if file is None or request.POST.get("for"):
        pasted = request.POST.get("text") or request.POST.get("yaml") or ""
        return pasted.replace("\r\n", "\n")
    if (file.size or 0) > MAX_BYTES:
        values = {"size": (file.size or 0) // 1024, "limit": MAX_BYTES // 1024}
        raise UnreadableYaml(
            _("The file is %(size)s KiB long; import at most %(limit)s KiB at a time.")
            % values
        )
    try:
        return bytes(file.read()).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableYaml(
            _("The file is no text in UTF-8: upload YAML or JSON.")
        ) from error


def choice_made(request: PortalRequest, text: str) -> Choice:
    """Return which repairs are taken; all, where the text is another than was shown."""
    if request.POST.get("for") != _digest(text):
        return Choice()
    taken = frozenset(request.POST.getlist("fix"))
    return Choice(frozenset(request.POST.getlist("shown")) - taken, taken)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _download(found: Imported) -> HttpResponse:
    response = HttpResponse(found.corrected, content_type="application/yaml")
    response["Content-Disposition"] = 'attachment; filename="manifests.yaml"'
    return response


def shown(found: Imported, text: str) -> dict[str, Any]:
    """Return what a page says of an import, document by document."""
    documents = [(each, diff_lines(each.diff)) for each in found.documents]
    repaired = sum(len(each.repaired) for each in found.documents)
    return {
        "found": found,
        "documents": documents,
        "digest": _digest(text),
        "repaired": repaired,
        "invalid": sum(not each.is_valid for each in found.documents),
        "keys": [f.key for each in found.documents for f in each.faults if f.key],
    }


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return a unified diff line by line, each with its kind; without file names."""
    lines = diff.splitlines()[2:]
    return [(_KINDS.get(line[:1], ""), line) for line in lines]
