"""The shapes of what the API says of one pool, card or class, and of the past."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from inventory.api.serializers import Card, DeviceClass, Fragmentation, Holder, Pool


class Sample(s.Serializer[Any]):
    at = s.DateTimeField(help_text="The beginning of its slot of five minutes.")
    cards = s.IntegerField()
    total = s.IntegerField(allow_null=True, help_text="Bytes; null of tenants.")
    allocated = s.IntegerField(allow_null=True)
    allocatedAtLeast = s.BooleanField()
    available = s.IntegerField(allow_null=True)


class Series(s.Serializer[Any]):
    key = s.CharField(
        allow_blank=True, help_text="Product, class, driver/pool or tenant."
    )
    samples = Sample(many=True)


class PoolSlice(s.Serializer[Any]):
    name = s.CharField()
    generation = s.IntegerField(allow_null=True)
    counts = s.BooleanField(help_text="It is of the pool's newest generation.")
    devices = s.IntegerField(allow_null=True)
    seenAt = s.DateTimeField(help_text="When it was read as it is now.")


class PoolSpan(s.Serializer[Any]):
    since = s.DateTimeField()
    until = s.DateTimeField()
    generation = s.IntegerField()
    expectedSlices = s.IntegerField()
    seenSlices = s.IntegerField()
    verdict = s.ChoiceField(["complete", "incomplete", "invalid"])
    problem = s.CharField(allow_null=True, help_text="`code: detail`.")


class PoolDetail(Pool):
    slices = PoolSlice(many=True)
    fragmentation = Fragmentation(
        allow_null=True, help_text="Null where it holds no GPU."
    )
    published = PoolSpan(
        many=True, help_text="How it was published in 30 days, the newest first."
    )


class Holding(s.Serializer[Any]):
    device = s.CharField()
    holder = Holder(allow_null=True, help_text="Null where you may not see its name.")
    pods = s.ListField(child=s.CharField())
    since = s.DateTimeField(allow_null=True, help_text="When it was allocated.")
    claimMadeAt = s.DateTimeField(allow_null=True)


class CardName(s.Serializer[Any]):
    node = s.CharField(allow_null=True)
    driver = s.CharField()
    pool = s.CharField()
    name = s.CharField()


class Neighbours(s.Serializer[Any]):
    kind = s.ChoiceField(["pcie", "numa", "link"])
    key = s.CharField()
    value = s.CharField()
    count = s.IntegerField(help_text="How many other cards are there.")
    cards = CardName(many=True, help_text="At most 72 of them.")


class UseStep(s.Serializer[Any]):
    to = s.DateTimeField()
    total = s.IntegerField(allow_null=True)
    allocated = s.IntegerField(allow_null=True)
    allocatedAtLeast = s.BooleanField()

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; `from` is no name in Python."""
        return {"from": s.DateTimeField(), **super().get_fields()}


class CardDetail(Card):
    holdings = Holding(many=True)
    fits = Fragmentation(help_text="What a claim without tolerations can get of it.")
    neighbours = Neighbours(
        many=True,
        help_text="Places that it shares: of PCIe and NUMA with cards of its node, of"
        " NVLink and fabrics with cards of the cluster.",
    )
    history = UseStep(many=True, help_text="Of 30 days, by time.")


class ObjectName(s.Serializer[Any]):
    kind = s.ChoiceField(["ResourceClaim", "ResourceClaimTemplate"])
    namespace = s.CharField()
    name = s.CharField()


class ClassUsers(s.Serializer[Any]):
    claims = s.IntegerField()
    templates = s.IntegerField()
    others = s.IntegerField(help_text="Of them, those whose names you may not see.")
    objects = ObjectName(many=True, help_text="The first 20 that you may see.")


class DeviceClassDetail(DeviceClass):
    devices = s.ListField(
        child=s.CharField(),
        allow_null=True,
        help_text="driver/pool/name of each match.",
    )
    usedBy = ClassUsers()


class DomainDevice(s.Serializer[Any]):
    device = s.CharField()
    namespace = s.CharField(allow_null=True, help_text="Null where you may not see it.")
    claim = s.CharField(allow_null=True)


class DomainNode(s.Serializer[Any]):
    name = s.CharField()
    member = s.BooleanField(help_text="The domain's status names it.")
    clique = s.CharField(allow_null=True)
    state = s.CharField(allow_null=True, help_text="Ready, NotReady; null: not told.")
    channels = DomainDevice(many=True, help_text="That claims hold for the domain.")
    daemons = DomainDevice(many=True)


class ComputeDomain(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()
    state = s.CharField(allow_null=True)
    healthy = s.BooleanField(help_text="Ready with all of its members.")
    numNodes = s.IntegerField(allow_null=True, help_text="Null: as its pods come.")
    template = s.CharField(allow_null=True)
    channelMode = s.CharField(help_text="Single or All.")
    nodes = DomainNode(many=True)


class Attribute(s.Serializer[Any]):
    key = s.CharField()
    value = s.CharField(allow_null=True, allow_blank=True)
    type = s.CharField(allow_null=True)
    devices = s.IntegerField(allow_null=True, help_text="How many have the value.")


class SavedViewBody(s.Serializer[Any]):
    name = s.CharField(max_length=63)
    query = s.CharField(
        max_length=2_000,
        allow_blank=True,
        help_text="As in the GPUs page's address: q, product, class, driver, tenant,"
        " free, tainted, mine, group, view.",
    )


class SavedView(SavedViewBody):
    id = s.IntegerField()
