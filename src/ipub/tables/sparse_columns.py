"""Checks of sparse tables, and summaries of their columns: entries that are not stored are observed zeros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from ipub.errors import IpubError
from ipub.numeric.rounding import LARGEST, Array
from ipub.tables.columns import FEWEST_OTHERS, SENTINELS, Column, ranks_of, sentinel_in
from ipub.tables.interval_matrix import Indices
from ipub.tables.validation import check_values

MOST_CELLS = 1 << 27
"""Cells up to which a sparse table is read as a dense one where that is needed (1 GiB)."""


def is_sparse(X: Any) -> bool:
    """Whether a table is a sparse matrix or array of SciPy."""
    return bool(issparse(X))


def gibibytes(cells: int) -> str:
    """Return how much memory so many float64 take, in words."""
    return f"{8 * cells / 2**30:,.1f} GiB"


def as_dense(X: Any) -> Any:
    """Return a sparse table as an array, checked as `sparse_floats` does; anything else as it is.

    Raises IpubError if that would be too large.
    """
    if not is_sparse(X):
        return X
    cells = X.shape[0] * X.shape[1] if X.ndim == 2 else 0
    if cells > MOST_CELLS:
        raise IpubError(
            f"X is sparse, and as a dense array, which is needed here, it would take {gibibytes(cells)}: give fewer "
            "rows, or fit with certificate='ball' on a sparse table."
        )
    return X.toarray() if X.dtype.kind not in "fiub" or X.ndim != 2 else sparse_floats(X).toarray()


def sparse_floats(X: Any) -> csr_array:
    """Return a sparse table as CSR of float64 in which no entry is stored twice, in the order of columns; a copy.

    Entries that are given several times are added up, as SciPy does: NaN plus anything is NaN. Infinite and huge values
    raise an error that names the cell.
    """
    try:
        given: Any = coo_array(X)
    except ValueError as error:
        raise IpubError(f"X is not a valid sparse table ({error}): build it anew.") from error
    _check_sizes(given.data, given.row, given.col, given.shape[1])
    table: csr_array = csr_array(given, dtype=float)
    table.sum_duplicates()
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    _check_sizes(table.data, rows, table.indices, table.shape[1])
    table.eliminate_zeros()
    return table


def _check_sizes(values: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], n_columns: int) -> None:
    """Raise an error that names the first entry that is infinite or huge."""
    wrong = np.flatnonzero(np.abs(np.asarray(values, dtype=float)) > LARGEST)
    if len(wrong):
        one = np.zeros((1, n_columns))
        one[0, columns[wrong[0]]] = values[wrong[0]]
        check_values(one, None, first_row=int(rows[wrong[0]]))


def summarize_sparse_columns(
    table: csr_array, columns: Sequence[int], probabilities: Sequence[float], counted: NDArray[np.bool_] | None
) -> Iterator[Column]:
    """Summarize columns of what `sparse_floats` returns, as `summarize_columns` does with all entries."""
    summaries = _Summaries(table, counted)
    ends = summaries.ends(probabilities)
    for j in columns:
        yield summaries.column(int(j), *(end[j].item() for end in ends))


class _Summaries:
    """The stored values of all columns, each column's sorted, and counts of the zeros that are not stored."""

    def __init__(self, table: csr_array, counted: NDArray[np.bool_] | None) -> None:
        n_rows, d = table.shape
        is_hole = np.isnan(table.data)
        self.has_holes = np.bincount(table.indices[is_hole], minlength=d) > 0
        counts = np.ones(table.nnz, dtype=bool) if counted is None else np.repeat(counted, np.diff(table.indptr))
        n_counted = n_rows if counted is None else int(counted.sum())
        self.n_observed = n_counted - np.bincount(table.indices[is_hole & counts], minlength=d)
        kept = counts & ~is_hole
        columns, values = table.indices[kept], table.data[kept]
        order = np.lexsort((values, columns))
        self.columns, self.values = columns[order], values[order]
        stored: Indices = np.bincount(columns, minlength=d)
        self.starts = np.concatenate([[0], np.cumsum(stored)])
        self.n_below = np.bincount(columns[values < 0.0], minlength=d)
        self.n_zeros = self.n_observed - stored

    def ends(self, probabilities: Sequence[float]) -> tuple[Array, Array, Array, Array]:
        """Return for each column the least and the greatest value, and two quantiles as `Column.quantiles` is."""
        least = self._with_rank(np.zeros_like(self.n_observed))
        greatest = self._with_rank(np.maximum(self.n_observed - 1, 0))
        is_other = (self.values != least[self.columns]) & (self.values != greatest[self.columns])
        n_others, d = np.bincount(self.columns[is_other], minlength=len(least)), len(least)
        has_two = (n_others == 0) & ((self.n_zeros == 0) | (least == 0.0) | (greatest == 0.0))
        is_whole = np.bincount(self.columns[self.values != np.floor(self.values)], minlength=d) == 0
        low, high = (self._quantiles(probability) for probability in probabilities)
        low, high = np.where(is_whole, np.floor(low), low), np.where(is_whole, np.ceil(high) + 0.0, high)
        return least, greatest, np.where(has_two, least, low), np.where(has_two, greatest, high)

    def _quantiles(self, probability: float) -> Array:
        """Return a quantile of each column, as `numpy.quantile` computes it."""
        counts, which = np.unique(np.maximum(self.n_observed, 1), return_inverse=True)
        ranks = [ranks_of(int(n), probability) for n in counts]
        previous, following, fraction = (np.array([each[k] for each in ranks])[which] for k in range(3))
        low, high = self._with_rank(previous), self._with_rank(following)
        return np.where(fraction < 0.5, low + (high - low) * fraction, high - (high - low) * (1.0 - fraction))

    def _with_rank(self, ranks: Indices) -> Array:
        """Return the value of each column with this rank, from 0; anything if nothing was observed."""
        stored = np.where(ranks < self.n_below, ranks, ranks - self.n_zeros)
        places = np.clip(self.starts[:-1] + stored, 0, max(0, len(self.values) - 1))
        is_zero = (ranks >= self.n_below) & (ranks < self.n_below + self.n_zeros)
        values = self.values[places] if len(self.values) else np.zeros(len(ranks))
        return np.where(is_zero, 0.0, values)

    def column(self, j: int, least: float, greatest: float, low: float, high: float) -> Column:
        """Return the summary of a column with these ends and quantiles."""
        has_holes, n = bool(self.has_holes[j]), int(self.n_observed[j])
        if n == 0:
            return Column(has_holes, 0)
        # Most of a column is no exception: where most are zeros, zero is no sentinel.
        suspects = [end for end in (least, greatest) if end in SENTINELS and (end != 0.0 or 2 * self.n_zeros[j] <= n)]
        return Column(has_holes, n, least, greatest, (low, high), self._sentinel(j) if suspects else None)

    def _sentinel(self, j: int) -> float | None:
        """Return a number that may stand for a missing value; only few columns have so many different values."""
        start, stop = int(self.starts[j]), int(self.starts[j + 1])
        if stop - start < FEWEST_OTHERS:
            return None
        stored = self.values[start:stop]
        if np.count_nonzero(np.diff(stored)) + 1 < FEWEST_OTHERS:
            return None
        return sentinel_in(np.concatenate([stored, np.zeros(int(self.n_zeros[j]))]))
