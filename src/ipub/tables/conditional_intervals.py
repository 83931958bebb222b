"""Intervals of missing values from the observed values of their rows, and how they did on held-out cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ipub.numeric.rounding import Array, down, midpoint_and_radius, overflow_means_unbounded, up
from ipub.tables.interval_matrix import Indices, IntervalMatrix

SHORTEST = 1e-9
"""An interval that is shorter, as a fraction of the observed range, is taken for a point."""


@dataclass(frozen=True, eq=False)
class ConditionalColumn:
    """Intervals of one column: two quantiles that are linear in other columns, a correction, and the observed range."""

    column: int
    """Its number, after the encoding of categories."""
    features: Indices
    """Shape (n_used,): numbers of the columns that are used."""
    fill: Array
    """Shape (n_used,): what these have where they are missing: their medians."""
    coef: Array
    """Shape (2, n_used): of the lower and of the upper quantile."""
    intercept: Array
    """Shape (2,)."""
    correction: float
    """By how much intervals are longer at both ends than from one quantile to the other; may be negative."""
    observed: Array
    """Shape (2,): least and greatest observed value of the column, beyond which no interval goes."""
    otherwise: Array
    """Shape (2,): the interval for rows where nothing else is left."""
    is_whole: bool
    """Whether all observed values are whole numbers."""

    def quantiles(self, table: Array) -> tuple[Array, Array]:
        """Return the lower and the upper quantile for rows of an encoded table, in which NaN is missing."""
        values = table[:, self.features]
        values = np.where(np.isnan(values), self.fill, values)
        # Sums row by row: the interval of a row does not depend on the others, not even in its last bit.
        first, second = ((values * coef).sum(axis=1) + at for coef, at in zip(self.coef, self.intercept, strict=True))
        return np.minimum(first, second), np.maximum(first, second)

    def intervals(self, table: Array) -> tuple[Array, Array]:
        """Return the lower and the upper ends for rows of an encoded table.

        Whole numbers inside an interval stay inside. An interval that is empty, or a point, is extended: to the next
        whole numbers or, where numbers are not whole, to `otherwise`.
        """
        least, greatest = self.observed
        with overflow_means_unbounded():
            low, high = self.quantiles(table)
            low, high = down(low - self.correction), up(high + self.correction)
        low, high = np.maximum(low, least), np.minimum(high, greatest)
        if self.is_whole:
            low, high = np.ceil(low), np.floor(high) + 0.0  # no -0.0
            is_one = ~(low < high)
            low = np.where(is_one, np.maximum(low - 1.0, least), low)
            high = np.where(is_one, np.minimum(high + 1.0, greatest), high)
        is_there, is_long = low <= high, high - low > SHORTEST * (greatest - least)
        low = np.where(is_there, np.where(is_long, low, np.minimum(low, self.otherwise[0])), self.otherwise[0])
        high = np.where(is_there, np.where(is_long, high, np.maximum(high, self.otherwise[1])), self.otherwise[1])
        return low, high


@dataclass(frozen=True, eq=False)
class IntervalReport:
    """How conditional intervals did on held-out cells, column by column; ``print(report)`` shows a table.

    Attributes
    ----------
    level : float
        The probability that was asked for.
    columns : tuple
        Labels of the columns, or their numbers if they have none.
    holes : array of int of shape (n_columns,)
        Missing values in the training table.
    observed : array of int of shape (n_columns,)
        Observed values that intervals were learnt from and checked on.
    rules : tuple of str
        ``"conditional"``; ``"quantile"`` where too few values were observed; ``"both values"`` or ``"one value"`` of
        columns that have no more.
    coverage : array of shape (n_columns,)
        Fraction of the observed values that lie in the interval that was learnt without them, in 5 folds; NaN for
        columns without holes and with another rule.
    width, quantile_width : arrays of shape (n_columns,)
        Median length of the intervals of the holes, NaN if there are none; and length of the interval that
        ``intervals="quantile"`` gives.
    """

    level: float
    columns: tuple[Any, ...]
    holes: Indices
    observed: Indices
    rules: tuple[str, ...]
    coverage: Array
    width: Array
    quantile_width: Array

    HEADER: ClassVar = ("column", "holes", "interval", "coverage", "width", "quantile width")

    def cells(self) -> list[tuple[str, ...]]:
        """Return the lines of the table as text: columns with holes."""
        return [
            (
                str(self.columns[k]),
                str(self.holes[k]),
                self.rules[k],
                "-" if np.isnan(self.coverage[k]) else f"{self.coverage[k]:.3f} of {self.observed[k]}",
                f"{self.width[k]:.4g}",
                f"{self.quantile_width[k]:.4g}",
            )
            for k in np.flatnonzero(self.holes > 0)
        ]

    def __str__(self) -> str:
        lines = [self.HEADER, *self.cells()]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.HEADER))]
        text = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.sentence(), *(line.rstrip() for line in text)])

    def sentence(self) -> str:
        """Say what is promised of the intervals, and of which columns (thm-conformal)."""
        if "conditional" not in (rule for rule, holes in zip(self.rules, self.holes, strict=True) if holes):
            return "Too few values were observed, or too few different ones, to promise how often any interval holds."
        return (
            "In 'conditional' columns each missing value lies in its interval with probability "
            f"{self.level:g} or more, if rows are exchangeable and values are missing completely at random; of other "
            "columns nothing is promised. Coverage is that of observed values by intervals that were learnt without "
            "them."
        )


@dataclass(frozen=True, eq=False)
class ConditionalIntervals:
    """Intervals of missing values from the observed values of their rows."""

    columns: tuple[ConditionalColumn, ...]
    """Columns that have such intervals."""
    report: IntervalReport

    def applied(self, matrix: IntervalMatrix, table: Array) -> IntervalMatrix:
        """Return a matrix, whose uncertain cells are the holes of a table, with the intervals of their rows."""
        in_row, columns, centers, radii = matrix.cells(slice(0, matrix.shape[0]))
        centers, radii = centers.copy(), radii.copy()
        for each in self.columns:
            cells = np.flatnonzero(columns == each.column)
            if len(cells):
                centers[cells], radii[cells] = midpoint_and_radius(*each.intervals(table[in_row[cells]]))
        return replace(matrix, centers=centers, radii=radii)

    def filled(self, table: Array) -> Array:
        """Return a table with the middle of its interval in every hole of these columns; others stay."""
        filled = table.copy()
        for each in self.columns:
            rows = np.flatnonzero(np.isnan(table[:, each.column]))
            if len(rows):
                filled[rows, each.column] = midpoint_and_radius(*each.intervals(table[rows]))[0]
        return filled
