"""How tables in files are read, beyond what a file says itself: the dialect of CSV, types, what is missing.

Options of the command line say it, a file of ranges, or a model of the table that it was trained on. It is set for all
tables that are read inside a context.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ipub.app.files.atomic import FileError
from ipub.rows.parquet_files import is_number, is_text

NUMBER, TEXT = "number", "text"
ONE_LETTER = ("delimiter", "decimal", "thousands")


class ReadingError(FileError):
    """A table that cannot be read as it is asked for."""


@dataclass(frozen=True)
class Reading:
    """What is said of how tables are read; an empty value leaves it to the file."""

    delimiter: str = ""
    decimal: str = ""
    thousands: str = ""
    encoding: str = ""
    missing: tuple[str, ...] = ()
    """What stands for a missing value in all columns, beside empty cells and the usual marks."""
    missing_in: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """What does in single columns."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Columns that are of numbers or of text, whatever they look like."""

    def __post_init__(self) -> None:
        for name in ONE_LETTER:
            if len(getattr(self, name)) > 1:
                raise ReadingError(f"--{name} takes one character, got {getattr(self, name)!r}.")
        if self.decimal not in ("", ".", ","):
            raise ReadingError(f"--decimal takes a point or a comma, got {self.decimal!r}.")
        if self.thousands and self.thousands in (self.decimal, "." if not self.decimal else ""):
            raise ReadingError(f"--thousands {self.thousands} is the decimal mark as well: give another --decimal.")
        if self.encoding:
            try:
                "".encode(self.encoding)
            except LookupError:
                raise ReadingError(f"--encoding {self.encoding} is not known: utf-8, latin-1 and cp1252 are.") from None

    @property
    def changes_values(self) -> bool:
        """Whether cells mean something else than what a typed file says."""
        return bool(self.missing or self.missing_in or self.types)

    @property
    def meaning(self) -> dict[str, Any]:
        """What a model keeps, so that other tables are read as its own was."""
        return {
            "missing": list(self.missing),
            "missing_in": {name: list(values) for name, values in self.missing_in.items()},
            "types": dict(self.types),
        }

    def with_meaning(self, stored: Mapping[str, Any] | None) -> Reading:
        """Return the same with what a model keeps, beside what was said."""
        if not stored:
            return self
        missing = tuple(dict.fromkeys([*self.missing, *stored["missing"]]))
        in_columns = {name: tuple(values) for name, values in stored["missing_in"].items()}
        return replace(
            self,
            missing=missing,
            missing_in={**in_columns, **self.missing_in},
            types={**stored["types"], **self.types},
        )

    def words(self) -> list[str]:
        """Return the options that say the same, of what options can say."""
        words = []
        for each in fields(self):
            value = getattr(self, each.name)
            if value and not isinstance(value, Mapping):
                for one in (value,) if isinstance(value, str) else value:
                    words += [f"--{each.name}", one]
        return words

    def applied(self, table: pa.Table, path: Any) -> pa.Table:
        """Return a table with the types that are asked for, and nulls for what is missing."""
        for j, name in enumerate(table.column_names):
            column = _of_type(table.column(name), self.types.get(name), name, path)
            marks = [*self.missing, *self.missing_in.get(name, ())]
            column = without_marks(column, marks) if marks else column
            if column is not table.column(j):
                table = table.set_column(j, name, column)
        return table


_current: ContextVar[Reading | None] = ContextVar("reading", default=None)


def current_reading() -> Reading:
    """Return how tables are read here."""
    return _current.get() or Reading()


@contextmanager
def reading_as(reading: Reading) -> Iterator[None]:
    """Read tables like that inside the context."""
    before = _current.set(reading)
    try:
        yield
    finally:
        _current.reset(before)


def without_marks(column: pa.ChunkedArray, marks: Sequence[Any]) -> pa.ChunkedArray:
    """Return a column of numbers or text with nulls where one of the marks stands."""
    if is_text(column.type):
        found = pc.is_in(column.cast(pa.string()), value_set=pa.array([str(mark) for mark in marks], pa.string()))
    elif is_number(column.type) and not pa.types.is_boolean(column.type):
        numbers = [number for number in map(_number, marks) if number is not None]
        found = pc.is_in(column.cast(pa.float64(), safe=False), value_set=pa.array(numbers, pa.float64()))
    else:
        return column
    return pc.if_else(found, pa.scalar(None, column.type), column) if pc.any(found).as_py() else column


def _number(mark: Any) -> float | None:
    with suppress(ValueError):
        number = float(mark)
        return number if math.isfinite(number) else None
    return None


def _of_type(column: pa.ChunkedArray, kind: str | None, name: str, path: Any) -> pa.ChunkedArray:
    if kind == TEXT and not is_text(column.type):
        return column.cast(pa.string())
    if kind == NUMBER and is_text(column.type):
        text = column.cast(pa.string())
        try:
            return text.cast(pa.float64())
        except pa.ArrowInvalid:
            wrong = int(np.argmax([v is not None and _number(v) is None for v in text.to_pylist()]))
            raise ReadingError(
                "{column} of {path} is to hold numbers, and has {value!r} in {row}: correct it, or make the column one "
                "of text.",
                column=name,
                path=path,
                value=text[wrong].as_py(),
                row=wrong,
            ) from None
    return column
