"""The levels of a column of categories: counted, joined over pieces of a table, and checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.errors import Composable, DropColumn, IpubError, IpubWarning, MakeMissing, Message, Wording, warn_user
from ipub.tables.decoded_rows import TextColumn
from ipub.tables.frames import REFUSED, is_number_in_text

MOST_LEVELS = 1000
"""Levels of one column, at most: each becomes a column."""
FEW_LEVELS = 20
"""Up to so many levels a column is never taken for one of names or numbers of rows."""
MOST_COUNTED = 20 * MOST_LEVELS
"""Different values of a column that are counted, at most, over the pieces of a table: bounds the memory of names."""

Level = str | int | float | bool


class CategoryWarning(IpubWarning):
    """A column of categories that may not be meant as one, or a category that training did not see."""


@dataclass(frozen=True)
class UnknownLevel(Composable):
    """A category of rows to predict that the training table had not."""

    column: Any
    value: Any
    n_rows: int

    def text(self, wording: Wording) -> str:
        return f"{self.value!r} in column {wording.column(self.column)} ({rows_in_words(self.n_rows)})"


class UnknownLevels:
    """The categories of the rows of one call that the training table had not, counted."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[Any, Any]] = Counter()
        """How many rows have each column's value."""

    def add(self, column: Any, values: Iterable[Any]) -> None:
        """Count values of a column."""
        self.counts.update((column, value) for value in values)

    def warn(self) -> None:
        """Warn once of all that was counted, if anything was."""
        if self.counts:
            found = [UnknownLevel(*key, n_rows) for key, n_rows in self.counts.items()]
            warn_user(
                CategoryWarning(
                    "Training did not see {unknown}: predicted as a missing category, with bounds that hold if it is "
                    "any of those that training saw.",
                    unknown=found,
                    column=found[0].column,
                    value=found[0].value,
                )
            )


