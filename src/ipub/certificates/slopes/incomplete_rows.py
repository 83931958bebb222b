"""The training rows with uncertain cells or missing categories: their scores, and prices of lem-hessian.

A price is what a product of a row and a cell costs the one or the other. Any are valid, good ones tight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.numeric.linalg import rough_inverse, rows_times
from ipub.numeric.rounding import Array, sum_upper, up
from ipub.rows import Block
from ipub.rows.ops import sum_by_index, sum_height, weighted_gram
from ipub.tables.interval_matrix import Indices
from ipub.tables.missing_category import Levels, MissingCategories

LEAST_DIVISOR = 1e-140
"""Prices are between this and its inverse, and what lem-column-signs divides by is no less: products stay above what
underflows (fp-forms, fp-slopes)."""


class RowLines(NamedTuple):
    """The line through the derivative of each of some rows (sec-lines), and what it is laid over."""

    lower: Array
    upper: Array
    """Bounds of ``p_i ± D_i``, the score of every completion under w'."""
    score_lower: Array
    score_upper: Array
    """Bounds of p_i, the score of the center under w'."""
    least_slope: Array
    greatest_slope: Array
    """Bounds of the slope (lem-hessian) of the derivative between scores of w' and of w''."""
    slope: Array
    slope_radius: Array
    """Every such slope lies within the radius of the slope."""
    fixed_derivative: Array
    """The derivative c_i of a row at a jump, NaN for others."""
    derivative_radius: Array
    """How far its derivative may be off."""
    row_move: Array
    """Bounds of ``|x_i.v|``."""
    cell_move: Array
    """Bounds of ``|delta_i.v|``."""


class IncompleteRowArrays(NamedTuple):
    """What one pass gathers of the incomplete rows, block after block: the fields of `IncompleteRows`."""

    center: Array
    y: Array
    weight: Array
    lines: RowLines
    cell_counts: Indices
    cell_columns: Indices
    cell_radii: Array
    choice_counts: Indices
    choice_categories: Indices


class Leverages(NamedTuple):
    """What rows are in the metric of an (approximate) inverse."""

    products: Array
    """``inverse x`` of each row x."""
    squares: Array
    """``x.inverse x`` of each row x."""


