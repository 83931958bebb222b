"""DataFrames to arrays, for every library that narwhals knows (pandas, polars, PyArrow, ...)."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.rounding import Array


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame of a known library."""
    return bool(nw.dependencies.is_into_dataframe(X))


def frame_to_table(X: Any) -> Array:
    """Return a frame's values as floats, nulls as NaN; a view where the frame allows it.

    Raises
    ------
    ValueError
        If a column is not numeric, or two columns have the same name; the message names them.
    """
    _refuse_duplicate_names(X)
    frame = nw.from_native(X, eager_only=True)
    wrong = [
        f"{column.name!r} ({column.dtype})"
        for column in frame.iter_columns()
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean or _is_empty(column))
    ]
    if wrong:
        raise ValueError(
            f"Column(s) {', '.join(wrong)} are not numeric, and only numeric columns are supported. Encode them "
            "(OneHotEncoder in a ColumnTransformer, say), convert them if they hold numbers as text, or drop them."
        )
    if all(column.dtype == nw.Float64 for column in frame.iter_columns()):
        whole = frame.to_numpy()
        if whole.dtype == np.float64 and whole.ndim == 2:
            return np.asarray(whole)
    table = np.full(frame.shape, np.nan)
    for j, column in enumerate(frame.iter_columns()):
        if not _is_empty(column):
            table[:, j] = column.cast(nw.Float64).to_numpy()
    return table


def _is_empty(column: nw.Series[Any]) -> bool:
    return len(column) > 0 and column.null_count() == len(column)


def _refuse_duplicate_names(X: Any) -> None:
    names = [str(name) for name in getattr(X, "columns", [])]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"Two or more columns have the same name: {', '.join(doubled)}. Rename them.")
