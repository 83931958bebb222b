"""Rows in memory: the default engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipub.numeric.rounding import Array
from ipub.rows.block import Block, Reads
from ipub.rows.rows import Rows
from ipub.rows.slices import SlicedRows, drawn_rows
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.label_uncertainty import LabelUncertainty


class MemoryRows(SlicedRows):
    """Rows of an `IntervalMatrix` in memory.

    Parameters
    ----------
    matrix : IntervalMatrix
    y : array of shape (n_rows,)
    weight : array of shape (n_rows,), optional
    label_uncertainty : LabelUncertainty, optional
    """

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
        no_center = np.zeros((0, self.n_features))
        center = self.matrix.center_rows(rows) if what >= Reads.ROWS else no_center
        in_row, columns, _, radii = self.matrix.cells(rows)
        block = Block.of(center, (in_row, columns), radii, self.y[rows], self.weight[rows])
        if len(self.matrix.missing_categories):
            block = replace(block, missing_categories=self.matrix.missing_categories.within(rows))
        return block

    def count_uncertain(self) -> int:
        return int(np.count_nonzero(self.matrix.radii)) + self.matrix.missing_categories.count_levels()

    def sample(self, n_rows: int) -> Rows | None:
        if self.uncertain_labels:
            return None
        drawn = drawn_rows(self.weight, n_rows)
        return MemoryRows(self.matrix.take(drawn), self.y[drawn], self.weight[drawn]) if len(drawn) else None
