"""A table of intervals, most of them points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ipub.errors import IpubError
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import LARGEST, Array, down, midpoint_and_radius, up
from ipub.tables.missing_category import NOTHING_MISSING, MissingCategories
from ipub.tables.missing_category import Indices as Indices
from ipub.tables.validation import as_table, check_agreement, check_ranges, check_values, find_holes, refuse_crossed


def completed_cells(centers: Array, radii: Array, positions: ArrayLike) -> Array:
    """Return ``centers + positions * radii`` for positions in [-1, 1]; rounding never leaves the exact intervals."""
    lowest, highest = np.minimum(up(centers - radii), centers), np.maximum(down(centers + radii), centers)
    return np.clip(centers + np.asarray(positions, dtype=float) * radii, lowest, highest)


def _starts(counts: Indices) -> Indices:
    """Return where the cells of each row start, and the end, by how many there are in each."""
    starts = np.zeros(len(counts) + 1, dtype=np.intp)
    np.cumsum(counts, out=starts[1:])
    return starts


@dataclass(frozen=True, eq=False)
class IntervalMatrix:
    """A table in which any cell may be an interval ``center ± radius``.

    The table itself is kept as it was given, never copied and never written; only the uncertain cells
    are stored beside it, row by row. `center_rows` fills them into a copy of a few rows at a time.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
        The values. The entry of an uncertain cell (NaN, say) is never used.
    row_starts : array of shape (n_rows + 1,)
        The uncertain cells of row i are numbers ``row_starts[i]`` to ``row_starts[i + 1] - 1``.
    columns, centers, radii : arrays of shape (n_uncertain,)
        The column, midpoint and radius of each uncertain cell.
    missing_categories : MissingCategories, optional
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
    missing_categories: MissingCategories = NOTHING_MISSING

    @classmethod
    def from_bounds(cls, lower: ArrayLike, upper: ArrayLike, names: Sequence[str] | None = None) -> IntervalMatrix:
        """Build from a lower and an upper table; cells where they are equal are certain."""
        low, high = as_table(lower, "the lower bounds"), as_table(upper, "the upper bounds")
        if low.shape != high.shape:
            raise IpubError(f"The lower bounds have shape {low.shape}, the upper bounds {high.shape}.")
        if low.size == 0:
            raise IpubError(f"The bounds have shape {low.shape}: at least one row and one column are needed.")
        for part, what in ((low, "lower"), (high, "upper")):
            check_values(part, names, what=f"the table of {what} bounds", allow_nan=False)
        refuse_crossed(low, high, names)
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
        centers, radii = midpoint_and_radius(ranges[:, 0], ranges[:, 1])
        return cls(table, _starts(np.concatenate(counts)), holes, centers[holes], radii[holes])

    def take(self, rows: Indices) -> IntervalMatrix:
        """Return the given rows, in this order; a row may occur several times."""
        counts = np.diff(self.row_starts)[rows]
        starts = _starts(counts)
        cells = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.row_starts[rows], counts)
        missing_categories = self.missing_categories
        if len(missing_categories):
            missing = np.zeros((self.shape[0], len(missing_categories.levels)), dtype=bool)
            missing[missing_categories.rows, missing_categories.categories] = True
            missing_categories = MissingCategories.of(missing[rows], missing_categories.levels)
        return IntervalMatrix(
            self.table[rows], starts, self.columns[cells], self.centers[cells], self.radii[cells], missing_categories
        )

    def blurred(self, precision: Array) -> IntervalMatrix:
        """Return the matrix with every certain cell an interval ``value ± precision`` of its column."""
        in_row, columns, centers, radii = self.cells(slice(0, self.shape[0]))
        table = np.array(self.table, dtype=float)
        all_centers, all_radii = table.copy(), np.broadcast_to(precision, self.shape).copy()
        all_centers[in_row, columns], all_radii[in_row, columns] = centers, radii
        uncertain = all_radii > 0.0
        uncertain[in_row, columns] = True
        starts = _starts(uncertain.sum(axis=1))
        cells = np.nonzero(uncertain)[1], all_centers[uncertain], all_radii[uncertain]
        return IntervalMatrix(table, starts, *cells, self.missing_categories)

    @classmethod
    def from_table_and_bounds(
        cls, table: NDArray[np.generic], lower: ArrayLike, upper: ArrayLike, names: Sequence[str] | None = None
    ) -> IntervalMatrix:
        """Build from a table with NaN and bounds for every cell, which agree with the observed ones."""
        bounds = {}
        for bound, what in ((lower, "X_lower"), (upper, "X_upper")):
            bounds[what] = as_table(bound, what)
            if bounds[what].shape != table.shape:
                raise IpubError(f"{what} has shape {bounds[what].shape}, but X has shape {table.shape}.")
            check_values(bounds[what], names, what=what, allow_nan=False)
            check_agreement(table, bounds[what], what, names)
        low, high = bounds["X_lower"], bounds["X_upper"]
        refuse_crossed(low, high, names)
        counts, columns = find_holes(table, names)
        in_row = np.repeat(np.arange(len(table)), np.concatenate(counts))
        holes = np.concatenate(columns)
        return cls._from_cells(table, counts, columns, low[in_row, holes], high[in_row, holes])

    @classmethod
    def _from_cells(
        cls, table: NDArray[np.generic], counts: list[Indices], columns: list[Indices], lower: Array, upper: Array
    ) -> IntervalMatrix:
        centers, radii = midpoint_and_radius(lower, upper)
        return cls(table, _starts(np.concatenate(counts)), np.concatenate(columns), centers, radii)

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
        """Raise an error for certain cells that are not finite, and for intervals without a finite end."""
        in_row = np.repeat(np.arange(self.shape[0]), np.diff(self.row_starts))
        if len(in_row) != len(self.columns) or not np.isin(self.columns, np.arange(self.shape[1])).all():
            raise IpubError("The uncertain cells do not match the table: row_starts or columns are wrong.")
        if len(np.unique(in_row * self.shape[1] + self.columns)) < len(in_row):
            raise IpubError("A cell is given twice as uncertain.")
        self._check_missing_categories(in_row)
        for rows in row_slices(*self.shape):
            check_values(self.center_rows(rows), None, what="the center", allow_nan=False, first_row=rows.start)
        if not ((self.radii >= 0.0) & (self.radii <= 2.0 * LARGEST)).all():
            raise IpubError("The radius of every uncertain cell must be a finite number that is not negative.")

    def _check_missing_categories(self, in_row: Indices) -> None:
        """Raise ValueError if the missing categories do not fit the table."""
        missing_categories, (n, d) = self.missing_categories, self.shape
        if len(missing_categories) == 0:
            return
        columns = np.concatenate([levels.columns for levels in missing_categories.levels])
        numbers = missing_categories.rows * len(missing_categories.levels) + missing_categories.categories
        fits = len(np.unique(columns)) == len(columns) and np.isin(columns, np.arange(d)).all()
        fits &= np.isin(missing_categories.rows, np.arange(n)).all() and (np.diff(numbers) > 0).all()
        fits &= all(len(levels.columns) > 1 for levels in missing_categories.levels)
        if fits:
            for which, levels in missing_categories.by_category():
                rows = missing_categories.rows[which]
                fits &= bool((self.table[np.ix_(rows, levels.columns)] == levels.center_value).all())
                fits &= not (np.isin(in_row, rows) & np.isin(self.columns, levels.columns)).any()
        if not fits:
            raise IpubError(
                "The missing categories do not fit the table: rows must ascend, a category needs at least two "
                "columns of its own, and where it is missing, 1 / (number of its columns) must stand in "
                "all of them, and no interval."
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
        """Return a slice of the center: a view where nothing is uncertain, else a filled copy."""
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
            which = slice(None) if counted is None else counted[rows]
            ends[:, 0] = np.minimum(ends[:, 0], low[which].min(axis=0, initial=np.inf))
            ends[:, 1] = np.maximum(ends[:, 1], high[which].max(axis=0, initial=-np.inf))
        return ends

    def completion(self, positions: ArrayLike) -> Array:
        """Return a full table with uncertain cell k at ``center_k + positions_k * radius_k``.

        Positions lie in [-1, 1]; rounding never leaves the exact interval.
        """
        full = self.center_rows(slice(0, self.shape[0])).copy()
        in_row, columns, centers, radii = self.cells(slice(0, self.shape[0]))
        full[in_row, columns] = completed_cells(centers, radii, positions)
        return full
