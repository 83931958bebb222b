"""Ranges that prove themselves (Theorem 12): if the row sums over ranges lie strictly inside them, all models do."""

from __future__ import annotations

import numpy as np

from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import largest_scores
from ipub.rounding import Array, dot_bounds, down, up

FIRST_GROWTH = 1.25
"""Width of the first ranges that are tried, in first-order changes."""

GROWTH = 1.06
"""Ranges that do not close are made wider than what was found by this factor."""

MOST_ROUNDS = 16
"""How often they are made wider, at most."""

MOST_WIDENED = 8.0
"""Ranges that are wider than this many first-order changes (the median) are given up."""

N_SAMPLED = 64
"""Directions that are looked at before all of them are."""

HOPELESS = 2.6
"""If the row sums over the first ranges are this many first-order changes, nothing will close."""

MOST_NARROWED = 4
"""How often proved ranges are narrowed by their own row sums, at most."""

WORTHWHILE = 0.97
"""Each time must narrow them to less than this."""


def prove_ranges(table: RowTable) -> Ranges | None:
    """Prove ranges for the models of all completions; None if none close."""
    if not table.is_coercive:
        return None
    Y = table.directions
    both = np.concatenate([Y, -Y])
    low, high = dot_bounds(Y, table.w)
    first = first_order_changes(table, low, high)
    change = FIRST_GROWTH * first
    sampled = np.random.default_rng(0).permutation(len(both))[:N_SAMPLED]
    for number in range(MOST_ROUNDS):
        lower, upper = _around(low, high, change)
        ranges = Ranges(table, lower, upper)
        if number == 0:
            found = largest_scores(ranges, both[sampled]) - np.concatenate([high, -low])[sampled]
            if not np.median(found / first[sampled]) <= HOPELESS:
                return None
        bounds = largest_scores(ranges, both)
        is_inside = (bounds[: len(Y)] < upper) & (-bounds[len(Y) :] > lower)
        if is_inside.all():
            return ranges.within(-bounds[len(Y) :], bounds[: len(Y)])
        found = bounds - np.concatenate([high, -low])
        change = np.where(found > change / GROWTH, GROWTH * np.maximum(found, change / GROWTH), change)
        if not np.median(change / first) <= MOST_WIDENED:
            return None
    return None


def narrowed(ranges: Ranges) -> Ranges:
    """Return ranges narrowed by their own row sums, while that is worthwhile."""
    Y = ranges.table.directions
    both = np.concatenate([Y, -Y])
    for _ in range(MOST_NARROWED):
        bounds = largest_scores(ranges, both)
        following = ranges.within(-bounds[len(Y) :], bounds[: len(Y)])
        is_worthwhile = (following.upper - following.lower).sum() < WORTHWHILE * (ranges.upper - ranges.lower).sum()
        ranges = following
        if not is_worthwhile:
            break
    return ranges


def first_order_changes(table: RowTable, low: Array, high: Array) -> Array:
    """Return how far ``y.w''`` and ``-y.w''`` rise above w's for every direction, to first order; never 0."""
    Y, at_w = table.directions, Ranges(table, low, high)
    both = np.concatenate([Y, -Y])
    change = largest_scores(at_w, both) - np.concatenate([high, -low])
    scale = np.concatenate([np.abs(low) + np.abs(high)] * 2)
    return np.maximum(np.where(np.isfinite(change), change, 1.0), 1e-9 * (1.0 + scale))


def _around(low: Array, high: Array, change: Array) -> tuple[Array, Array]:
    """Return ranges that hold w strictly inside."""
    n = len(low)
    return down(low - change[n:]), up(high + change[:n])
