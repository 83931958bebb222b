"""What is uncertain: a table of intervals, most of them points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ipub.data.missing_category import NOTHING_MISSING, MissingCategories
from ipub.data.missing_category import Indices as Indices
from ipub.parallel import SCAN_CELLS, in_threads, row_slices
from ipub.rounding import LARGEST, Array, down, midpoint_and_radius, up


def cell_name(row: int, column: int, names: Sequence[str] | None) -> str:
    """Name a cell for a message, in the user's words."""
    return f"row {row}, column {column_name(column, names)}"


def column_name(column: int, names: Sequence[Any] | None) -> str:
    """Name a column for a message: quoted if it has a name, by number if not."""
    return str(column) if names is None else repr(names[column])


def completed_cells(centers: Array, radii: Array, positions: ArrayLike) -> Array:
    """Return ``centers + positions * radii`` for positions in [-1, 1]; rounding never leaves the exact intervals."""
    lowest, highest = np.minimum(up(centers - radii), centers), np.maximum(down(centers + radii), centers)
    return np.clip(centers + np.asarray(positions, dtype=float) * radii, lowest, highest)


@dataclass(frozen=True, eq=False)
class IntervalMatrix:
    """A table in which any cell may be an interval ``center ± radius``.

    The table itself is kept as it was given, never copied and never written; only the uncertain cells
    are stored beside it, row by row. `center_rows` fills them into a small copy of some rows at a time.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
        The values. What stands in an uncertain cell (NaN, say) is never looked at.
    row_starts : array of shape (n_rows + 1,)
        The uncertain cells of row i are numbers ``row_starts[i]`` to ``row_starts[i + 1] - 1``.
    columns, centers, radii : arrays of shape (n_uncertain,)
        The column, midpoint and radius of each uncertain cell.
    choices : Choices, optional
        Rows with a missing category; the table has the mean of all levels, ``1 / n_levels``, in its columns there.

    Examples
    --------
    >>> from ipub import IntervalMatrix
    >>> matrix = IntervalMatrix.from_bounds([[1.0, 2.0], [3.0, 0.0]], [[1.0, 2.0], [3.0, 8.0]])
    >>> matrix.n_uncertain
    1
    >>> matrix.center_rows(slice(1, 2))
    array([[3., 4.]])
    """

    table: NDArray[np.generic]
    row_starts: Indices
    columns: Indices
    centers: Array
    radii: Array
    choices: MissingCategories = NOTHING_MISSING

    @classmethod
    def from_bounds(cls, lower: ArrayLike, upper: ArrayLike, names: Sequence[str] | None = None) -> IntervalMatrix:
        """Build from a lower and an upper table; cells where they are equal are certain."""
        low, high = _as_table(lower, "the lower bounds"), _as_table(upper, "the upper bounds")
        if low.shape != high.shape:
            raise ValueError(f"The lower bounds have shape {low.shape}, the upper bounds {high.shape}.")
        if low.size == 0:
            raise ValueError(f"The bounds have shape {low.shape}: at least one row and one column are needed.")
        for part, what in ((low, "lower"), (high, "upper")):
            check_values(part, names, what=f"the {what} bounds", allow_nan=False)
        _refuse_crossed(low, high, names)
        counts, columns = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        lows, highs = [np.zeros(0)], [np.zeros(0)]
        for rows in row_slices(*low.shape):
            uncertain = low[rows] != high[rows]
            counts.append(uncertain.sum(axis=1))
            columns.append(np.nonzero(uncertain)[1])
            lows.append(low[rows][uncertain])
            highs.append(high[rows][uncertain])
        return cls._from_cells(low, counts, columns, np.concatenate(lows), np.concatenate(highs))

    @classmethod
    def from_table(
        cls, table: NDArray[np.generic], ranges: Array, names: Sequence[str] | None = None
    ) -> IntervalMatrix:
        """Build from a table whose NaN cells lie in the range (lower, upper) of their column."""
        ranges = np.asarray(ranges, dtype=float)
        check_ranges(ranges, table.shape[1])
        counts, columns = find_holes(table, names)
        holes = np.concatenate(columns)
        return cls._from_cells(table, counts, columns, ranges[holes, 0], ranges[holes, 1])

    def take(self, rows: Indices) -> IntervalMatrix:
        """Return some rows, in any order, each as often as asked for."""
        counts = np.diff(self.row_starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        cells = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.row_starts[rows], counts)
        choices = self.choices
        if len(choices):
            missing = np.zeros((self.shape[0], len(choices.levels)), dtype=bool)
            missing[choices.rows, choices.categories] = True
            choices = MissingCategories.of(missing[rows], choices.levels)
        return IntervalMatrix(
            self.table[rows], starts, self.columns[cells], self.centers[cells], self.radii[cells], choices
        )

    def blurred(self, precision: Array) -> IntervalMatrix:
        """Return the matrix with every certain cell at most the precision of its column off: ``value ± precision``."""
        in_row, columns, centers, radii = self.cells(slice(0, self.shape[0]))
        table = np.array(self.table, dtype=float)
        all_centers, all_radii = table.copy(), np.broadcast_to(precision, self.shape).copy()
        all_centers[in_row, columns], all_radii[in_row, columns] = centers, radii
        uncertain = all_radii > 0.0
        uncertain[in_row, columns] = True
        starts = np.concatenate([[0], np.cumsum(uncertain.sum(axis=1))]).astype(np.intp)
        cells = np.nonzero(uncertain)[1], all_centers[uncertain], all_radii[uncertain]
        return IntervalMatrix(table, starts, *cells, self.choices)

    @classmethod
    def from_table_and_bounds(
        cls, table: NDArray[np.generic], lower: ArrayLike, upper: ArrayLike, names: Sequence[str] | None = None
    ) -> IntervalMatrix:
        """Build from a table with NaN and bounds for every cell, which agree with the observed ones."""
        bounds = {}
        for bound, what in ((lower, "X_lower"), (upper, "X_upper")):
            bounds[what] = _as_table(bound, what)
            if bounds[what].shape != table.shape:
                raise ValueError(f"{what} has shape {bounds[what].shape}, but X has shape {table.shape}.")
            check_values(bounds[what], names, what=what, allow_nan=False)
            _check_agreement(table, bounds[what], what, names)
        low, high = bounds["X_lower"], bounds["X_upper"]
        _refuse_crossed(low, high, names)
        counts, columns = find_holes(table, names)
        in_row = np.repeat(np.arange(len(table)), np.concatenate(counts))
        holes = np.concatenate(columns)
        return cls._from_cells(table, counts, columns, low[in_row, holes], high[in_row, holes])

    @classmethod
    def _from_cells(
        cls, table: NDArray[np.generic], counts: list[Indices], columns: list[Indices], lower: Array, upper: Array
    ) -> IntervalMatrix:
        starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.intp)
        centers, radii = midpoint_and_radius(np.asarray(lower, dtype=float), np.asarray(upper, dtype=float))
        return cls(table, starts, np.concatenate(columns).astype(np.intp), centers, radii)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.table.shape[0], self.table.shape[1]

    @property
    def n_uncertain(self) -> int:
        """Number of cells stored as intervals."""
        return len(self.columns)

    @property
    def radius(self) -> csr_array:
        """The radii as a sparse matrix."""
        return csr_array((self.radii, self.columns, self.row_starts), shape=self.shape)

    def check(self) -> None:
        """Refuse cells that are certain but not finite, and intervals without a finite end."""
        in_row = np.repeat(np.arange(self.shape[0]), np.diff(self.row_starts))
        if len(in_row) != len(self.columns) or not np.isin(self.columns, np.arange(self.shape[1])).all():
            raise ValueError("The uncertain cells do not match the table: row_starts or columns are wrong.")
        if len(np.unique(in_row * self.shape[1] + self.columns)) < len(in_row):
            raise ValueError("A cell is given twice as uncertain.")
        self._check_choices(in_row)
        for rows in row_slices(*self.shape):
            check_values(self.center_rows(rows), None, what="the center", allow_nan=False, first_row=rows.start)
        if not ((self.radii >= 0.0) & (self.radii <= 2.0 * LARGEST)).all():
            raise ValueError("The radius of every uncertain cell must be a finite number that is not negative.")

    def _check_choices(self, in_row: Indices) -> None:
        """Refuse choices that do not fit the table."""
        choices, (n, d) = self.choices, self.shape
        if len(choices) == 0:
            return
        columns = np.concatenate([levels.columns for levels in choices.levels])
        numbers = choices.rows * len(choices.levels) + choices.categories
        fits = len(np.unique(columns)) == len(columns) and np.isin(columns, np.arange(d)).all()
        fits &= np.isin(choices.rows, np.arange(n)).all() and (np.diff(numbers) > 0).all()
        fits &= all(len(levels.columns) > 1 for levels in choices.levels)
        if fits:
            for some, levels in choices.by_category():
                rows = choices.rows[some]
                fits &= bool((self.table[np.ix_(rows, levels.columns)] == levels.share).all())
                fits &= not (np.isin(in_row, rows) & np.isin(self.columns, levels.columns)).any()
        if not fits:
            raise ValueError(
                "The choices do not fit the table: rows must ascend, a category needs two columns or more of its own, "
                "and where it is missing, 1 / (number of its columns) must stand in all of them, and no interval."
            )

    def cells(self, rows: slice) -> tuple[Indices, Indices, Array, Array]:
        """Return row (counted from the slice's start), column, center and radius of the uncertain cells."""
        here = slice(self.row_starts[rows.start], self.row_starts[min(rows.stop, self.shape[0])])
        return self._in_row[here] - rows.start, self.columns[here], self.centers[here], self.radii[here]

    @cached_property
    def _in_row(self) -> Indices:
        """Row of each uncertain cell."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.row_starts))

    def center_rows(self, rows: slice) -> Array:
        """Return some rows of the center: a view where nothing is uncertain, else a filled copy."""
        in_row, columns, centers, _ = self.cells(rows)
        if len(columns) == 0:
            return np.ascontiguousarray(self.table[rows], dtype=float)
        filled = np.array(self.table[rows], dtype=float, order="C")
        filled.reshape(-1)[in_row * filled.shape[1] + columns] = centers
        return filled

    def observed(self) -> Array:
        """Return the values that were observed: the center, NaN where the table has NaN."""
        values = self.center_rows(slice(0, self.shape[0])).copy()
        in_row, columns, _, _ = self.cells(slice(0, self.shape[0]))
        holes = np.isnan(np.asarray(self.table[in_row, columns], dtype=float))
        values[in_row[holes], columns[holes]] = np.nan
        return values

    def hull(self, counted: NDArray[np.bool_] | None = None) -> Array:
        """Return the (lower, upper) range of each column over all its cells, or those of the rows that count."""
        ends = np.tile([np.inf, -np.inf], (self.shape[1], 1))
        for rows in row_slices(*self.shape):
            low = self.center_rows(rows).copy()
            high = low.copy()
            in_row, columns, centers, radii = self.cells(rows)
            low[in_row, columns], high[in_row, columns] = down(centers - radii), up(centers + radii)
            some = slice(None) if counted is None else counted[rows]
            ends[:, 0] = np.minimum(ends[:, 0], low[some].min(axis=0, initial=np.inf))
            ends[:, 1] = np.maximum(ends[:, 1], high[some].max(axis=0, initial=-np.inf))
        return ends

    def radius_dot(self, weights: Array) -> Array:
        """Return radius @ abs(weights): how far each row's score can move. O(n_uncertain)."""
        return np.asarray(self.radius @ np.abs(weights))

    def radius_transposed_dot(self, coefficients: Array) -> Array:
        """Return radius.T @ abs(coefficients), a value for each column. O(n_uncertain)."""
        return np.asarray(self.radius.T @ np.abs(coefficients))

    def completion(self, positions: ArrayLike) -> Array:
        """Return a full table with uncertain cell k at ``center_k + positions_k * radius_k``.

        Positions lie in [-1, 1]; rounding never leaves the exact interval.
        """
        full = self.center_rows(slice(0, self.shape[0])).copy()
        in_row, columns, centers, radii = self.cells(slice(0, self.shape[0]))
        full[in_row, columns] = completed_cells(centers, radii, positions)
        return full


