"""Rows in memory, the default engine; and rows streamed from a memory-mapped file: more rows than memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array, down, midpoint_and_radius, up
from ipub.rows.block import Block, Reads
from ipub.rows.rows import Rows
from ipub.rows.slices import SlicedRows, drawn_rows
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.tables.missing_category import NOTHING_MISSING
from ipub.tables.validation import check_ranges


class MemoryRows(SlicedRows):
    """Rows of an `IntervalMatrix` in memory; other arguments as in `SlicedRows`."""

    def __init__(
        self,
        matrix: IntervalMatrix,
        y: Array,
        weight: Array | None = None,
        label_uncertainty: LabelUncertainty | None = None,
    ) -> None:
        super().__init__(matrix.shape[1], y, weight, label_uncertainty)
        self.matrix = matrix
        self.categories = matrix.missing_categories.levels

    def read(self, rows: slice, what: Reads) -> Block:
        center = self.matrix.center_rows(rows) if what >= Reads.ROWS else np.zeros((0, self.n_features))
        in_row, columns, _, radii = self.matrix.cells(rows)
        missing = self.matrix.missing_categories
        missing = missing.within(rows) if len(missing) else NOTHING_MISSING
        return Block.of(center, (in_row, columns), radii, self.y[rows], self.weight[rows], missing)

    def count_uncertain(self) -> int:
        return int(np.count_nonzero(self.matrix.radii)) + self.matrix.missing_categories.count_levels()

    def sample(self, n_rows: int) -> Rows | None:
        if self.uncertain_labels:
            return None
        drawn = drawn_rows(self.weight, n_rows)
        return MemoryRows(self.matrix.take(drawn), self.y[drawn], self.weight[drawn]) if len(drawn) else None


class MemmapRows(SlicedRows):
    """Rows of a memory-mapped table whose NaN cells lie in the ranges of their columns, shape (n_features, 2).

    Each block of a long table is read from the file when its turn comes, its holes are found and filled, and it is
    dropped: memory does not grow with the table. The blocks, and so the bounds, are the same as those of `MemoryRows`.
    """

    def __init__(self, table: NDArray[np.generic], y: Array, ranges: Array, weight: Array | None = None) -> None:
        super().__init__(table.shape[1], y, weight)
        check_ranges(ranges, table.shape[1])
        self.table = table
        self._centers, self._radii = midpoint_and_radius(ranges[:, 0], ranges[:, 1])

    def read(self, rows: slice, what: Reads) -> Block:
        if what < Reads.CELLS:
            return Block.of_labels(self.n_features, self.y[rows], self.weight[rows])
        center = np.array(self.table[rows], dtype=float, order="C")
        in_row, columns = np.nonzero(np.isnan(center))
        center[in_row, columns] = self._centers[columns]
        return Block.of(center, (in_row, columns), self._radii[columns], self.y[rows], self.weight[rows])

    def sample(self, n_rows: int) -> Rows | None:
        drawn = drawn_rows(self.weight, n_rows)
        if len(drawn) == 0:
            return None
        ranges = np.column_stack([down(self._centers - self._radii), up(self._centers + self._radii)])
        matrix = IntervalMatrix.from_table(np.array(self.table[drawn], dtype=float), ranges)
        return MemoryRows(matrix, self.y[drawn], self.weight[drawn])
