"""Rows of a sparse table: SciPy's CSR, of which only the entries that are stored are computed with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from ipub.numeric.rounding import Array, midpoint_and_radius
from ipub.rows.block import Block, BlockCache, Reads
from ipub.rows.slices import BLOCK_ROWS, SlicedRows
from ipub.rows.sparse_array import SparseArray
from ipub.tables.interval_matrix import Indices
from ipub.tables.missing_category import NOTHING_MISSING, MissingCategories

BLOCK_ENTRIES = 1 << 20
"""Stored entries in one block, about: fewer make more sums as long as a row, which cost as much as many entries."""

KEPT_ENTRIES = 1 << 25
"""A table of at most so many entries keeps its blocks, and those with a column of ones (about 1 GiB)."""


@dataclass(frozen=True, eq=False)
class SparseIntervals:
    """A sparse table in which entries may be intervals: what `IntervalMatrix` says of other tables.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> table = SparseIntervals.from_table(csr_array([[0.0, np.nan], [3.0, 0.0]]), np.array([[0.0, 3.0], [0.0, 4.0]]))
    >>> table.center.toarray()
    array([[0., 2.],
           [3., 0.]])
    """

    center: csr_array
    """Shape (n_rows, n_columns): uncertain cells are stored, at the middle of their intervals."""
    row_starts: Indices
    """Shape (n_rows + 1,): the uncertain cells of row i are numbers ``row_starts[i]`` to ``row_starts[i + 1] - 1``."""
    columns: Indices
    radii: Array
    """Shape (n_uncertain,): the column and radius of each uncertain cell."""

    missing_categories: ClassVar[MissingCategories] = NOTHING_MISSING

    @classmethod
    def from_table(cls, table: csr_array, ranges: Array) -> SparseIntervals:
        """Build from a table of float64 whose stored NaN lie in the range (lower, upper) of their column.

        Entries that are not stored are zeros, which are certain. No entry is stored twice.
        """
        holes = np.flatnonzero(np.isnan(table.data))
        columns = table.indices[holes].astype(np.intp)
        centers, radii = midpoint_and_radius(ranges[columns, 0], ranges[columns, 1])
        values = table.data.copy()
        values[holes] = centers
        center = csr_array((values, table.indices, table.indptr), shape=table.shape)
        return cls(center, np.searchsorted(holes, table.indptr).astype(np.intp), columns, radii)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.center.shape[0], self.center.shape[1]

    def cells(self, rows: slice) -> tuple[Indices, Indices, None, Array]:
        """Return row (counted from the slice's start), column and radius of the uncertain cells."""
        here = slice(self.row_starts[rows.start], self.row_starts[min(rows.stop, self.shape[0])])
        return self._in_row[here] - rows.start, self.columns[here], None, self.radii[here]

    @cached_property
    def _in_row(self) -> Indices:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.row_starts))

    def center_rows(self, rows: slice) -> SparseArray:
        """Return a slice of the center; its entries are not copied."""
        starts = self.center.indptr[rows.start : rows.stop + 1]
        here, d = slice(starts[0], starts[-1]), self.shape[1]
        part = csr_array((self.center.data[here], self.center.indices[here], starts - starts[0]), (len(starts) - 1, d))
        return SparseArray(part)


class SparseRows(SlicedRows):
    """Rows of a sparse table in memory: blocks hold CSR, and no matrix of all pairs of columns is made."""

    def __init__(self, matrix: SparseIntervals, y: Array, weight: Array | None = None) -> None:
        super().__init__(matrix.shape[1], y, weight)
        self.matrix = matrix
        self._slices = _slices(matrix.center.indptr.astype(np.intp))
        self._is_long = len(self._slices) > 1
        keeps_rows = matrix.center.nnz <= KEPT_ENTRIES
        self._caches = [BlockCache(keeps_rows) for _ in self._slices]

    @property
    def allows_matrices(self) -> bool:
        return False

    def read(self, rows: slice, what: Reads) -> Block:  # noqa: ARG002 (slices are not copied)
        in_row, columns, _, radii = self.matrix.cells(rows)
        center: Array = self.matrix.center_rows(rows)  # type: ignore[assignment]
        return Block.of(center, (in_row, columns), radii, self.y[rows], self.weight[rows])

    def count_uncertain(self) -> int:
        return int(np.count_nonzero(self.matrix.radii))


def _slices(row_starts: Indices) -> list[slice]:
    """Cut the rows into blocks with about as many entries each, at most `BLOCK_ROWS` rows."""
    slices, start, n_rows = [], 0, len(row_starts) - 1
    while start < n_rows:
        full = int(np.searchsorted(row_starts, row_starts[start] + BLOCK_ENTRIES, side="right")) - 1
        stop = min(max(full, start + 1), start + BLOCK_ROWS, n_rows)
        slices.append(slice(start, stop))
        start = stop
    return slices
