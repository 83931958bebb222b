"""Columns of categories: one column of 0 and 1 for each level; a missing one may be any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.errors import AllowAnyLevel, IpubError
from ipub.numeric.rounding import Array
from ipub.tables.decoded_rows import text_of_column
from ipub.tables.frames import (
    column_labels,
    declared_levels,
    floats_of_column,
    is_missing,
    kind_of_column,
    refuse_columns,
    refuse_duplicate_names,
)
from ipub.tables.interval_matrix import Indices
from ipub.tables.levels import Level, LevelCounts, UnknownLevels, examples_of
from ipub.tables.missing_category import NOTHING_MISSING, Levels, MissingCategories


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a frame become columns of numbers, in the same order.

    A column of numbers stays one column. A column of categories becomes one column of 0 and 1 for each of its levels,
    none of them left out. NaN in all of these is a missing category, which may be any of the levels.

    The levels of a column are those that occur in it and those that its type declares: the categories of a pandas
    Categorical, of a polars Enum, and the dictionary of a PyArrow column. (Those of a polars Categorical are not
    declared: polars shares them between unrelated columns.) They are sorted, whatever order they were declared in, so
    that a column of text and a Categorical with the same levels give the same model. A declared level that does not
    occur has a column that is 0 in every observed row: its weight is 0 unless a missing category may be that level.

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
    """The labels of the frame's columns."""
    levels: tuple[tuple[Level, ...] | None, ...]
    """For each column the levels of its categories; None for numbers; no levels for a column that is not used."""

    @classmethod
    def learn(cls, X: Any) -> TableEncoder | None:
        """Learn the levels of a frame's categories, sorted; None if it has none.

        A column without any observed value is one of categories if it declares levels, and else one of numbers.

        Raises IpubError if a column holds neither numbers nor categories, or cannot be used as a category; the message
        names it.
        """
        refuse_duplicate_names(X)
        frame = nw.from_native(X, eager_only=True)
        kinds = ["category" if declared_levels(column) else kind_of_column(column) for column in frame.iter_columns()]
        refuse_columns(frame, kinds)
        if "category" not in kinds:
            return None
        levels = [
            _levels(column) if kind == "category" else None
            for column, kind in zip(frame.iter_columns(), kinds, strict=True)
        ]
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
        """Return a parameter that was given for columns of the frame, by name and not by number.

        Raises IpubError if it is given for a column that does not hold numbers.
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
                raise IpubError(
                    "{what} names the column {column}, which {why}. Leave it out.", what=what, column=name, why=why
                )
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

    def encode(self, X: Any, unknown: UnknownLevels | None = None) -> Array:
        """Return the encoded table of a frame with the same columns; NaN where a value is missing.

        A level that is none of those of the training table is counted in `unknown` and taken as missing; without
        `unknown` it is an error, and so is text among numbers, or a number among text.
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
                table[:, start : start + len(levels)] = _one_hot(column, levels, unknown)
        return table

    def column_means(self, table: Array) -> Array:
        """Return the mean of the observed cells of each encoded column.

        Of a category that was never observed, every level has the same mean: they add up to 1 as for any other.
        """
        counts = (~np.isnan(table)).sum(axis=0)
        means = np.nansum(table, axis=0) / np.maximum(1, counts)
        equal_means = np.repeat([0.0 if not levels else 1.0 / len(levels) for levels in self.levels], self.widths)
        return np.asarray(np.where(counts == 0, equal_means, means))

    def with_missing_categories(self, table: Array) -> tuple[Array, MissingCategories]:
        """Return an encoded table with the mean of all levels where a category is missing, and what is missing.

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
        missing_categories = MissingCategories.of(np.column_stack(missing), levels)
        missing_categories.put(table)
        return table, missing_categories


def _levels(column: nw.Series[Any]) -> tuple[Level, ...]:
    """Return the levels of a column of categories, sorted."""
    text = text_of_column(column)
    if len({isinstance(value, str) for value in text.values}) > 1:
        refuse_columns(column.to_frame(), ["mixed"])
    return LevelCounts.of(column.name, text).levels()


def _one_hot(column: nw.Series[Any], levels: Sequence[Level], unknown: UnknownLevels | None) -> Array:
    codes = {level: k for k, level in enumerate(levels)}
    values = column.to_list()
    numbers = np.array([codes.get(value, -1) for value in values], dtype=np.intp)
    unseen = [i for i in np.flatnonzero(numbers < 0).tolist() if not is_missing(values[i])]
    if unknown is None:
        refused = unseen
    else:
        refused = [i for i in unseen if isinstance(values[i], str) != isinstance(levels[0], str)]
        unknown.add(column.name, [values[i] for i in unseen])
    if refused:
        raise IpubError(
            "Column {column} has the category {value!r} in {row}, which was neither there in training nor "
            "declared (there were {levels}). Correct it, or {remedy}: bounds then hold for each of those.",
            column=column.name,
            value=values[refused[0]],
            row=refused[0],
            levels=examples_of(levels),
            remedy=AllowAnyLevel(),
        )
    numbers[numbers < 0] = len(levels)
    return np.vstack([np.eye(len(levels)), np.full(len(levels), np.nan)])[numbers]