def find_holes(table: NDArray[np.generic], names: Sequence[str] | None = None) -> tuple[list[Indices], list[Indices]]:
    """Return the NaN cells: how many in each row, and their columns row by row, as lists over row slices.

    Infinite and huge values are refused, as by `check_values`: one look serves both.
    """

    def holes(rows: slice) -> tuple[Indices, Indices]:
        part = table[rows]
        in_row, column = np.divmod(np.flatnonzero(~(np.abs(part) <= np.float64(LARGEST))), part.shape[1])
        if not np.isnan(part[in_row, column]).all():
            check_values(part, names, first_row=rows.start)
        return np.bincount(in_row, minlength=len(part)), column

    nothing = np.zeros(0, dtype=np.intp)
    found = [(nothing, nothing), *in_threads(holes, list(row_slices(table.shape[0], table.shape[1], SCAN_CELLS // 4)))]
    return [counts for counts, _ in found], [columns for _, columns in found]


def check_ranges(ranges: Array, n_columns: int) -> None:
    """Refuse ranges of columns that are no intervals, naming the column."""
    if ranges.shape != (n_columns, 2):
        raise ValueError(f"ranges has shape {ranges.shape}, not ({n_columns}, 2): a lower and an upper end each.")
    wrong = np.flatnonzero(~((ranges[:, 0] <= ranges[:, 1]) & (np.abs(ranges).max(axis=1) <= LARGEST)))
    if len(wrong):
        low, high = ranges[wrong[0]]
        raise ValueError(f"The range ({low:g}, {high:g}) of column {wrong[0]} is not an interval of finite numbers.")


def check_values(
    table: NDArray[np.generic],
    names: Sequence[str] | None,
    *,
    what: str = "X",
    allow_nan: bool = True,
    first_row: int = 0,
) -> None:
    """Refuse infinite and huge values (and NaN unless allowed), naming the cell."""

    def bad_cells(rows: slice) -> NDArray[np.intp]:
        part = table[rows]
        if not allow_nan:
            return np.argwhere(~(np.abs(part) <= np.float64(LARGEST)))
        # A comparison with NaN is false; two of them need no absolute values, and no table of their own.
        beyond = part > np.float64(LARGEST)
        beyond |= part < -np.float64(LARGEST)
        return np.argwhere(beyond) if beyond.any() else np.zeros((0, 2), dtype=np.intp)

    slices = list(row_slices(table.shape[0], table.shape[1], SCAN_CELLS // 4))
    for rows, found in zip(slices, in_threads(bad_cells, slices), strict=True):
        if len(found) == 0:
            continue
        i, j = found[0]
        part = table[rows]
        value, cell = float(part[i, j]), cell_name(first_row + rows.start + i, j, names)
        if np.isnan(value):
            raise ValueError(f"{what} contains NaN in {cell}: give a finite bound for every cell.")
        if np.isinf(value):
            raise ValueError(f"{what} contains infinity in {cell}: make it NaN (a hole), or a finite value.")
        raise ValueError(f"{what} contains {value:g} in {cell}, beyond {LARGEST:g}: rescale the column.")


def _as_table(values: ArrayLike, what: str) -> Array:
    table = np.asarray(values)
    if table.ndim != 2:
        raise ValueError(f"{what} must be a table (2 dimensions), got {table.ndim} dimension(s).")
    if table.dtype.kind not in "fiub":
        raise ValueError(f"{what} must be numeric, got dtype {table.dtype}.")
    return table if table.dtype == np.float64 else table.astype(float)


def _refuse_crossed(low: Array, high: Array, names: Sequence[str] | None) -> None:
    for rows in row_slices(*low.shape):
        crossed = np.argwhere(low[rows] > high[rows])
        if len(crossed):
            i, j = crossed[0] + (rows.start, 0)
            raise ValueError(
                f"Lower bound {low[i, j]} is above upper bound {high[i, j]} in {cell_name(i, j, names)}. "
                "Swap them, or correct the cell."
            )


def _check_agreement(table: NDArray[np.generic], bound: Array, what: str, names: Sequence[str] | None) -> None:
    for rows in row_slices(*table.shape):
        part = np.asarray(table[rows], dtype=float)
        different = ~np.isnan(part) & (part != bound[rows])
        if different.any():
            i, j = np.argwhere(different)[0]
            raise ValueError(
                f"{what} is {bound[rows.start + i, j]} in {cell_name(rows.start + i, j, names)}, where X is observed "
                f"as {part[i, j]}: bounds must equal X there. If a step before this one rescales X, it must "
                f"rescale the bounds as well (in a Pipeline: transform_input=['X_lower', 'X_upper']). To make an "
                "observed cell uncertain, fit on IntervalMatrix.from_bounds(lower, upper)."
            )
