"""The uncertain cells as `SlopeBounds` keeps them: one by one, by column and sign, and as forms of whole columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices


@dataclass(frozen=True)
class SignedColumns:
    """The cells of each column as if all signs were certain, and what that can miss (lem-column-signs)."""

    columns: Indices
    generators: Array
    """Shape (n_columns, n_features): (lem-column-signs) the sum of the generators, each with the sign of its
    `generator_cell`."""
    product_vectors: Array
    """Shape (n_columns, n_features): the sum of ``m_i R_ij h_i x_i`` (lem-column-signs), each with the same sign."""
    curvature_forms: Array
    """Shape (n_columns, n_features, n_features): matrices Q. What signs that are not certain add is at most ``u.Q u /
    (2 |u_j|)`` plus"""
    sign_slack: Array
    """Shape (n_columns,): twice this, K, times ``|u_j|``."""

    def take(self, which: Indices) -> SignedColumns:
        """Return some of the columns."""
        return SignedColumns(
            self.columns[which],
            self.generators[which],
            self.product_vectors[which],
            self.curvature_forms[which],
            self.sign_slack[which],
        )


@dataclass(frozen=True)
class ColumnGroups:
    """The uncertain cells by column and sign of the loss's derivative, and by column: nothing as long as the table."""

    columns: Indices
    generators: Array
    """Shape (n_groups, n_features): sum of the generators of the cells of each group."""
    product_vectors: Array
    """Shape (n_groups, n_features): the sum of ``m_i R_ij h_i x_i`` over the cells of a group (lem-cell-product)."""
    forms: Array
    """Shape (n_forms, n_features, n_features): Matrices S (lem-column-form): ``sqrt(u.S u)`` is at least what the cells
    of one column can add, remainders included. Then one for the rows at a jump, one for each missing category, and one
    for wrong labels, where there are any."""
    form_rows: Indices
    """Shape (n_forms,): how many training rows each form is a sum over."""
    signed: SignedColumns | None = None
    """Another bound for each column: that of the first forms, in order."""


@dataclass(frozen=True)
class CellTable:
    """The uncertain cells one by one, sorted by their groups.

    The term of cell k is ``xi (G.u + Gamma.v) + (1 - xi^2) curv / 2`` for a xi in [-1, 1], with ``|Gamma.v| <= |x.u|
    product_row + |u_j| product_cell`` and ``|curv| <= |x.u| curvature_row + |u_j| curvature_cell`` (lem-cell-gradient,
    lem-cell-product).
    """

    starts: Indices
    """First cell of each group, and the number of cells."""
    rows: Array
    """The row x of each cell."""
    generator_row: Array
    generator_cell: Array
    """``G = generator_row x + generator_cell e_j``; `generator_cell` has one sign in a whole group."""
    product_row: Array
    product_cell: Array
    curvature_row: Array
    curvature_cell: Array

    @cached_property
    def certain_ratios(self) -> tuple[Array, Array]:
        """Between which ratios ``x.u/u_j`` a cell's term is ``|G.u|`` (lem-cell-product).

        If ``generator_cell u_j`` has the sign of its group.
        """
        near = np.abs(self.generator_cell) - (self.product_cell + self.curvature_cell)
        rise = np.copysign(1.0, self.generator_cell) * self.generator_row
        radius = self.product_row + self.curvature_row
        with np.errstate(divide="ignore", invalid="ignore"):
            lowest = np.where(radius + rise > 0.0, -near / (radius + rise), -np.inf)
            highest = np.where(radius - rise > 0.0, near / (radius - rise), np.inf)
        return np.where(near >= 0.0, lowest, np.inf), np.where(near >= 0.0, highest, -np.inf)
