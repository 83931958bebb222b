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


def column_labels(X: Any) -> list[Any]:
    """Return the labels of a frame's columns, of whatever type."""
    return list(getattr(X, "column_names", None) or getattr(X, "columns", []))


def _refuse_duplicate_names(X: Any) -> None:
    names = [str(name) for name in column_labels(X)]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"Two or more columns have the same name: {', '.join(doubled)}. Rename them.")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or a library's own sign of a missing value."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def array_to_table(X: Any) -> Any:
    """Return masked cells, None and NA of an array or list as NaN; anything else as it came.

    Raises
    ------
    ValueError
        If a cell is text; the message names it.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError("X holds dates or durations: turn them into numbers, days since some day for example.")
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(float), np.nan)
    values = np.array(X, dtype=object) if isinstance(X, (list, tuple)) and _holds_objects(X) else X
    if not (isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 2):
        return X
    table = np.empty(values.shape)
    for (i, j), value in np.ndenumerate(values):
        try:
            table[i, j] = np.nan if is_missing(value) else float(value)
        except TypeError as error:
            raise TypeError(f"{error} (row {i}, column {j} of X).") from None
        except (ValueError, OverflowError):
            raise ValueError(
                f"X contains {value!r} in row {i}, column {j}: only numbers are supported. Encode the column, or make "
                "the cell NaN if it stands for a missing value."
            ) from None
    return table


def _holds_objects(X: Any) -> bool:
    """Whether a list of lists would become an array of objects; what has no shape is left to others to refuse."""
    try:
        return np.asarray(X).dtype == object
    except ValueError:
        return False
