"""Rows of a sparse table made of any table of intervals, and estimators that read every sparse table as it is."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ipub import IntervalMatrix
from ipub.engine.sparse import SparseIntervals, SparseRows
from ipub.reading import sparse as reading


def sparse_intervals(matrix: IntervalMatrix) -> SparseIntervals:
    """Return a table of intervals as a sparse one: its zeros are not stored, its uncertain cells are."""
    everything = slice(0, matrix.shape[0])
    center = matrix.center_rows(everything)
    in_row, columns, _, radii = matrix.cells(everything)
    stored = center != 0.0
    stored[in_row, columns] = True
    i, j = np.nonzero(stored)
    table = csr_array((center[i, j], (i, j)), shape=center.shape)
    return SparseIntervals(table, matrix.row_starts, columns, radii)


class SparseStandIn(SparseRows):
    """Sparse rows where a test makes rows in memory."""

    def __init__(self, matrix, y, weight=None):
        super().__init__(sparse_intervals(matrix), y, weight)


def keep_every_table_sparse(monkeypatch) -> None:
    """Let estimators train on small sparse tables as they are, and not as dense ones."""
    monkeypatch.setattr(reading, "KEPT_CELLS", 0)
    monkeypatch.setattr(reading, "SLOPE_COLUMNS", 0)
