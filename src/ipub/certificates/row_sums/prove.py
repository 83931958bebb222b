"""Ranges that prove themselves (Theorem 12): if the row sums over ranges lie strictly inside them, all models do."""

from __future__ import annotations

import numpy as np

from ipub.certificates.row_sums.multipliers import first_order_rise
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.upper import largest_scores
from ipub.rounding import Array, down, up

FIRST_WIDTHS = (1.25, 1.75, 2.5)
"""Widths of ranges, in first-order changes, to look at with a sample of directions; with all, the first of them."""

HOPELESS = 1.08
"""If the row sums of a sample of directions are all wider than this many times the ranges, nothing will close."""

N_SAMPLED = 64
"""Directions in that sample."""

GROWTH = 1.06
"""Ranges that do not close are made wider than what was found by this factor."""

MOST_ROUNDS = 14
"""How often they are made wider, at most."""

MOST_WIDENED = 3.0
"""Ranges that have become wider than this many times the first (the median) are given up."""

MOST_NARROWED = 4
"""How often proved ranges are narrowed by their own row sums, at most."""

WORTHWHILE = 0.97
"""Each time must narrow them to less than this."""


def prove_ranges(at_w: Ranges) -> Ranges | None:
    """Prove ranges for the models of all completions, given those that hold w alone; None if none close."""
    table = at_w.table
    if not table.is_coercive:
        return None
    Y, low, high = table.directions, at_w.lower, at_w.upper
    both = np.concatenate([Y, -Y])
    first = _first_width(at_w, both)
    if first is None:
        return None
    change = first
    for _ in range(MOST_ROUNDS):
        lower, upper = _around(low, high, change)
        ranges = at_w.with_ends(lower, upper)
        bounds = largest_scores(ranges, both)
        is_inside = (bounds[: len(Y)] < upper) & (-bounds[len(Y) :] > lower)
        if is_inside.all():
            return ranges.within(-bounds[len(Y) :], bounds[: len(Y)])
        found = bounds - np.concatenate([high, -low])
        change = np.where(found > change / GROWTH, GROWTH * np.maximum(found, change / GROWTH), change)
        if not np.median(change / first) <= MOST_WIDENED:
            return None
    return None


def _first_width(at_w: Ranges, both: Array) -> Array | None:
    """Return the changes to begin with; None if by a sample of the directions no ranges will close."""
    low, high = at_w.lower, at_w.upper
    try:
        first = _first_order_changes(at_w, both)
    except np.linalg.LinAlgError:  # no curvature at w, as of a hinge with an intercept
        return None
    sampled = np.random.default_rng(0).permutation(len(both))[:N_SAMPLED]
    for width in FIRST_WIDTHS:
        ranges = at_w.with_ends(*_around(low, high, width * first))
        found = largest_scores(ranges, both[sampled]) - np.concatenate([high, -low])[sampled]
        if np.median(found / (width * first[sampled])) < HOPELESS:
            return FIRST_WIDTHS[0] * first
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


def _first_order_changes(at_w: Ranges, both: Array) -> Array:
    """Return how far ``y.w''`` rises above ``y.w'`` for every direction, to first order; never 0."""
    scale = np.concatenate([np.abs(at_w.lower) + np.abs(at_w.upper)] * 2)
    return np.maximum(first_order_rise(at_w, both), 1e-6 * (1e-3 + scale))


def _around(low: Array, high: Array, change: Array) -> tuple[Array, Array]:
    """Return ranges that hold w strictly inside."""
    n = len(low)
    return down(low - change[n:]), up(high + change[:n])
