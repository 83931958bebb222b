"""Missing categories: a choice among the levels of a column, not a box of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.rounding import Array, sum_error, up

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Levels:
    """Columns of a table of which one is 1 and the others 0: the levels of one category, at least two.

    A row whose level is missing has the mean of all levels as its center.

    Attributes
    ----------
    columns : array of shape (n_levels,)
    """

    columns: Indices

    @property
    def share(self) -> float:
        """What stands in each column of the center."""
        return 1.0 / len(self.columns)

    def changes(self, vectors: Array) -> Array:
        """Return ``d_k.vector`` for every level k, along the last axis: d_k leads from the center to level k."""
        part = vectors[..., self.columns]
        return np.asarray(part - part.mean(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class MissingCategories:
    """Missing categories: in each of some rows every level of a category is possible.

    The table has the mean of all levels there.

    Attributes
    ----------
    rows : array of shape (n_choices,)
        Row of each, in ascending order.
    categories : array of shape (n_choices,)
        Number of its category.
    levels : tuple of Levels
        The categories.
    """

    rows: Indices
    categories: Indices
    levels: tuple[Levels, ...]

    @classmethod
    def of(cls, missing: NDArray[np.bool_], levels: Sequence[Levels]) -> MissingCategories:
        """Make them from a table that says for each row and category whether it is missing."""
        rows, categories = np.nonzero(missing)
        return cls(rows.astype(np.intp), categories.astype(np.intp), tuple(levels))

    def __len__(self) -> int:
        return len(self.rows)

    def count_levels(self) -> int:
        """Return how many levels there are to choose from, over all choices."""
        return sum(len(self.levels[k].columns) for k in self.categories)

    def within(self, rows: slice) -> MissingCategories:
        """Return those of some consecutive rows, which are counted from the first of these."""
        first, last = np.searchsorted(self.rows, [rows.start, rows.stop])
        return MissingCategories(self.rows[first:last] - rows.start, self.categories[first:last], self.levels)

    def spread(self, w: Array) -> Array:
        """Bound for each choice how far it can move the score under w, rounded up (F12)."""
        each = np.zeros(len(self.levels))
        for k, levels in enumerate(self.levels):
            size = np.abs(w[levels.columns])
            wrong = sum_error(size.max() + size.mean(), len(size) + 3)
            each[k] = up(np.abs(levels.changes(w)).max() + wrong)
        return each[self.categories] if len(each) else np.zeros(0)

    def reach(self, farthest: Array) -> Array:
        """Return for each choice how far it can move the score under any v with ``|v_j| <= farthest_j``."""
        each = np.array([farthest[c].max() + farthest[c].mean() for c in (levels.columns for levels in self.levels)])
        return each[self.categories] if len(each) else np.zeros(0)

    def by_category(self) -> Iterator[tuple[Indices, Levels]]:
        """Yield for each category the numbers of its choices, and its levels."""
        for number, levels in enumerate(self.levels):
            yield np.flatnonzero(self.categories == number), levels

    def put(self, table: Array, chosen: NDArray[np.integer] | None = None) -> None:
        """Write a level for each choice into the rows of a table; -1, or nothing, is the mean of all."""
        for some, levels in self.by_category():
            rows, level = self.rows[some], np.full(len(some), -1) if chosen is None else chosen[some]
            table[np.ix_(rows, levels.columns)] = np.where(level < 0, levels.share, 0.0)[:, None]
            table[rows[level >= 0], levels.columns[level[level >= 0]]] = 1.0

    def column_sums(self, values: Array, n_columns: int) -> Array:
        """Add up a value for each choice, times the most by which it can change a column."""
        sums = np.zeros(n_columns)
        totals = np.bincount(self.categories, values, minlength=len(self.levels))
        for levels, total in zip(self.levels, totals, strict=True):
            sums[levels.columns] += total * (1.0 - levels.share)
        return sums


NOTHING_MISSING = MissingCategories(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), ())
