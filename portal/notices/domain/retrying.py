"""When a delivery is tried again, and when it is given up."""

from __future__ import annotations

from datetime import timedelta

# Seconds after the first, second, … failure; a day and a half in all.
PAUSES = (5, 30, 120, 600, 1_800, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600)
# What says that nobody will ever be there again. Source: RFC 9110, 15.5.11.
GONE = 410


def pause_after(failures: int, *, jitter: float) -> timedelta | None:
    """Return how long to wait after so many failures; None: it is given up.

    Args:
        failures: of this delivery, from 1.
        jitter: from 0 to 1; spreads ± 20 %.
    """
    if failures > len(PAUSES):
        return None
    return timedelta(seconds=PAUSES[failures - 1] * (0.8 + 0.4 * jitter))


def is_success(status: int) -> bool:
    """Return whether a receiver has taken a message; a redirect is no taking."""
    return 200 <= status < 300
