"""The errors and warnings that users meet: a sentence with named fields, and who says it.

A message is a template such as ``"Column {column} has no value in {row}."`` and the fields that it names. The library
and the command line compose the sentence from the same fields, each in its own words (`Words`): the library counts
rows from 0 and names parameters, the command line counts from 1 and names options. A sentence is never edited after it
was composed, so a column may have any name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Words:
    """How a field is said by the library: in Python's words. The command line has a subclass of its own."""

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

    def drop_column(self, column: Any) -> str:  # noqa: ARG002 (which one matters to the command line)
        """Say how to leave a column out."""
        return "drop the column"

    def make_missing(self) -> str:
        """Say how to make a value a missing one."""
        return "make it NaN"


LIBRARY = Words()


class Said(Protocol):
    """Something that is said in the words of the library or in those of the command line."""

    def said(self, words: Words) -> str:
        """Return it in these words."""


@dataclass(frozen=True)
class GiveRange:
    """A remedy: give the range in which the missing values of a column lie."""

    column: Any = None

    def said(self, words: Words) -> str:
        """Return it in these words."""
        return words.give_range(self.column)


@dataclass(frozen=True)
class DropColumn:
    """A remedy: leave the column out."""

    column: Any

    def said(self, words: Words) -> str:
        """Return it in these words."""
        return words.drop_column(self.column)


@dataclass(frozen=True)
class MakeMissing:
    """A remedy: make the value a missing one."""

    def said(self, words: Words) -> str:
        """Return it in these words."""
        return words.make_missing()


class Phrase:
    """A template and its fields.

    Parameters
    ----------
    template : str
        As for `str.format`, with names of fields; without fields it is the text itself, braces and all.
    **fields
        `row` (counted from 0) and `column` are said as `Words` has it, as is whatever has a method `said`; a list of
        such things is joined by commas, and so are `columns`. Other values are formatted as they are. What is put in
        is never taken for a template.

    Examples
    --------
    >>> Phrase("{value!r} in {row}", value="{row}", row=3).said(LIBRARY)
    "'{row}' in row 3"
    """

    def __init__(self, template: str, **fields: Any) -> None:
        self.template, self.fields = template, fields

    def said(self, words: Words) -> str:
        """Return it in these words."""
        if not self.fields:
            return self.template
        return self.template.format(**{name: _field(name, value, words) for name, value in self.fields.items()})


def _field(name: str, value: Any, words: Words) -> Any:
    if name == "row":
        return words.row(value)
    if name == "column":
        return words.column(value)
    if name == "columns":
        return ", ".join(words.column(label) for label in value)
    if hasattr(value, "said"):
        return value.said(words)
    if isinstance(value, list) and value and all(hasattr(item, "said") for item in value):
        return ", ".join(item.said(words) for item in value)
    return value


class Told(Exception):
    """What errors and warnings share: a phrase.

    Parameters
    ----------
    message : str
        A template if there are fields, else the message itself; see `Phrase`.
    **fields
        What the template names.

    Attributes
    ----------
    column : label of the column at fault, or its number if it has no label; None if it is not one column
    row : number of the row at fault, counted from 0; None if it is not one row
    value : the value at fault; None if it is not one
    remedy : `GiveRange`, `DropColumn` or `MakeMissing`; None if the remedy is said in the message alone
    """

    def __init__(self, message: str = "", **fields: Any) -> None:
        self.phrase = Phrase(message, **fields)
        super().__init__(self.said())

    def said(self, words: Words = LIBRARY) -> str:
        """Return the message in these words."""
        return self.phrase.said(words)

    @property
    def column(self) -> Any:
        """Label of the column at fault."""
        return self.phrase.fields.get("column")

    @property
    def row(self) -> int | None:
        """Row at fault, counted from 0."""
        row: int | None = self.phrase.fields.get("row")
        return row

    @property
    def value(self) -> Any:
        """Value at fault."""
        return self.phrase.fields.get("value")

    @property
    def remedy(self) -> Said | None:
        """What to do, in words that depend on who says it."""
        remedy: Said | None = self.phrase.fields.get("remedy")
        return remedy

    def __reduce__(self) -> tuple[Any, ...]:
        return _told, (type(self), self.phrase.template, self.phrase.fields)


def _told(kind: type[Told], message: str, fields: dict[str, Any]) -> Told:
    """Make an error or a warning again, in another process for example."""
    return kind(message, **fields)


class IpubError(Told, ValueError):
    """Data or a request that cannot be taken; the base of the errors that ipub raises for its users' input.

    See `Told` for its fields. Errors in the value of a parameter alone are scikit-learn's own, and ValueErrors too.

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
    """A value of a type that cannot be taken."""


class IpubWarning(Told, UserWarning):
    """Something in the data that a user should look at; the base of the warnings about them."""
