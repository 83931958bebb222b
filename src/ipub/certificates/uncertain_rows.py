"""Bounds of the score of a row that is uncertain itself, over all completions of table and row (lem-uncertain-row).

A score ``x.w`` is linear in each cell of x, so it is greatest at an end of the cell's interval, and the sign of the
weight says at which. Where a certificate decides that sign for all completions of the training table, the end is put
into the row, and the row is bounded as any other. Where it does not, both ends are tried, for the few cells of a row
that matter most; for its other cells the largest that they can add is added.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ipub.numeric.rounding import EPS, Array, down, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.tables.interval_matrix import Indices
from ipub.tables.missing_category import NOTHING_MISSING, Levels, MissingCategories

RowCells = tuple[Indices, Indices, Array]
"""Row, column and radius of each uncertain cell."""

MOST_TRIED = 3
"""Cells of a row of which both ends are tried, at most: width against time, which each doubles."""

MOST_COMBINATIONS = 256
"""Combinations of levels of several missing categories in one row, at most: width against time. Beyond them, the
columns of a category are a box."""


AT_ONCE = 4
"""Combinations of levels of one row and side that are bounded at once, those that may be the end first: calls against
bounds that turn out not to be needed."""


def bounds_of_uncertain_rows(
    bounds_of: Callable[[Array], Array],
    center: Array,
    cells: RowCells,
    coef_bounds: Array,
    missing_categories: MissingCategories = NOTHING_MISSING,
    most_tried: int = MOST_TRIED,
    rough_bounds_of: Callable[[Array], Array] | None = None,
    combines_levels: bool = True,
) -> Array:
    """Return (m, 2): bounds of ``x''.w''`` for every completion x'' of its row and every completion's model w''.

    A row with missing categories is bounded for every combination of their levels; with rough bounds, only for those
    combinations whose rough bounds reach beyond what is left of the others.

    Parameters
    ----------
    bounds_of : callable
        Returns (k, 2) certified bounds of the scores of k rows without uncertain cells.
    center : array of shape (m, n_columns)
        The rows, with uncertain cells at the middle of their intervals.
    cells : arrays of rows, columns and radii
        The uncertain cells; their columns are among the first of `coef_bounds`.
    coef_bounds : array of shape (n, 2)
        Bounds of the weights over all completions of the training table.
    missing_categories : MissingCategories
        The missing categories of the rows.
    most_tried : int
        Cells of a row of which both ends are tried, at most.
    rough_bounds_of : callable, optional
        Like `bounds_of`, faster and wider.
    combines_levels : bool
        Whether a row is bounded for every combination of levels. Else it is for the levels of one of its missing
        categories, and what the levels of the others can add is added: faster, and wider.
    """
    if len(missing_categories) == 0:
        return _bounds_without_missing_categories(bounds_of, center, cells, coef_bounds, most_tried)
    added = None
    if not combines_levels:
        center = center.copy()
        missing_categories.put(center)
        missing_categories, added = one_category_each(bounds_of, missing_categories, center.shape, coef_bounds)
    center, cells, rows = every_level(center, cells, missing_categories)
    if rough_bounds_of is None:
        bounds = _bounds_without_missing_categories(bounds_of, center, cells, coef_bounds, most_tried)
    else:
        of_some = partial(_bounds_of_some, center=center, cells=cells, coef_bounds=coef_bounds, most_tried=most_tried)
        is_alone = np.bincount(rows)[rows] == 1
        alone, several = np.flatnonzero(is_alone), np.flatnonzero(~is_alone)
        bounds = np.empty((len(center), 2))
        bounds[alone] = of_some(bounds_of, alone)
        rough = of_some(rough_bounds_of, several)
        bounds[several] = extremes_first(partial(of_some, bounds_of), rough, several, rows[several])
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    low, high = np.minimum.reduceat(bounds[:, 0], starts), np.maximum.reduceat(bounds[:, 1], starts)
    if added is not None:
        with overflow_means_unbounded():
            low, high = down(low + added[:, 0]), up(high + added[:, 1])
        low = np.nan_to_num(low, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
        high = np.nan_to_num(high, nan=np.inf, posinf=np.inf, neginf=np.inf)
    return np.column_stack([low, high])


def _bounds_of_some(
    bounds_of: Callable[[Array], Array],
    which: Indices,
    center: Array,
    cells: RowCells,
    coef_bounds: Array,
    most_tried: int,
) -> Array:
    """Bound some of the rows, whose uncertain cells are all intervals."""
    place = np.full(len(center), -1)
    place[which] = np.arange(len(which))
    here = place[cells[0]] >= 0
    own_cells = place[cells[0][here]], cells[1][here], cells[2][here]
    return _bounds_without_missing_categories(bounds_of, center[which], own_cells, coef_bounds, most_tried)


def _bounds_without_missing_categories(
    bounds_of: Callable[[Array], Array], center: Array, cells: RowCells, coef_bounds: Array, most_tried: int
) -> Array:
    """Bound rows whose uncertain cells are all intervals (lem-uncertain-row)."""
    in_row, columns, radii = cells
    if len(in_row) == 0:
        return bounds_of(center)
    low, high = coef_bounds[columns].T
    middle = center[in_row, columns]
    # A NaN gives no sign.
    rises, falls = low >= 0.0, high <= 0.0
    with overflow_means_unbounded():
        top, bottom = up(middle + radii), down(middle - radii)
        most = up(radii * np.maximum(np.abs(low), np.abs(high)))
        tried, place = _largest_of_each_row(in_row, most, ~(rises | falls), most_tried)
        rest = np.where(rises | falls, 0.0, most)
        rest[tried] = 0.0
        left_open: Array = np.bincount(in_row, rest, minlength=len(center)).astype(float, copy=False)
        left_open = sum_upper(left_open, center.shape[1] + 2)
    highest, lowest = center.copy(), center.copy()
    highest[in_row, columns] = np.where(rises, top, np.where(falls, bottom, middle))
    lowest[in_row, columns] = np.where(rises, bottom, np.where(falls, top, middle))
    uncertain = np.bincount(in_row, minlength=len(center)) > 0
    n_combinations = 1 << np.bincount(in_row[tried], minlength=len(center))
    bounds = np.tile(np.array([np.inf, -np.inf], like=center), (len(center), 1))
    bounds[~uncertain] = bounds_of(center[~uncertain])
    for combination in range(n_combinations.max()):
        ends = np.where(combination >> place & 1, top[tried], bottom[tried])
        lowest[in_row[tried], columns[tried]] = highest[in_row[tried], columns[tried]] = ends
        tries = uncertain & (combination < n_combinations)
        below, above = np.split(bounds_of(np.concatenate([lowest[tries], highest[tries]])), 2)
        bounds[tries, 0] = np.minimum(bounds[tries, 0], below[:, 0])
        bounds[tries, 1] = np.maximum(bounds[tries, 1], above[:, 1])
    with overflow_means_unbounded():
        bounds[uncertain, 0] = down(bounds[uncertain, 0] - left_open[uncertain])
        bounds[uncertain, 1] = up(bounds[uncertain, 1] + left_open[uncertain])
    # down(-inf) is NaN: no bound.
    bounds[:, 0] = np.nan_to_num(bounds[:, 0], nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    bounds[:, 1] = np.nan_to_num(bounds[:, 1], nan=np.inf, posinf=np.inf, neginf=np.inf)
    return bounds


def every_level(
    center: Array, cells: RowCells, missing_categories: MissingCategories
) -> tuple[Array, RowCells, Indices]:
    """Replace each row by one for every combination of the levels of its missing categories.

    Returns the rows, their uncertain cells, and the number of the row each of them stands for.
    """
    center = center.copy()
    in_row, columns, radii = cells
    origin: Indices = np.arange(len(center))
    for of_category, levels in missing_categories.by_category():
        missing = np.isin(origin, missing_categories.rows[of_category])
        count = np.bincount(origin, minlength=len(origin))[origin] * len(levels.columns)
        boxed = np.flatnonzero(missing & (count > MOST_COMBINATIONS))
        center[np.ix_(boxed, levels.columns)] = 0.5
        in_row = np.concatenate([in_row, np.repeat(boxed, len(levels.columns))])
        columns = np.concatenate([columns, np.tile(levels.columns, len(boxed))])
        radii = np.concatenate([radii, np.full(len(boxed) * len(levels.columns), 0.5)])
        copies = np.where(missing & (count <= MOST_COMBINATIONS), len(levels.columns), 1)
        # Row i becomes rows first[i] to first[i] + copies[i] - 1, and its cells with it.
        first, source = np.cumsum(copies) - copies, np.repeat(np.arange(len(center)), copies)
        level = np.arange(len(source)) - first[source]
        center, origin = center[source], origin[source]
        chosen = np.flatnonzero(copies[source] > 1)
        center[np.ix_(chosen, levels.columns)] = 0.0
        center[chosen, levels.columns[level[chosen]]] = 1.0
        times = copies[in_row]
        offset = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        in_row = np.repeat(first[in_row], times) + offset
        columns, radii = np.repeat(columns, times), np.repeat(radii, times)
    return center, (in_row, columns, radii), origin


def _largest_of_each_row(in_row: Indices, size: Array, allowed: Array, count: int) -> tuple[Indices, Indices]:
    """Return which allowed cells are among the `count` largest of their row, and their places there from 0."""
    cells = np.flatnonzero(allowed)
    order = cells[np.lexsort((-np.nan_to_num(size[cells], nan=np.inf), in_row[cells]))]
    place = np.arange(len(order)) - np.searchsorted(in_row[order], in_row[order])
    return order[place < count], place[place < count]


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

    A row x with the levels ``k_c`` has the score ``x.w'' + sum_c d_{k_c}.w''`` (lem-levels), and any bounds of its
    parts sum to bounds of it. Wider than to bound each combination: by 1.12 to 1.18 times on adult, for rows with
    several missing categories.

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
