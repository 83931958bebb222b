"""Arrays of which only the entries that are stored are computed with: SciPy's CSR, as kernels use it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

MOST_UNIT_ROWS = 4096
"""Columns up to which `unit_rows` is a plain array (128 MiB)."""


class SparseArray:
    """A sparse table, CSR or CSC of float64, on which the functions of NumPy that kernels and regions call are defined.

    Entries that are not stored are zeros; none is stored twice. Products with it are plain arrays. Anything that would
    make a table of all entries of it raises a TypeError, so that nothing fills the memory by accident.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> table = SparseArray(csr_array([[0.0, 2.0], [-1.0, 0.0]]))
    >>> np.array([1.0, 2.0]) @ np.abs(table)
    array([2., 2.])
    """

    __slots__ = ("data",)

    ndim = 2

    def __init__(self, data: csr_array | csc_array) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.data.shape[0], self.data.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.data.dtype

    @property
    def T(self) -> SparseArray:
        """The transposed table; nothing is copied."""
        return SparseArray(self.data.T)

    @property
    def longest_row(self) -> int:
        """The largest number of entries that a row stores: no more terms are in a product with it (fp-sparse)."""
        return int(np.diff(self.data.indptr).max(initial=0))

    def __len__(self) -> int:
        return self.shape[0]

    def copy(self) -> SparseArray:
        """Return a copy whose entries may be changed; which are stored stays the same."""
        data = self.data
        return SparseArray(type(data)((data.data.copy(), data.indices, data.indptr), shape=data.shape))

    def astype(self, dtype: Any, copy: bool = True) -> SparseArray:
        """Return the entries in another type."""
        return SparseArray(self.data.astype(dtype, copy=copy))

    # --- rows, columns and entries ------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """Return some of the rows, leading columns of all rows, or the values of entries by row and column."""
        if not isinstance(key, tuple):
            return SparseArray(self.data[key])
        rows, columns = key
        if isinstance(columns, slice):
            return SparseArray(self.data[rows, columns])
        places = self._places(rows, columns)
        return np.where(places < 0, 0.0, self.data.data[places])

    def __setitem__(self, key: tuple[Any, Any], value: Any) -> None:
        """Change entries that are stored: a whole column, to one number, or some by row and column."""
        rows, columns = key
        if isinstance(rows, slice):
            self.data.data[self.data.indices == columns % self.shape[1]] = value
            return
        places = self._places(rows, columns)
        if (places < 0).any():
            raise TypeError("An entry that is not stored cannot be changed.")
        self.data.data[places] = value

    def _places(self, rows: Indices, columns: Indices) -> Indices:
        """Return where entries are stored; -1 for those that are not."""
        stored, d = self.data, self.shape[1]
        in_row = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(stored.indptr))
        keys = in_row * d + stored.indices
        wanted = np.asarray(rows, dtype=np.int64) * d + columns
        order = None if stored.has_sorted_indices else np.argsort(keys)
        found = np.searchsorted(keys, wanted, sorter=order)
        inside = np.minimum(found, len(keys) - 1)
        places = inside if order is None else order[inside]
        is_stored = (found < len(keys)) & (keys[places] == wanted) if len(keys) else np.zeros(len(wanted), dtype=bool)
        return np.where(is_stored, places, -1)

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Array) -> Array:
        return np.asarray(self.data @ other)

    def __rmatmul__(self, other: Array) -> Array:
        return np.asarray((self.data.T @ other.T).T)

    def __abs__(self) -> SparseArray:
        return self._with(np.abs(self.data.data))

    def __ne__(self, other: object) -> Any:
        """Return which entries are not zero; other comparisons are not sparse."""
        if not isinstance(other, float) or other != 0.0:
            return NotImplemented
        return self._with(self.data.data != 0.0)

    __hash__ = None  # type: ignore[assignment]

    def _with(self, values: NDArray[Any]) -> SparseArray:
        """Return a table with other values in the same places."""
        return SparseArray(type(self.data)((values, self.data.indices, self.data.indptr), shape=self.data.shape))

    def squared_norms(self) -> Array:
        """Return the sum of the squares of each row, as computed one after the other."""
        return self._squares() @ np.ones(self.shape[1])

    def weighted_squares(self, values: Array) -> Array:
        """Return ``sum_i values_i x_ij^2`` for each column."""
        return values @ self._squares()

    def _squares(self) -> SparseArray:
        return self._with(self.data.data * self.data.data)

    # --- NumPy's functions --------------------------------------------------------------------------------------------

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("A sparse table is not turned into one of all its entries here.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        if method == "__call__" and ufunc is np.matmul:
            left, right = inputs
            return left.__matmul__(right) if isinstance(left, SparseArray) else right.__rmatmul__(left)
        if method == "__call__" and ufunc is np.absolute:
            return abs(self)
        return NotImplemented

    def __array_function__(self, func: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if func in (np.array, np.ones, np.zeros, np.empty, np.full):  # made to be like a table: plain arrays
            return func(*args, **{name: value for name, value in kwargs.items() if name != "like"})
        if func is np.einsum and args[0] == "...j,...j->..." and args[1] is args[2]:
            return args[1].squared_norms()
        if func is np.concatenate:
            return SparseArray(vstack([part.data for part in args[0]], format="csr"))
        if func is np.column_stack:
            parts = [part.data if isinstance(part, SparseArray) else _column(part) for part in args[0]]
            return SparseArray(hstack(parts, format="csr"))
        return NotImplemented


def _column(values: Array) -> csr_array:
    n = len(values)
    return csr_array((np.asarray(values, dtype=float), np.zeros(n, dtype=np.int32), np.arange(n + 1)), shape=(n, 1))


def unit_rows(n: int) -> Any:
    """Return the n unit vectors, as rows whose scores are the weights; sparse where they are many."""
    return np.eye(n) if n <= MOST_UNIT_ROWS else SparseArray(eye_array(n, format="csr"))


def row_width(X: Any) -> int:
    """Return how many numbers a row takes, about."""
    return 1 + X.data.nnz // max(1, len(X)) if isinstance(X, SparseArray) else int(X.shape[1])
