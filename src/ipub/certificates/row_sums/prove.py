"""Ranges that prove themselves (Theorem 12): if the row sums over ranges lie strictly inside them, all models do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.multipliers import first_order_rise
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.upper import largest_scores
from ipub.rounding import TINY, Array, down, up

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

MOST_ROUNDS_ALIKE = 4
"""The same where a similar table has shown how wide to begin."""

MOST_WIDENED = 3.0
"""Ranges that have become wider than this many times the first (the median) are given up."""

MOST_NARROWED = 4
"""How often proved ranges are narrowed by their own row sums, at most."""

WORTHWHILE = 0.97
"""Each time must narrow them to less than this."""


class ProvedRanges(NamedTuple):
    """Ranges of all models, and how wide they were tried: in first-order changes, the median of all directions."""

    ranges: Ranges
    width: float


def prove_ranges(at_w: Ranges, width: float | None = None) -> ProvedRanges | None:
    """Prove ranges for the models of all completions, given those that hold w alone; None if none close.

    With a `width` that closed for a similar table, ranges a little wider are tried first, and not often.
    """
    table = at_w.table
    if not table.is_coercive:
        return None
    Y, low, high = table.directions, at_w.lower, at_w.upper
    both = np.concatenate([Y, -Y])
    first = _first_order_changes(at_w, both)
    if width is None and not _may_close(at_w, both, first):
        return None
    change = first * (FIRST_WIDTHS[0] if width is None else GROWTH * width)
    excess = np.full(2, np.inf)
    for _ in range(MOST_ROUNDS if width is None else MOST_ROUNDS_ALIKE):
        lower, upper = _around(low, high, change)
        ranges = at_w.with_ends(lower, upper)
        bounds = largest_scores(ranges, both)
        is_inside = (bounds[: len(Y)] < upper) & (-bounds[len(Y) :] > lower)
        if is_inside.all():
            proved = ranges.within(-bounds[len(Y) :], bounds[: len(Y)])
            return ProvedRanges(proved, float(np.median(change / first)))
        found = bounds - np.concatenate([high, -low])
        # Wider ranges help less and less: once neither the worst nor the median comes closer, none will close.
        before, excess = excess, np.array([np.max(found / change), np.median(found / change)])
        if not (excess < before).any():
            return None
        change = np.where(found > change / GROWTH, GROWTH * np.maximum(found, change / GROWTH), change)
        if not np.median(change / first) <= MOST_WIDENED * FIRST_WIDTHS[0]:
            return None
    return None


def _may_close(at_w: Ranges, both: Array, first: Array) -> bool:
    """Whether, by a sample of the directions, some ranges may close; of a short table, always."""
    low, high = at_w.lower, at_w.upper
    if len(both) <= 2 * N_SAMPLED:
        return True
    sampled = np.random.default_rng(0).permutation(len(both))[:N_SAMPLED]
    for width in FIRST_WIDTHS:
        ranges = at_w.with_ends(*_around(low, high, width * first))
        found = largest_scores(ranges, both[sampled]) - np.concatenate([high, -low])[sampled]
        if np.median(found / (width * first[sampled])) < HOPELESS:
            return True
    return False


def can_be_narrowed(ranges: Ranges) -> bool:
    """Whether row sums of a sample of directions are narrower than their ranges."""
    Y = ranges.table.directions
    sampled = np.random.default_rng(0).permutation(len(Y))[: N_SAMPLED // 2]
    width = ranges.upper[sampled] - ranges.lower[sampled]
    found = largest_scores(ranges, Y[sampled]) + largest_scores(ranges, -Y[sampled])
    return bool(np.median(found / width) < WORTHWHILE)


def narrowed(ranges: Ranges, most: int = MOST_NARROWED) -> Ranges:
    """Return ranges narrowed by their own row sums, while that is worthwhile."""
    Y = ranges.table.directions
    both = np.concatenate([Y, -Y])
    for _ in range(most):
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
    rise = first_order_rise(at_w, both)
    return np.asarray(np.maximum(rise, np.maximum(1e-6 * scale, 1e-9 * max(scale.max(), rise.max(), TINY))))


def _around(low: Array, high: Array, change: Array) -> tuple[Array, Array]:
    """Return ranges that hold w strictly inside."""
    n = len(low)
    return down(low - change[n:]), up(high + change[:n])
