"""Ranges that prove themselves (Theorem 12): if the row sums over ranges lie strictly inside them, all models do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.first_order import first_order_rise
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import REFINEMENTS, largest_scores
from ipub.rounding import TINY, Array, down, up

FIRST_WIDTHS = (1.25, 1.75, 2.5)
"""Widths of ranges, in first-order changes, to look at with a sample of directions; with all, the first of them."""

HOPELESS, LIKELY = 1.2, 1.04
"""If the row sums of a sample of directions are all wider than this many times the ranges, nothing will close; if some
are narrower than that, ranges may close as they are, and else perhaps with refined multipliers."""

N_SAMPLED = 64
"""Directions in that sample."""

GROWTH = (0.03, 0.06)
"""A range that does not close is made wider than what was found by the share by which it did not: between these."""

MOST_ROUNDS, MOST_ROUNDS_REFINED = 9, 5
"""How often they are made wider, at most; and how often with refined multipliers, from where that has ended."""

PATIENCE = 2
"""Ranges are given up if neither the worst nor the median of their row sums has come closer in so many rounds."""

MOST_WIDENED = 4.0
"""Ranges that have become wider than this many times the first (the median) are given up."""

MOST_NARROWED, MOST_NARROWED_REFINED = 4, 2
"""How often proved ranges are narrowed by their own row sums, at most; and with refined multipliers."""

MOST_NARROWED_OF_JUMPS = 16
"""The same where derivatives jump: nothing else narrows their ranges, and each round settles more rows."""

WORTHWHILE = 0.97
"""Each time must narrow them to less than this."""


class ProvedRanges(NamedTuple):
    """Ranges of all models, and how they were proved."""

    ranges: Ranges
    widths: Array
    """How wide they were tried, in first-order changes: upward and downward, for each row and weight; shape (2, n)."""
    n_refined: int
    """How often multipliers were refined."""


def prove_ranges(at_w: Ranges, widths: Array | None = None) -> ProvedRanges | None:
    """Prove ranges for the models of all completions, given those that hold w alone; None if none close.

    With the `widths` that closed for a similar table, these are tried first, and not often.
    """
    table = at_w.table
    if not table.is_coercive:
        return None
    both = np.concatenate([table.directions, -table.directions])
    first = first_order_changes(at_w, both)
    if widths is not None:
        start = np.maximum(_of_directions(table, widths), 1.0)  # what is narrower than that does not close
        return _closed(at_w, both, first, start, 0)[0]
    proved, ended = None, np.full(len(both), FIRST_WIDTHS[0])
    for n_refined in _worth_trying(at_w, both, first):
        proved, ended = _closed(at_w, both, first, ended, n_refined)
        if proved is not None:
            break
    return proved


def _of_directions(table: RowTable, widths: Array) -> Array:
    """Return the widths of all directions and their opposites, given those of rows and weights of a similar table."""
    at = table.rows_and_weights_at
    if widths.shape[1] != len(at):
        return np.full(2 * len(table.directions), float(np.median(widths)))
    result = np.zeros((2, len(table.directions)))
    for side, of_rows in zip(result, widths, strict=True):
        np.maximum.at(side, at, of_rows)
    return result.ravel()


def _closed(
    at_w: Ranges, both: Array, first: Array, widths: Array, n_refined: int
) -> tuple[ProvedRanges | None, Array]:
    """Widen ranges until their row sums lie strictly inside; None if they never do.

    Returns also the widths at which they came nearest.
    """
    low, high, n = at_w.lower, at_w.upper, len(at_w.lower)
    change, least, patience, nearest = widths * first, np.full(2, np.inf), PATIENCE, widths
    for _ in range(MOST_ROUNDS_REFINED if n_refined else MOST_ROUNDS):
        lower, upper = around(low, high, change)
        ranges = at_w.with_ends(lower, upper)
        bounds = largest_scores(ranges, both, n_refined)
        is_inside = (bounds[:n] < upper) & (-bounds[n:] > lower)
        if is_inside.all():
            proved = ranges.within(-bounds[n:], bounds[:n])
            of_rows = (change / first).reshape(2, n)[:, at_w.table.rows_and_weights_at]
            return ProvedRanges(proved, of_rows, n_refined), change / first
        found = bounds - np.concatenate([high, -low])
        # Wider ranges help less and less: once neither the worst nor the median comes closer, none will close.
        ratios = found / change
        excess = np.array([np.max(ratios), np.median(ratios)])
        patience = PATIENCE if (excess < least).any() else patience - 1
        nearest = change / first if excess[1] < least[1] else nearest
        least = np.fmin(least, excess)
        change = np.maximum(change, (1.0 + np.clip(ratios - 1.0, *GROWTH)) * found)
        if not patience or not np.median(change / first) <= MOST_WIDENED * FIRST_WIDTHS[0]:
            break
    return None, nearest


def _worth_trying(at_w: Ranges, both: Array, first: Array) -> tuple[int, ...]:
    """Return how often multipliers are to be refined so that, by a sample of the directions, ranges may close."""
    low, high = at_w.lower, at_w.upper
    if len(both) <= 2 * N_SAMPLED:
        return (0,)
    sampled = np.random.default_rng(0).permutation(len(both))[:N_SAMPLED]
    at = np.concatenate([high, -low])[sampled]

    def least_ratio(n_refined: int) -> float:
        ratios = []
        for width in FIRST_WIDTHS:
            ranges = at_w.with_ends(*around(low, high, width * first))
            found = largest_scores(ranges, both[sampled], n_refined) - at
            ratios.append(float(np.median(found / (width * first[sampled]))))
        return min(ratios)

    plain, labels = least_ratio(0), at_w.table.labels
    if labels is not None and labels.most is not None:
        return (0,) if plain < LIKELY else ()  # refined multipliers are about cells, and take their time for each row
    if plain < LIKELY:
        return 0, len(REFINEMENTS)
    return (len(REFINEMENTS),) if plain < HOPELESS and least_ratio(len(REFINEMENTS)) < 1.0 else ()


def can_be_narrowed(ranges: Ranges) -> bool:
    """Whether row sums of a sample of directions are narrower than their ranges."""
    Y = ranges.table.directions
    sampled = np.random.default_rng(0).permutation(len(Y))[: N_SAMPLED // 2]
    width = ranges.upper[sampled] - ranges.lower[sampled]
    found = largest_scores(ranges, np.concatenate([Y[sampled], -Y[sampled]])).reshape(2, -1).sum(axis=0)
    return bool(np.median(found / width) < WORTHWHILE)


def narrowed(ranges: Ranges, most: int = MOST_NARROWED, n_refined: int = 0, *, settle: bool = False) -> Ranges:
    """Return ranges narrowed by their own row sums, while that is worthwhile.

    With `settle` rows whose derivative is settled on the way are left out: for the models of completions alone.
    """
    for _ in range(most):
        if settle:
            ranges = ranges.without_settled_rows()
        Y = ranges.table.directions
        both = np.concatenate([Y, -Y])
        bounds = largest_scores(ranges, both, n_refined)
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
