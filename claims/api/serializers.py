"""The shapes of what the API takes and says of claims, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.api.judging_serializers import OfSnapshot
from claims.api.waiting_serializers import ClaimBinding
from claims.domain.follow import ClaimState, ObjectState
from claims.domain.lifecycle import State
from claims.domain.operations import Status, Work


class HeldDevice(s.Serializer[Any]):
    request = s.CharField()
    driver = s.CharField()
    pool = s.CharField()
    device = s.CharField()
    consumed = s.DictField(child=s.CharField())
    isShare = s.BooleanField()
    adminAccess = s.BooleanField()


class Claim(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()
    uid = s.CharField()
    state = s.ChoiceField([each.value for each in ClaimState])
    node = s.CharField(allow_null=True)
    pods = s.ListField(child=s.CharField())
    devices = HeldDevice(many=True)
    binding = ClaimBinding(
        allow_null=True,
        help_text="What its devices wait for after allocation; null: for nothing.",
    )
    waiting = s.CharField(allow_null=True, help_text="Why its pod is not scheduled.")
    implicit = s.BooleanField(
        help_text="The scheduler made it for a pod's extended resources."
    )
    resources = s.ListField(
        child=s.CharField(), help_text="Of an implicit claim, such as nvidia.com/gpu."
    )


class PresetUsed(s.Serializer[Any]):
    name = s.CharField()
    version = s.IntegerField()


class ClaimRequest(s.Serializer[Any]):
    id = s.UUIDField()
    state = s.ChoiceField([each.value for each in State])
    message = s.CharField(allow_null=True)
    cluster = s.CharField()
    namespace = s.CharField()
    kind = s.ChoiceField(["ResourceClaim", "ResourceClaimTemplate", "ComputeDomain"])
    name = s.CharField()
    tenant = s.CharField()
    requester = s.CharField()
    justification = s.CharField(allow_null=True)
    revises = s.UUIDField(allow_null=True, help_text="The request of the old version.")
    preset = PresetUsed(allow_null=True)
    expiresAt = s.DateTimeField(allow_null=True)
    submittedAt = s.DateTimeField()
    changedAt = s.DateTimeField()
    digest = s.CharField(help_text="Of the spec as the server defaulted it.")
    objectUid = s.CharField(allow_null=True)
    operation = s.CharField(help_text="The address of its application.")


class TimelineEntry(s.Serializer[Any]):
    at = s.DateTimeField()
    state = s.CharField()
    message = s.CharField(allow_null=True)
    actor = s.CharField(allow_null=True)
    reason = s.CharField(allow_null=True)
    count = s.IntegerField()


class ClaimRequestDetail(ClaimRequest):
    manifest = s.DictField()
    difference = s.CharField(
        allow_null=True, help_text="From the old version to this one, as a diff."
    )
    diagnostics = s.ListField(child=s.DictField())
    classPins = s.ListField(child=s.DictField())
    timeline = TimelineEntry(many=True)


class PodUse(s.Serializer[Any]):
    name = s.CharField()
    uid = s.CharField()
    phase = s.CharField()
    node = s.CharField(allow_null=True)
    terminating = s.BooleanField()
    waiting = s.CharField(allow_null=True)


class Usage(s.Serializer[Any]):
    object = s.ChoiceField([each.value for each in ObjectState], allow_null=True)
    claims = Claim(many=True)
    pods = PodUse(many=True)


class OperationProblem(s.Serializer[Any]):
    code = s.CharField()
    detail = s.CharField()


class OperationState(s.Serializer[Any]):
    id = s.CharField()
    work = s.ChoiceField([each.value for each in Work])
    status = s.ChoiceField([each.value for each in Status])
    done = s.BooleanField()
    message = s.CharField(allow_null=True)
    problem = OperationProblem(allow_null=True)
    claimRequest = s.CharField()
    submittedAt = s.DateTimeField()
    changedAt = s.DateTimeField()


class SubmitBody(s.Serializer[Any]):
    cluster = s.CharField(max_length=63)
    manifest = s.DictField(
        help_text="A ResourceClaim or ResourceClaimTemplate of resource.k8s.io, or a"
        " ComputeDomain of resource.nvidia.com/v1beta1."
    )
    justification = s.CharField(
        default="", allow_blank=True, max_length=2_000, help_text="For who approves."
    )
    endsAt = s.DateTimeField(
        default=None, allow_null=True, help_text="When it ends by itself."
    )
    revises = s.UUIDField(
        default=None, allow_null=True, help_text="The request of the old version."
    )
    preset = s.CharField(
        default=None,
        allow_null=True,
        max_length=63,
        help_text="It was rendered from; its locked fields are held.",
    )


class AgreedPod(s.Serializer[Any]):
    name = s.CharField(max_length=253)
    uid = s.CharField(max_length=64)


class ReleaseBody(s.Serializer[Any]):
    pods = AgreedPod(
        many=True,
        default=list,
        help_text="Pods that may be ended with it, as its usage names them; another"
        " pod that uses it is left alone, and the release waits for it.",
    )


class ImportBody(s.Serializer[Any]):
    text = s.CharField(
        max_length=256 * 1024,
        trim_whitespace=False,
        help_text="YAML or JSON, any number of documents.",
    )
    declined = s.ListField(
        child=s.CharField(max_length=2_000),
        default=list,
        max_length=1_000,
        help_text="Keys of repairs that are not to be made.",
    )
    chosen = s.ListField(
        child=s.CharField(max_length=2_000),
        default=list,
        max_length=1_000,
        help_text="Keys of optional repairs that are to be made.",
    )


class ImportFault(s.Serializer[Any]):
    key = s.CharField(allow_null=True, help_text="For declined and chosen.")
    code = s.CharField()
    level = s.ChoiceField(["error", "warning", "info"])
    path = s.CharField(allow_blank=True)
    line = s.IntegerField(allow_null=True, help_text="In the text, from 1.")
    message = s.CharField()
    state = s.ChoiceField(["repaired", "offered", "declined", "left"])


class ImportedFit(s.Serializer[Any]):
    name = s.CharField()
    fitting = s.IntegerField(help_text="Nodes that could hold it now.")
    undecided = s.IntegerField(help_text="Nodes on which the search did not end.")
    nodes = s.IntegerField(help_text="Of how many.")
    error = s.CharField(allow_null=True, help_text="What ends scheduling everywhere.")


class ImportedDocument(s.Serializer[Any]):
    number = s.IntegerField()
    line = s.IntegerField()
    kind = s.CharField(allow_null=True)
    namespace = s.CharField(allow_null=True)
    name = s.CharField(allow_null=True)
    valid = s.BooleanField(help_text="No error is left.")
    checked = s.BooleanField(help_text="The result went through all checks.")
    fittingNodes = s.IntegerField(
        allow_null=True,
        help_text="Of its first claim; null: not asked, or not decided on every node.",
    )
    fits = ImportedFit(many=True, help_text="What was previewed of it.")
    diff = s.CharField(allow_blank=True, help_text="Unified; empty if unchanged.")
    text = s.CharField(allow_blank=True)
    faults = ImportFault(many=True)


class ImportedText(OfSnapshot):
    valid = s.BooleanField(help_text="No error is left in any document.")
    text = s.CharField(allow_blank=True, help_text="All documents, repaired.")
    diff = s.CharField(allow_blank=True)
    documents = ImportedDocument(many=True)


class WorkloadBody(s.Serializer[Any]):
    manifest = s.DictField(help_text="A ResourceClaim or ResourceClaimTemplate of v1.")
    image = s.CharField(
        default="registry.example.com/your/image:tag",
        max_length=500,
        help_text="Of the containers.",
    )


class WorkloadText(s.Serializer[Any]):
    workload = s.CharField()
    title = s.CharField()
    yaml = s.CharField()
    plain = s.DictField(child=s.CharField(), help_text="File name → text.")
    kustomize = s.DictField(child=s.CharField(), help_text="File name → text.")


class Workloads(s.Serializer[Any]):
    workloads = WorkloadText(many=True)
