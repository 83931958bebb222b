"""Missing categories: each is one of the levels of its column, which no box of numbers describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array, sum_error, up

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Levels:
    """The indicator columns of one category, at least two: one of them is 1 and the others are 0.

    A row whose level is missing has the mean of all levels as its center.
    """

    columns: Indices
    """Shape (n_levels,)."""

    @property
    def center_value(self) -> float:
        """Value of each indicator column where the category is missing: one over the number of levels."""
        return 1.0 / len(self.columns)

    def changes(self, vectors: Array) -> Array:
        """Return ``d_k.vector`` for every level k, along the last axis: d_k leads from the center to level k."""
        part = vectors[..., self.columns]
        return np.asarray(part - part.mean(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class MissingCategories:
    """The missing categories of a table: each may be any level of its category.

    The center of the table has the mean of all levels there.
    """

    rows: Indices
    """Shape (n_missing,): row of each missing category, in ascending order."""
    categories: Indices
    """Shape (n_missing,): index of its category in `levels`."""
    levels: tuple[Levels, ...]
    """The categories."""

    @classmethod
    def of(cls, missing: NDArray[np.bool_], levels: Sequence[Levels]) -> MissingCategories:
        """Make them from a table of booleans, shape (n_rows, n_categories): whether a category is missing in a row."""
        rows, categories = np.nonzero(missing)
        return cls(rows.astype(np.intp), categories.astype(np.intp), tuple(levels))

    def __len__(self) -> int:
        return len(self.rows)

    def count_levels(self) -> int:
        """Return the number of possible levels, summed over the missing categories."""
        return sum(len(self.levels[k].columns) for k in self.categories)

    def within(self, rows: slice) -> MissingCategories:
        """Return those of consecutive rows, with row numbers counted from the first of these rows."""
        first, last = np.searchsorted(self.rows, [rows.start, rows.stop])
        return MissingCategories(self.rows[first:last] - rows.start, self.categories[first:last], self.levels)

    def score_change(self, w: Array) -> Array:
        """Bound for each missing category how far it can move the score under w, rounded up (fp-levels)."""
        each = np.zeros(len(self.levels))
        for k, levels in enumerate(self.levels):
            size = np.abs(w[levels.columns])
            wrong = sum_error(size.max() + size.mean(), len(size) + 3)
            each[k] = up(np.abs(levels.changes(w)).max() + wrong)
        return each[self.categories] if len(each) else np.zeros(0)

    def score_change_within(self, limits: Array) -> Array:
        """Return for each missing category how far it can move the score under any v with ``|v_j| <= limits_j``."""
        each = np.array([limits[c].max() + limits[c].mean() for c in (levels.columns for levels in self.levels)])
        return each[self.categories] if len(each) else np.zeros(0)

    def by_category(self) -> Iterator[tuple[Indices, Levels]]:
        """Yield for each category the indices of where it is missing, and its levels."""
        for number, levels in enumerate(self.levels):
            yield np.flatnonzero(self.categories == number), levels

    def put(self, table: Array, chosen: NDArray[np.integer] | None = None) -> None:
        """Write a level for each missing category into the rows of a table; -1, or no `chosen`, is the mean of all."""
        for which, levels in self.by_category():
            rows, level = self.rows[which], np.full(len(which), -1) if chosen is None else chosen[which]
            table[np.ix_(rows, levels.columns)] = np.where(level < 0, levels.center_value, 0.0)[:, None]
            table[rows[level >= 0], levels.columns[level[level >= 0]]] = 1.0

    def column_change(self, values: Array, n_columns: int) -> Array:
        """Add up, for each column, a value of each missing category times the most it can change the column."""
        sums = np.zeros(n_columns)
        totals = np.bincount(self.categories, values, minlength=len(self.levels))
        for levels, total in zip(self.levels, totals, strict=True):
            sums[levels.columns] += total * (1.0 - levels.center_value)
        return sums


NOTHING_MISSING = MissingCategories(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), ())
