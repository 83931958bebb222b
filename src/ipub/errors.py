"""The errors and warnings that users meet: messages with named fields.

A message is a template such as ``"Column {column} has no value in {row}."`` and the fields that it names. The library
and the command line compose the text from the same fields, each with a `Wording` of its own: the library counts rows
from 0 and names parameters, the command line counts from 1 and names options. A text is never edited after it was
composed, so a column may have any name.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MOST_LISTED, SHOWN = 50, 20
"""A message names up to so many columns one by one; of more, so many."""
INSIDE = {"ipub", "sklearn", "numpy", "contextlib", "rich"}
"""Packages whose frames are not the user's."""


class Wording:
    """How the library words the fields of a message; the command line has a subclass of its own."""

    def row(self, number: int) -> str:
        """Name a row, which is counted from 0."""
        return f"row {number}"

    def column(self, label: Any) -> str:
        """Name a column by its label, quoted if it is text; or by its number if it has none."""
        return repr(label)

    def give_range(self, column: Any) -> str:
        """Say how to give the range of a column's missing values; of any column if `column` is None."""
        name = "column" if column is None else self.column(column)
        return f"intervals={{{name}: (low, high)}}"

    def drop_column(self, column: Any) -> str:  # noqa: ARG002 (the command line names it)
        """Say how to leave a column out."""
        return "drop the column"

    def make_missing(self) -> str:
        """Say how to mark a value as missing."""
        return "make it NaN"

    def allow_any_level(self) -> str:
        """Say how to let a category be any of those that the model has."""
        return "make it missing, or set intervals=Intervals(handle_unknown='any')"

    def let_one_differ(self) -> str:
        """Say how to let one missing value differ."""
        return "Budget(cells=1)"


LIBRARY_WORDING = Wording()


class Composable:
    """A part of a message whose text depends on the wording."""

    def text(self, wording: Wording) -> str:
        """Return its text."""
        raise NotImplementedError


@dataclass(frozen=True)
class GiveRange(Composable):
    """A remedy: give the range in which the missing values of a column lie."""

    column: Any = None

    def text(self, wording: Wording) -> str:
        return wording.give_range(self.column)


@dataclass(frozen=True)
class DropColumn(Composable):
    """A remedy: leave the column out."""

    column: Any

    def text(self, wording: Wording) -> str:
        return wording.drop_column(self.column)


@dataclass(frozen=True)
class MakeMissing(Composable):
    """A remedy: mark the value as missing."""

    def text(self, wording: Wording) -> str:
        return wording.make_missing()


@dataclass(frozen=True)
class AllowAnyLevel(Composable):
    """A remedy: let a category be any of those that the model has."""

    def text(self, wording: Wording) -> str:
        return wording.allow_any_level()


@dataclass(frozen=True)
class LetOneDiffer(Composable):
    """A remedy: let one missing value differ."""

    def text(self, wording: Wording) -> str:
        return wording.let_one_differ()


class Message(Composable):
    """A template as for `str.format`, with names of fields; without fields it is the text itself, braces and all.

    The fields `row` (counted from 0), `column` and `columns` are worded by a `Wording`, as is every `Composable`; a
    list of these is joined by commas. Other values are formatted as they are. A value is never taken for a template.

    Examples
    --------
    >>> Message("{value!r} in {row}", value="{row}", row=3).text(LIBRARY_WORDING)
    "'{row}' in row 3"
    """

    def __init__(self, template: str, **fields: Any) -> None:
        self.template, self.fields = template, fields

    def text(self, wording: Wording) -> str:
        if not self.fields:
            return self.template
        return self.template.format(**{name: _worded(name, value, wording) for name, value in self.fields.items()})


def _worded(name: str, value: Any, wording: Wording) -> Any:
    """Return the text of a field."""
    if name == "row":
        return wording.row(value)
    if name == "column":
        return wording.column(value)
    if name == "columns":
        return _some(wording.column(label) for label in value)
    if isinstance(value, Composable):
        return value.text(wording)
    if isinstance(value, list) and all(isinstance(item, Composable) for item in value):
        return _some(item.text(wording) for item in value)
    return value


def _some(texts: Iterable[str]) -> str:
    """Return texts joined by commas; of very many, the first and how many more there are."""
    listed = list(texts)
    if len(listed) <= MOST_LISTED:
        return ", ".join(listed)
    return f"{', '.join(listed[:SHOWN])} and {len(listed) - SHOWN:,} more"


class WithMessage(Exception):
    """Base of the errors and warnings of this package, whose arguments are those of `Message`."""

    def __init__(self, message: str = "", **fields: Any) -> None:
        self.message = Message(message, **fields)
        super().__init__(self.text())

    def text(self, wording: Wording = LIBRARY_WORDING) -> str:
        """Return the message in a wording; `str` gives it in that of the library."""
        return self.message.text(wording)

    @property
    def column(self) -> Any:
        """Label of the column at fault, or its number if it has no label; None if it is not one column."""
        return self.message.fields.get("column")

    @property
    def row(self) -> int | None:
        """Number of the row at fault, counted from 0; None if it is not one row."""
        row: int | None = self.message.fields.get("row")
        return row

    @property
    def value(self) -> Any:
        """The value at fault; None if it is not one value."""
        return self.message.fields.get("value")

    @property
    def remedy(self) -> Composable | None:
        """What to do (`GiveRange`, `DropColumn`, `MakeMissing`, `AllowAnyLevel`); None if the message alone says it."""
        remedy: Composable | None = self.message.fields.get("remedy")
        return remedy

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.message.template, self.message.fields)


def _rebuilt(kind: type[WithMessage], message: str, fields: dict[str, Any]) -> WithMessage:
    """Build an error or a warning again from a pickle."""
    return kind(message, **fields)


class IpubError(WithMessage, ValueError):
    """Data or a request that cannot be used; the base of the errors that ipub raises about its users' input.

    Attributes
    ----------
    column, row, value, remedy
        What is at fault and what to do about it; None where the error is not about one of these. Rows are counted
        from 0.

    Examples
    --------
    >>> from ipub import BoundedRegressor, IpubError
    >>> try:
    ...     BoundedRegressor().fit([[1.0], [float("inf")]], [0.0, 1.0])
    ... except IpubError as error:
    ...     print(error.row, error.column, error.value)
    1 0 inf
    """


class IpubTypeError(IpubError, TypeError):
    """A value of a type that cannot be used."""


class IpubWarning(WithMessage, UserWarning):
    """Something in the data that a user should check; the base of the warnings about data. Fields as `IpubError`."""


def warn_user(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn, at the first line on the way out that is not of this package or of one that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
