"""Scaling of columns, operation by operation, as scikit-learn's scalers do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ipub.errors import DropColumn, IpubError
from ipub.numeric.rounding import Array, down, midpoint_and_radius, overflow_means_unbounded, up
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.table_summary import Moments

OPERATIONS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
"""Operations on a column: each is nondecreasing in the cell, if factors and divisors are positive."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Operations on the cells of each column, in order.

    Examples
    --------
    >>> import numpy as np
    >>> Scaling((("subtract", np.array([1.0, 0.0])), ("divide", np.array([2.0, 4.0])))).rows(np.array([[3.0, 1.0]]))
    array([[1.  , 0.25]])
    """

    operations: tuple[tuple[str, Array], ...]
    """The name of one of `OPERATIONS`, and its second operand: an array of shape (n_columns,). Factors and divisors are
    positive."""

    def __post_init__(self) -> None:
        for name, operand in self.operations:
            wrong = ~np.isfinite(operand) | ((operand <= 0.0) & (name in ("multiply", "divide")))
            if wrong.any():
                j = int(np.argmax(wrong))
                raise IpubError(
                    "Column {column} has no scale: the scaler has learnt the number {value} for it. If nothing was "
                    "observed in it, {remedy}.",
                    column=j,
                    value=operand[j],
                    remedy=DropColumn(j),
                )

    @classmethod
    def learn(cls, how: str, observed: Array, ranges: Array, unscaled: NDArray[np.bool_]) -> Scaling:
        """Learn how to scale columns from the values that were observed in them, NaN where nothing was.

        "standard" is to mean 0 and standard deviation 1, "minmax" to the range -1 to 1; a column of one value is only
        moved, and one without observed values is scaled as if it had those of `ranges`. `unscaled` columns stay.

        Examples
        --------
        >>> import numpy as np
        >>> observed = np.array([[0.0, 7.0], [np.nan, 7.0], [4.0, 7.0]])
        >>> Scaling.learn("minmax", observed, np.zeros((2, 2)), np.zeros(2, dtype=bool)).rows(observed)
        array([[-1., -1.],
               [nan, -1.],
               [ 1., -1.]])
        """
        empty = np.isnan(observed).all(axis=0)
        values = np.vstack([observed, np.where(empty, ranges.T, np.nan)]) if empty.any() else observed
        if how == "standard":
            from sklearn.preprocessing import StandardScaler

            standard = StandardScaler().fit(values)
            mean = _without_rounding(standard.mean_, np.nanmin(values, axis=0), np.nanmax(values, axis=0))
            return cls._standard(mean, standard.scale_, unscaled)
        return cls._minmax(values, unscaled)

    @classmethod
    def from_moments(cls, how: str, moments: Sequence[Moments], ranges: Array, unscaled: NDArray[np.bool_]) -> Scaling:
        """Learn the same from summaries of the columns, for a table that is read piece by piece."""
        of_range = [each if each.n else Moments.of(ends) for each, ends in zip(moments, ranges, strict=True)]
        if how == "minmax":
            return cls._minmax(np.array([[m.least, m.greatest] for m in of_range]).T, unscaled)
        n, mean, squares = (np.array([getattr(m, name) for m in of_range]) for name in ("n", "mean", "squares"))
        mean = _without_rounding(
            mean, *(np.array([getattr(m, name) for m in of_range]) for name in ("least", "greatest"))
        )
        variance = squares / n
        # As scikit-learn finds columns of one value, in spite of rounding.
        eps = np.finfo(float).eps
        is_constant = variance <= n * eps * variance + (n * mean * eps) ** 2
        return cls._standard(mean, np.where(is_constant, 1.0, np.sqrt(variance)), unscaled)

    @classmethod
    def _standard(cls, mean: Array, scale: Array, unscaled: NDArray[np.bool_]) -> Scaling:
        return cls((("subtract", np.where(unscaled, 0.0, mean)), ("divide", np.where(unscaled, 1.0, scale))))

    @classmethod
    def _minmax(cls, values: Array, unscaled: NDArray[np.bool_]) -> Scaling:
        from sklearn.preprocessing import MinMaxScaler

        minmax = MinMaxScaler((-1.0, 1.0)).fit(values)
        return cls(
            (("multiply", np.where(unscaled, 1.0, minmax.scale_)), ("add", np.where(unscaled, 0.0, minmax.min_)))
        )

    def rows(self, table: NDArray[np.generic]) -> Array:
        """Scale rows: the floats that the scalers themselves give for float64; NaN stays NaN."""
        scaled = np.asarray(table, dtype=float)
        with overflow_means_unbounded():
            for name, operand in self.operations:
                scaled = OPERATIONS[name](scaled, operand)
        return scaled

    def intervals(self, matrix: IntervalMatrix) -> IntervalMatrix:
        """Scale a table of intervals, rounded outward.

        Each interval contains its unscaled values scaled exactly, and scaled in floats (fp-scaling). Certain cells are
        scaled in floats.
        """
        for levels in matrix.missing_categories.levels:
            values = np.repeat([0.0, levels.center_value, 1.0], len(levels.columns))
            if not np.array_equal(self._cells(values, np.tile(levels.columns, 3), np.positive), values):
                raise IpubError(
                    "Column {column} is a level of a category that is missing in some rows, and scaling it would make "
                    "its 0 and 1 something else: scale the columns of numbers alone.",
                    column=int(levels.columns[0]),
                )
        centers, radii = self.cells(matrix.centers, matrix.radii, matrix.columns)
        scaled = replace(matrix, table=self.rows(matrix.table), centers=centers, radii=radii)
        scaled.check()
        return scaled

    def cells(self, centers: Array, radii: Array, columns: Indices) -> tuple[Array, Array]:
        """Scale the intervals of cells in the given columns, rounded outward; points are scaled in floats."""
        lower, upper = self._cells(down(centers - radii), columns, down), self._cells(up(centers + radii), columns, up)
        middles, halves = midpoint_and_radius(lower, upper)
        is_point = radii == 0.0
        points = self._cells(centers, columns, np.positive)
        return np.where(is_point, points, middles), np.where(is_point, 0.0, halves)

    def _cells(self, values: Array, columns: Indices, rounded: Callable[[Array], Array]) -> Array:
        """Scale the values of cells in the given columns, rounded after each operation."""
        with overflow_means_unbounded():
            for name, operand in self.operations:
                values = rounded(OPERATIONS[name](values, operand[columns]))
        return values


def _without_rounding(mean: Array, least: Array, greatest: Array) -> Array:
    """Return means, of columns of one value that value itself: a rest of 1e9 would be left of one of 1e25."""
    return np.where(least == greatest, least, mean)
