"""Submit a manifest that was sent as it is: checked, previewed, stored, in that order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from claims.domain.manifest import DOMAIN, DOMAIN_API_VERSION, KINDS
from claims.services.diagnosing import diagnose
from claims.services.submit import SubmitRefused, own_tenant, sent_before, submit
from inventory.domain.convert import to_v1
from inventory.services.loading import named
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from uuid import UUID

    from claims.models import ClaimRequest, PresetVersion
    from claims.services.diagnosing import Diagnosis
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]

_GROUP = "resource.k8s.io/"


class ChecksRefused(PortalError):
    """A check of level error stands in the way.

    Attributes:
        findings: those of level error.
    """

    code = "submit.refused"

    def __init__(self, findings: tuple[Diagnosis, ...]) -> None:
        super().__init__(findings[0].message, code=findings[0].code)
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for, and why and until when.

    Attributes:
        manifest: a ResourceClaim, ResourceClaimTemplate or ComputeDomain.
        justification: for those who approve.
        ends_at: when it ends by itself; None for never.
        revises: what it is a new version of.
        preset_version: what it was rendered from.
    """

    manifest: Json
    justification: str = ""
    ends_at: datetime | None = None
    revises: ClaimRequest | None = None
    preset_version: PresetVersion | None = None


def request_claim(
    user: User,
    cluster: Cluster,
    ask: Ask,
    *,
    key: UUID,
    request_id: str,
    now: datetime,
) -> ClaimRequest:
    """Check what is asked for and store it as a claim request.

    Raises:
        ChecksRefused, SubmitRefused: The portal says no, and where.
        KubeError: The API server says no.
        EngineUnavailable, EngineDeadline, EngineRefused: It cannot be checked now.
    """
    manifest = sound(ask.manifest)
    # Before any check: what it became may stand in the way of another of its name.
    if earlier := sent_before(user, key):
        return earlier
    # Nor before this: checks tell of quotas and names in the namespace.
    own_tenant(user, cluster, manifest)
    diagnosed = diagnose(cluster, user, manifest)
    if diagnosed.errors:
        raise ChecksRefused(diagnosed.errors)
    return submit(
        user=user,
        cluster=cluster,
        manifest=manifest,
        preview=diagnosed.document(),
        submission_key=key,
        request_id=request_id,
        now=now,
        justification=ask.justification,
        ends_at=ask.ends_at,
        revises=ask.revises,
        preset_version=ask.preset_version,
    )


def sound(manifest: Json) -> Json:
    """Return a manifest in v1 shape with what everything that follows relies on.

    Raises:
        SubmitRefused: It is nothing that can be asked for; the path names the field.
    """
    version, kind = manifest.get("apiVersion"), manifest.get("kind")
    is_domain = (version, kind) == (DOMAIN_API_VERSION, DOMAIN)
    if not is_domain and (kind not in KINDS or not str(version).startswith(_GROUP)):
        raise SubmitRefused(
            _(
                "Send a ResourceClaim or ResourceClaimTemplate of resource.k8s.io/v1, or"
                " a ComputeDomain of resource.nvidia.com/v1beta1."
            ),
            code="claim.invalid",
            paths=("kind",),
        )
    metadata = manifest.get("metadata")
    for field in ("name", "namespace"):
        value = metadata.get(field) if isinstance(metadata, dict) else None
        if not isinstance(value, str) or not value:
            raise SubmitRefused(
                _("The manifest needs metadata.%(field)s.") % {"field": field},
                code="claim.invalid",
                paths=(f"metadata.{field}",),
            )
    if not isinstance(manifest.get("spec"), dict):
        raise SubmitRefused(
            _("The manifest needs a spec."), code="claim.invalid", paths=("spec",)
        )
    body = to_v1(manifest)
    # A status is the server's to write; one that claims devices is not believed.
    return named({name: value for name, value in body.items() if name != "status"})