def rows_in_words(n_rows: int) -> str:
    """Say how many rows."""
    return "1 row" if n_rows == 1 else f"{n_rows:,} rows"


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """What occurs in a column of categories, and what its type declares."""

    name: Any
    """Label of the column."""
    counts: Mapping[Any, int]
    """How often each value occurs."""
    counted: Mapping[Any, int]
    """How often in the rows that count."""
    declared: frozenset[Any]
    """Levels that the type of the column declares."""
    is_plain: bool
    """Whether its type is text or objects, and not a categorical one."""
    n_rows: int
    """Number of rows."""
    first_word: tuple[int, Any] | None = None
    """Row and value of the first cell that is text and reads as no number."""

    @classmethod
    def of(cls, name: Any, column: TextColumn, is_counted: NDArray[np.bool_] | None = None) -> LevelCounts:
        """Count the values of a column, or of a piece of it; `is_counted` says which rows count, all if left out."""
        n = len(column.values)
        counts = _by_value(column, np.bincount(column.codes + 1, minlength=n + 1)[1:])
        counted = counts
        if is_counted is not None:
            counted = _by_value(column, np.bincount(column.codes[is_counted] + 1, minlength=n + 1)[1:])
        is_word = np.array([*(not is_number_in_text(value) for value in column.values), False])
        rows = np.flatnonzero(is_word[column.codes])[:1].tolist()
        first_word = (rows[0], column.values[column.codes[rows[0]]]) if rows else None
        declared = frozenset(column.declared)
        return cls(name, counts, counted, declared, column.is_plain, len(column.codes), first_word)

    def joined(self, other: LevelCounts) -> LevelCounts:
        """Return the counts of both pieces, of which `other` follows.

        Raises IpubError if there are too many different values, whose names would fill the memory.
        """
        counts = dict(Counter(self.counts) + Counter(other.counts))
        if len(counts) > MOST_COUNTED:
            raise _too_many(self.name, set(counts), f"more than {MOST_COUNTED}")
        word = self.first_word
        if word is None and other.first_word is not None:
            word = self.n_rows + other.first_word[0], other.first_word[1]
        return LevelCounts(
            self.name,
            counts,
            dict(Counter(self.counted) + Counter(other.counted)),
            self.declared | other.declared,
            self.is_plain and other.is_plain,
            self.n_rows + other.n_rows,
            word,
        )

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        return sum(self.counts.values())

    def levels(self) -> tuple[Level, ...]:
        """Return the sorted levels, declared ones included; raise an error if the column is no category."""
        seen = set(self.counts)
        levels = seen | self.declared
        self._refuse_types(levels)
        self._refuse_numbers_as_text(seen)
        _refuse_names_of_rows(self.name, seen, self.n_observed)
        if len(levels) > MOST_LEVELS:
            raise _too_many(self.name, levels, str(len(levels)))
        return tuple(sorted(levels))

    def _refuse_types(self, levels: set[Any]) -> None:
        strange = sorted({type(level).__name__ for level in levels if not isinstance(level, Level)})
        if strange:
            raise IpubError(
                "Column {column} has categories of type {kind}: turn them into text, with .astype(str) for example.",
                column=self.name,
                kind=strange[0],
            )
        if len({isinstance(level, str) for level in levels}) > 1:
            raise IpubError(
                "Column(s) {column} ({cells}) " + REFUSED["mixed"],
                column=self.name,
                cells=f"declared: {examples_of(levels)}",
            )

    def _refuse_numbers_as_text(self, seen: set[Any]) -> None:
        """Raise an error for text that is mostly numbers if there are many of them; else warn."""
        words = {level for level in seen if not is_number_in_text(level)}
        if not self.is_plain or 2 * len(words) >= len(seen):
            return
        missing = "where a text stands for a missing value, {remedy}; then " if words else ""
        sentence = (
            f"Column {{column}} holds numbers written as text ({{examples}}{{found}}): {missing}convert it to numbers"
        )
        word = self.first_word
        fields = {
            "column": self.name,
            "examples": examples_of(seen - words),
            "remedy": MakeMissing(),
            "found": "" if word is None else Message(", but {value!r} in {row}", row=word[0], value=word[1]),
        }
        if len(seen) > FEW_LEVELS:
            raise IpubError(sentence + "; or make it categorical, if they are codes.", **fields)
        if words:
            warn_user(CategoryWarning(sentence + ", unless they are categories, as which they are taken.", **fields))


def _by_value(column: TextColumn, counts: NDArray[np.intp]) -> dict[Any, int]:
    return {value: int(count) for value, count in zip(column.values, counts, strict=True) if count}


def _too_many(name: Any, levels: set[Any], n: str) -> IpubError:
    return IpubError(
        "Column {column} has {n} different categories ({examples}), and each would become a column; at most {most} "
        "are taken: {remedy}, or join rare categories into one.",
        column=name,
        n=n,
        examples=examples_of(levels),
        most=MOST_LEVELS,
        remedy=DropColumn(name),
    )


def _refuse_names_of_rows(name: str, seen: set[Any], n_observed: int) -> None:
    """Raise an error for categories that name the rows; warn if they may."""
    fields = {
        "column": name,
        "n": len(seen),
        "n_observed": n_observed,
        "examples": examples_of(seen),
        "remedy": DropColumn(name),
    }
    if len(seen) > FEW_LEVELS and len(seen) == n_observed:
        raise IpubError(
            "Column {column} holds a different category in each row ({examples}), so nothing can be learnt from it: "
            "{remedy}.",
            **fields,
        )
    if FEW_LEVELS < len(seen) <= MOST_LEVELS and 2 * len(seen) > n_observed:
        warn_user(
            CategoryWarning(
                "Column {column} has {n} different categories in {n_observed} rows ({examples}). If they name the "
                "rows, {remedy}; else join rare ones into one.",
                **fields,
            )
        )


def examples_of(levels: Any) -> str:
    """Name some levels for a message."""
    in_order = sorted(levels, key=str)
    return ", ".join(map(repr, in_order[:3])) + (", ..." if len(in_order) > 3 else "")
