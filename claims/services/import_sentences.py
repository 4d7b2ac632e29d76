"""What import says of a manifest, one sentence for each repair; the rest is checks'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from claims.services.finding_sentences import SENTENCES as OF_CHECKS

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from claims.domain.importing.edits import Repair

SENTENCES: dict[str, _StrPromise | str] = {
    "import.version": _(
        "resource.k8s.io/%(version)s is an older version that clusters stop serving; v1 is written instead."
    ),
    "import.old_kind": _(
        "resource.k8s.io/%(version)s is a first design that no supported version reads, with its parameters in other objects; write the claim anew in the form."
    ),
    "import.old_kind.kept": _(
        "Drivers and administrators write this; it is kept as it is, in version %(version)s."
    ),
    "import.kept": _(
        "%(kind)s: nothing in it asks for devices by claim, so it is kept as it is."
    ),
    "import.at_least": _(
        "isGreaterThan leaves out a device that has exactly %(amount)s; at least that much is written instead."
    ),
    "import.extended_resource": _(
        "%(resource)s is served by a device plugin; with DRA the pod names a claim. The template %(template)s is added, and the containers use it."
    ),
    "import.extended_resource.mapped": _(
        "%(resource)s is mapped to %(classes)s here, so this may work as it stands; a claim of its own can be previewed, shared and shown. The template %(template)s is added, and the containers use it."
    ),
    "import.extended_resource.labels": _(
        "%(resource)s is served by a device plugin; with DRA the pod names a claim. The template %(template)s is added, the containers use it, and what the node selectors meant stands there: %(labels)s."
    ),
    "import.extended_resource.mapped_labels": _(
        "%(resource)s is mapped to %(classes)s here, so this may work as it stands; a claim of its own can be previewed, shared and shown. The template %(template)s is added, the containers use it, and what the node selectors meant stands there: %(labels)s."
    ),
    "import.node_label.node": _(
        "%(label)s tells something of the node, and no device says it: it stays a node selector, which holds only while that label is kept on nodes."
    ),
    "import.node_label.product": _(
        "%(label)s names no product that a device of this cluster publishes, so no expression can stand for it: it stays a node selector."
    ),
    "import.node_label.unpublished": _(
        "%(label)s speaks of memory that no device of this cluster publishes: it stays a node selector."
    ),
    "import.node_label.operator": _(
        "%(label)s has no equal in CEL over devices: it stays a node selector."
    ),
    "import.node_label.mig_config": _(
        "%(label)s names a layout of partitions with more than one profile, so it does not say which one the pod has; it stays a node selector. Say the profile in the claim instead."
    ),
    "import.node_label.preferred": _(
        "%(label)s is a preference between nodes; a claim has none but a list of alternatives. It stays as it is, and is only followed while nodes keep the label."
    ),
    "import.node_label.either": _(
        "%(label)s is one of several terms of which any may hold; a claim says that as a list of alternatives. It stays as it is."
    ),
    "import.extended_resource.no_class": _(
        "%(resource)s has no DeviceClass in this cluster, so no claim can stand for it. Classes: %(known)s."
    ),
    "import.extended_resource.no_shares": _(
        "%(resource)s is a time slice of a card, and nothing in this cluster is shared by number; ask for an amount of memory on a shared card instead."
    ),
    "import.extended_resource.taken": _(
        "%(resource)s stays: the pod already has a claim entry “%(name)s”. Add the devices to that claim."
    ),
    "import.runtime_class": _(
        "runtimeClassName: nvidia is not needed: devices of a claim are put into the container through CDI. It is left out."
    ),
    "import.pod_claims.source": _(
        "Pods of Kubernetes 1.31 and later have no “source” around a claim’s name; its fields are moved up."
    ),
    "import.pod_claims.text": _("A container’s claim is a mapping with a name."),
    "import.pod_claims.unknown": _(
        "The pod has no claim entry “%(name)s”; it has one, %(known)s, which is named instead."
    ),
    "import.pod_claims.none": _(
        "The pod has no claim entry “%(name)s”, and the API server refuses that. It has: %(known)s."
    ),
    "import.pod_claims.unused": _(
        "No container uses the claim entry “%(name)s”: it would be allocated for nothing. Name it under resources.claims."
    ),
    "import.compute_domain.num_nodes": _(
        "numNodes is deprecated: newer drivers recommend 0. It is kept."
    ),
    "import.compute_domain.template": _(
        "The template %(name)s is made by the ComputeDomain’s controller; do not write it yourself."
    ),
    "import.namespace": _(
        "%(namespace)s is not one of your namespaces here, so quota and names there were not looked at."
    ),
    "import.unchecked": _("The result could not be checked: %(error)s"),
    "import.unreadable": "%(error)s",
    "import.unreadable.kept": _(
        "This is no Kubernetes object: it has no kind. It is kept as it is."
    ),
    "import.unreadable.odd": _(
        "This is of a shape that cannot be repaired; it is kept as it is."
    ),
    "claim.invalid.no_exactly": _("v1 wants %(fields)s inside “exactly”; moved there."),
    "claim.invalid.no_inner_spec": _(
        "A template holds the claim’s spec in a “spec” of its own; moved there."
    ),
    "claim.invalid.inner_spec": _(
        "A claim has one “spec”; only templates have two. Moved up."
    ),
    "claim.invalid.no_devices": _(
        "Requests, constraints and config stand below “devices”; moved there."
    ),
    "claim.invalid.one_as_list": _("This is a list, also with one entry."),
    "claim.invalid.constraint_cel": _(
        "A constraint has no “cel”; a condition on a device is a selector, and is written as one."
    ),
    "claim.invalid.constraint_place": _(
        "Constraints stand beside the requests and name them; moved there."
    ),
    "claim.invalid.name_given": _("A name is missing; “%(name)s” is given."),
    "claim.invalid.name_changed": _(
        "“%(old)s” is no name: at most 63 lower-case letters, digits and “-”; “%(name)s” is written, also where it is referred to."
    ),
    "claim.invalid.class_name": _(
        "“%(old)s” is no object name, for “/” cannot be in one; “%(name)s” is written."
    ),
    "claim.invalid.misspelt": _("There is no field “%(key)s”; %(name)s is written."),
    "claim.invalid.count_text": _("count is a number, not a text."),
    "claim.invalid.mode_text": _("allocationMode “%(value)s” is written %(name)s."),
    "claim.invalid.selector_shape": _(
        "A selector is “cel” with an “expression”; written so."
    ),
    "claim.invalid.capacity_shape": _(
        "Amounts stand in capacity.requests; moved there."
    ),
    "claim.invalid.nameless": _("The object has no name; give it one."),
    "claim.odd.count_zero": _("A count of 0 is stored as 1; 1 is written."),
    "claim.odd.two_constraints": _(
        "Of matchAttribute and distinctAttribute in one constraint one is ignored; two constraints are written."
    ),
    "class.missing.like": _(
        "There is no DeviceClass “%(old)s”; the cluster’s %(name)s is meant."
    ),
    "class.missing.near": _("There is no DeviceClass “%(old)s”. Nearest: %(near)s."),
    "class.mixed_types.added": _(
        "Without a type the class also takes partitions and passthrough devices, and a pod that asks for a GPU may be given one; %(condition)s is added."
    ),
    "class.mixed_types.may_add": _(
        "The class takes devices of every type: whole cards, partitions and passthrough. If only one is meant, %(condition)s can be added."
    ),
    "cel.runtime_missing_key.guarded": _(
        "%(count)s of %(total)s devices have no “%(key)s”, such as %(example)s, and the pod would fail on every node; %(new)s is asked first."
    ),
    "constraint.distinct.kept_apart": _(
        "%(one)s and %(other)s may be given shares of one device; a constraint on %(key)s would keep them apart."
    ),
    "constraint.no_effect.dropped": _(
        "This has no effect: it binds one device of one claim, and each pod gets a claim of its own. It can be left out."
    ),
    "admin.taint_blocks.tolerated": _(
        "adminAccess does not bypass taints: %(count)s devices, such as %(example)s, are kept out by %(taint)s. All taints can be tolerated."
    ),
    "cel.compile.flat": _(
        "Attributes and capacities are grouped by domain: %(new)s is written instead of %(old)s."
    ),
    "cel.compile.operator": _(
        "Quantities and versions are compared by compareTo: %(new)s."
    ),
    "cel.compile.nvlink": _(
        "No driver publishes “%(key)s”. Cards joined by NVLink across nodes come with a ComputeDomain; devices near each other on one node by a constraint, here: %(near)s. The condition is left out."
    ),
    "cel.compile.dropped": _(
        "No driver publishes “%(key)s”, nor can one under that name; the condition could never hold and is left out. This cluster has: %(near)s."
    ),
    "cel.compile.may_drop": _(
        "No %(driver)s device publishes “%(key)s”. This cluster has: %(near)s. The condition can be left out."
    ),
    "cel.compile.unknown": _(
        "No %(driver)s device publishes “%(key)s”. This cluster has: %(near)s."
    ),
    "cel.key_other_domain.renamed": _(
        "The driver publishes %(new)s; %(old)s is nowhere."
    ),
    "cel.key_published_by_none.renamed": _(
        "The driver publishes %(new)s; %(old)s is nowhere."
    ),
    "cel.key_published_by_none.nvlink": _(
        "No driver publishes “%(key)s”. Cards joined by NVLink across nodes come with a ComputeDomain; devices near each other on one node by a constraint, here: %(near)s. The condition is left out."
    ),
    "cel.key_published_by_none.dropped": _(
        "No driver publishes “%(key)s”, nor can one under that name; the condition could never hold and is left out. This cluster has: %(near)s."
    ),
    "cel.key_published_by_none.may_drop": _(
        "No %(driver)s device publishes “%(key)s”: the pod would fail on every node. This cluster has: %(near)s. The condition can be left out."
    ),
    "cel.key_published_by_none.unknown": _(
        "No %(driver)s device publishes “%(key)s”: the pod would fail on every node. This cluster has: %(near)s."
    ),
    "preview.zero_match.value": _(
        "No device has %(key)s “%(value)s”; written as drivers publish it: “%(new)s”."
    ),
    "preview.zero_match.value_unknown": _(
        "No device here has %(key)s “%(value)s”. This cluster has: %(near)s."
    ),
    "preview.zero_match.size": _(
        "%(asked)s of %(key)s is a size as printed on the box; the card has %(published)s, so nothing would match. %(new)s is written."
    ),
    "constraint.key_missing.renamed": _(
        "No device here has “%(old)s”, and a device without the key is refused; they have %(name)s, which is written."
    ),
    "constraint.parent_request.split": _(
        "A constraint that names the whole request binds every alternative, and “%(key)s” does not tell the cards of all of them apart. One constraint for each: %(parts)s."
    ),
    "config.parent_request.expanded": _(
        "%(driver)s may ignore config for “%(name)s”, since results carry the alternatives’ names; they are named: %(new)s."
    ),
    "capacity.key_mismatch.renamed": _(
        "Capacity keys are compared as written: the driver publishes “%(name)s”, not “%(key)s”; changed."
    ),
    "capacity.whole_device.shared_only": _(
        "%(count)s of %(total)s devices are not shared, and one of them would be given whole for this amount; only shared ones are asked for now (%(shared)s)."
    ),
    "capacity.whole_device.no_shares": _(
        "%(count)s devices would be given whole for this amount: none in this cluster is shared."
    ),
}


def import_sentence(repair: Repair) -> str:
    """Return a repair, or what cannot be repaired, as one sentence."""
    key = f"{repair.code}.{repair.variant}" if repair.variant else repair.code
    text = SENTENCES.get(key) or OF_CHECKS[key]
    return str(text) % {name: str(value) for name, value in repair.values.items()}
