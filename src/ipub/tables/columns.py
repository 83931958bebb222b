"""Summaries of the observed values of a column: range, two quantiles, and a number that may stand for a missing one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


DEVIATIONS = 4.5
"""Margin of a bracket, in standard deviations of the sample's quantile: more keep more, fewer fail more often."""
MOST_KEPT = 0.125
"""Fraction of a column that may be kept to select a quantile from: memory against another reading."""
NEAR = 0.2 * GAP
"""A number with others this near in the sample is not isolated in the whole column (see `sentinel_in`)."""


@dataclass(frozen=True)
class Column:
    """Summary of a column; without observed values the range is (inf, -inf) and the quantiles are NaN."""

    has_holes: bool
    n_observed: int
    least: float = np.inf
    greatest: float = -np.inf
    quantiles: tuple[float, float] = (np.nan, np.nan)
    """Rounded outward to whole numbers if all observed values are whole; the two values of a column that has two."""
    sentinel: float | None = None
    """A number that may stand for a missing value."""

    @classmethod
    def of(cls, values: Array, probabilities: Sequence[float], counted: NDArray[np.bool_] | None = None) -> Column:
        """Summarize a whole column; NaN are its holes, and of rows that do not count only the holes are used."""
        observed_cells = ~np.isnan(values)
        has_holes = not observed_cells.all()
        observed = values[observed_cells if counted is None else observed_cells & counted]
        if len(observed) == 0:
            return cls(has_holes, 0)
        least, greatest = float(observed.min()), float(observed.max())
        if ((observed == least) | (observed == greatest)).all():
            quantiles = least, greatest
        else:
            is_whole = bool((observed == np.floor(observed)).all())
            low, high = np.quantile(observed, probabilities)
            quantiles = rounded_outward(low, high, is_whole)
        return cls(has_holes, len(observed), least, greatest, quantiles, sentinel_in(observed))


def rounded_outward(low: float, high: float, is_whole: bool) -> tuple[float, float]:
    """Return the ends as they are or, in a column of whole numbers, rounded outward to whole numbers."""
    if is_whole:
        low, high = np.floor(low), np.ceil(high) + 0.0  # no -0.0
    return float(low), float(high)


def bracket_of_sample(sample: Array, probability: float) -> tuple[float, float]:
    """Return a bracket of the column's quantile by its sorted sample, a single value if any other holds too much."""
    n = len(sample)
    if n == 0:
        return np.inf, np.inf
    margin = DEVIATIONS * np.sqrt(probability * (1.0 - probability) * n) + 2.0
    first, last = int(probability * (n - 1) - margin), int(np.ceil(probability * (n - 1) + margin))
    low = sample[first] if first >= 0 else -np.inf
    high = sample[last] if last < n else np.inf
    n_between = np.searchsorted(sample, high, side="right") - np.searchsorted(sample, low, side="left")
    if low < high and n_between > MOST_KEPT * n:
        low = high = sample[round(probability * (n - 1))]
    return float(low), float(high)


def ranks_of(n: int, probability: float) -> tuple[int, int, float]:
    """Return the ranks of the two of n values that a quantile lies between, and how far it is from the first."""
    position = (n - 1) * probability
    previous = min(int(np.floor(position)), n - 1)
    return previous, min(previous + 1, n - 1), position - previous


def interpolated(low: float, high: float, fraction: float) -> float:
    """Return what lies between two values, as `numpy.quantile` computes it."""
    return float(low + (high - low) * fraction if fraction < 0.5 else high - (high - low) * (1.0 - fraction))


def is_no_sentinel(sample: Array, end: float) -> bool:
    """Whether a sorted sample proves that the end of a column is no sentinel, so that `sentinel_in` is not needed."""
    others = sample[sample != end]
    n = len(others)
    if np.count_nonzero(np.diff(others)) + 1 < FEWEST_OTHERS:
        return n > 0
    low, high = others[n // 4], others[3 * n // 4]
    return bool(np.abs(others - end).min() < NEAR * (high - low))
