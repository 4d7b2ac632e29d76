"""What cards really use, as NVIDIA's DCGM exporter tells Prometheus.

A sample names its card by UUID, else by PCI address, else by host and index. One
card may have several samples: one for each GPU instance (MIG), and more than one
exporter may tell the same. `used` is in bytes; what nobody told is None, never 0.

Source: dcgm-exporter, DCGM_FI_DEV_FB_USED (MiB) and DCGM_FI_DEV_GPU_UTIL (percent),
labels UUID, gpu, pci_bus_id, Hostname, GPU_I_ID.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inventory.domain.gpus import short_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inventory.domain.cards import Card
    from inventory.domain.occupancy import Occupancy

MIB = 2**20
# In use, and nothing computed for so long: idle.
IDLE_AFTER = dt.timedelta(hours=1)
# Older than this, a reading says nothing of now.
STALE_AFTER = dt.timedelta(minutes=5)
# A read that was missed does not end a quiet time, a longer gap does.
LONGEST_GAP = dt.timedelta(minutes=10)
_TRAILING_INDEX = re.compile(r"(?:gpu|nvidia)-?(\d+)$")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of an answer: labels and a number."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What one card uses.

    Attributes:
        used: bytes of memory, or None.
        utilisation: percent of the time in which something computed, now, or None.
        quiet_since: in use all the time since, and nothing computed; None where it
            computes, is not in use, or where nobody told.
    """

    used: int | None
    utilisation: float | None
    quiet_since: dt.datetime | None = None

    def is_idle(self, now: dt.datetime) -> bool:
        """Return whether it has been quiet for long enough to say so."""
        return self.quiet_since is not None and now - self.quiet_since >= IDLE_AFTER


class Lookup:
    """Finds the card that a sample is about."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._by_uuid: dict[str, Card] = {}
        self._by_address: dict[tuple[str, str], Card] = {}
        self._by_index: dict[tuple[str, str], Card] = {}
        for card in cards:
            self._by_uuid |= dict.fromkeys(card.uuids, card)
            node = _host(card.node)
            self._by_address |= {(node, a): card for a in card.addresses}
            if match := _TRAILING_INDEX.search(card.name):
                self._by_index[node, match[1]] = card

    def find(self, labels: Mapping[str, str]) -> Card | None:
        """Return a sample's card, or None; a UUID that is not ours decides."""
        uuid = labels.get("UUID", labels.get("uuid", "")).lower()
        if uuid:
            found = self._by_uuid.get(uuid)
            if found or self._by_uuid:
                return found or self._placed(labels, without_uuid=True)
        return self._placed(labels, without_uuid=False)

    def _placed(self, labels: Mapping[str, str], *, without_uuid: bool) -> Card | None:
        host = _host(labels.get("Hostname", labels.get("hostname", "")))
        address = short_address(labels.get("pci_bus_id", ""))
        index = labels.get("gpu", "")
        found = self._by_address.get((host, address)) or self._by_index.get(
            (host, index)
        )
        if found and without_uuid and found.uuids:
            return None  # the card has a UUID, and this sample names another one
        return found


def _host(name: str) -> str:
    """Return a host's first label: nodes may be named with their domain."""
    return name.partition(".")[0].lower()


def used_bytes(lookup: Lookup, samples: Iterable[Sample]) -> dict[int, int]:
    """Return id of card → bytes used; instances of a card add up."""
    return {
        key: int(_whole(by_instance, sum) * MIB)
        for key, by_instance in _by_card(lookup, samples).items()
    }


def utilisations(lookup: Lookup, samples: Iterable[Sample]) -> dict[int, float]:
    """Return id of card → percent; of several instances the busiest."""
    return {
        key: _whole(by_instance, max)
        for key, by_instance in _by_card(lookup, samples).items()
    }


def _by_card(lookup: Lookup, samples: Iterable[Sample]) -> dict[int, dict[str, float]]:
    """Return id of card → GPU instance → value; told twice, the greater counts."""
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for each in samples:
        card = lookup.find(each.labels)
        if card is None or not math.isfinite(each.value) or each.value < 0:
            continue
        instance = each.labels.get("GPU_I_ID", "")
        here = found[id(card)]
        here[instance] = max(each.value, here.get(instance, 0.0))
    return found


def _whole(by_instance: dict[str, float], combine: Any) -> float:
    """Return the card's own value where it is told, else that of its instances."""
    if "" in by_instance:
        return by_instance[""]
    return float(combine(by_instance.values()))


@dataclass(frozen=True, slots=True)
class Told:
    """What Prometheus answered; None where a question failed."""

    used: Sequence[Sample] | None
    utilisation: Sequence[Sample] | None
    # The greatest utilisation of the last minutes, so that no burst is missed.
    peak: Sequence[Sample] | None


def readings_of(
    occupancies: Sequence[Occupancy],
    told: Told,
    before: Mapping[str, Mapping[str, Any]],
    *,
    last: dt.datetime | None,
    now: dt.datetime,
) -> dict[str, dict[str, Any]]:
    """Return "driver/pool/card" → a reading as it is stored, of cards that are told.

    Args:
        occupancies: every card and its use.
        told: the answers.
        before: what was stored last, from which a quiet time goes on.
        last: when that was read.
        now: the moment.
    """
    lookup = Lookup(o.card for o in occupancies)
    used = used_bytes(lookup, told.used or ())
    busy = utilisations(lookup, told.utilisation or ())
    peak = utilisations(lookup, told.peak or ())
    continues = last is not None and now - last <= LONGEST_GAP
    found: dict[str, dict[str, Any]] = {}
    for o in occupancies:
        key = id(o.card)
        if key in used or key in busy:
            name = card_name(o.card.key)
            was = before.get(name, {}) if continues else {}
            entry = {"used": used.get(key), "utilisation": busy.get(key)}
            asked = told.peak is not None or told.utilisation is not None
            quiet = (
                _quiet(o, peak.get(key, busy.get(key)), was, now)
                if asked
                else {k: was[k] for k in ("since", "by") if k in was}
            )
            found[name] = {**entry, **quiet}
    return found


def _quiet(
    occupancy: Occupancy, peak: float | None, was: Mapping[str, Any], now: dt.datetime
) -> dict[str, Any]:
    """Return since when the card's present holders compute nothing, if they do."""
    if not occupancy.in_use or peak is None or peak > 0:
        return {}
    by = sorted(f"{h.namespace}/{h.claim}" for h in occupancy.holds if not h.admin)
    same = was.get("by") == by and was.get("since")
    return {"since": was["since"] if same else now.isoformat(), "by": by}


def card_name(key: tuple[str, str, str]) -> str:
    """Return a card's key as one text."""
    return "/".join(key)


def reading_of(stored: Mapping[str, Any]) -> Reading:
    """Return a stored reading."""
    since = stored.get("since")
    return Reading(
        stored.get("used"),
        stored.get("utilisation"),
        dt.datetime.fromisoformat(since) if since else None,
    )
