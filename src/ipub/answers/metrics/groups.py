"""How far groups of rows are apart: the largest difference and the least ratio of a metric between any two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from ipub.answers.metrics.metric import Ends
from ipub.tables.interval_matrix import Indices

OfPair = Callable[[Indices, Indices], Ends]


def largest_difference(groups: Sequence[Indices], bounds: OfPair) -> Ends:
    """Bound ``max_g m_g - min_g m_g = max over pairs of m_g - m_h`` by bounds of each difference."""
    lower, upper = zip(*(bounds(*pair) for pair in permutations(groups, 2)), strict=True)
    return Ends(max(0.0, *lower), max(0.0, *upper))


def least_ratio(groups: Sequence[Indices], bounds: OfPair) -> Ends:
    """Bound ``min_g m_g / max_g m_g = min over pairs of m_g / m_h`` by bounds of each ratio.

    It is at most 1; where all may be 0 it may be anything from 0 to 1.
    """
    lower, upper = zip(*(bounds(*pair) for pair in permutations(groups, 2)), strict=True)
    return Ends(min(1.0, *lower), min(1.0, *upper))


def difference_of(values: Sequence[float]) -> float:
    """Return the largest difference of numbers."""
    return float(np.ptp(values))


def ratio_of(values: Sequence[float]) -> float:
    """Return the least ratio of numbers that are not negative; 1 if all are 0."""
    return min(values) / max(values) if max(values) > 0.0 else 1.0
