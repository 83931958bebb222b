"""The few operations on blocks that are not plain array arithmetic, one implementation for each array library.

Kernels use these and ordinary array arithmetic, so that a new array library needs changes here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from ipub.numeric.compiled import loops
from ipub.numeric.parallel import FEW_COLUMNS, row_slices
from ipub.numeric.rounding import Array
from ipub.rows.device import DeviceArray
from ipub.rows.device.sums import sum_height as height_on_device
from ipub.rows.sparse_array import SparseArray
from ipub.tables.interval_matrix import Indices

GRAM_ROWS = 1024
"""Rows of one product of BLAS in `weighted_gram`: few enough for the processor's first-level cache."""

SIDE_BY_SIDE = 8
"""Rows that `column_squares_and_maxima` takes as one."""


def weighted_gram(rows: Array, values: Array) -> Array:
    """Return ``sum_i values_i x_i x_i^T``; rows whose value is 0 are left out where they are many."""
    return weighted_grams(rows, values)[0]


def weighted_grams(rows: Array, *values: Array) -> list[Array]:
    """Return `weighted_gram` for each of several values of the rows: in compiled loops, if these exist."""
    if _loops_for(rows) is None:
        return [_gram_of_blas(rows, each) for each in values]
    used = np.flatnonzero(np.any([each != 0.0 for each in values], axis=0))
    grouped = GroupedRows.of(rows, used, np.array([len(used)]))
    assert grouped is not None
    return [grams[0] for grams in grouped.grams([each[used] for each in values])]


def _gram_of_blas(rows: Array, values: Array) -> Array:
    if isinstance(rows, DeviceArray):
        return (rows * values[:, None]).T @ rows
    used = np.flatnonzero(values)
    if 2 * len(used) <= len(values):
        rows, values = take_rows(rows, used), values[used]
    n, d = rows.shape
    whole = n - n % GRAM_ROWS
    gram = np.asarray((rows[whole:] * values[whole:, None]).T @ rows[whole:])
    for part in row_slices(whole, 1, 8 * GRAM_ROWS):
        pieces = rows[part].reshape(-1, GRAM_ROWS, d)
        gram += ((pieces * values[part].reshape(-1, GRAM_ROWS, 1)).transpose(0, 2, 1) @ pieces).sum(axis=0)
    return gram


def _loops_for(rows: Array) -> ModuleType | None:
    """Return the loops that add up rows; None without them, for many columns, or if the rows are no array in memory.

    With many columns BLAS uses several threads. Loops add in another order than BLAS: which of the two is used depends
    on the table alone, so that the same input always has the same bits.
    """
    return loops() if type(rows) is np.ndarray and rows.shape[1] <= FEW_COLUMNS else None


@dataclass(frozen=True)
class GroupedRows:
    """Some rows of an array in memory, in groups, of which compiled loops make sums."""

    kernels: ModuleType
    rows: Array
    which: Indices
    """Numbers of the rows, those of one group after the other."""
    starts: Indices
    """Where in `which` each group starts, and the end."""

    @classmethod
    def of(cls, rows: Array, which: Indices, counts: Indices) -> GroupedRows | None:
        """Take some rows, so many in each group; None where there are no loops for them."""
        kernels = _loops_for(rows)
        if kernels is None:
            return None
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        return cls(kernels, np.require(rows, float, "C"), np.require(which, np.intp, "C"), starts)

    def grams(self, values: Sequence[Array], *, squared: bool = False) -> list[Array]:
        """Return ``sum_i v_i x_i x_i^T`` over each group, or ``v_i^2``, for each of several values v of the rows."""
        d = self.rows.shape[1]
        found = np.empty((len(self.starts) - 1, len(values), d, d))
        self.kernels.weighted_grams(self.rows, self.which, self.starts, np.stack(values), squared, found)
        return list(found.swapaxes(0, 1))

    def sums(self, first: Sequence[Array], last: Sequence[Array]) -> list[Array]:
        """Return ``sum_i (x_i a_i) b_i`` over each group, for several pairs of values a and b of the rows."""
        found = np.empty((len(self.starts) - 1, len(first), self.rows.shape[1]))
        self.kernels.weighted_sums(self.rows, self.which, self.starts, np.stack(first), np.stack(last), found)
        return list(found.swapaxes(0, 1))


def weighted_squares(rows: Array, values: Array) -> Array:
    """Return ``sum_i values_i x_ij^2`` for each column: the diagonal of `weighted_gram`."""
    if isinstance(rows, SparseArray):
        return rows.weighted_squares(values)
    return np.asarray(values @ (rows * rows))


def column_squares_and_maxima(rows: Array) -> tuple[Array, Array]:
    """Return the sum of squares, of a height of at most the number of rows, and the largest size in each column."""
    d = rows.shape[1]
    parts = [rows]
    if isinstance(rows, np.ndarray) and len(rows) >= SIDE_BY_SIDE**2:
        # Few columns make short loops: several rows are laid side by side, as if they were one.
        whole = len(rows) - len(rows) % SIDE_BY_SIDE
        parts = [rows[:whole].reshape(-1, SIDE_BY_SIDE * d), rows[whole:]]
    squares = [np.einsum("...j,...j->...", part.T, part.T) for part in parts]
    largest = [np.maximum(part.max(axis=0, initial=0.0), -part.min(axis=0, initial=0.0)) for part in parts]
    if len(parts) > 1:
        squares[0], largest[0] = squares[0].reshape(-1, d).sum(axis=0), largest[0].reshape(-1, d).max(axis=0)
        return squares[0] + squares[1], np.maximum(*largest)
    return squares[0], largest[0]


def squared_distances(rows: Array, values: Array, middle: Array) -> float:
    """Return ``sum_i values_i |x_i - middle|^2``, about."""
    if isinstance(rows, SparseArray):
        return float((weighted_squares(rows, values) - 2.0 * middle * (values @ rows) + values.sum() * middle**2).sum())
    away = rows - middle
    return float(values @ np.einsum("ij,ij->i", away, away))


def take_rows(rows: Array, which: Indices) -> Array:
    """Return some of the rows: ``rows[which]``, which of a matrix in memory is slower."""
    return rows.take(which, axis=0) if isinstance(rows, np.ndarray) else rows[which]


def sum_height(terms: Array | Indices) -> int:
    """Bound the height of a sum of so many terms: of `sum_by_index`, or of a matrix product (fp-sums, fp-device)."""
    return height_on_device(len(terms)) if isinstance(terms, DeviceArray) else len(terms)


def sum_by_index(indices: Indices, values: Array, n: int) -> Array:
    """Add up values by their index, from 0 to n - 1."""
    return np.bincount(indices, values, minlength=n).astype(float, copy=False)


class AddingMatrix(NamedTuple):
    """The matrix that adds up rows by their index, on a device."""

    indices: DeviceArray
    n: int

    def __matmul__(self, values: DeviceArray) -> DeviceArray:
        return values.like(self.indices.groups(self.n).sums(values.data))


def adding_matrix(indices: Indices, n: int) -> Any:
    """Return the sparse matrix of shape (n, len(indices)) that adds up rows by their index."""
    if isinstance(indices, DeviceArray):
        return AddingMatrix(indices, n)
    return csc_array((np.ones(len(indices)), indices, np.arange(len(indices) + 1)), shape=(n, len(indices)))


def largest(values: Array, count: int) -> Array:
    """Return the `count` largest along the first axis, or all; a NaN counts as large."""
    left = len(values) - count
    if left <= 0 or count <= 0:
        return values if left <= 0 else values[:0]
    return np.partition(values, left, axis=0)[left:]
