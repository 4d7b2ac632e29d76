"""Shapes of what judges manifests: check, preview, what-if and CEL."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.domain.why.reasons import Cause
from claims.domain.why.suppose import Kind

MOST_OBJECTS = 200
LONGEST_EXPRESSION = 10 * 1024


# How old the picture of the cluster is that an answer was made from.
class OfSnapshot(s.Serializer[Any]):
    heardAt = s.DateTimeField(
        allow_null=True, help_text="When the cluster was last read; null: never."
    )
    stale = s.CharField(
        allow_null=True, help_text="What to mind where that is over a day ago."
    )
    unseen = s.ListField(
        child=s.CharField(),
        help_text="What of the cluster is not seen, so that the answer may be wrong.",
    )


class JudgeBody(s.Serializer[Any]):
    objects = s.ListField(
        child=s.DictField(),
        min_length=1,
        max_length=MOST_OBJECTS,
        help_text="Kubernetes objects: claims, templates and classes are judged, any"
        " other stands over the cluster's of its name.",
    )
    namespace = s.CharField(
        default="", allow_blank=True, max_length=63, help_text="Of those without one."
    )


class PreviewBody(JudgeBody):
    together = s.BooleanField(default=False, help_text="All claims as one pod's.")
    causes = s.BooleanField(
        default=True, help_text="What keeps nodes from each claim first."
    )


class CelBody(s.Serializer[Any]):
    expression = s.CharField(
        max_length=LONGEST_EXPRESSION, trim_whitespace=False, help_text="A selector."
    )


class Fix(s.Serializer[Any]):
    path = s.CharField(allow_blank=True)
    value = s.CharField(allow_blank=True)


class Diagnostic(s.Serializer[Any]):
    code = s.CharField()
    level = s.ChoiceField(["error", "warning", "info"])
    path = s.CharField(allow_blank=True)
    line = s.IntegerField(allow_null=True)
    column = s.IntegerField(allow_null=True)
    fileLine = s.IntegerField(allow_null=True, help_text="Of YAML that was sent.")
    message = s.CharField()
    fix = Fix(allow_null=True)


class ObjectDiagnostic(s.Serializer[Any]):
    kind = s.CharField()
    namespace = s.CharField(allow_blank=True)
    name = s.CharField()
    code = s.CharField()
    level = s.ChoiceField(["error", "warning", "info"])
    message = s.CharField()


class EngineVersion(s.Serializer[Any]):
    minor = s.CharField()
    library = s.CharField()
    allocator = s.CharField(allow_null=True)


class NodeAnswer(s.Serializer[Any]):
    outcome = s.ChoiceField(["fits", "no", "node-error", "error", "undecided"])
    message = s.CharField(allow_blank=True)
    results = s.ListField(
        child=s.DictField(), allow_null=True, help_text="AllocationResults."
    )
    score = s.IntegerField(allow_null=True)


class Preview(s.Serializer[Any]):
    revision = s.IntegerField()
    engine = EngineVersion()
    nodes = s.DictField(child=NodeAnswer())


class FirstCause(s.Serializer[Any]):
    request = s.CharField(
        allow_null=True, help_text="`request` or `request/alternative`; null for all."
    )
    cause = s.ChoiceField(
        [*(each.value for each in Cause), "request", "together"],
        help_text="request: without it the rest fits; together: each alone finds enough.",
    )
    detail = s.CharField(
        allow_blank=True,
        help_text="The selector's number, a taint, a capacity, an attribute, a class.",
    )
    devices = s.IntegerField(allow_null=True, help_text="Kept out by it.")
    reachable = s.IntegerField(allow_null=True, help_text="Devices of the node.")
    ofClass = s.IntegerField(allow_null=True)
    left = s.IntegerField(allow_null=True, help_text="Kept out by nothing.")
    wanted = s.IntegerField(allow_null=True, help_text="null for all that match.")


class NodeWithCauses(NodeAnswer):
    causes = FirstCause(
        many=True, allow_null=True, help_text="null where they are not known."
    )


class PreviewWithCauses(Preview):
    nodes = s.DictField(child=NodeWithCauses())


class Item(s.Serializer[Any]):
    kind = s.CharField()
    namespace = s.CharField(allow_blank=True)
    name = s.CharField(allow_blank=True)


class PreviewedItem(Item):
    preview = PreviewWithCauses(allow_null=True)


class JudgedItem(Item):
    preview = Preview(allow_null=True)
    diagnostics = Diagnostic(many=True)


class Judged(OfSnapshot):
    cluster = ObjectDiagnostic(many=True)
    items = JudgedItem(many=True)


class Previewed(OfSnapshot):
    items = PreviewedItem(many=True)


class Supposed(s.Serializer[Any]):
    kind = s.ChoiceField(
        [each.value for each in Kind],
        help_text="drain a node, taint a device, add a node like one, end a claim.",
    )
    target = s.CharField(
        max_length=700,
        help_text="A node; for taint driver/pool/device; for end namespace/name.",
    )


class WhatIfBody(s.Serializer[Any]):
    manifest = s.DictField(help_text="A ResourceClaim or ResourceClaimTemplate.")
    suppose = Supposed()
    namespace = s.CharField(
        default="", allow_blank=True, max_length=63, help_text="Where it names none."
    )


class WhatIf(OfSnapshot):
    before = Preview()
    after = Preview()
    changed = s.ListField(
        child=s.CharField(), help_text="Nodes that say something else."
    )
    displaced = s.IntegerField(help_text="Claims whose pods would have to move.")
    displacedClaims = s.ListField(
        child=s.CharField(), help_text="Those of them that you may see."
    )


class CelVerdict(s.Serializer[Any]):
    ok = s.BooleanField()
    error = s.CharField(allow_null=True)
    line = s.IntegerField(allow_null=True)
    column = s.IntegerField(allow_null=True)


class CelVerdicts(s.Serializer[Any]):
    apiserver = CelVerdict()
    scheduler = CelVerdict()


class CelTally(s.Serializer[Any]):
    match = s.IntegerField()
    noMatch = s.IntegerField()
    error = s.IntegerField()


class CelFault(s.Serializer[Any]):
    message = s.CharField()
    count = s.IntegerField()
    example = s.CharField()


class CelJudged(OfSnapshot):
    expression = s.CharField()
    compile = CelVerdicts()
    cost = s.IntegerField(allow_null=True)
    limit = s.IntegerField()
    devices = CelTally(allow_null=True)
    nodes = s.DictField(child=CelTally())
    errors = CelFault(many=True)  # type: ignore[assignment]
