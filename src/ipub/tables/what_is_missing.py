"""Which cells of a table are missing, in whatever library it is."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ipub.tables.frames import is_frame, is_missing
from ipub.tables.sparse_columns import is_sparse


def missing_cells(X: Any) -> NDArray[np.bool_]:
    """Return which cells are missing, of a frame, a sparse matrix, an array or a list.

    Examples
    --------
    >>> missing_cells([[1.0, float("nan")], [None, 2.0]]).tolist()
    [[False, True], [True, False]]
    """
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        return np.column_stack([_missing_in(column) for column in frame.iter_columns()])
    if is_sparse(X):
        found = X.tocsr().astype(float)
        found.data = np.isnan(found.data)
        return np.asarray(found.astype(bool).toarray())
    values = np.ma.filled(X.astype(float), np.nan) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.asarray(np.vectorize(is_missing, otypes=[bool])(values))
    return np.zeros(values.shape, dtype=bool)


def _missing_in(column: nw.Series[Any]) -> NDArray[np.bool_]:
    is_null = column.is_null()
    return np.asarray((is_null | column.is_nan().fill_null(True) if column.dtype.is_float() else is_null).to_numpy())