@dataclass(frozen=True)
class IncompleteRows:
    """The rows with uncertain cells, with what is known of their scores and derivatives."""

    center: Array
    y: Array
    weight: Array
    """m_i: weights over the total weight, with two roundings."""
    lines: RowLines
    cell_counts: Indices
    """Number of uncertain cells of each row."""
    cell_columns: Indices
    cell_radii: Array
    """R_k."""
    choice_counts: Indices
    """Number of missing categories of each row."""
    choice_categories: Indices
    categories: tuple[Levels, ...]

    @classmethod
    def of(cls, arrays: IncompleteRowArrays, categories: tuple[Levels, ...]) -> IncompleteRows:
        """Make them from what a pass gathered."""
        return cls(**arrays._asdict(), categories=categories)

    @cached_property
    def choices(self) -> MissingCategories:
        """The missing categories."""
        rows = np.repeat(np.arange(len(self.y), like=self.y), self.choice_counts)
        return MissingCategories(rows, self.choice_categories, self.categories)

    @cached_property
    def sizes(self) -> Array:
        """Absolute values of the center."""
        return np.abs(self.center)

    @cached_property
    def cell_rows(self) -> Indices:
        """Row of each uncertain cell."""
        return np.repeat(np.arange(len(self.y), like=self.y), self.cell_counts)

    @property
    def at_jump(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether the derivative of a row is a fixed number, as it jumps among the scores that are possible."""
        return ~np.isnan(self.lines.fixed_derivative)

    @property
    def has_several_parts(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether a row has more than one uncertain cell or missing category."""
        return self.cell_counts + self.choice_counts > 1

    @cached_property
    def roundings(self) -> int:
        """Of a sum over cells or rows, with what is multiplied in each term."""
        return sum_height(self.cell_columns) + len(self.choice_categories) + sum_height(self.y) + 20

    def column_sums(self, values: Array) -> Array:
        """Bound from above, for each column, the greatest sum of non-negative values of its cells."""
        return sum_upper(sum_by_index(self.cell_columns, values, self.center.shape[1]), self.roundings)

    def sum_cells_by_row(self, values: Array) -> Array:
        """Bound from above, for each row, the greatest sum of non-negative values of its cells."""
        return sum_upper(sum_by_index(self.cell_rows, values, len(self.y)), self.roundings)

    def choice_sums(self, values: Array) -> Array:
        """Bound from above, for each row, the sum of non-negative values of its missing categories."""
        return sum_upper(sum_by_index(self.choices.rows, values, len(self.y)), self.roundings)

    def coordinate_sums(self, *pairs: tuple[Array, Array]) -> Array:
        """Bound ``sum_k rows_k |x_i| + cells_k e_j`` over the cells, for pairs (rows, cells) of non-negative values."""
        rows = np.stack([sum_by_index(self.cell_rows, values, len(self.y)) for values, _ in pairs])
        columns = np.stack([self.column_sums(values) for _, values in pairs])
        return up(sum_upper(sum_upper(rows, self.roundings) @ self.sizes, self.roundings) + columns)

    def leverages(self, inverse: Array) -> Leverages:
        """Return ``inverse x`` and ``x.inverse x`` for each row."""
        products = rows_times(self.center, inverse)
        return Leverages(products, np.einsum("ij,ij->i", products, self.center))

    def signed_sums(self, rows: Array, cells: Array) -> Array:
        """Return ``sum_k rows_k x_i + cells_k e_j`` over the cells."""
        along_rows = np.bincount(self.cell_rows, rows, minlength=len(self.y))
        return np.asarray(along_rows @ self.center + self.signed_column_sums(cells))

    def signed_column_sums(self, values: Array) -> Array:
        """Return, for each column, the sum of values of its cells."""
        return np.asarray(np.bincount(self.cell_columns, values, minlength=self.center.shape[1]), dtype=float)

    def form(self, values: Array) -> Array:
        """Return ``sum_i values_i x_i x_i^T``."""
        return weighted_gram(self.center, values)


class PriceSums(NamedTuple):
    """What prices are chosen by: sums over the uncertain cells of each column; block sums of them add."""

    leverages: Array
    """``sum m_i R_ij x_i.inverse x_i``."""
    radii: Array
    """``sum m_i R_ij``."""

    def prices(self, inverse: Array) -> Array:
        """Return a price for each column.

        The best price balances what a cross term costs the row and the cell, in the metric of the Hessian: the square
        root of (H^-1)_jj over the mean leverage of the rows with a hole in the column. A column without holes has the
        mean of all, if there are any, or about what a row has.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            overall = self.leverages.sum() / self.radii.sum()
            usual = overall if np.isfinite(overall) else float(len(inverse))
            leverage = np.where(self.radii > 0.0, self.leverages / self.radii, usual)
            price = np.sqrt(np.diag(inverse) / leverage)
        return np.clip(np.where(np.isfinite(price), price, 1.0), LEAST_DIVISOR, 1.0 / LEAST_DIVISOR)


def price_sums(incomplete: IncompleteRows, leverages: Array) -> PriceSums:
    """Return what the incomplete rows add, with ``x.inverse x`` of each."""
    d, choices = incomplete.center.shape[1], incomplete.choices
    cells, levels = incomplete.weight[incomplete.cell_rows] * incomplete.cell_radii, incomplete.weight[choices.rows]
    weighted, plain = incomplete.column_sums(cells * leverages[incomplete.cell_rows]), incomplete.column_sums(cells)
    return PriceSums(
        weighted + choices.column_change(levels * leverages[choices.rows], d), plain + choices.column_change(levels, d)
    )


def block_price_sums(block: Block, inverse: Array) -> PriceSums:
    """Return what the uncertain cells of a block add, where no incomplete rows are at hand."""
    cells, d = block.weight[block.cell_rows] * block.cell_radii, block.center.shape[1]
    rows = block.center[block.cell_rows]
    leverages = ((rows @ inverse) * rows).sum(axis=1)
    return PriceSums(sum_by_index(block.cell_columns, cells * leverages, d), sum_by_index(block.cell_columns, cells, d))


def choose_prices(incomplete: IncompleteRows, hessian: Array) -> Array:
    """Choose the price of each column (lem-hessian), by (about) the Hessian; all 1 if that has no inverse."""
    try:
        inverse = rough_inverse(hessian, pseudo=True)
    except np.linalg.LinAlgError:
        return np.ones(len(hessian))
    return price_sums(incomplete, incomplete.leverages(inverse).squares).prices(inverse)
