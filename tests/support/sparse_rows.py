"""Rows of a sparse table made of any table of intervals, and estimators that read every sparse table as it is."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ipub import IntervalMatrix
from ipub.rows import MemoryRows, Rows
from ipub.rows.sparse import SparseIntervals, SparseRows
from ipub.training.reading import sparse as reading


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


def sparse_rows(matrix: IntervalMatrix, y: np.ndarray, weight: np.ndarray | None = None) -> Rows:
    """Return sparse rows where a test makes rows in memory; tables without uncertain cells, on which models are trained
    to attack bounds, stay in memory."""
    return SparseRows(sparse_intervals(matrix), y, weight) if matrix.n_uncertain else MemoryRows(matrix, y, weight)


def keep_every_table_sparse(monkeypatch) -> None:
    """Let estimators train on small sparse tables as they are, and not as dense ones."""
    monkeypatch.setattr(reading, "KEPT_CELLS", 0)
    monkeypatch.setattr(reading, "SLOPE_COLUMNS", 0)
