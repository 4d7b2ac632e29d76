"""The texts of the shipped presets, so that they can be shown in other languages.

An administrator's own texts are shown as they were written.
"""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

SHIPPED = (
    _("Whole cards"),
    _("Any GPU with at least 20 GB"),
    _(
        "Whatever whole card has at least 20 GB of memory: the scheduler takes the first that is free."
    ),
    _("First available"),
    _("H100, else two L40S, else a MIG slice"),
    _(
        "A whole H100; where none is free two L40S (tensor parallel, TP=2); else a 4g.40gb slice, enough for batch work."
    ),
    _("Parts of a card"),
    _("MIG large (3g.40gb)"),
    _("A slice of an H100 with 40 GB: for serving a large model."),
    _("MIG medium (2g.20gb)"),
    _("A slice of an H100 with 20 GB: for serving a model of middle size."),
    _("MIG small (1g.10gb)"),
    _("The smallest slice of an H100, 10 GB: for small models and tests."),
    _("Operations"),
    _("Monitoring of all GPUs of a node"),
    _(
        "Sees every GPU of a node, also those in use, and takes none away. Needs an approval, and a namespace that is labelled for it."
    ),
    _("Several cards"),
    _("All GPUs of a multi-node NVLink node"),
    _(
        "Every GPU of a GB200 node, for one pod of a job over an NVLink domain. The domain’s channel is a second claim, from the ComputeDomain’s own template."
    ),
    _("Notebook"),
    _(
        "One small slice or share for interactive work: a 1g.10gb slice, else 10Gi of a shared card."
    ),
    _("NVLink pair"),
    _("Two cards of one NVLink partition. Only where the driver publishes partitions."),
    _("16Gi share"),
    _("A share of a card’s memory that several pods use at once; from 1Gi to 40Gi."),
    _("Two cards under one PCIe root"),
    _("Two cards that reach each other without crossing the processor."),
    _("Whole H100"),
    _("One whole NVIDIA H100, with nobody else on it. For training and large models."),
)


def translated(text: str) -> str:
    """Return a preset's text in the language that is active, if it is a shipped one."""
    return gettext(text) if text in SHIPPED else text
