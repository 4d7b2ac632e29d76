"""Every finding about a draft or a pasted manifest as a sentence that says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from claims.domain.pasted import Problem
    from claims.domain.reading import Finding

SENTENCES: dict[str, _StrPromise] = {
    "choice.unknown": _("“%(value)s” is not offered here; choose one of: %(known)s."),
    "claim.no_name": _("Give the claim a name, for example “trainer”."),
    "name.empty": _("Give it a name, for example “gpus”."),
    "name.slash": _(
        "“%(value)s” holds a “/”, which no object name may; use “-” instead."
    ),
    "name.too_long": _("The name has %(length)s characters; use at most %(limit)s."),
    "name.shape": _(
        "“%(value)s” is no name: use lower-case letters, digits and “-”, with a letter"
        " or digit at both ends."
    ),
    "name.shape_dots": _(
        "“%(value)s” is no name: use lower-case letters, digits, “-” and “.”, with a"
        " letter or digit at both ends."
    ),
    "name.twice": _("“%(value)s” is there twice; give each its own name."),
    "namespace.empty": _("Choose the namespace that the pods will run in."),
    "namespace.not_yours": _(
        "“%(value)s” is none of your namespaces in this cluster; choose one of yours."
    ),
    "requests.none": _("Ask for at least one device: add a request."),
    "alternatives.none": _("Add at least one alternative."),
    "alternatives.many": _("Keep at most %(limit)s alternatives."),
    "alternatives.exactly": _(
        "“Exactly” takes one alternative: remove the others, or choose “first available”."
    ),
    "admin.justification": _(
        "Administrative access needs a reason: say in a sentence or two what it is for."
    ),
    "admin.long": _("The reason is too long: keep at most %(limit)s characters."),
    "admin.hours": _(
        "“%(value)s” is no length of time: give whole hours, from 1 to %(limit)s."
    ),
    "admin.alternative": _(
        "Kubernetes takes no administrative access in a list of alternatives; untick it."
    ),
    "class.empty": _("Choose a device class."),
    "class.missing": _(
        "This cluster has no device class “%(value)s”, and a missing class in any"
        " alternative stops the pod; choose another."
    ),
    "count.range": _(
        "“%(value)s” is no count: give a whole number from 1 to %(limit)s."
    ),
    "cel.too_long": _(
        "The expression is %(size)s bytes long; Kubernetes takes at most %(limit)s."
    ),
    "cel.unprintable": _(
        "The expression holds the control character %(value)s; retype that place."
    ),
    "toleration.key": _(
        "“%(value)s” is no taint key, such as “gpu.nvidia.com/unhealthy”."
    ),
    "toleration.key_needed": _(
        "“Equal” needs a key; choose “Exists” to tolerate every taint."
    ),
    "toleration.value": _("“Exists” takes no value: clear it, or choose “Equal”."),
    "toleration.seconds": _("“%(value)s” is no whole number of seconds."),
    "toleration.seconds_effect": _(
        "Seconds go with the effect NoExecute alone: clear them, or choose NoExecute."
    ),
    "pair.key": _(
        "“%(value)s” is no key: write a name, with a domain before it if need be, such"
        " as “example.com/team”."
    ),
    "pair.no_key": _("“%(value)s” has no key; name it, or remove the row."),
    "pair.value": _(
        "“%(value)s” is no value of a label: at most 63 letters, digits, “-”, “_” and"
        " “.”, with a letter or digit at both ends."
    ),
    "config.driver": _("Name the driver that reads this, such as “gpu.nvidia.com”."),
    "config.driver_shape": _(
        "“%(value)s” is no driver name: use lower-case letters, digits, “-” and “.”."
    ),
    "config.needed": _("The driver needs a value here."),
    "config.strategy": _(
        "This goes with the sharing strategy %(needs)s: choose that one, or clear this."
    ),
    "config.percent": _("“%(value)s” is no percentage: give a whole number to 100."),
    "config.limit": _(
        "“%(value)s” is no limit: write a quantity of at least 1Mi, such as 8Gi."
    ),
    "config.limits": _(
        "“%(value)s” is no limit of a device: write its number or UUID and a quantity"
        " of at least 1Mi, such as 0=8Gi, 1=4Gi."
    ),
    "config.json": _("Line %(line)s, column %(column)s: this is no JSON (%(why)s)."),
    "config.json_depth": _("The JSON is nested too deeply, or has a number too long."),
    "config.json_object": _("Write a JSON object: {…}."),
    "config.too_long": _("Kubernetes takes at most %(limit)s bytes of parameters."),
    "capacity.twice": _("“%(value)s” is asked for twice; keep one."),
    "capacity.negative": _("“%(value)s” is negative; ask for zero or more."),
    "capacity.quantity": _(
        "“%(value)s” is no quantity; write for example 16Gi or 500m."
    ),
    "derived.name": _("Name the attribute that is derived."),
    "derived.empty": _("Write the CEL expression that gives the attribute its value."),
    "attribute.empty": _("Name the attribute to compare."),
    "attribute.shape": _(
        "“%(value)s” is no full attribute name: write it with its domain, such as"
        " “gpu.nvidia.com/uuid”."
    ),
    "binds.unknown": _("What this constraint was bound to is gone; choose again."),
    "paste.kind": _(
        "kind is “%(value)s”: paste a ResourceClaim or a ResourceClaimTemplate."
    ),
    "paste.version": _(
        "apiVersion is “%(value)s”: write resource.k8s.io/v1, in which each request"
        " holds exactly or firstAvailable."
    ),
    "paste.not_map": _("Fields are expected here (name: value)."),
    "paste.not_list": _("A list is expected here (- item)."),
    "paste.too_many": _(
        "There are %(count)s entries; Kubernetes takes at most %(limit)s."
    ),
    "paste.not_text": _("A text is expected here; put it in quotes."),
    "paste.not_bool": _("true or false is expected here."),
    "paste.not_int": _("A whole number without quotes is expected here."),
    "paste.not_quantity": _("A quantity such as 16Gi is expected here."),
    "paste.count_with_all": _(
        "allocationMode All takes no count; remove one of the two."
    ),
    "paste.selector": _("A selector holds cel.expression with some text."),
    "paste.request": _(
        "A request holds either exactly or firstAvailable; what stood directly under the"
        " request in v1beta1 belongs under exactly."
    ),
    "paste.constraint": _(
        "The form shows either matchAttribute or distinctAttribute in one constraint."
    ),
    "paste.config": _("A config holds opaque, with a driver and its parameters."),
    "paste.binds": _(
        "“%(value)s” names no request, or request/alternative, of this claim."
    ),
}


def sentence(finding: Finding | Problem) -> str:
    """Return what is wrong and what to do, in the person's language."""
    return str(SENTENCES[finding.code]) % finding.values
