"""The shapes of what the API says of inventory, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s


class UnseenKind(s.Serializer[Any]):
    kind = s.CharField()
    state = s.CharField(help_text="forbidden, not-served, unknown, …")


class Cluster(s.Serializer[Any]):
    name = s.CharField()
    kind = s.ChoiceField(["live", "offline", "simulated"])
    kubernetesVersion = s.CharField(allow_null=True)
    revision = s.IntegerField(help_text="Rises with every change that was seen.")
    freshness = s.ChoiceField(["live", "stale", "unreachable", "loaded"])
    heardAt = s.DateTimeField(allow_null=True)
    failure = s.CharField(allow_null=True)
    prometheus = s.BooleanField(help_text="What cards really use is asked for.")
    unseenKinds = UnseenKind(
        many=True, help_text="Kinds that are not seen: unknown, never none."
    )


class ClusterBody(s.Serializer[Any]):
    prometheusUrl = s.CharField(
        max_length=500, allow_blank=True, help_text="Below which /api/v1/query lies."
    )


class SumOfMemory(s.Serializer[Any]):
    total = s.IntegerField(help_text="Bytes.")
    totalAtLeast = s.BooleanField(help_text="There may be more than `total`.")
    allocated = s.IntegerField()
    allocatedAtLeast = s.BooleanField()
    available = s.IntegerField()
    unavailable = s.IntegerField()
    largest = s.IntegerField(help_text="The largest piece that can be had now.")


class SumOfCards(s.Serializer[Any]):
    count = s.IntegerField()
    countAtLeast = s.BooleanField(
        help_text="A pool lacks slices, so there may be more cards, in use or free."
    )
    inUse = s.IntegerField()
    free = s.IntegerField()
    unavailable = s.IntegerField()
    memoryUnknown = s.IntegerField(help_text="Cards that publish no memory.")
    memory = SumOfMemory()


class Node(s.Serializer[Any]):
    name = s.CharField()
    ready = s.BooleanField(allow_null=True)
    cordoned = s.BooleanField()
    taints = s.ListField(child=s.DictField())
    labels = s.DictField(child=s.CharField(allow_blank=True))
    cards = SumOfCards()


class PoolProblem(s.Serializer[Any]):
    code = s.CharField()
    detail = s.CharField(allow_blank=True)


class Pool(s.Serializer[Any]):
    driver = s.CharField()
    name = s.CharField()
    node = s.CharField(allow_null=True)
    generation = s.IntegerField()
    expectedSlices = s.IntegerField()
    seenSlices = s.IntegerField()
    verdict = s.ChoiceField(["complete", "incomplete", "invalid"])
    problem = PoolProblem(allow_null=True)
    devices = s.IntegerField()


class DeviceTaint(s.Serializer[Any]):
    key = s.CharField()
    value = s.CharField(allow_blank=True)
    effect = s.CharField()
    rule = s.CharField(allow_null=True, help_text="The DeviceTaintRule that adds it.")


class Holder(s.Serializer[Any]):
    namespace = s.CharField()
    claim = s.CharField()
    request = s.CharField()
    device = s.CharField()
    mine = s.BooleanField()
    adminAccess = s.BooleanField()
    memoryBytes = s.IntegerField(
        allow_null=True, help_text="What a share consumes; null for a whole device."
    )


class Device(s.Serializer[Any]):
    id = s.CharField(help_text="driver/pool/name")
    driver = s.CharField()
    pool = s.CharField()
    name = s.CharField()
    node = s.CharField(allow_null=True)
    slice = s.CharField()
    type = s.CharField(allow_null=True)
    product = s.CharField(allow_null=True)
    memoryBytes = s.IntegerField(allow_null=True)
    state = s.ChoiceField(["free", "in-use", "blocked", "unavailable"])
    taints = DeviceTaint(many=True)
    holders = Holder(many=True)
    otherHolders = s.IntegerField(help_text="Holders whose names you may not see.")
    attributes = s.DictField(child=s.DictField())
    capacity = s.DictField(child=s.DictField())
    consumesCounters = s.ListField(child=s.DictField())
    allowMultipleAllocations = s.BooleanField()


class CardMemory(s.Serializer[Any]):
    total = s.IntegerField(allow_null=True, help_text="Bytes; null: not published.")
    totalAtLeast = s.BooleanField()
    allocated = s.IntegerField(allow_null=True)
    allocatedAtLeast = s.BooleanField()
    available = s.IntegerField(allow_null=True)
    unavailable = s.IntegerField(
        allow_null=True,
        help_text="Free, and not to be had: tainted, in a faulty pool, or without a"
        " placement.",
    )
    largest = s.IntegerField(allow_null=True)


class Taken(s.Serializer[Any]):
    total = s.IntegerField()
    taken = s.IntegerField()


class TakenSlices(Taken):
    unavailable = s.IntegerField(
        help_text="Of those not taken, how many no placement that can be had covers."
    )


class CardReason(s.Serializer[Any]):
    code = s.CharField()
    detail = s.CharField(allow_blank=True)


class Placement(s.Serializer[Any]):
    device = s.CharField()
    driver = s.CharField()
    pool = s.CharField()
    role = s.ChoiceField(["whole", "partition", "passthrough"])
    profile = s.CharField(allow_null=True)
    memoryBytes = s.IntegerField(allow_null=True)
    memorySlices = s.CharField(allow_null=True)
    computeSlices = s.IntegerField(allow_null=True, help_text="Of a MIG profile.")
    state = s.ChoiceField(["possible", "blocked", "taken", "unavailable"])
    holders = Holder(many=True)
    otherHolders = s.IntegerField()


class Measured(s.Serializer[Any]):
    memoryUsed = s.IntegerField(allow_null=True, help_text="Bytes; null: not told.")
    utilisation = s.FloatField(allow_null=True, help_text="Percent; null: not told.")
    idleSince = s.DateTimeField(
        allow_null=True, help_text="It is held, and computes nothing since."
    )


class Card(s.Serializer[Any]):
    node = s.CharField(allow_null=True)
    driver = s.CharField()
    pool = s.CharField()
    name = s.CharField()
    device = s.CharField(allow_null=True)
    product = s.CharField(allow_null=True)
    kind = s.ChoiceField(["whole", "dynamic", "static", "shares"])
    usable = s.BooleanField()
    inUse = s.BooleanField()
    memory = CardMemory()
    largestProfile = s.CharField(allow_null=True)
    memorySlices = TakenSlices(allow_null=True)
    computeSlices = Taken(
        allow_null=True, help_text="Of MIG; which of them is in use is not published."
    )
    shares = Taken(allow_null=True)
    doubleAdvertised = s.BooleanField()
    reasons = CardReason(many=True)
    holders = Holder(many=True)
    otherHolders = s.IntegerField()
    topology = s.DictField(
        child=s.ListField(child=s.CharField()),
        help_text="Full attribute key → values: PCIe root, NUMA node, NVLink or fabric.",
    )
    measured = Measured(
        allow_null=True,
        help_text="Null where no Prometheus is set, or where it would tell of others.",
    )
    placements = Placement(many=True, help_text="Filled with `placements=true`.")


class ProfileRoom(s.Serializer[Any]):
    name = s.CharField()
    memoryBytes = s.IntegerField(allow_null=True)
    cards = s.IntegerField(help_text="On how many cards it fits now.")


class HeldWhole(s.Serializer[Any]):
    cards = s.IntegerField(help_text="Held whole by claims that say what they need.")
    unknownCards = s.IntegerField(help_text="Held whole by claims that do not say.")
    held = s.IntegerField()
    needed = s.IntegerField()
    stranded = s.IntegerField(help_text="Held and not needed.")
    eta = s.FloatField(allow_null=True, help_text="Needed of held, 0 to 1.")


class Fragmentation(s.Serializer[Any]):
    severity = s.IntegerField(
        allow_null=True, help_text="0 (whole) to 3 (nothing free); null: unknown."
    )
    scaled = s.BooleanField(help_text="Thresholds follow cards under 80 GiB.")
    largest = s.IntegerField(allow_null=True, help_text="Bytes of the largest piece.")
    largestCards = s.IntegerField()
    unplaced = s.IntegerField(help_text="Free bytes that no partition can use.")
    cards = s.IntegerField()
    unknownCards = s.IntegerField(help_text="Whose free piece has no published size.")
    cardsWith40GiB = s.IntegerField(help_text="In one piece; scaled below 80 GiB.")
    cardsWith16GiB = s.IntegerField(help_text="In one piece; scaled below 80 GiB.")
    heldWhole = HeldWhole()
    profiles = ProfileRoom(many=True)


class DeviceClass(s.Serializer[Any]):
    name = s.CharField()
    selectors = s.ListField(child=s.CharField())
    extendedResourceName = s.CharField(allow_null=True)
    configDrivers = s.ListField(child=s.CharField())
    matching = s.IntegerField(allow_null=True, help_text="Devices; null: unknown.")
    free = s.IntegerField(allow_null=True)
    matchingAtLeast = s.BooleanField(
        help_text="A pool lacks slices, so there may be more devices, and more free."
    )
    failing = s.IntegerField(help_text="Devices on which a selector fails.")
    problem = s.CharField(allow_null=True)
    rivals = s.ListField(
        child=s.CharField(), help_text="Classes that map the same extended resource."
    )
    winner = s.CharField(
        allow_null=True, help_text="Of them; null where there is none, or not known."
    )
    fragmentation = Fragmentation(allow_null=True)


class ProductTotals(s.Serializer[Any]):
    product = s.CharField(allow_null=True)
    cards = SumOfCards()
    fragmentation = Fragmentation()


class Unpublished(s.Serializer[Any]):
    driver = s.CharField()
    pool = s.CharField()
    device = s.CharField()
    holder = Holder(allow_null=True)


class OwnUse(s.Serializer[Any]):
    cards = s.IntegerField()
    allocated = s.IntegerField()
    allocatedAtLeast = s.BooleanField()


class TenantUse(OwnUse):
    tenant = s.CharField(allow_null=True, help_text="Null: namespaces of no tenant.")
    mine = s.BooleanField()


class IdleCard(s.Serializer[Any]):
    node = s.CharField(allow_null=True)
    driver = s.CharField()
    pool = s.CharField()
    name = s.CharField()
    idleSince = s.DateTimeField()
    holders = Holder(many=True)


class TroubledPool(s.Serializer[Any]):
    driver = s.CharField()
    pool = s.CharField()
    verdict = s.ChoiceField(["incomplete", "invalid"])
    problem = s.CharField(allow_null=True, help_text="`code: detail`.")


class ProductFragmentation(s.Serializer[Any]):
    product = s.CharField(allow_null=True)
    fragmentation = Fragmentation()


class PoolFragmentation(s.Serializer[Any]):
    driver = s.CharField()
    pool = s.CharField()
    fragmentation = Fragmentation()


class FleetFragmentation(s.Serializer[Any]):
    revision = s.IntegerField()
    complete = s.BooleanField(help_text="Every pool has all its slices.")
    cluster = Fragmentation()
    products = ProductFragmentation(many=True)
    pools = PoolFragmentation(many=True)


class Occupancy(s.Serializer[Any]):
    revision = s.IntegerField()
    complete = s.BooleanField(help_text="Every pool has all its slices.")
    pools = s.IntegerField()
    cards = SumOfCards()
    fragmentation = Fragmentation()
    products = ProductTotals(many=True)
    tenants = TenantUse(many=True, help_text="As far as you may see names.")
    own = OwnUse(help_text="What your own tenants hold.")
    idleCards = IdleCard(
        many=True, allow_null=True, help_text="Null where nobody measures."
    )
    troubledPools = TroubledPool(many=True)
    unpublished = Unpublished(
        many=True, help_text="Devices that are held and that no slice publishes now."
    )
