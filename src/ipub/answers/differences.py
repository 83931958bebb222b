"""Bounds of the difference of two rows' scores, over all completions of the training table and of the rows.

A completion has one model, which gives all rows their scores. So the difference of two scores is one linear form of its
weights, ``(x_a - x_b).w''``, and its bounds are much narrower than the difference of two bounds (lem-ordered-rows).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ipub.certificates import MOST_TRIED, bounds_of_uncertain_rows
from ipub.certificates.uncertain_rows import every_level
from ipub.numeric.rounding import EPS, Array, down, overflow_means_unbounded, sum_upper, up
from ipub.tables.interval_matrix import Indices
from ipub.training.training import ExtendedRows

MOST_DIFFERENCES = 10_000
"""Pairs of rows whose difference is bounded, at most. Width against time: one to two seconds on mammographic masses, if
so many pairs are not ordered by the bounds of their scores."""

MOST_TERMS = 4_000_000
"""Uncertain cells and levels, times pairs, that are looked at for differences, at most."""

MOST_VARIANTS = 64
"""Ways to fill the missing categories of two rows of which every one is bounded, at most; of pairs with more the bounds
of the scores alone are compared."""


def most_pairs(terms_per_row: int) -> int:
    """Return the number of differences that a certificate with so many terms bounds, at most."""
    return min(MOST_DIFFERENCES, MOST_TERMS // max(1, terms_per_row))


def bounds_of_differences(
    bounds_of: Callable[[Array], Array],
    coef_bounds: Array,
    rows: ExtendedRows,
    pairs: tuple[Indices, Indices],
    most: int,
) -> tuple[Indices, Array]:
    """Bound the score of the first row of each pair less that of the second (lem-ordered-rows).

    Parameters
    ----------
    bounds_of : callable
        Returns (k, 2) certified bounds of the scores of k rows without uncertain cells.
    coef_bounds : array of shape (n, 2)
        Bounds of the weights of the first columns; that of the intercept, if there is one, is the last and 1.
    rows : ExtendedRows
    pairs : two arrays of shape (p,)
        Numbers of two different rows.
    most : int
        Rows without uncertain cells that are bounded, at most: pairs that would cost most are left out.

    Returns
    -------
    chosen : array of shape (q,)
        Which of the pairs are bounded.
    bounds : array of shape (q, 2)
    """
    center, (in_row, columns, radii), origin = rows.center, rows.cells, np.arange(len(rows.center))
    if len(rows.missing_categories):
        center, (in_row, columns, radii), origin = every_level(center, rows.cells, rows.missing_categories)
    radius = np.zeros_like(center)
    radius[in_row, columns] = radii
    counts = np.bincount(origin, minlength=len(rows.center))
    starts = np.cumsum(counts) - counts
    n_variants = counts[pairs[0]] * counts[pairs[1]]
    has_cells = np.zeros(len(rows.center), dtype=bool)
    has_cells[origin[in_row]] = True
    n_bounds = n_variants * np.where(has_cells[pairs[0]] | has_cells[pairs[1]], 1 << (MOST_TRIED + 1), 1)
    cheap_first = np.argsort(n_bounds, kind="stable")
    chosen = cheap_first[np.cumsum(n_bounds[cheap_first]) <= most]
    chosen = chosen[n_variants[chosen] <= MOST_VARIANTS]
    (first, second), n_variants = (each[chosen] for each in pairs), n_variants[chosen]
    if not len(first):
        return chosen, np.zeros((0, 2))
    # Every way to fill the categories of the one row, with every way of the other.
    of_pair = np.repeat(np.arange(len(first)), n_variants)
    number = np.arange(len(of_pair)) - np.repeat(np.cumsum(n_variants) - n_variants, n_variants)
    one = starts[first][of_pair] + number // counts[second][of_pair]
    other = starts[second][of_pair] + number % counts[second][of_pair]
    difference, moved = center[one] - center[other], up(radius[one] + radius[other])
    moved[(radius[one] == 0.0) & (radius[other] == 0.0)] = 0.0
    where = np.nonzero(moved)
    bounds = bounds_of_uncertain_rows(bounds_of, difference, (*where, moved[where]), coef_bounds)
    with overflow_means_unbounded():
        # Each number of a difference is rounded once; the column of the intercept is 0 exactly.
        size = np.abs(coef_bounds).max(axis=1)
        error = sum_upper(up(EPS * np.abs(difference[:, : len(size)])) @ size, len(size) + 2)
        least, greatest = down(bounds[:, 0] - error), up(bounds[:, 1] + error)
    of_each = np.cumsum(n_variants) - n_variants
    least = np.minimum.reduceat(np.nan_to_num(least, nan=-np.inf, neginf=-np.inf), of_each)
    greatest = np.maximum.reduceat(np.nan_to_num(greatest, nan=np.inf, posinf=np.inf), of_each)
    return chosen, np.column_stack([least, greatest])
