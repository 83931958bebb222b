"""Scaling of columns, by one number for each column at a time, as scikit-learn's scalers do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ipub.data.intervals import Indices, IntervalMatrix, midpoint_and_radius
from ipub.rounding import Array, down, overflow_passes, up

OPERATIONS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
"""What may be done to a column: each is nondecreasing in the cell, if factors and divisors are positive."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Operations on the cells of each column, in order.

    Parameters
    ----------
    operations : tuple of pairs
        The name of one of `OPERATIONS`, and its second operand: an array of shape (n_columns,). Factors and
        divisors are positive.

    Examples
    --------
    >>> import numpy as np
    >>> Scaling((("subtract", np.array([1.0, 0.0])), ("divide", np.array([2.0, 4.0])))).rows(np.array([[3.0, 1.0]]))
    array([[1.  , 0.25]])
    """

    operations: tuple[tuple[str, Array], ...]

    def __post_init__(self) -> None:
        for name, operand in self.operations:
            wrong = ~np.isfinite(operand) | ((operand <= 0.0) & (name in ("multiply", "divide")))
            if wrong.any():
                j = int(np.argmax(wrong))
                raise ValueError(
                    f"Column {j} has no scale: the scaler has learnt the number {operand[j]} for it. Drop the column "
                    "if nothing was observed in it."
                )

    def rows(self, table: NDArray[np.generic]) -> Array:
        """Scale rows: the floats that the scalers themselves give for float64; NaN stays NaN."""
        scaled = np.asarray(table, dtype=float)
        with overflow_passes():
            for name, operand in self.operations:
                scaled = OPERATIONS[name](scaled, operand)
        return scaled

    def intervals(self, matrix: IntervalMatrix) -> IntervalMatrix:
        """Scale a table of intervals, rounded outward.

        Each interval contains its unscaled values scaled exactly, and scaled in floats (F10). Certain cells are scaled
        in floats.
        """
        centers, radii, columns = matrix.centers, matrix.radii, matrix.columns
        lower, upper = self._cells(down(centers - radii), columns, down), self._cells(up(centers + radii), columns, up)
        middles, halves = midpoint_and_radius(lower, upper)
        is_point = radii == 0.0
        scaled = replace(
            matrix,
            table=self.rows(matrix.table),
            centers=np.where(is_point, self._cells(centers, columns, np.positive), middles),
            radii=np.where(is_point, 0.0, halves),
        )
        scaled.check()
        return scaled

    def _cells(self, values: Array, columns: Indices, rounded: Callable[[Array], Array]) -> Array:
        """Scale the values of cells in some columns, rounded after each operation."""
        with overflow_passes():
            for name, operand in self.operations:
                values = rounded(OPERATIONS[name](values, operand[columns]))
        return values
