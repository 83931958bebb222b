"""The few operations on blocks that are not plain array arithmetic, one implementation for each array library.

Kernels use these and ordinary array arithmetic, so that a new array library needs changes here alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from ipub.data.interval_matrix import Indices
from ipub.engine.device import DeviceArray
from ipub.engine.device.sums import sum_height as height_on_device
from ipub.engine.sparse_array import SparseArray
from ipub.parallel import row_slices
from ipub.rounding import Array

GRAM_ROWS = 1024
"""Rows of one product in `weighted_gram`: few enough for the processor's first-level cache."""


def weighted_gram(rows: Array, values: Array) -> Array:
    """Return ``sum_i values_i x_i x_i^T``; rows whose value is 0 are left out where they are many."""
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


def weighted_squares(rows: Array, values: Array) -> Array:
    """Return ``sum_i values_i x_ij^2`` for each column: the diagonal of `weighted_gram`."""
    if isinstance(rows, SparseArray):
        return rows.weighted_squares(values)
    return np.asarray(values @ (rows * rows))


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
    """Bound the height of a sum over so many terms: of `sum_by_index`, or of a product of matrices (F2, F18)."""
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
