"""Units that may differ from a filled-in table: holes and wrong observed cells, each with its options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

HOLES, WRONG_CELLS, WRONG_LABELS, DROPPED_ROWS = 0, 1, 2, 3
"""The groups of units, each with a budget of its own. Of the last two every row is a unit."""

N_CELL_GROUPS = 2
"""The first groups, whose units are cells."""


@dataclass(frozen=True)
class BudgetMoves:
    """At most ``counts[g]`` units of each group g differ from the filled-in table, anywhere among their options.

    A count of at least the number of units is no limit: the worst case of that group. Counts that are left out are 0.

    Examples
    --------
    >>> BudgetMoves((5,)).count(1)
    0
    """

    counts: tuple[int, ...]

    def count(self, group: int) -> int:
        """Return the budget of a group."""
        return int(self.counts[group]) if group < len(self.counts) else 0


@dataclass(frozen=True)
class MovableRows:
    """Which rows of a filled-in table may differ from it, and how.

    A *unit* is one hole, or one observed cell that may be wrong. An *option* of a unit is a vector by which it can
    change its row: t times the option, t in [0, 1]. A number has up to two options, one down and one up; a missing
    category has one for each other level. At most one option of a unit is used at a time.
    """

    rows: Indices
    """Shape (n_rows,): numbers of the movable rows in the table, increasing."""
    unit_row: Indices
    """Shape (n_units,): for each unit the position of its row in `rows`, never decreasing."""
    unit_group: Indices
    """Shape (n_units,): `HOLES` or `WRONG_CELLS`."""
    option_unit: Indices
    """Shape (n_options,): for each option its unit, never decreasing; every unit has one."""
    option_columns: Indices
    option_amounts: Array
    """Shape (n_options, 2): the two columns that an option changes, and by how much; the second amount of a number is
    0."""

    @classmethod
    def of_numbers(cls, rows: Indices, columns: Indices, below: Array, above: Array, group: int = HOLES) -> MovableRows:
        """Make a unit of each number that may lie up to `below` below and `above` above its filled-in value.

        Examples
        --------
        >>> MovableRows.of_numbers([3, 3], [0, 1], [1.0, 0.0], [2.0, 0.5]).n_units
        2
        """
        rows, columns = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        below, above = np.asarray(below, dtype=float), np.asarray(above, dtype=float)
        moves = (below > 0.0) | (above > 0.0)
        rows, columns, below, above = rows[moves], columns[moves], below[moves], above[moves]
        units = np.arange(len(rows))
        amounts = np.concatenate([-below, above])
        table = _Options(
            rows,
            np.full(len(rows), group),
            np.tile(units, 2),
            np.column_stack([np.tile(columns, 2), np.tile(columns, 2)]),
            np.column_stack([amounts, np.zeros_like(amounts)]),
        )
        return _assembled([table])

    @classmethod
    def of_categories(
        cls, rows: Indices, filled_columns: Indices, level_columns: list[Indices], group: int = HOLES
    ) -> MovableRows:
        """Make a unit of each category that may have another level than the filled-in one.

        In its row the filled column is 1; `level_columns` has, for each unit, the columns of all its levels.
        """
        rows, filled = np.asarray(rows, dtype=np.intp), np.asarray(filled_columns, dtype=np.intp)
        others = [np.setdiff1d(levels, [base]) for levels, base in zip(level_columns, filled, strict=True)]
        units = np.repeat(np.arange(len(rows)), [len(levels) for levels in others])
        columns = np.column_stack([np.concatenate([*others, np.zeros(0)]).astype(np.intp), filled[units]])
        amounts = np.tile([1.0, -1.0], (len(units), 1))
        return _assembled([_Options(rows, np.full(len(rows), group), units, columns, amounts)])

    def joined_to(self, other: MovableRows) -> MovableRows:
        """Return the units of both."""
        return _assembled([self._as_options(), other._as_options()])

    def without(self, units: Indices) -> MovableRows:
        """Return all units but some, which stay as they are filled in."""
        rows, group, option_unit, columns, amounts = self._as_options()
        kept = ~np.isin(option_unit, units)
        return _assembled([_Options(rows, group, option_unit[kept], columns[kept], amounts[kept])])

    def _as_options(self) -> _Options:
        rows = self.rows[self.unit_row]
        return _Options(rows, self.unit_group, self.option_unit, self.option_columns, self.option_amounts)

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_row)

    @cached_property
    def option_row(self) -> Indices:
        """For each option the position of its row in `rows`."""
        return self.unit_row[self.option_unit]

    @cached_property
    def _in_pairs(self) -> bool:
        """Whether every unit has two options."""
        return np.array_equal(self.option_unit, np.repeat(np.arange(self.n_units), 2))

    @cached_property
    def option_starts(self) -> Indices:
        """The first option of each unit."""
        return np.searchsorted(self.option_unit, np.arange(self.n_units)).astype(np.intp)

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Whether a unit is a number: all its options change the same column."""
        second = np.bincount(self.option_unit, np.abs(self.option_amounts[:, 1]), minlength=self.n_units)
        return np.asarray(second == 0.0)

    def changes(self, U: Array) -> Array:
        """Return what each option adds to the product of its row with u, for each row u of U."""
        first, second = self.option_columns.T
        return np.asarray(
            U[..., first] * self.option_amounts[:, 0] + U[..., second] * self.option_amounts[:, 1], dtype=float
        )

    def greatest(self, values: Array) -> Array:
        """Return for each unit the greatest of its options' values, along the last axis."""
        if self.n_units == 0:
            return np.zeros((*values.shape[:-1], 0))
        if self._in_pairs:
            return np.asarray(np.maximum(values[..., ::2], values[..., 1::2]))
        return np.asarray(np.maximum.reduceat(values, self.option_starts, axis=-1))


class _Options(NamedTuple):
    """Units with the number of their row, and their options, in any order."""

    row: Indices
    group: Indices
    option_unit: Indices
    columns: Indices
    amounts: Array


def _assembled(tables: list[_Options]) -> MovableRows:
    """Put units into the order of their rows, and options into that of their units; options that move nothing go."""
    starts = np.cumsum([0, *(len(table.row) for table in tables)])
    unit = np.concatenate([table.option_unit + start for table, start in zip(tables, starts, strict=False)])
    row, group, _, columns, amounts = (np.concatenate(field) for field in zip(*tables, strict=True))
    kept = (amounts != 0.0).any(axis=1)
    unit, columns, amounts = unit[kept], columns[kept], amounts[kept]
    used = np.unique(unit)
    order = used[np.lexsort((used, row[used]))]
    place = np.empty(len(row), dtype=np.intp)
    place[order] = np.arange(len(order))
    by_unit = np.argsort(place[unit], kind="stable")
    rows, unit_row = np.unique(row[order], return_inverse=True)
    return MovableRows(
        rows.astype(np.intp),
        unit_row.astype(np.intp),
        group[order].astype(np.intp),
        place[unit][by_unit],
        columns[by_unit].astype(np.intp),
        amounts[by_unit],
    )
