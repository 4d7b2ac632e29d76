"""Every code of the catalogue as one plain sentence; variants after a second dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from claims.domain.checks.selectors import OF_CLASS

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from claims.domain.checks.findings import Finding

SENTENCES: dict[str, _StrPromise] = {
    "claim.invalid.one_of": _(
        "Give the request either “exactly” or “firstAvailable”, and not both."
    ),
    "claim.invalid.alternatives": _("A firstAvailable list holds 1 to 8 alternatives."),
    "claim.invalid.class": _("Name a DeviceClass in deviceClassName."),
    "claim.invalid.object_name": _(
        "“%(name)s” is no object name: use lower-case letters, digits, “-” and “.”."
    ),
    "claim.invalid.mode": _("allocationMode is ExactCount or All."),
    "claim.invalid.count": _("count is a whole number of at least 1."),
    "claim.invalid.selector": _("A selector is cel with an expression."),
    "claim.invalid.constraint": _(
        "A constraint needs matchAttribute or distinctAttribute."
    ),
    "claim.invalid.name": _("Give it a name."),
    "claim.invalid.label": _(
        "“%(name)s” is no name: use lower-case letters, digits and “-”."
    ),
    "claim.invalid.unknown_field": _(
        "resource.k8s.io/v1 has no field “%(field)s” here; the API server refuses it."
    ),
    "claim.invalid.type": _("This must be of type %(expected)s."),
    "claim.invalid.duplicate": _("“%(name)s” is the name of another one already."),
    "claim.invalid.unknown_request": _(
        "The claim has no request “%(name)s”; it has: %(known)s."
    ),
    "claim.invalid.unknown_request.none": _(
        "The claim has no request “%(name)s”; it has none at all."
    ),
    "claim.invalid.too_many": _("At most %(limit)s are allowed here."),
    "claim.invalid.count_of_all": _(
        "“All” takes no count: leave it out, or ask with ExactCount."
    ),
    "claim.invalid.attribute": _(
        "“%(name)s” is no attribute with its domain; write for example gpu.nvidia.com/productName."
    ),
    "claim.invalid.config_driver": _("Name the driver that reads the config."),
    "claim.invalid.operator": _("operator is Exists or Equal."),
    "claim.invalid.value_of_exists": _("Exists takes no value: leave it out."),
    "claim.invalid.key_of_equal": _(
        "Equal needs a key; with Exists a toleration without a key tolerates everything."
    ),
    "claim.invalid.effect": _("effect is NoSchedule, NoExecute or left out."),
    "claim.invalid.unreadable": _("The API server would refuse this claim: %(error)s"),
    "claim.invalid.quantity": _("“%(value)s” is no quantity; write for example 16Gi."),
    "claim.invalid.quantity_meant": _(
        "“%(value)s” is no quantity; write %(fixed)s, or as many Gi."
    ),
    "cel.compile": _("The API server would refuse this expression: %(error)s"),
    "cel.compile.flat_key": _(
        "Attributes are grouped by domain: write %(fixed)s instead of “%(key)s” as one key. (%(error)s)"
    ),
    "cel.compile.mended": _(
        "The API server would refuse this expression: %(error)s. In CEL it is: %(fixed)s"
    ),
    "cel.cost": _(
        "The API server would refuse this expression: its estimated cost is %(cost)s, the limit %(limit)s. Use fewer loops over maps and lists."
    ),
    "cel.too_long": _(
        "The expression has %(length)s bytes, the limit is %(limit)s. Split it by pool, or select by an attribute."
    ),
    "cel.bad_semver.literal": _(
        "“%(literal)s” is no semantic version, and the pod would fail on every node; the driver publishes it as “%(fixed)s”."
    ),
    "cel.bad_semver.literal_unclear": _(
        "“%(literal)s” is no semantic version such as 580.95.5, and the pod would fail on every node."
    ),
    "cel.bad_semver.of_version": _(
        "semver() is given an attribute that is a version already: every pod that meets it fails on every node. Leave semver() out."
    ),
    "cel.bad_semver.literal_shadowed": _(
        "“%(literal)s” is no semantic version. No device comes to it now, but one that did would fail the pod on every node."
    ),
    "cel.key_published_by_none": _(
        "“%(key)s” is published by no %(driver)s device, so the pod would fail with an error on every node. Known: %(known)s."
    ),
    "cel.key_published_by_none.none": _(
        "“%(key)s” is published by no %(driver)s device, so the pod would fail with an error on every node. They publish nothing of the kind."
    ),
    "cel.key_published_by_none.capacity": _(
        "“%(key)s” is a capacity and no attribute: write %(there)s, a quantity. As it is, the pod would fail with an error on every node."
    ),
    "cel.key_published_by_none.attributes": _(
        "“%(key)s” is an attribute and no capacity: write %(there)s. As it is, the pod would fail with an error on every node."
    ),
    "cel.key_published_by_none.shadowed": _(
        "“%(key)s” is published by no %(driver)s device. No device comes to it now, but one that did without it would fail the pod on every node. Known: %(known)s."
    ),
    "cel.key_other_domain": _(
        "“%(key)s” is not published under %(domain)s but under %(domains)s; the pod would fail with an error on every node."
    ),
    "cel.key_other_domain.shadowed": _(
        "“%(key)s” is not published under %(domain)s but under %(domains)s. No device comes to it now, but one that did without it would fail the pod on every node."
    ),
    "cel.runtime_missing_key": _(
        "%(count)s of %(total)s devices have no “%(key)s”, such as %(example)s: when the scheduler visits one, the pod fails on every node. Guard it with has() or .?%(key)s.orValue(…)."
    ),
    "cel.runtime_error": _(
        "On %(count)s of %(total)s devices, such as %(example)s, this fails: %(error)s. When the scheduler visits one, the pod fails on every node."
    ),
    "cel.runtime_error.quantity": _(
        "“%(literal)s” is no quantity, and the pod would fail on every node; write %(fixed)s, or as many Gi."
    ),
    "cel.runtime_error.quantity_unclear": _(
        "“%(literal)s” is no quantity such as 16Gi, and the pod would fail on every node."
    ),
    "cel.runtime_error.quantity_shadowed": _(
        "“%(literal)s” is no quantity. No device comes to it now, but one that did would fail the pod on every node."
    ),
    "cel.slow": _(
        "The scheduler pays about %(product)s cost units for each pod: %(cost)s on each of %(devices)s devices."
    ),
    "cel.slow.regex": _(
        "A regular expression is evaluated on each of %(devices)s devices for each pod; == or startsWith() is cheaper."
    ),
    "cel.slow.nested": _(
        "A loop stands inside a loop and runs on each of %(devices)s devices for each pod."
    ),
    "first_available.cel_error": _(
        "An error in one alternative does not fall through to the next: it stops the whole list, on every node."
    ),
    "first_available.all": _(
        "“All” inside a list: where a pool of the node is incomplete or invalid, the pod fails and no later alternative is tried."
    ),
    "first_available.per_node": _(
        "The list is decided node by node: a pod may get a later alternative although another node has an earlier one."
    ),
    "class.missing": _(
        "There is no DeviceClass “%(name)s”: the pod fails on every node, whichever alternative names it. Known: %(known)s."
    ),
    "class.missing.none": _(
        "There is no DeviceClass “%(name)s”, nor any other: the pod fails on every node. An administrator of the cluster makes them, mostly by installing a DRA driver."
    ),
    "class.extended_clash": _(
        "%(names)s both map %(resource)s; pods that ask for it are served by %(winner)s."
    ),
    "class.mixed_types": _(
        "This class matches devices of several types (%(types)s): a claim for a whole GPU may be given another. Select on type."
    ),
    "claim.too_many_devices": _(
        "The claim needs at least %(count)s devices; one claim may have %(limit)s."
    ),
    "claim.too_many_devices.all": _(
        "“All” matches %(count)s devices on %(node)s; one claim may have %(limit)s, and the pod fails on every node. Select fewer."
    ),
    "claim.too_many_devices.all_passed": _(
        "“All” matches %(count)s devices on %(node)s; one claim may have %(limit)s, so there a smaller alternative is taken. Select fewer."
    ),
    "claim.too_many_devices.all_together": _(
        "The requests together need at least %(count)s devices on %(node)s, with all that “All” matches; one claim may have %(limit)s, and the pod fails on every node. Select fewer."
    ),
    "claim.reserved_for_limit.together": _(
        "%(pods)s pods of several workloads would share the claim %(claim)s; at most %(limit)s can. Use a ResourceClaimTemplate, or several claims."
    ),
    "claim.reserved_for_limit": _(
        "%(pods)s pods would share the claim %(claim)s; at most %(limit)s can. Use a ResourceClaimTemplate, or several claims."
    ),
    "claim.odd.no_requests": _("The claim asks for nothing: add a request."),
    "claim.odd.count_zero": _("A count of 0 is stored as 1; write what you mean."),
    "claim.odd.both_constraints": _(
        "Of matchAttribute and distinctAttribute in one constraint, distinctAttribute is ignored; use two constraints."
    ),
    "claim.odd.capacity_key": _(
        "“%(key)s” is no capacity name, so no device can publish it."
    ),
    "constraint.unsupported": _(
        "Kubernetes %(version)s without the gate %(gate)s cannot do distinctAttribute, and the pod would fail on every node."
    ),
    "constraint.no_effect": _(
        "This has no effect: it binds one device of one claim, and each pod gets a claim of its own. Use one claim with several requests."
    ),
    "constraint.key_missing": _(
        "None of the devices for %(name)s has “%(key)s”, and a device without it is refused. They have: %(instead)s"
    ),
    "constraint.key_missing.nowhere": _(
        "None of the devices for %(name)s has “%(key)s”, and a device without it is refused."
    ),
    "constraint.key_missing.some": _(
        "%(count)s of %(total)s devices for %(name)s, such as %(example)s, have no “%(key)s”: a device without it is never taken."
    ),
    "constraint.parent_request": _(
        "The constraint also binds the alternative %(name)s, none of whose devices has “%(key)s”: it can never be used. Name the alternatives that you mean."
    ),
    "constraint.list_type": _(
        "“%(key)s” is a list on some of these devices and a single value on others; they are compared only where DRAListTypeAttributes is on."
    ),
    "constraint.distinct": _(
        "%(one)s and %(other)s may be given shares of one device; a distinctAttribute over both keeps them apart."
    ),
    "constraint.unmet.match": _(
        "On no node do enough devices agree on “%(key)s”, whatever is free: the claim fits nowhere. Ask for fewer, or leave the constraint out."
    ),
    "constraint.unmet.distinct": _(
        "On no node do enough devices differ in “%(key)s”, whatever is free: the claim fits nowhere. Ask for fewer, or leave the constraint out."
    ),
    "constraint.unmet.all_match": _(
        "“All” takes every matching device of a node, and on no node do they all agree on “%(key)s”: the pod fails with an error. Select fewer, or leave the constraint out."
    ),
    "constraint.unmet.all_distinct": _(
        "“All” takes every matching device of a node, and on no node do they all differ in “%(key)s”: the pod fails with an error. Select fewer, or leave the constraint out."
    ),
    "capacity.key_mismatch": _(
        "No device of this class has a capacity “%(key)s”. Known: %(known)s."
    ),
    "capacity.key_mismatch.none": _(
        "The devices of this class publish no capacity, so none has “%(key)s”."
    ),
    "capacity.key_mismatch.written": _(
        "Capacity keys are compared as written: the driver publishes “%(known)s”, not “%(key)s”."
    ),
    "capacity.key_mismatch.together": _(
        "No device of this class has all of these capacities: %(keys)s. Ask for them in requests of their own."
    ),
    "capacity.range": _(
        "%(amount)s of %(key)s is more than any device can give; the most is %(most)s."
    ),
    "capacity.range.negative": _("%(amount)s of %(key)s is negative."),
    "capacity.range.together": _(
        "Each can be had, but no device can give all of it at once: %(asked)s."
    ),
    "capacity.default_is_all": _(
        "What is left out is taken whole: %(taken)s. Say how much you need."
    ),
    "capacity.whole_device": _(
        "%(count)s of %(total)s devices, such as %(example)s, are not shared: one of them would be given whole. Add device.allowMultipleAllocations to the selector to mean a share."
    ),
    "capacity.rounded": _("%(amount)s of %(key)s will consume %(takes)s."),
    "counters.shared_once": _(
        "%(count)s devices, such as %(example)s, are both partitionable and shared: their counters are charged once, for the first share."
    ),
    "all.per_node": _(
        "“All” means every matching device of one node; it needs at least one there, and one in use fails it."
    ),
    "admin.namespace_label": _(
        "The API server would refuse this: the namespace %(namespace)s lacks the label %(label)s. An administrator of the namespace sets it."
    ),
    "admin.namespace_label_value": _(
        "The API server would refuse this: the namespace %(namespace)s has %(found)s, and only %(label)s counts."
    ),
    "admin.same_device_twice": _(
        "%(one)s and %(other)s select the same devices, and one claim holds a device once: they never fit together."
    ),
    "admin.taint_blocks": _(
        "adminAccess does not bypass taints: %(count)s devices, such as %(example)s, are kept out by %(taint)s. A toleration with operator Exists and no key passes every taint."
    ),
    "admin.counters_exhausted": _(
        "adminAccess needs free counters: %(count)s devices, such as %(example)s, are on cards that are used up."
    ),
    "admin.capacity_exhausted": _(
        "adminAccess needs free capacity: %(count)s shared devices, such as %(example)s, are full."
    ),
    "admin.label_appeared": _(
        "The namespace %(namespace)s carries %(label)s, set outside the portal: who may create claims there can ask for adminAccess."
    ),
    "preview.zero_match": _("None of %(total)s devices of %(class)s matches."),
    "preview.zero_match.nearest": _(
        "None of %(total)s devices of %(class)s matches. They have %(nearest)s."
    ),
    "preview.zero_match.too_few": _(
        "No node has %(count)s of the %(total)s devices; the most on one is %(most)s."
    ),
    "preview.counters_exhausted": _(
        "%(count)s matching partitions are blocked (%(placements)s): their counters are taken by %(holders)s."
    ),
    "preview.no_slices": _(
        "No node publishes devices of %(class)s now; a node that is added may."
    ),
    "preview.budget": _("Undecided: the search was too large for the time it had."),
    "preview.budget.alone": _(
        "Undecided: the search was too large for the time it had. Alone, %(requests)s has no device."
    ),
    "preview.budget.late": _(
        "Undecided: time was over before this one was looked at. Send fewer at a time."
    ),
    "scheduler.crash": _(
        "This claim can crash kube-scheduler %(minor)s (%(error)s), and no pod is scheduled while it waits: report it to Kubernetes, and ask for something else meanwhile."
    ),
    "scheduler.crash.old": _(
        "This claim can crash kube-scheduler %(minor)s (%(error)s), and no pod is scheduled while it waits: have Kubernetes upgraded to 1.35 or newer, or ask for no more devices at once than the smallest slice of a node has."
    ),
    "pool.incomplete": _(
        "The pool %(pool)s of %(driver)s is being updated: %(seen)s of %(expected)s slices of generation %(generation)s are there."
    ),
    "pool.invalid_counterset": _(
        "The pool %(pool)s of %(driver)s is invalid and the scheduler ignores it: a device consumes the unknown counter set %(detail)s."
    ),
    "pool.invalid_counterset.counter": _(
        "The pool %(pool)s of %(driver)s is invalid and the scheduler ignores it: a device consumes the counter %(detail)s, which its counter set does not have."
    ),
    "pool.invalid_counterset.twice": _(
        "The pool %(pool)s of %(driver)s is invalid and the scheduler ignores it: two slices have a counter set of one name (%(detail)s)."
    ),
    "pool.invalid_counterset.unused": _(
        "The pool %(pool)s of %(driver)s has counter sets that none of its devices consumes (%(detail)s): the driver may have failed to publish the devices."
    ),
    "pool.inconsistent_count": _(
        "The slices of the pool %(pool)s of %(driver)s disagree about their number: %(detail)s."
    ),
    "pool.duplicate_device": _(
        "The pool %(pool)s of %(driver)s is invalid and the scheduler ignores it: the device %(detail)s is there twice."
    ),
    "pool.combined_slice": _(
        "The slice %(detail)s holds counters and devices both, as Kubernetes 1.34 wanted it; from 1.35 on its devices are ignored."
    ),
    "mig.double_advertised": _(
        "%(device)s is published beside its own partitions without counters: both can be given away at once."
    ),
    "device.sibling_in_use": _(
        "%(device)s is free, but %(sibling)s, another face of the same card, is in use."
    ),
    "device.memory_unknown": _(
        "%(device)s publishes no memory: it is unknown, not zero."
    ),
    "device.unpublished": _("The claim holds %(device)s, which is not published now."),
    "taint.selects_all": _(
        "An empty deviceSelector matches every device: %(count)s of them would be tainted. Name a driver, pool or device."
    ),
    "taint.blocks": _(
        "%(count)s of %(total)s matching devices, such as %(example)s, are kept out by taints: %(taint)s."
    ),
    "config.parent_request": _(
        "%(driver)s may ignore this: results carry the names %(instead)s, not “%(name)s”. Name the alternatives."
    ),
    "kueue.unsupported.list": _(
        "Kueue refuses a list of alternatives, unless its gate KueueDRAIntegrationPrioritizedList is on: what uses this is not admitted. Ask with exactly."
    ),
    "kueue.unsupported.all": _(
        "Kueue cannot count “All”, and refuses it: what uses this is not admitted. Ask for a number."
    ),
    "kueue.unsupported.claim": _(
        "Kueue counts devices through templates only: the claim %(claim)s is outside of its quota. Name a ResourceClaimTemplate."
    ),
    "quota.exceeded": _(
        "The quota %(quota)s would refuse a claim: it is charged %(charged)s of %(key)s (the most of any alternative, All as 32), and %(left)s of %(limit)s are left."
    ),
    "name.too_long": _(
        "The name has %(length)s characters; the API server takes %(limit)s."
    ),
    "template.immutable": _(
        "%(kind)s %(name)s exists with another spec, which cannot be changed: give the change a new name."
    ),
    "apply.field_dropped": _(
        "Kubernetes %(version)s drops %(path)s without a word, since its gate %(gate)s is off."
    ),
    "claim.extended": _(
        "Made by the scheduler for an extended resource; it ends with its pod."
    ),
    "claim.extended.pod": _(
        "The pod's devices come from the claim %(claim)s, which the scheduler made for its extended resource."
    ),
    "claim.deleting": _(
        "Being deleted; waits for %(finalizers)s. Its devices stay in use until then."
    ),
    "claim.deleting.users": _(
        "Being deleted; waits for %(users)s (%(finalizers)s). Its devices stay in use until then."
    ),
    "claim.idle": _("Holds %(count)s devices and is used by no pod."),
    "domain.invalid.fields": _("Fields are expected here (name: value)."),
    "domain.invalid.unknown": _(
        "A ComputeDomain has no field “%(field)s” here; the API server refuses it."
    ),
    "domain.invalid.no_name": _("Give it a name."),
    "domain.invalid.name": _(
        "“%(value)s” is no object name: use lower-case letters, digits, “-” and “.”."
    ),
    "domain.invalid.nodes": _(
        "“%(value)s” is no number of nodes: give a whole number up to %(most)s, 0 to let the domain grow with its pods."
    ),
    "domain.invalid.mode": _("allocationMode is Single or All."),
    "domain.not_served": _(
        "This cluster does not serve ComputeDomains: its administrator has to install NVIDIA’s DRA driver with them on."
    ),
    "domain.template_taken": _(
        "A template “%(name)s” is in this namespace already, and the domain’s controller makes its own: choose another name for it."
    ),
    "domain.too_few_nodes": _(
        "It needs %(wanted)s nodes of one NVLink clique with free channels; the best clique has %(most)s now."
    ),
    "domain.too_few_nodes.none": _(
        "It needs %(wanted)s nodes of one NVLink clique with free channels; no node publishes channels now."
    ),
    "domain.clique_unknown": _(
        "Whether there is room is unknown: of %(count)s nodes it is not known to which NVLink clique they belong, or whether their channel is free."
    ),
    "domain.nodes_deprecated": _(
        "The driver deprecates a fixed number of nodes: with 0 the domain grows with its pods."
    ),
}


def sentence(finding: Finding, *, hide: frozenset[str] = frozenset()) -> str:
    """Return a finding as one sentence in the language that is active.

    Args:
        finding: its code and variant choose the sentence.
        hide: namespaces whose claims are only "in use" to the reader.
    """
    key = f"{finding.code}.{finding.variant}" if finding.variant else finding.code
    values = {name: _shown(value, hide) for name, value in finding.values.items()}
    said = str(SENTENCES[key]) % values
    if OF_CLASS in values:
        values = {"class": values[OF_CLASS], "said": said}
        return gettext("In a selector of the DeviceClass %(class)s: %(said)s") % values
    return said


def _shown(value: object, hide: frozenset[str]) -> str:
    if isinstance(value, list):
        seen = [item for item in value if item.partition("/")[0] not in hide]
        others = len(value) - len(seen)
        if others:
            seen.append(str(_("%(count)d in use by others")) % {"count": others})
        return ", ".join(seen)
    return f"{value:,}" if isinstance(value, int) else str(value)
