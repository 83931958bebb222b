"""DataFrames to arrays, for every library that narwhals supports (pandas, polars, PyArrow, ...)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, time, timedelta
from numbers import Number
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.errors import IpubError, IpubTypeError, MakeMissing, Message
from ipub.numeric.rounding import Array


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame of a supported library."""
    return bool(nw.dependencies.is_into_dataframe(X))


def frame_to_table(X: Any, text: str = "text") -> Array:
    """Return a frame's values as floats, nulls as NaN; a view where the frame allows it.

    Raises ValueError if a column is not numeric, or two columns have the same name; the message names them. `text` is
    which sentence of `REFUSED` an error for text has.
    """
    refuse_duplicate_names(X)
    frame = nw.from_native(X, eager_only=True)
    kinds = [kind_of_column(column) for column in frame.iter_columns()]
    refuse_columns(frame, [text if kind == "category" else kind for kind in kinds])
    if all(column.dtype == nw.Float64 for column in frame.iter_columns()):
        whole = frame.to_numpy()
        if whole.dtype == np.float64 and whole.ndim == 2:
            return np.asarray(whole)
    table = np.full(frame.shape, np.nan)
    for j, column in enumerate(frame.iter_columns()):
        table[:, j] = floats_of_column(column)
    return table


def kind_of_column(column: nw.Series[Any]) -> str:
    """Return what a column holds: "number", "category", "mixed", "date", "sparse" or "other"."""
    kind = column.dtype
    if kind.is_numeric() or kind == nw.Boolean or _is_empty(column):
        return "number"
    if kind == nw.String or kind == nw.Categorical or kind == nw.Enum:
        return "category"
    if str(kind).split("(")[0] in ("Date", "Datetime", "Duration", "Time"):
        return "date"
    if kind != nw.Object:
        return "sparse" if str(_native_type(column)).startswith("Sparse[") else "other"
    found = {_kind_of_value(value) for value in column.to_list() if not is_missing(value)}
    return found.pop() if len(found) == 1 else "mixed"


def declared_levels(column: nw.Series[Any]) -> list[Any]:
    """Return the levels that the type of a column declares, whether or not they occur; none if it declares none.

    These are the categories of a pandas Categorical and of a polars Enum, and the dictionary of a PyArrow column (which
    keeps the levels of a Categorical or Enum that was written to a Parquet file). The categories of a polars
    Categorical are not declared by the column: unrelated columns share them.
    """
    kind = column.dtype
    if kind != nw.Enum and (kind != nw.Categorical or column.implementation.is_polars()):
        return []
    try:
        levels = column.cat.get_categories().to_list()
    except AttributeError:  # a pandas column that PyArrow stores
        arrow = column.to_native().array.__arrow_array__()
        levels = [level for chunk in arrow.chunks for level in chunk.dictionary.to_pylist()]
    return [level for level in levels if not is_missing(level)]


def _native_type(column: nw.Series[Any]) -> Any:
    """Return the type that a column has in its own library."""
    return getattr(column.to_native(), "dtype", None)


def _kind_of_value(value: Any) -> str:
    if isinstance(value, str):
        return "category"
    if isinstance(value, (Number, np.number, np.bool_)):
        return "number"
    return "date" if isinstance(value, (date, time, timedelta)) else "other"


def float_of(value: Any) -> float:
    """Return a number as a float; a whole number beyond all floats is infinite, which no table may have.

    Examples
    --------
    >>> float_of(-(10**400))
    -inf
    """
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, 1.0 if value > 0 else -1.0)


def floats_of_column(column: nw.Series[Any]) -> Array:
    """Return a column of numbers as floats, nulls as NaN."""
    if _is_empty(column):
        return np.full(len(column), np.nan)
    if column.dtype == nw.Object:
        return np.array([np.nan if is_missing(value) else float_of(value) for value in column.to_list()])
    return np.asarray(column.cast(nw.Float64).to_numpy())


