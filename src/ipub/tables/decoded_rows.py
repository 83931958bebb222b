"""Rows of a DataFrame as plain arrays: numbers as floats, text as codes of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array
from ipub.tables.frames import declared_levels, floats_of_column, is_missing, kind_of_column, refuse_columns
from ipub.tables.interval_matrix import Indices

ARROW_NUMBERS = {"double", "float", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
"""Types of PyArrow that NumPy has too."""


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of text or categories."""

    codes: Indices
    """Shape (n_rows,): index of the value of each row in `values`; -1 where it is missing."""
    values: tuple[Any, ...]
    """Values, each at most once; some may not occur."""
    declared: tuple[Any, ...] = ()
    """Those that the type of the column declares, whether or not they occur."""
    is_plain: bool = True
    """Whether its type is text or objects, and not a categorical one."""

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Indices) -> TextColumn:
        return TextColumn(self.codes[rows], self.values, self.declared, self.is_plain)

    def codes_among(self, levels: Sequence[Any]) -> Indices:
        """Return the index of each row's value among `levels`: -1 where it is missing, -2 where it is none of them."""
        numbers = {level: k for k, level in enumerate(levels)}
        table = np.array([*(numbers.get(value, -2) for value in self.values), -1], dtype=np.intp)
        return np.asarray(table[self.codes])


DecodedColumn = Array | TextColumn | None
"""Numbers with NaN where missing, text, or None where no cell is observed."""


@dataclass(frozen=True, eq=False)
class DecodedRows:
    """Consecutive rows, column by column, as arrays that have forgotten which library they came from."""

    n_rows: int
    columns: dict[str, DecodedColumn]

    def take(self, rows: Indices) -> DecodedRows:
        """Return some of the rows."""
        taken = {name: None if column is None else column[rows] for name, column in self.columns.items()}
        return DecodedRows(len(rows), taken)


def decode(frame: Any, names: Sequence[str]) -> DecodedRows:
    """Decode columns of a frame.

    Raises IpubError if a column holds neither numbers nor text; the message names it.
    """
    fast = _numbers_of_arrow(frame, names)
    if len(fast) == len(names):
        return DecodedRows(len(frame), fast)
    selected = nw.from_native(frame, eager_only=True).select(list(names))
    n = len(selected)
    kinds = ["category" if declared_levels(column) else _kind(column) for column in selected.iter_columns()]
    refuse_columns(selected, kinds)
    decoded: dict[str, DecodedColumn] = {}
    for name, column, kind in zip(names, selected.iter_columns(), kinds, strict=True):
        if name in fast:
            decoded[name] = fast[name]
        elif kind == "empty":
            decoded[name] = None
        else:
            decoded[name] = text_of_column(column) if kind == "category" else floats_of_column(column)
    return DecodedRows(n, decoded)


def _numbers_of_arrow(frame: Any, names: Sequence[str]) -> dict[str, DecodedColumn]:
    """Return the columns of a PyArrow table that hold plain numbers, without the time that narwhals takes for each."""
    if type(frame).__module__.split(".")[0] != "pyarrow":
        return {}
    found: dict[str, DecodedColumn] = {}
    for name in names:
        column = frame.column(name)
        if str(column.type) in ARROW_NUMBERS:
            is_empty = column.null_count == len(column)
            found[name] = None if is_empty else np.asarray(column.to_numpy(), dtype=float)
    return found


def _kind(column: nw.Series[Any]) -> str:
    return "empty" if column.null_count() == len(column) else kind_of_column(column)


def text_of_column(column: nw.Series[Any]) -> TextColumn:
    """Return a column of text or categories as codes."""
    is_plain = column.dtype == nw.String or column.dtype == nw.Object
    declared = tuple(declared_levels(column))
    native = column.to_native()
    if column.implementation.is_pyarrow():
        codes, values = _codes_of_arrow(native)
    elif column.implementation.is_pandas():
        found, uniques = native.factorize()
        codes, values = np.asarray(found, dtype=np.intp), list(uniques)
    else:
        codes, values = _codes_of_values(column.to_list())
    return TextColumn(codes, tuple(values), declared, is_plain)


def _codes_of_arrow(column: Any) -> tuple[Indices, list[Any]]:
    """Return the codes and the values of a PyArrow column, chunk by chunk: chunks may have different dictionaries."""
    numbers: dict[Any, int] = {}
    parts = [np.zeros(0, dtype=np.intp)]
    for chunk in getattr(column, "chunks", [column]):
        encoded = chunk if hasattr(chunk, "dictionary") else chunk.dictionary_encode()
        of_chunk = [numbers.setdefault(value, len(numbers)) for value in encoded.dictionary.to_pylist()]
        table = np.array([*of_chunk, -1], dtype=np.intp)
        parts.append(table[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
    codes, values = np.concatenate(parts), list(numbers)
    if None not in numbers:
        return codes, values
    missing = numbers[None]
    return np.where(codes == missing, -1, codes - (codes > missing)), [value for value in values if value is not None]


def _codes_of_values(cells: list[Any]) -> tuple[Indices, list[Any]]:
    numbers: dict[Any, int] = {}
    codes = [-1 if is_missing(value) else numbers.setdefault(value, len(numbers)) for value in cells]
    return np.array(codes, dtype=np.intp), list(numbers)


# --- labels ----------------------------------------------------------------------------------------


def decode_labels(frame: Any, name: str) -> NDArray[Any] | TextColumn:
    """Return a column of labels or targets: numbers and booleans as they are, floats where a number is missing."""
    column = nw.from_native(frame, eager_only=True)[name]
    if column.null_count() == len(column):  # also a column of objects without rows, which may stand for anything
        return np.full(len(column), np.nan)
    if kind_of_column(column) == "category":
        return text_of_column(column)
    refuse_columns(column.to_frame(), [kind_of_column(column)])
    if column.null_count() or column.dtype == nw.Object or column.dtype.is_decimal():
        return floats_of_column(column)
    return np.asarray(column.to_numpy())
