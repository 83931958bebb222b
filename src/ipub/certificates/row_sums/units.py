"""What may vary in the uncertain rows of a table: numbers in intervals, categories at some level, and labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.graphs import LossGraph
from ipub.losses import Loss
from ipub.numeric.rounding import Array, down, up
from ipub.rows.completions import WholeTable
from ipub.tables.interval_matrix import Indices
from ipub.tables.missing_category import Levels
from ipub.tables.movable_units import BudgetMoves, MovableRows


class Group(IntEnum):
    """Groups without a budget; the compiled loops have the same numbers."""

    FREE = -1
    """Of what varies whatever the rest of the table does."""
    CERTAIN = -2
    """Of labels that do not vary."""


@dataclass(frozen=True, eq=False)
class Units:
    """Single numbers and categories that may vary, row by row.

    A unit of a *group* differs from what the table has in at most as many places as the budget of the group allows; a
    unit that is `Group.FREE` is anywhere inside its interval, or at any level.
    """

    row: Indices
    """Shape (n_units,): positions among the uncertain rows, never decreasing."""
    column: Indices
    """Shape (n_units,): the column of a number."""
    category: Indices
    """Shape (n_units,): the index of a category in `levels`, -1 for a number."""
    base: Indices
    """Shape (n_units,): the level that the table has in place of a category; -1 if it has the mean of all levels."""
    group: Indices
    lower: Array
    upper: Array
    """Shape (n_units,): by how much a number may be changed, 0 between both."""
    levels: tuple[Indices, ...]
    """The columns of the levels of each category."""

    @classmethod
    def of_holes(cls, table: WholeTable, position: Indices, categories: tuple[Levels, ...]) -> Units:
        """Return all uncertain cells and missing categories of a table, each free.

        Parameters
        ----------
        table : WholeTable
        position : array of shape (n_rows,)
            Of each row among the uncertain ones; -1 for the others.
        categories : tuple of Levels
        """
        number = np.arange(len(position))
        cells, missing = (
            position[np.repeat(number, table.cell_counts)],
            position[np.repeat(number, table.missing_counts)],
        )
        kept, known = cells >= 0, missing >= 0
        radii, kinds = table.cell_radii[kept], table.categories[known]
        n, m = len(radii), len(kinds)
        return cls(
            np.concatenate([cells[kept], missing[known]]),
            np.concatenate([table.cell_columns[kept], np.zeros(m, dtype=np.intp)]),
            np.concatenate([np.full(n, -1), kinds]).astype(np.intp),
            np.full(n + m, -1),
            np.full(n + m, Group.FREE),
            np.concatenate([-radii, np.zeros(m)]),
            np.concatenate([radii, np.zeros(m)]),
            tuple(np.asarray(each.columns, dtype=np.intp) for each in categories),
        )._in_order()

    @classmethod
    def of_movable(cls, movable: MovableRows, moves: BudgetMoves, position: Indices) -> Units:
        """Return what may differ from a filled-in table, in groups that have a budget each; without a limit: free."""
        is_number, first = movable.is_number, movable.option_starts
        options = movable.option_columns, movable.option_amounts
        assert (options[1][~is_number[movable.option_unit]] == [1.0, -1.0]).all(), "levels are 0 and 1"
        lower, upper = np.zeros(movable.n_units), np.zeros(movable.n_units)
        np.minimum.at(lower, movable.option_unit, options[1][:, 0])
        np.maximum.at(upper, movable.option_unit, options[1][:, 0])
        category, base = np.full(movable.n_units, -1), np.full(movable.n_units, -1)
        levels: dict[tuple[int, ...], int] = {}
        for unit in np.flatnonzero(~is_number):
            own = movable.option_unit == unit
            filled = int(options[0][own][0, 1])
            columns = tuple(sorted({filled, *options[0][own][:, 0].tolist()}))
            category[unit], base[unit] = levels.setdefault(columns, len(levels)), columns.index(filled)
        sizes = np.bincount(movable.unit_group, minlength=len(moves.counts))
        is_free = np.array([moves.count(group) >= size for group, size in enumerate(sizes)])[movable.unit_group]
        return cls(
            position[movable.rows[movable.unit_row]],
            np.where(is_number, options[0][first, 0], 0),
            category,
            base,
            np.where(is_free, Group.FREE, movable.unit_group),
            np.where(is_number, lower, 0.0),
            np.where(is_number, upper, 0.0),
            tuple(np.array(each, dtype=np.intp) for each in levels),
        )._in_order()

    def _in_order(self) -> Units:
        return self.some(np.argsort(self.row, kind="stable"))

    def some(self, which: Indices | NDArray[np.bool_], row: Indices | None = None) -> Units:
        """Return some of the units, with other positions of their rows if these are given."""
        rows = self.row[which] if row is None else row
        return Units(
            rows,
            self.column[which],
            self.category[which],
            self.base[which],
            self.group[which],
            self.lower[which],
            self.upper[which],
            self.levels,
        )

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Whether each unit is a number."""
        return self.category < 0

    @cached_property
    def sizes(self) -> Indices:
        """How many columns each unit has."""
        counts = np.array([len(columns) for columns in self.levels] or [1])
        return np.where(self.is_number, 1, counts[self.category])


@dataclass(frozen=True, eq=False)
class LabelPair:
    """The derivatives of rows with the first, and with the second of their two labels."""

    first: LossGraph
    second: LossGraph

    def __iter__(self) -> Iterator[LossGraph]:
        return iter((self.first, self.second))

    def of_rows(self, which: NDArray[np.bool_] | Indices) -> LabelPair:
        """Return those of some of the rows."""
        return LabelPair(self.first.of_rows(which), self.second.of_rows(which))


def label_pair(loss: Loss, table: WholeTable, max_wrong_labels: int) -> LabelPair | None:
    """Return the two labels of all rows of a table; None if labels are uncertain in another way.

    A row whose label is certain has it twice.
    """
    y, radius, of_weight = table.y, table.label_radius, table.weight_radius
    if max_wrong_labels:
        return LabelPair(LossGraph(loss, y), LossGraph(loss, -y))
    if ((of_weight != 0.0) & ((of_weight != 1.0) | (radius > 0.0))).any():
        return None
    upper, lower = np.where(radius > 0.0, up(y + radius), y), np.where(radius > 0.0, down(y - radius), y)
    return LabelPair(LossGraph(loss, upper, 1.0 + of_weight), LossGraph(loss, lower, 1.0 - of_weight))
