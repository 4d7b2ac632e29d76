"""How a process that lives long collects its garbage."""

from __future__ import annotations

import gc

# Objects that are made before the youngest are looked at; Python's own is 700. What
# is decoded of a cluster is hundreds of thousands of them, and none is garbage.
YOUNGEST = 20_000


def spare_what_is_imported() -> None:
    """Leave what is there out of later collections, and collect less often.

    For the end of a process' start.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNGEST, 10, 10)
