"""Numbers that may stand for a missing value: -999, or a zero where none is possible."""

from __future__ import annotations

import numpy as np

from ipub.errors import IpubWarning
from ipub.numeric.rounding import Array

SENTINELS = (0.0, -1.0, *(sign * number for number in (9.0, 99.0, 999.0, 9999.0, 99999.0) for sign in (-1.0, 1.0)))
"""Numbers often written for a missing value."""
FEWEST = 2
"""How often the number must occur: fewer give more false warnings."""
FEWEST_OTHERS = 10
"""How many different values there must be beside it."""
FENCE = 1.5
"""How far from the middle half of the others it must lie, in lengths of that half (Tukey's fence)."""
GAP = 0.5
"""How far from every other value it must lie, in the same lengths."""
SAMPLE_SIZE = 2000
"""Values of a column that its quartiles are computed from, about."""


class SentinelWarning(IpubWarning):
    """A number that occurs repeatedly, far from all others, may stand for a missing value."""


def sentinel_in(observed: Array) -> float | None:
    """Return the number at the end of a column that may stand for a missing value, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> sentinel_in(np.array([-999.0, *range(30, 50), -999.0]))
    -999.0
    """
    for value in (float(observed.min()), float(observed.max())):
        if value not in SENTINELS:
            continue
        others = observed[observed != value]
        sample = others[:: 1 + len(others) // SAMPLE_SIZE]
        if is_sentinel(
            value, len(observed) - len(others), len(others), sample, np.abs(others - value).min(initial=np.inf)
        ):
            return value
    return None


def is_sentinel(value: float, count: int, n_others: int, sample: Array, gap: float) -> bool:
    """Whether a number at the end of a column may stand for a missing value.

    Parameters
    ----------
    value : float
    count : int
        How often it occurs.
    n_others : int
        How many other values there are.
    sample : array
        Some of them.
    gap : float
        How far the nearest of them is from the number.
    """
    if not FEWEST <= count <= n_others or len(sample) == 0:  # most of a column is no exception
        return False
    low, high = np.quantile(sample, [0.25, 0.75])
    distance = FENCE * (high - low)
    is_far = not low - distance <= value <= high + distance and gap >= GAP * (high - low)
    return bool(is_far and len(np.unique(sample)) >= FEWEST_OTHERS)
