"""Ranges that prove themselves (Theorem 12): if the row sums over ranges lie strictly inside them, all models do."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.ranges import COARSE, FINE, Ranges
from ipub.certificates.row_sums.representatives import Representatives
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import first_order_rise, largest_scores
from ipub.rounding import TINY, Array, down, up

FIRST_WIDTHS = (1.25, 1.75, 2.5)
"""Widths of ranges, in first-order changes, to look at with a sample of directions; with all, the first of them."""

HOPELESS = 1.2
"""If the row sums of a sample of directions are all wider than this many times the ranges, nothing will close."""

N_SAMPLED = 48
"""Directions in that sample."""

GROWTH = (0.03, 0.06)
"""A range that does not close is widened to (1 + clip(r - 1, *GROWTH)) times the bound, r the bound over the range."""

MOST_ROUNDS = 9
"""How often they are made wider, at most."""

PATIENCE = 2
"""Ranges are given up if neither the worst nor the median of their row sums has come closer in so many rounds."""

MOST_WIDENED = 4.0
"""Ranges that have become wider than this many times the first (the median) are given up."""

MOST_NARROWED = 1
"""How often proved ranges are narrowed by their own row sums."""

MOST_NARROWED_OF_JUMPS = 16
"""The same where derivatives jump: nothing else narrows their ranges, and each round settles more rows."""

WORTHWHILE = 0.97
"""Each time must narrow them to less than this."""


class ProvedRanges(NamedTuple):
    """Ranges of all models, and how they were proved."""

    ranges: Ranges
    widths: Array
    """How wide they were tried, in first-order changes: upward and downward, for each row and weight; shape (2, n)."""


def prove_ranges(at_w: Ranges, widths: Array | None = None) -> ProvedRanges | None:
    """Prove ranges for the models of all completions, given those that hold w alone; None if none close.

    With the `widths` that closed for a similar table, these are tried first, and not often.
    """
    table = at_w.table
    if not table.is_coercive:
        return None
    both = np.concatenate([table.directions, -table.directions])
    change = first_order_changes(at_w, both)
    start = np.full(len(both), FIRST_WIDTHS[0])
    if widths is not None:
        start = np.maximum(_of_directions(table, widths), 1.0)  # what is narrower than that does not close
    elif not _is_worth_trying(at_w, both, change):
        return None
    return _closed(at_w, change, start, Representatives.choose(table, change))


def _of_directions(table: RowTable, widths: Array) -> Array:
    """Return the widths of all directions and their opposites, given those of rows and weights of a similar table."""
    at = table.rows_and_weights_at
    if widths.shape[1] != len(at):
        return np.full(2 * len(table.directions), float(np.median(widths)))
    result = np.zeros((2, len(table.directions)))
    for side, of_rows in zip(result, widths, strict=True):
        np.maximum.at(side, at, of_rows)
    return result.ravel()


def _closed(at_w: Ranges, first: Array, widths: Array, few: Representatives) -> ProvedRanges | None:
    """Widen ranges of representatives until their row sums lie strictly inside; None if they never do."""
    n, n_few = len(at_w.lower), len(few.index)
    some = np.concatenate([few.index, n + few.index])
    Y, low, high = at_w.table.directions[few.index], at_w.lower[few.index], at_w.upper[few.index]
    both, first = np.concatenate([Y, -Y]), first[some]
    change, least, patience = widths[some] * first, np.full(2, np.inf), PATIENCE
    for _ in range(MOST_ROUNDS):
        lower, upper = around(low, high, change)
        ranges = replace(at_w.with_ends(*few.spread(lower, upper)), pieces=COARSE)
        bounds = largest_scores(ranges, both)
        if ((bounds[:n_few] < upper) & (-bounds[n_few:] > lower)).all():
            of_rows = (change / first).reshape(2, n_few)[:, few.of][:, at_w.table.rows_and_weights_at]
            for _ in range(MOST_NARROWED):
                lower, upper = np.fmax(lower, -bounds[n_few:]), np.fmin(upper, bounds[:n_few])
                ranges = replace(ranges.within(*few.spread(lower, upper)), pieces=FINE)
                bounds = largest_scores(ranges, both)
            lower, upper = np.fmax(lower, -bounds[n_few:]), np.fmin(upper, bounds[:n_few])
            return ProvedRanges(ranges.within(*few.spread(lower, upper)), of_rows)
        found = bounds - np.concatenate([high, -low])
        # Wider ranges help less and less: once neither the worst nor the median comes closer, none will close.
        ratios = found / change
        excess = np.array([np.max(ratios), np.median(ratios)])
        patience = PATIENCE if (excess < least).any() else patience - 1
        least = np.fmin(least, excess)
        change = np.maximum(change, (1.0 + np.clip(ratios - 1.0, *GROWTH)) * found)
        if not patience or not np.median(change / first) <= MOST_WIDENED * FIRST_WIDTHS[0]:
            break
    return None


def _is_worth_trying(at_w: Ranges, both: Array, change: Array) -> bool:
    """Whether ranges may close, by a sample of the directions."""
    low, high = at_w.lower, at_w.upper
    if len(both) <= 2 * N_SAMPLED:
        return True
    sampled = np.random.default_rng(0).permutation(len(both))[:N_SAMPLED]
    at = np.concatenate([high, -low])[sampled]
    for width in FIRST_WIDTHS:
        ranges = replace(at_w.with_ends(*around(low, high, width * change)), pieces=COARSE)
        found = largest_scores(ranges, both[sampled]) - at
        if np.median(found / (width * change[sampled])) < HOPELESS:
            return True
    return False


def can_be_narrowed(ranges: Ranges) -> bool:
    """Whether row sums of a sample of directions are narrower than their ranges."""
    Y = ranges.table.directions
    sampled = np.random.default_rng(0).permutation(len(Y))[: N_SAMPLED // 2]
    width = ranges.upper[sampled] - ranges.lower[sampled]
    found = largest_scores(ranges, np.concatenate([Y[sampled], -Y[sampled]])).reshape(2, -1).sum(axis=0)
    return bool(np.median(found / width) < WORTHWHILE)


def narrowed(ranges: Ranges, most: int = MOST_NARROWED, *, settle: bool = False) -> Ranges:
    """Return ranges narrowed by their own row sums, while that is worthwhile.

    With `settle` rows whose derivative is settled on the way are left out: for the models of completions alone.
    """
    for _ in range(most):
        if settle:
            ranges = ranges.without_settled_rows()
        Y = ranges.table.directions
        bounds = largest_scores(ranges, np.concatenate([Y, -Y]))
        following = ranges.within(-bounds[len(Y) :], bounds[: len(Y)])
        is_worthwhile = (following.upper - following.lower).sum() < WORTHWHILE * (ranges.upper - ranges.lower).sum()
        ranges = following
        if not is_worthwhile:
            break
    return ranges


def first_order_changes(at_w: Ranges, both: Array) -> Array:
    """Return how far ``y.w''`` rises above ``y.w'`` for every direction, to first order; never 0."""
    scale = np.concatenate([np.abs(at_w.lower) + np.abs(at_w.upper)] * 2)
    rise = first_order_rise(at_w, both)
    return np.asarray(np.maximum(rise, np.maximum(1e-6 * scale, 1e-9 * max(scale.max(), rise.max(), TINY))))


def around(low: Array, high: Array, change: Array) -> tuple[Array, Array]:
    """Return ranges that hold w strictly inside."""
    n = len(low)
    return down(low - change[n:]), up(high + change[:n])
