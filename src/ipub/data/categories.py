"""Columns of categories: one column of 0 and 1 for each level; a missing one may be any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.data.frames import (
    REFUSED,
    cells_of_kinds,
    column_labels,
    floats_of_column,
    is_missing,
    kind_of_column,
    refuse_columns,
    refuse_duplicate_names,
)
from ipub.data.interval_matrix import Indices
from ipub.data.missing_category import NOTHING_MISSING, Levels, MissingCategories
from ipub.rounding import Array
from ipub.user_warnings import warn_user

MOST_LEVELS = 1000
"""Levels of one column, at most: each becomes a column."""
FEW_LEVELS = 20
"""Up to so many levels a column is never taken for one of names or numbers of rows."""

Level = str | int | float | bool


class CategoryWarning(UserWarning):
    """A column of categories that may not be meant as one."""


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a frame become columns of numbers, in the same order.

    A column of numbers stays one column. A column of categories becomes one column of 0 and 1 for each of its levels,
    none of them left out. NaN in all of these is a missing category.

    Parameters
    ----------
    columns : tuple
        The labels of the frame's columns.
    levels : tuple
        For each column the levels of its categories; None for numbers; no levels for a column that is not used.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31.0, 54.0, 40.0], "site": ["north", None, "east"]})
    >>> encoder = TableEncoder.learn(frame)
    >>> encoder.names
    ['age', 'site_east', 'site_north']
    >>> encoder.encode(frame)
    array([[31.,  0.,  1.],
           [54., nan, nan],
           [40.,  1.,  0.]])
    """

    columns: tuple[Any, ...]
    levels: tuple[tuple[Level, ...] | None, ...]

    @classmethod
    def learn(cls, X: Any) -> TableEncoder | None:
        """Learn the levels of a frame's categories; None if it has none.

        Raises
        ------
        ValueError
            If a column holds neither numbers nor categories, or is no use as a category; the message names it.
        """
        refuse_duplicate_names(X)
        frame = nw.from_native(X, eager_only=True)
        kinds = [kind_of_column(column) for column in frame.iter_columns()]
        refuse_columns(frame, kinds)
        if "category" not in kinds:
            return None
        levels: list[tuple[Level, ...] | None] = []
        for column, kind in zip(frame.iter_columns(), kinds, strict=True):
            levels.append(_levels(column) if kind == "category" else None)
        return cls(tuple(column_labels(X)), tuple(levels))

    @property
    def widths(self) -> Indices:
        """Number of encoded columns of each column."""
        return np.array([1 if levels is None else len(levels) for levels in self.levels], dtype=np.intp)

    @property
    def starts(self) -> Indices:
        """First encoded column of each column, and their number."""
        return np.concatenate([[0], np.cumsum(self.widths)]).astype(np.intp)

    @property
    def numbers(self) -> Indices:
        """The encoded columns that hold numbers."""
        return self.starts[:-1][[levels is None for levels in self.levels]]

    @property
    def labels(self) -> list[str]:
        """The names of the columns of categories, quoted for a message."""
        return [repr(column) for column, levels in zip(self.columns, self.levels, strict=True) if levels]

    @property
    def names_of_numbers(self) -> list[Any]:
        """The labels of the columns of numbers."""
        return [column for column, levels in zip(self.columns, self.levels, strict=True) if levels is None]

    def by_name(self, given: Any, what: str) -> Any:
        """Return what was given for some columns of the frame, by name and not by number.

        Raises
        ------
        ValueError
            If it is given for a column that does not hold numbers.
        """
        if not isinstance(given, Mapping):
            return given
        by_number = all(isinstance(column, str) for column in self.columns)
        named = {}
        for key, value in given.items():
            is_number = by_number and isinstance(key, int) and 0 <= key < len(self.columns)
            name = self.columns[key] if is_number else key
            if name in self.columns and name not in self.names_of_numbers:
                is_used = bool(self.levels[self.columns.index(name)])
                why = "holds categories: a missing one is any of its levels" if is_used else "the model does not use"
                raise ValueError(f"{what} names the column {name!r}, which {why}. Leave it out.")
            named[name] = value
        return named

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns: that of the column, and the level."""
        return [
            name
            for column, levels in zip(self.columns, self.levels, strict=True)
            for name in ([str(column)] if levels is None else [f"{column}_{level}" for level in levels])
        ]

    def encode(self, X: Any, any_level: bool = False) -> Array:
        """Return the encoded table of a frame with the same columns; NaN where a value is missing.

        Parameters
        ----------
        X : DataFrame
        any_level : bool
            Whether a level that was not there in training is taken as missing; else it is refused.
        """
        frame = nw.from_native(X, eager_only=True)
        kinds = [
            kind_of_column(column) if levels is None else "category"
            for column, levels in zip(frame.iter_columns(), self.levels, strict=True)
        ]
        refuse_columns(frame, ["unexpected text" if kind == "category" and levels is None else kind
                               for kind, levels in zip(kinds, self.levels, strict=True)])  # fmt: skip
        starts = self.starts
        table = np.full((len(frame), int(starts[-1])), np.nan)
        for column, levels, start in zip(frame.iter_columns(), self.levels, starts, strict=False):
            if levels is None:
                table[:, start] = floats_of_column(column)
            elif levels:
                table[:, start : start + len(levels)] = _one_hot(column, levels, any_level)
        return table

    def with_choices(self, table: Array) -> tuple[Array, MissingCategories]:
        """Return an encoded table with the mean of all levels where a category is missing, and these choices.

        The only level of a category is certain.
        """
        levels, missing, table = [], [], table.copy()
        for start, names in zip(self.starts, self.levels, strict=False):
            if names:
                holes = np.isnan(table[:, start])
                if len(names) == 1:
                    table[holes, start] = 1.0
                elif holes.any():
                    levels.append(Levels(np.arange(start, start + len(names))))
                    missing.append(holes)
        if not levels:
            return table, NOTHING_MISSING
        choices = MissingCategories.of(np.column_stack(missing), levels)
        choices.put(table)
        return table, choices


def _levels(column: nw.Series[Any]) -> tuple[Level, ...]:
    """Return the sorted levels of a column, and refuse those that are of no use."""
    counts = {value: count for value, count in Counter(column.to_list()).items() if not is_missing(value)}
    levels, n_observed = set(counts), sum(counts.values())
    strange = sorted({type(level).__name__ for level in levels if not isinstance(level, Level)})
    if strange:
        raise ValueError(
            f"Column {column.name!r} has categories of type {strange[0]}: turn them into text, with .astype(str) for "
            "example."
        )
    if len({isinstance(level, str) for level in levels}) > 1:
        raise ValueError(f"Column(s) {column.name!r} ({cells_of_kinds(column)}) {REFUSED['mixed']}")
    n, name = len(levels), column.name
    words = {level for level in levels if not _is_number(level)}
    is_text = column.dtype == nw.String or column.dtype == nw.Object
    if is_text and 2 * len(words) < n:
        found = next((f", but {value!r} in row {i}" for i, value in enumerate(column.to_list()) if value in words), "")
        advice = "Make what stands for a missing value None, and convert the column to numbers"
        sentence = f"Column {name!r} holds numbers written as text ({_examples(levels - words)}{found}). {advice}"
        if n > FEW_LEVELS:
            raise ValueError(f"{sentence}; or to a categorical type, if they are codes.")
        if words:
            warn_user(
                f"{sentence}, unless they are categories, as which they are taken.",
                CategoryWarning,
            )
    if n > FEW_LEVELS and n == n_observed:
        raise ValueError(
            f"Column {name!r} holds a different category in each row ({_examples(levels)}), so nothing can be learnt "
            "from it: drop the column."
        )
    if n > MOST_LEVELS:
        raise ValueError(
            f"Column {name!r} has {n} different categories ({_examples(levels)}), and each would become a column; at "
            f"most {MOST_LEVELS} are taken. Drop it, or join rare categories into one."
        )
    if n > FEW_LEVELS and 2 * n > n_observed:
        warn_user(
            f"Column {name!r} has {n} different categories in {n_observed} rows ({_examples(levels)}). If they name "
            "the rows, drop the column; else join rare ones into one.",
            CategoryWarning,
        )
    return tuple(sorted(levels))


def _one_hot(column: nw.Series[Any], levels: Sequence[Level], any_level: bool) -> Array:
    codes = {level: k for k, level in enumerate(levels)}
    values = column.to_list()
    numbers = np.array([codes.get(value, -1) for value in values], dtype=np.intp)
    unseen = np.array([i for i in np.flatnonzero(numbers < 0) if not is_missing(values[i])], dtype=np.intp)
    if len(unseen) and not any_level:
        raise ValueError(
            f"Column {column.name!r} has the category {values[unseen[0]]!r} in row {unseen[0]}, which was not there in "
            f"training (there were {_examples(levels)}). Correct it, make it missing, or set handle_unknown='any', "
            "which bounds over all categories that were there."
        )
    numbers[numbers < 0] = len(levels)
    return np.vstack([np.eye(len(levels)), np.full(len(levels), np.nan)])[numbers]


def _is_number(level: Level) -> bool:
    if not isinstance(level, str):
        return False
    try:
        float(level)
    except ValueError:
        return False
    return True


def _examples(levels: Any) -> str:
    some = sorted(levels, key=str)
    return ", ".join(map(repr, some[:3])) + (", ..." if len(some) > 3 else "")
