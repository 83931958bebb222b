"""The holes of a training table, as samplers fill them: before scaling, after the encoding of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.missing_category import MissingCategories
from ipub.tables.validation import column_label
from ipub.training.reading import LearntTable, TrainingData


class Filling(NamedTuple):
    """A value for every hole."""

    numbers: Array
    """Of each missing number."""
    levels: Indices
    """Of each missing category: the index of its level."""

    def equals(self, other: Filling) -> bool:
        """Whether two fillings are the same."""
        return np.array_equal(self.numbers, other.numbers) and np.array_equal(self.levels, other.levels)


@dataclass(frozen=True, eq=False)
class Holes:
    """A training table in the columns and units of X, with its categories encoded, and its holes."""

    X: Any
    """The table of the user, for an imputer of the user; NaN, or whatever stands for it, where a value is missing."""
    learnt: LearntTable
    """How tables like X are read."""
    table: Array
    """Shape (n_rows, n_columns): X as numbers; NaN where missing, in all columns of a missing category."""
    matrix: IntervalMatrix
    """The same with intervals."""
    cells: Indices
    """Shape (n_numbers,): which uncertain cells of the matrix are missing numbers. (Others are observed, with a
    precision.)"""
    rows: Indices
    columns: Indices
    """Shape (n_numbers,): where the missing numbers are."""
    lower: Array
    upper: Array
    """Shape (n_numbers,): their intervals."""
    counts: NDArray[np.bool_]
    """Shape (n_rows,): whether a row has a positive weight: others give no values to draw from."""

    @classmethod
    def of(cls, learnt: LearntTable, X: Any, bounds: IntervalMatrix | None, counts: NDArray[np.bool_]) -> Holes:
        """Find the holes of a training table X as given to `fit`; `bounds` are X with those of its cells, if given."""
        if isinstance(X, IntervalMatrix):
            table = X.center_rows(slice(0, X.shape[0])).copy()
            in_row, columns, _, radii = X.cells(slice(0, X.shape[0]))
            table[in_row[radii > 0.0], columns[radii > 0.0]] = np.nan
            matrix, X = X, table
        else:
            table = np.ascontiguousarray(learnt.columns.values(X), dtype=float)
            matrix = learnt.intervals(table) if bounds is None else bounds
        in_row, columns, centers, radii = matrix.cells(slice(0, matrix.shape[0]))
        # An interval that is a point is known.
        cells = np.flatnonzero(np.isnan(table[in_row, columns]) & (radii > 0.0))
        lower, upper = (centers - radii)[cells], (centers + radii)[cells]
        return cls(X, learnt, table, matrix, cells, in_row[cells], columns[cells], lower, upper, counts)

    @property
    def missing_categories(self) -> MissingCategories:
        """The missing categories."""
        return self.matrix.missing_categories

    def __len__(self) -> int:
        return len(self.cells) + len(self.missing_categories)

    def label(self, column: int) -> Any:
        """Return the label of an encoded column for a message: that of the column of X it belongs to."""
        encoder = self.learnt.columns.encoder
        if encoder is None:
            names = self.learnt.columns.feature_names_in
            return column_label(column, None if names is None else list(names))
        return encoder.columns[int(np.searchsorted(encoder.starts, column, side="right")) - 1]


def holes_of(data: TrainingData, X: Any, X_lower: ArrayLike | None, X_upper: ArrayLike | None) -> Holes:
    """Find the holes of a training table that was read; the other arguments are those of `fit`."""
    return holes_in(data.table, X, X_lower, X_upper, data.weight > 0.0)


def holes_in(
    learnt: LearntTable, X: Any, X_lower: ArrayLike | None, X_upper: ArrayLike | None, counts: NDArray[np.bool_]
) -> Holes:
    """Find the holes of a training table that is read in a way that was learnt from it; others as in `Holes`."""
    bounds = None
    if X_lower is not None and X_upper is not None:
        table = np.asarray(learnt.columns.values(X))
        bounds = IntervalMatrix.from_table_and_bounds(table, np.asarray(X_lower), np.asarray(X_upper), learnt.names)
    return Holes.of(learnt, X, bounds, counts)