REFUSED = {
    "text": "are not numeric, and only numeric columns are supported here. Encode them (OneHotEncoder in a "
    "ColumnTransformer, say), convert them if they hold numbers as text, or drop them.",
    "unexpected text": "held numbers in training, and hold text now: convert them; if a text stands for a missing "
    "value, {remedy}.",
    "date": "hold dates or times: turn them into numbers, days since a fixed day for example, or drop them.",
    "mixed": "mix text, numbers or other things. Make what stands for a missing value NaN or None, and the rest all "
    "numbers or all text.",
    "sparse": "are sparse columns of pandas. Give the table as a sparse matrix of SciPy, X.sparse.to_coo().tocsr(), or "
    "with ordinary columns, X.sparse.to_dense().",
    "other": "hold neither numbers nor text: turn them into one of these, or drop them.",
}
"""Error messages for columns that cannot be used, by kind."""


def refuse_columns(frame: nw.DataFrame[Any], kinds: Sequence[str]) -> None:
    """Raise an error that names all columns of a kind that cannot be used."""
    for kind, sentence in REFUSED.items():
        wrong = [
            Message("{column} ({holds})", column=column.name, holds=_what_it_holds(column, kind))
            for column, found in zip(frame.iter_columns(), kinds, strict=True)
            if found == kind
        ]
        if wrong:
            raise IpubError("Column(s) {wrong} " + sentence, wrong=wrong, remedy=MakeMissing())


def _what_it_holds(column: Any, kind: str) -> Any:
    """Say what is wrong with a column: its type, or cells of it."""
    if kind in ("text", "date", "other"):
        return str(column.dtype)
    if kind == "sparse":
        return str(_native_type(column))
    if kind == "mixed":
        return cells_of_kinds(column)
    cells = [(i, value) for i, value in enumerate(column.to_list()) if not is_missing(value)]
    row, value = next((cell for cell in cells if not is_number_in_text(cell[1])), cells[0])
    return Message("{value!r} in {row}", value=value, row=row)


def is_number_in_text(value: Any) -> bool:
    """Whether a value is a text that reads as a number, perhaps with a decimal comma."""
    if not isinstance(value, str):
        return False
    try:
        float(value.replace(",", ".") if value.count(",") == 1 and "." not in value else value)
    except ValueError:
        return False
    return True


def cells_of_kinds(column: Any) -> list[Message]:
    """Name a cell of each kind in a column of mixed ones."""
    first: dict[str, Message] = {}
    for i, value in enumerate(column.to_list()):
        if not is_missing(value):
            first.setdefault(_kind_of_value(value), Message("{value!r} in {row}", value=value, row=i))
    return list(first.values())


def _is_empty(column: nw.Series[Any]) -> bool:
    return len(column) > 0 and column.null_count() == len(column)


def column_labels(X: Any) -> list[Any]:
    """Return the labels of a frame's columns, of whatever type."""
    return list(getattr(X, "column_names", None) or getattr(X, "columns", []))


def refuse_duplicate_names(X: Any) -> None:
    """Raise an error if two columns have the same name."""
    names = [str(name) for name in column_labels(X)]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise IpubError(f"Two or more columns have the same name: {', '.join(doubled)}. Rename them.")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or a library's own missing value."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def array_to_table(X: Any) -> Any:
    """Return masked cells, None and NA of an array or list as NaN; anything else as it came.

    Raises ValueError if a cell is text; the message names it.
    """
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise IpubError("X is a lazy frame: call its collect() first.")
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise IpubError("X holds dates or durations: turn them into numbers, days since a fixed day for example.")
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
            raise IpubTypeError("{error} ({row}, column {column} of X).", error=str(error), row=i, column=j) from None
        except (ValueError, OverflowError):
            raise IpubError(
                "X contains {value!r} in {row}, column {column}, and an array may hold numbers only. Give a DataFrame, "
                "whose columns may be categories (a ColumnTransformer gives one after set_output(transform='pandas')), "
                "or, if it stands for a missing value, {remedy}.",
                value=value,
                row=i,
                column=j,
                remedy=MakeMissing(),
            ) from None
    return table


def _holds_objects(X: Any) -> bool:
    """Whether a list of lists would become an array of objects; ragged lists raise an error elsewhere."""
    try:
        return np.asarray(X).dtype == object
    except ValueError:
        return False
