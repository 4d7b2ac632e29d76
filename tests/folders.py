"""Where tests keep what their servers write."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def state_folder() -> Iterator[Path]:
    """Yield a new folder for the state of one demo; remove it at the end.

    SLICEWISE_TEST_DIR says where, as a place in memory; /var/tmp otherwise.
    """
    place = os.environ.get("SLICEWISE_TEST_DIR") or "/var/tmp"
    state = Path(tempfile.mkdtemp(prefix="slicewise-test-", dir=place))
    state.chmod(0o755)  # Postgres, started by root, runs as another user
    try:
        yield state
    finally:
        shutil.rmtree(state, ignore_errors=True)
