"""What the page says of cases that people met, word for word.

`UPDATE_GOLDEN=1` writes the files again; look at the difference before keeping it.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.template.loader import render_to_string
from django.utils import translation

from claims.services.previewing import Reader, ashow

GOLDEN = Path(__file__).parents[2] / "golden" / "why"
pytestmark = pytest.mark.django_db(transaction=True)

# Case, item, and what a reader must learn: number, first cause, holder or placement.
SENTENCES = [
    (
        "05",
        "eighty-gi",
        ["8 fail selector 1 (memory)", "nearest: 8 with memory 79.6Gi"],
    ),
    ("11", "three-g", ["4 placements are blocked", "gpu-0-mig-3g40gb", "holder-"]),
    ("15", "any-mig", ["9 are in the pool gpu-a100-old, which is invalid"]),
    ("20", "monitor", ["1 is tainted (gpu.nvidia.com/xid=79:NoSchedule)", "All"]),
    ("26", "gpu-nic", ["1 lacks gpu.intel.com/pciRoot, which a constraint compares"]),
    ("27", "gpu-cpu", ["the constraint on resource.kubernetes.io/pcieRoot"]),
    ("28", "one-times-three", ["2 left, 3 needed"]),
    ("30", "bad-capacity-key", ["8 publish no capacity “9bad”"]),
    ("32", "one-h100", ["1 is in the pool gpu-h100-upd, which is being updated"]),
    ("37", "share-qualified", ["publish no capacity “gpu.nvidia.com/memory”"]),
    ("39", "part-of-gpu-0", ["4 placements are blocked", "team-orchid/share-a"]),
    ("44", "four-gpus", ["1 is tainted (gpu.nvidia.com/gpu-lost", "2 left, 4 needed"]),
    ("46", "mem-40g", ["1 fails selector 1 (memory)"]),
]


def text_of(cluster, manifest, language):
    with translation.override(language):
        shown = async_to_sync(ashow)(cluster, manifest, Reader())
        page = render_to_string(
            "claims/compose_preview.html",
            {"preview": {"shown": shown}, "cluster": cluster},
        )
    # What the scheduler pays is measured, and is another test's.
    page = re.sub(r"<details class=.cost.*?</details>", "", page, flags=re.DOTALL)
    page = re.sub(r"</(p|tr|li|h3|small|td|th)>|<br>", "\n", page)
    lines = html.unescape(re.sub(r"<[^>]+>", " ", page)).splitlines()
    kept = (" ".join(line.split()) for line in lines)
    # The age of the snapshot is another test's.
    return "\n".join(line for line in kept if line and "allocator" not in line) + "\n"


@pytest.mark.parametrize(("number", "item", "learnt"), SENTENCES)
def test_page_says_the_cause(case, number, item, learnt):
    asked = case(number)

    text = text_of(asked.cluster, asked.items[item], "en")

    for words in learnt:
        assert words in text
    path = GOLDEN / f"{number}-{item}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
