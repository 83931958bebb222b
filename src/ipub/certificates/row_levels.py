"""Levels of the missing categories of a row that is bounded: which combinations need a bound of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ipub.numeric.rounding import EPS, Array, down, sum_error, up
from ipub.tables.interval_matrix import Indices
from ipub.tables.missing_category import Levels, MissingCategories

AT_ONCE = 4
"""Combinations of levels of one row and side that are bounded next, those that may be the end first."""


def count_combinations(missing: MissingCategories, n_rows: int) -> Array:
    """Return (n_rows,): how many combinations of levels each row has."""
    counts = np.ones(n_rows)
    n_levels = np.array([len(levels.columns) for levels in missing.levels], dtype=float)
    np.multiply.at(counts, missing.rows, n_levels[missing.categories])
    return counts


def one_category_each(
    bounds_of: Callable[[Array], Array], missing: MissingCategories, shape: tuple[int, ...], coef_bounds: Array
) -> tuple[MissingCategories, Array]:
    """Leave each row one missing category, that whose levels can add most; bound what those of its others add.

    A row x with the levels ``k_c`` has the score ``x.w'' + sum_c d_{k_c}.w''`` (Lemma 11), and any bounds of its parts
    sum to bounds of it. Wider than to bound each combination: by 1.12 to 1.18 times on adult, for rows with several
    missing categories.

    Parameters
    ----------
    bounds_of : callable
        Returns (k, 2) certified bounds of the scores of k rows.
    missing : MissingCategories
    shape : tuple
        Of the table of the rows, with its column of ones, if there is one.
    coef_bounds : array of shape (n, 2)
        Bounds of the weights of its first columns.

    Returns
    -------
    missing : MissingCategories
        One for each row that had any.
    added : array of shape (n_rows, 2)
        Between what the others add to the score of each row, whose columns are at the mean of all levels.
    """
    ends = np.array([_level_ends(bounds_of, levels, shape[1], coef_bounds) for levels in missing.levels])
    widths = np.nan_to_num(ends[:, 1] - ends[:, 0], nan=np.inf)[missing.categories]
    order = np.lexsort((-widths, missing.rows))
    is_first = np.diff(missing.rows[order], prepend=-1) > 0
    kept, others = np.sort(order[is_first]), order[~is_first]
    sizes = np.abs(ends).max(axis=1)
    low, high, size = (
        np.bincount(missing.rows[others], each[missing.categories[others]], minlength=shape[0]).astype(float)
        for each in (*ends.T, sizes)
    )
    error = sum_error(size, len(ends) + 2)
    added = np.column_stack([down(low - error), up(high + error)])
    return MissingCategories(missing.rows[kept], missing.categories[kept], missing.levels), added


def _level_ends(
    bounds_of: Callable[[Array], Array], levels: Levels, n_columns: int, coef_bounds: Array
) -> tuple[float, float]:
    """Bound ``d_k.w''`` over all levels k."""
    steps = np.zeros((len(levels.columns), n_columns))
    steps[:, levels.columns] = np.eye(len(levels.columns)) - levels.center_value
    low, high = bounds_of(steps).T
    # Only the 1 of a level, less its center, is rounded: by less than EPS.
    error = up(EPS * np.abs(coef_bounds[levels.columns]).max())
    return float(down(low.min() - error)), float(up(high.max() + error))


def extremes_first(bounds: Callable[[Indices], Array], rough: Array, rows: Indices, origin: Indices) -> Array:
    """Bound rows, of which each group with one `origin` needs its least and greatest end alone.

    A row whose rough lower end is not below a lower end that was bounded well, in its group, cannot be the least. So
    the rows with the most extreme rough ends are bounded first, and those that still may be an end next.

    Parameters
    ----------
    bounds : callable
        Returns (k, 2) bounds of the rows with these numbers.
    rough : array of shape (m, 2)
        Bounds of all rows.
    rows, origin : arrays of shape (m,)
        Their numbers, and their groups: 0 or more, in ascending order.

    Returns
    -------
    array of shape (m, 2)
        Bounds of all rows, well bounded where they are an end of their group.
    """
    found, is_known = rough.copy(), np.zeros(len(rows), dtype=bool)
    starts = np.flatnonzero(np.diff(origin, prepend=-1))
    group = np.cumsum(np.diff(origin, prepend=-1) > 0) - 1
    while True:
        chosen = np.zeros(len(rows), dtype=bool)
        for keys in (found[:, 0], -found[:, 1]):
            order = np.lexsort((keys, group))
            known_before = np.cumsum(is_known[order]) - is_known[order]
            place = np.arange(len(rows)) - starts[group[order]]
            # In order of their ends: those before the first of the group that is known may be its end.
            first_known = known_before == known_before[starts][group[order]]
            chosen[order[first_known & ~is_known[order] & (place < AT_ONCE)]] = True
        if not chosen.any():
            return found
        well = bounds(rows[chosen])
        found[chosen, 0] = np.maximum(found[chosen, 0], well[:, 0])
        found[chosen, 1] = np.minimum(found[chosen, 1], well[:, 1])
        is_known |= chosen
