"""Rows that cannot be of the second class, or right, or wrong, at the same time (lem-conflicts)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

RATIOS = (1.0, 2.0, 0.5)
"""Weights of the first score of a pair for that of the second, each over its width, of which sums are bounded."""


MOST_ITEMS = 150
"""Rows whose class is open of which pairs are looked at, at most: where more are open, bounds of scores say little."""

MOST_SUMS = 3000
"""Sums of two of them that are bounded, at most: width against time, half a second to three where few are missing."""

MOST_FACTORS = 4_000_000
"""Numbers in the factors of sums that are bounded at a time: memory."""


class Steps(NamedTuple):
    """A metric that is ``sum_i weight_i [sign_i t_i > 0] / divisor``, where 0 may count for either."""

    sign: Array
    weight: Array
    """Whole numbers, not negative."""
    divisor: float


def conflicting(
    low: Array, high: Array, witnesses: Array, upper: Callable[[Array], Array], at_once: int
) -> NDArray[np.bool_]:
    """Return which pairs of numbers are proved never to be both at least 0, shape (k, k).

    Parameters
    ----------
    low, high : arrays of shape (k,)
        Bounds of the numbers, below 0 and at least 0.
    witnesses : array of shape (n, k)
        Values that occur together: a pair that is at least 0 in one of them is not looked at.
    upper : callable
        Bounds sums of the numbers, whose factors are the rows of an array of shape (p, k).
    at_once : int
        Sums that are bounded at a time.
    """
    k = len(low)
    found = np.zeros((k, k), dtype=bool)
    occur = (witnesses >= 0.0).astype(float)
    first, second = np.nonzero(np.triu((occur.T @ occur) == 0.0, 1))
    scaled = np.mean(witnesses, axis=0) / (high - low)
    likely = np.argsort(scaled[first] + scaled[second], kind="stable")[: MOST_SUMS // len(RATIOS)]
    first, second = first[likely], second[likely]  # the others are less likely to be proved
    for ratio in RATIOS:
        is_open = ~found[first, second]
        a, b = first[is_open], second[is_open]
        for start in range(0, len(a), at_once):
            one, other = a[start : start + at_once], b[start : start + at_once]
            factors, pair = np.zeros((len(one), k)), np.arange(len(one))
            factors[pair, one], factors[pair, other] = ratio / (high - low)[one], 1.0 / (high - low)[other]
            never = upper(factors) < 0.0
            found[one[never], other[never]] = found[other[never], one[never]] = True
    return found


def most_together(conflicts: NDArray[np.bool_], weight: Array) -> float:
    """Bound the total weight of items of which no two conflict: groups with conflicts only have one each."""
    left: list[int] = np.argsort(conflicts.sum(axis=1), kind="stable").tolist()
    total = 0.0
    while left:
        group: list[int] = []
        common = np.ones(len(weight), dtype=bool)
        for item in left:
            if common[item]:
                group.append(item)
                common &= conflicts[item]
        left = [item for item in left if item not in group]
        total += float(weight[np.array(group, dtype=np.intp)].max())
    return total


def open_items(low: Array, high: Array, weight: Array) -> Indices:
    """Return the numbers of items that count and may be at either side of 0."""
    return np.flatnonzero((low < 0.0) & (high >= 0.0) & (weight > 0.0) & np.isfinite(low) & np.isfinite(high))
