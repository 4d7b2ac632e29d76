"""What scheduler, controllers and kubelets do: claims of pods made, placed and released."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections import Counter

from inventory.domain.engine import NodeAnswer, Outcome
from simcluster.binding import Binder, Pace
from simcluster.daemons import count_daemons
from simcluster.domains import tend_domains
from simcluster.engine import DECISIVE, Engine
from simcluster.extended import Extended, Group
from simcluster.kinds import (
    BY_NAME,
    CLAIM,
    EVENT,
    KINDS,
    NAMESPACE,
    NODE,
    POD,
    TEMPLATE,
    Object,
)
from simcluster.placing import refuses, sentence
from simcluster.refusals import Refusal
from simcluster.registry import Registry, Write, moment
from simcluster.storage import Store

CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
FINALIZER = "resource.kubernetes.io/delete-protection"
_FINISHED = ("Succeeded", "Failed")
_BROKEN = (Outcome.ERROR, Outcome.UNDECIDED)
_TOGETHER_SECONDS = 0.1


class Controllers:
    """One loop that looks at everything after every change."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        engine: Engine,
        tick: float,
        pace: Pace,
    ) -> None:
        """Take the parts; `tick` is how long to wait at most, in seconds."""
        self._binder = Binder(store, pace)
        self._extended = Extended(store, is_on=engine.has("DRAExtendedResource"))
        self._store, self._registry, self._engine = store, registry, engine
        self._tick = tick
        self._seen = store.version
        self._world = 0
        self._tried: dict[str, int] = {}

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            before = self._store.version
            try:
                await self.step()
            except Exception as error:  # noqa: BLE001  the next turn tries again
                sys.stderr.write(f"controllers: {error!r}\n")
                await asyncio.sleep(1)
            if self._store.version == before:
                await self._store.wait(self._tick)
            await asyncio.sleep(_TOGETHER_SECONDS)

    async def step(self) -> None:
        """Do once what each controller would do now."""
        self._end_namespaces()
        self._end_pods()
        self._collect_garbage()
        count_daemons(self._store)
        tend_domains(self._store)
        for claim in self._store.items(CLAIM):
            self._release(claim)
        for pod in self._store.items(POD):
            if self._waits(pod):
                await self._make_claims(pod)
        self._binder.attach()
        self._look_at_changes()
        for pod in self._store.items(POD):
            if self._waits(pod) and not self._is_binding(pod):
                await self._schedule(pod)

    def _waits(self, pod: Object) -> bool:
        """Return whether a pod, as we know it, is the stored one and not placed yet."""
        metadata, phase = pod["metadata"], pod["status"].get("phase")
        stored = self._store.get(POD, metadata["name"], metadata["namespace"])
        is_over = "deletionTimestamp" in metadata or phase in _FINISHED
        return stored is pod and not is_over and not pod["spec"].get("nodeName")

    def _end_namespaces(self) -> None:
        """Empty namespaces that are being deleted, and remove the empty ones."""
        for space in self._store.items(NAMESPACE):
            if "deletionTimestamp" not in space["metadata"]:
                continue
            name = space["metadata"]["name"]
            left = [
                (k, b)
                for k in KINDS
                if k.namespaced
                for b in self._store.items(k, name)
            ]
            for kind, body in left:
                if "deletionTimestamp" not in body["metadata"]:
                    self._registry.delete(
                        kind, name, body["metadata"]["name"], {}, Write()
                    )
            if not left:
                self._store.remove(NAMESPACE, space)

    def _end_pods(self) -> None:
        """Remove pods whose containers a kubelet would have stopped by now."""
        for pod in self._store.items(POD):
            held = pod["metadata"].get("finalizers")
            if "deletionTimestamp" in pod["metadata"] and not held:
                self._store.remove(POD, pod)

    def _collect_garbage(self) -> None:
        """Delete what is owned by objects that are all gone."""
        everything = [
            (kind, body) for kind in KINDS for body in self._store.items(kind)
        ]
        uids = {body["metadata"]["uid"] for _, body in everything}
        for kind, body in everything:
            metadata = body["metadata"]
            owners = metadata.get("ownerReferences", [])
            gone = [
                o["uid"] not in uids and (o["apiVersion"], o["kind"]) in BY_NAME
                for o in owners
            ]
            if owners and all(gone) and "deletionTimestamp" not in metadata:
                namespace = metadata.get("namespace", "")
                self._registry.delete(kind, namespace, metadata["name"], {}, Write())

    def _release(self, claim: Object) -> None:
        """End reservations of pods that are gone, and allocations that nobody uses."""
        metadata, status = claim["metadata"], claim.get("status") or {}
        deleting = "deletionTimestamp" in metadata
        before = status.get("reservedFor", [])
        users = [
            user for user in before if self._is_used_by(metadata["namespace"], user)
        ]
        if users == before and not (deleting and not users):
            return
        finalizers = list(metadata.get("finalizers", []))
        status, metadata = {**status, "reservedFor": users}, dict(metadata)
        if not users:
            status = {
                k: status[k] for k in status.keys() - {"reservedFor", "allocation"}
            }
            finalizers = [each for each in finalizers if each != FINALIZER]
            metadata.pop("finalizers", None)
        metadata |= {"finalizers": finalizers} if finalizers else {}
        new = {**claim, "metadata": metadata, "status": status}
        if deleting and not finalizers:
            self._store.remove(CLAIM, new)
        elif new != claim:
            self._store.put(CLAIM, new)

    def _is_used_by(self, namespace: str, user: Object) -> bool:
        if user["resource"] != POD.plural:
            return True
        pod = self._store.get(POD, user["name"], namespace)
        same = pod is not None and pod["metadata"]["uid"] == user["uid"]
        return same and (pod or {})["status"].get("phase") not in _FINISHED

    async def _make_claims(self, pod: Object) -> None:
        """Make the claims that a pod wants from templates, and note their names."""
        made = list(pod["status"].get("resourceClaimStatuses", []))
        known = {each["name"] for each in made}
        for reference in pod["spec"].get("resourceClaims", []):
            name = reference["name"]
            if "resourceClaimTemplateName" in reference and name not in known:
                try:
                    claim = self._generated(pod, name) or await self._make(
                        pod, reference
                    )
                except Refusal as refusal:
                    text = f"PodResourceClaim {name}: {refusal}"
                    return self._tell(pod, "FailedResourceClaimCreation", text)
                made.append(
                    {"name": name, "resourceClaimName": claim["metadata"]["name"]}
                )
        if len(made) > len(known) and self._waits(pod):
            self._set_status(pod, resourceClaimStatuses=made)
        return None

    def _generated(self, pod: Object, name: str) -> Object | None:
        """Return the claim that was made before its name was noted."""
        for claim in self._store.items(CLAIM, pod["metadata"]["namespace"]):
            owners = [o["uid"] for o in claim["metadata"].get("ownerReferences", [])]
            annotations = claim["metadata"].get("annotations", {})
            if pod["metadata"]["uid"] in owners and annotations.get(CLAIM_NAME) == name:
                return claim
        return None

    async def _make(self, pod: Object, reference: Object) -> Object:
        metadata, source = pod["metadata"], reference["resourceClaimTemplateName"]
        template = self._store.get(TEMPLATE, source, metadata["namespace"])
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{source}" not found'
            text = f'resource claim template "{source}": {missing}'
            raise Refusal(404, "NotFound", text)
        given = template["spec"].get("metadata", {})
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"]}
        owner |= {"uid": metadata["uid"], "controller": True}
        body = {
            "metadata": {
                **given,
                "generateName": f"{metadata['name']}-{reference['name']}-",
                "annotations": given.get("annotations", {})
                | {CLAIM_NAME: reference["name"]},
                "ownerReferences": [owner],
            },
            "spec": template["spec"]["spec"],
        }
        stamped = CLAIM.stamped(body)
        return await self._registry.create(
            CLAIM, metadata["namespace"], stamped, Write()
        )

    def _look_at_changes(self) -> None:
        """Note when something happened that pods which did not fit may fit after."""
        for change in self._store.since(self._seen):
            now = {} if change.type == "DELETED" else change.body.get("status", {})
            before = (change.prior or {}).get("status", {})
            freed = "allocation" in before and "allocation" not in now
            if change.resource == CLAIM.resource and not freed:
                continue
            if change.resource in [kind.resource for kind in DECISIVE]:
                self._world = change.version
        self._seen = self._store.version

    async def _schedule(self, pod: Object) -> None:
        """Place a pod where its claims fit best, or say why it does not fit."""
        claims, uid = self._claims(pod), pod["metadata"]["uid"]
        if claims is None or self._tried.get(uid) == self._world:
            return None
        world, nodes = self._world, self._nodes(pod)
        willing = [name for name, why in nodes.items() if not why]
        answers: dict[str, NodeAnswer] = {}
        groups = self._extended.groups(pod, self._named(willing))
        for group in groups:
            wanted = [CLAIM.stamped(claim) for claim in group.with_claim(claims)]
            if wanted:
                answers |= await self._engine.allocate(wanted, group.nodes)
        if self._claims(pod) != claims or not self._waits(pod):
            return None
        self._tried[uid] = world
        if broken := [each for each in answers.values() if each.outcome in _BROKEN]:
            if broken[0].outcome == Outcome.UNDECIDED:
                del self._tried[uid]
            text = f'running "DynamicResources" filter plugin: {broken[0].message}'
            return self._refuse(pod, "SchedulerError", text)
        fitting = [
            n for n in willing if n not in answers or answers[n].outcome == Outcome.FITS
        ]
        if not fitting:
            why = Counter(nodes[name] or answers[name].message for name in nodes)
            return self._refuse(pod, "Unschedulable", sentence(why))
        scores = {n: answers[n].score or 0 for n in fitting if n in answers}
        best = min(fitting, key=lambda name: (-scores.get(name, 0), name))
        [group] = [each for each in groups if best in each.nodes]
        return self._place(pod, best, group.with_claim(claims), answers, group)

    def _place(
        self,
        pod: Object,
        best: str,
        claims: list[Object],
        answers: dict[str, NodeAnswer],
        group: Group,
    ) -> None:
        """Allocate a pod's claims on the best node; bind it, if all is ready."""
        results = (answers[best].results or []) if claims else []
        for claim, result in zip(claims, results, strict=True):
            self._allocate(claim, result, pod)
        if group.claim:
            made = {"resourceClaimName": group.claim["metadata"]["name"]}
            made["requestMappings"] = group.mappings
            pod = self._set_status(pod, extendedResourceClaimStatus=made)
        uid = pod["metadata"]["uid"]
        if not self._binder.begin(uid, best, self._claims(pod) or []):
            self._bind(pod, best)

    def _is_binding(self, pod: Object) -> bool:
        """Go on with a pod whose devices are being made ready; say whether it is one."""
        step = self._binder.step(pod["metadata"]["uid"], self._claims(pod) or [])
        if step.node:
            self._bind(pod, step.node)
        if step.why:
            text = f'running PreBind plugin "DynamicResources": {step.why}'
            self._refuse(pod, "SchedulerError", text)
        return step.goes_on

    def _nodes(self, pod: Object) -> dict[str, str]:
        """Return why each node takes no such pod; an empty text where it may."""
        nodes = self._store.items(NODE)
        return {
            node["metadata"]["name"]: refuses(node, pod)
            or self._extended.lacks(node, pod)
            for node in nodes
        }

    def _named(self, names: list[str]) -> list[Object]:
        found = (self._store.get(NODE, name) for name in names)
        return [node for node in found if node]

    def _claims(self, pod: Object) -> list[Object] | None:
        """Return a pod's claims, or None while some do not exist."""
        metadata, made = pod["metadata"], pod["status"].get("resourceClaimStatuses", [])
        names = {each["name"]: each["resourceClaimName"] for each in made}
        found: list[Object] = []
        wanted = [
            reference.get("resourceClaimName") or names.get(reference["name"], "")
            for reference in pod["spec"].get("resourceClaims", [])
        ]
        if extended := pod["status"].get("extendedResourceClaimStatus"):
            wanted.append(extended["resourceClaimName"])
        for name in wanted:
            claim = self._store.get(CLAIM, name, metadata["namespace"])
            if claim is None or "deletionTimestamp" in claim["metadata"]:
                return None
            if claim not in found:
                found.append(claim)
        return found

    def _allocate(self, claim: Object, result: Object, pod: Object) -> None:
        """Write an allocation and the pod's reservation, as the scheduler does."""
        metadata, status = claim["metadata"], dict(claim.get("status", {}))
        for each in result.get("devices", {}).get("results", []):
            if "shareID" in each:
                each["shareID"] = str(uuid.uuid4())
        status.setdefault("allocation", {**result, "allocationTimestamp": moment()})
        user = {"resource": POD.plural, "name": pod["metadata"]["name"]}
        user["uid"] = pod["metadata"]["uid"]
        users = [each for each in status.get("reservedFor", []) if each != user]
        status["reservedFor"] = [*users, user]
        finalizers = list(dict.fromkeys([*metadata.get("finalizers", []), FINALIZER]))
        metadata = {**metadata, "finalizers": finalizers}
        self._store.put(CLAIM, {**claim, "metadata": metadata, "status": status})

    def _bind(self, pod: Object, node: str) -> None:
        metadata = pod["metadata"]
        bound = {**pod, "spec": {**pod["spec"], "nodeName": node}}
        conditions = [
            {"type": type_, "status": "True", "lastTransitionTime": moment()}
            for type_ in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        self._set_status(
            bound, phase="Running", startTime=moment(), conditions=conditions
        )
        name = f"{metadata['namespace']}/{metadata['name']}"
        self._tell(pod, "Scheduled", f"Successfully assigned {name} to {node}")

    def _refuse(self, pod: Object, reason: str, text: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": reason}
        condition |= {"message": text, "lastTransitionTime": moment()}
        known = pod["status"].get("conditions", [])
        if [each.get("message") for each in known] != [text]:
            self._set_status(pod, conditions=[condition])
            self._tell(pod, "FailedScheduling", text)

    def _set_status(self, pod: Object, **fields: object) -> Object:
        return self._store.put(POD, {**pod, "status": {**pod["status"], **fields}})

    def _tell(self, pod: Object, reason: str, text: str) -> None:
        """Write an event about a pod, unless it was told before."""
        metadata, now = pod["metadata"], moment()
        subject = {key: metadata[key] for key in ("name", "namespace", "uid")}
        for event in self._store.items(EVENT, metadata["namespace"]):
            is_same = (event["reason"], event["message"]) == (reason, text)
            if is_same and event["involvedObject"].get("uid") == metadata["uid"]:
                return
        source = "default-scheduler" if "Sched" in reason else "resource_claim"
        event = {
            "metadata": {
                "name": f"{metadata['name']}.{uuid.uuid4().hex[:16]}",
                "namespace": metadata["namespace"],
                "uid": str(uuid.uuid4()),
                "creationTimestamp": now,
            },
            "involvedObject": {"kind": POD.name, "apiVersion": "v1", **subject},
            "type": "Warning" if reason.startswith("Failed") else "Normal",
            "reason": reason,
            "message": text,
            "source": {"component": source},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "reportingComponent": source,
        }
        self._store.put(EVENT, event)
