"""Any filling: every uncertain cell lies anywhere in its interval, independently of the others (the box)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.numeric.rounding import Array
from ipub.promises.base import Uncertainty
from ipub.rows.block import Block
from ipub.rows.ops import sum_by_index
from ipub.tables.interval_matrix import Indices


@dataclass(frozen=True)
class AnyFilling(Uncertainty):
    """The set of all moves with ``|D_k| <= 1``: its support functions are plain sums."""

    def sums_by_row(self, rows: Indices, values: Array, n_rows: int) -> Array:
        """Return ``sum_k c_k`` over the cells of each row of a block, as computed."""
        return sum_by_index(rows, values, n_rows)

    def sums_by_column(self, columns: Indices, values: Array, n_columns: int) -> Array:
        """Return ``sum_k c_k`` over the cells of each column of a block, as computed."""
        return sum_by_index(columns, values, n_columns)

    def score_change(self, block: Block, w: Array) -> Array:
        return self.score_change_within(block, np.abs(w))

    def score_change_within(self, block: Block, limits: Array) -> Array:
        return self.sums_by_row(block.cell_rows, block.cell_radii * limits[block.cell_columns], block.n_rows)

    def column_change(self, block: Block, coefficients: Array) -> Array:
        values = block.cell_radii * np.abs(coefficients)[block.cell_rows]
        return self.sums_by_column(block.cell_columns, values, block.center.shape[1])
