"""Mutants of sparse tables."""

from __future__ import annotations

from mutants.entry import Mutant

ROWS = ("rows/test_sparse.py",)
SOUND = ("soundness/test_sparse.py",)
COLUMNS = ("tables/test_sparse_columns.py",)

MUTANTS = (
    Mutant(
        "stored holes without a radius",
        "SparseIntervals.from_table",
        "csr_array((values, table.indices, table.indptr), shape=table.shape)",
        "csr_array((values, table.indices, table.indptr), shape=table.shape)\n        radii = 0.0 * radii",
        SOUND,
    ),
    Mutant(
        "stored holes at a wrong middle",
        "SparseIntervals.from_table",
        "values[holes] = centers",
        "values[holes] = 0.0",
        SOUND,
    ),
    Mutant(
        "uncertain cells given to the next row",
        "SparseIntervals.cells",
        "self._in_row[here] - rows.start,",
        "(self._in_row[here] - rows.start + 1) % max(1, rows.stop - rows.start),",
        ROWS,
    ),
    Mutant(
        "a block of sparse rows without its last row",
        "_slices",
        "        slices.append(slice(start, stop))\n",
        "        slices.append(slice(start, max(start + 1, stop - 1)))\n",
        ROWS,
    ),
    Mutant(
        "the error of a sparse score counts one rounding",
        "Block.score_error",
        "self.center.longest_row + 1)",
        "1)",
        ROWS,
    ),
    Mutant(
        "the error of a sparse score by signed terms",
        "Block.score_error",
        "sum_error(np.abs(self.center) @ np.abs(w), self",
        "sum_error(np.abs(self.center @ w), self",
        ROWS,
    ),
    Mutant(
        "sums of sparse columns that are not rounded up",
        "Block.column_sizes",
        "sum_upper(np.abs(coefficients) @ np.abs(self.center), self.n_rows + 1)",
        "0.5 * (np.abs(coefficients) @ np.abs(self.center))",
        ROWS,
    ),
    Mutant(
        "absolute values that keep their signs",
        "SparseArray.__abs__",
        "return self._with(np.abs(self.data.data))",
        "return self._with(self.data.data)",
        SOUND,
    ),
    Mutant(
        "squares that are not squared",
        "SparseArray._squares",
        "self._with(self.data.data * self.data.data)",
        "self._with(0.25 * self.data.data * self.data.data)",
        ROWS,
    ),
    Mutant(
        "a column that is changed in the original too",
        "SparseArray.copy",
        "(data.data.copy(), data.indices, data.indptr)",
        "(data.data, data.indices, data.indptr)",
        ROWS,
    ),
    Mutant(
        "zeros that are not stored do not count as observed",
        "_Summaries.__init__",
        "self.n_zeros = self.n_observed - stored",
        "self.n_observed = stored\n        self.n_zeros = 0 * stored",
        COLUMNS,
    ),
    Mutant(
        "holes counted as zeros",
        "_Summaries.__init__",
        "self.n_observed = n_counted - np.bincount(table.indices[is_hole & counts], minlength=d)",
        "self.n_observed = n_counted + 0 * np.bincount(table.indices[is_hole & counts], minlength=d)",
        COLUMNS,
    ),
    Mutant(
        "rows of weight zero count in sparse columns",
        "_Summaries.__init__",
        "kept = counts & ~is_hole",
        "kept = ~is_hole",
        COLUMNS,
    ),
)
