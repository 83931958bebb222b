"""What each uncertain cell adds, one by one (lem-cell-gradient, lem-cell-product), and how cells are weighted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ipub.certificates.slopes.incomplete_rows import IncompleteRows, Leverages
from ipub.numeric.linalg import positive_weights
from ipub.numeric.rounding import Array


@dataclass(frozen=True)
class TuningChoices:
    """What prices and weights are chosen by before the pass that needs them: any value is sound, good ones tight."""

    inverse: Array
    """Shape (n_features, n_features): about the inverse of the curvature."""
    moving_shares: Array
    """Shape (n_features,): of each column (lem-column-form), how much of its form goes to what depends on the
    move."""
    prices: Array
    """Shape (n_features,): prices (lem-hessian). One for the whole table: those that suit a block would make bounds
    hang on its boundaries."""


@dataclass(frozen=True)
class CellCoefficients:
    """The uncertain cells one by one."""

    incomplete: IncompleteRows
    generator_row: Array
    generator_cell: Array
    """``G_k = generator_row_k x_i + generator_cell_k e_j``: half the difference that the ends of a cell make to the
    gradient; ``m_i rise_k`` and ``m_i mean_k R_k`` of lem-cell-gradient."""
    product_row: Array
    product_cell: Array
    """``prod_k = product_row_k |x_i.u| + product_cell_k |u_j|`` bounds ``|Gamma_k.v|`` (lem-cell-product)."""
    curvature_row: Array
    curvature_cell: Array
    """``curv_k = curvature_row_k |x_i.u| + curvature_cell_k |u_j|`` (lem-cell-gradient)."""
    weighted_slope: Array
    """``m_i h_i`` of each row."""

    @cached_property
    def generators(self) -> Array:
        """G, one by one."""
        incomplete = self.incomplete
        generators = incomplete.center[incomplete.cell_rows] * self.generator_row[:, None]
        generators[np.arange(len(generators)), incomplete.cell_columns] += self.generator_cell
        return generators

    def squares(self, inverse: Array, leverages: Leverages) -> Array:
        """Return about ``G.inverse G`` for each cell."""
        i, j = self.incomplete.cell_rows, self.incomplete.cell_columns
        square = self.generator_row * (
            self.generator_row * leverages.squares[i] + 2.0 * self.generator_cell * leverages.products[i, j]
        )
        return np.maximum(square + self.generator_cell**2 * np.diag(inverse)[j], 0.0)

    def weights(self, inverse: Array, leverages: Leverages | None = None) -> Array:
        """Choose a positive weight o_k for each cell: the size of its term in a typical direction."""
        leverages = self.incomplete.leverages(inverse) if leverages is None else leverages
        i, j = self.incomplete.cell_rows, self.incomplete.cell_columns
        own = np.sqrt(np.maximum(np.diag(inverse), 0.0))[j]
        across = np.sqrt(np.maximum(leverages.squares, 0.0))[i]
        size = own * np.abs(self.incomplete.center[i, j] * self.generator_row + self.generator_cell)
        size += 0.1 * np.sqrt(self.squares(inverse, leverages))
        size += own * (self.product_cell + self.curvature_cell) + across * (self.product_row + self.curvature_row)
        return positive_weights(size)

    def moving_shares(self, inverse: Array, leverages: Leverages | None = None, weights: Array | None = None) -> Array:
        """Choose how much of each column's form goes to what depends on the move (lem-column-form)."""
        incomplete, d = self.incomplete, len(inverse)
        leverages = incomplete.leverages(inverse) if leverages is None else leverages
        weights = self.weights(inverse, leverages) if weights is None else weights
        own, leverage = np.diag(inverse)[incomplete.cell_columns], leverages.squares[incomplete.cell_rows]
        moving = (leverage * self.product_row**2 + own * self.product_cell**2) / weights
        fixed = self.squares(inverse, leverages) / weights
        sums = (np.bincount(incomplete.cell_columns, part, minlength=d) for part in (moving, fixed))
        return np.array([best_moving_share(*pair) for pair in zip(*sums, strict=True)])


def best_moving_share(moving: float, fixed: float) -> float:
    """Choose that share by what depends on the move and what does not; any positive number is valid."""
    share = np.sqrt(2.0 * moving / fixed) if fixed > 0.0 and moving > 0.0 else 1.0
    return float(np.clip(np.nan_to_num(share, nan=1.0), 1e-6, 1.0))
