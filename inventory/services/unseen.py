"""What of a cluster is not seen, and what therefore is not known, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from inventory.models import Cluster

# Without these what is free, and what fits where, is not known.
DECIDING = ("ResourceClaim", "ResourceSlice", "DeviceClass", "Node")


def unseen_sentences(cluster: Cluster) -> list[str]:
    """Return one sentence for each kind that decides what fits and is not seen."""
    return list(filter(None, (unseen_sentence(cluster, kind) for kind in DECIDING)))


def unseen_sentence(cluster: Cluster, kind: str) -> str:
    """Return why a kind that decides is not seen and what follows; "" where it is seen."""
    if not cluster.is_blind_to(kind):
        return ""
    return _what_follows()[kind] % {"why": state_words(cluster.state_of(kind))}


def _what_follows() -> dict[str, str]:
    return {
        "ResourceClaim": _(
            "Claims are not seen (%(why)s): what is in use is unknown. What stands here"
            " as free or as fitting may be held."
        ),
        "ResourceSlice": _(
            "ResourceSlices are not seen (%(why)s): which pools and devices there are is"
            " unknown, and so is what fits."
        ),
        "DeviceClass": _(
            "DeviceClasses are not seen (%(why)s): what a class matches, and whether a"
            " claim of it fits, is unknown."
        ),
        "Node": _(
            "Nodes are not seen (%(why)s): which there are, and on which a claim fits, is"
            " unknown."
        ),
    }


def state_words(state: str) -> str:
    """Return why a kind in this state is not seen."""
    return {
        "forbidden": _("the portal's account may not list it"),
        "not-served": _("the cluster does not serve it"),
        "listing": _("being read"),
        "failing": _("the last attempt to read it failed"),
        "held": _("a list that would remove too much is held back"),
        "": _("not read yet"),
    }.get(state, state)
