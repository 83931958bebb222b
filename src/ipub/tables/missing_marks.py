"""Numbers in a column that may stand for a missing value, such as -999, or 0 where nothing is measured as 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

SMALL_GAP = 5.0
"""Gap to all other values, over the median gap between the values next to it, that the least or greatest value has if
it is suspicious."""
NEIGHBOURS = 20
"""So many values are next to it."""
FAR = 1.0
"""That gap over the distance of the quartiles of the other values, unless the value occurs"""
OFTEN = 5.0
"""so many times as often as any other."""
LEAST_SHARE = 0.005
"""A mark stands in that share of the rows at least, and in two of them."""
FEWEST_VALUES = 5
"""Different values that a column needs: of fewer, none is far from the others."""


class Mark(NamedTuple):
    """A number that may stand for a missing value."""

    value: float
    n_rows: int
    """In how many rows it is."""
    next_value: float
    """The nearest of all other values."""


def marks_of_missing(values: ArrayLike) -> list[Mark]:
    """Return the least and greatest value of a column if they look like marks of missing values.

    They are 0, below 0, or a repeated 7, 8 or 9, occur more than once, and are farther from all other values than the
    quartiles of these are from each other; or occur far more often than any other value, with a gap. That is a reason
    to ask, and no proof: a true value can look like this. NaN is left out. After a mark the next value is looked at, as
    for -99 and -9.

    Examples
    --------
    >>> marks_of_missing([-999.0, 31.0, 44.0, 52.0, 38.0, 61.0, -999.0])
    [Mark(value=-999.0, n_rows=2, next_value=31.0)]
    >>> marks_of_missing([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0])
    []
    """
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    different, counts = np.unique(numbers, return_counts=True)
    least = max(2.0, LEAST_SHARE * len(numbers))
    found = []
    for sign in (1.0, -1.0):
        ordered, often = (different, counts) if sign > 0 else (different[::-1], counts[::-1])
        while (
            len(ordered) > FEWEST_VALUES
            and often[0] >= least
            and _is_usual(ordered[0])
            and _is_far(sign * ordered, often)
        ):
            found.append(Mark(float(ordered[0]), int(often[0]), float(ordered[1])))
            ordered, often = ordered[1:], often[1:]
    return found


def _is_usual(value: float) -> bool:
    """Return whether people write a number for a missing value: 0, one below 0, or 9, 99, 888 and the like."""
    return value <= 0.0 or (value % 1 == 0 and set(f"{value:.0f}") in ({"7"}, {"8"}, {"9"}))


def _is_far(ordered: Array, counts: Indices) -> bool:
    """Return whether the first of rising values is far from the others."""
    gap, others = ordered[1] - ordered[0], ordered[1:]
    if gap < SMALL_GAP * float(np.median(np.diff(others[:NEIGHBOURS]))):
        return False
    low, high = np.quantile(np.repeat(others, counts[1:]), [0.25, 0.75])
    return bool(gap > FAR * (high - low) or counts[0] > OFTEN * counts[1:].max())
