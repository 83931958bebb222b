"""Which units of a filled-in table may move together: support functions of the set of moves (Lemma 20)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.around_filling.units import MovableRows, RowSlots
from ipub.rounding import Array, sum_upper, up


def largest_sum_upper(values: Array, count: int) -> Array:
    """Bound the sum of the `count` largest of non-negative values along the last axis; all if there are no more.

    Examples
    --------
    >>> bool(5.0 <= largest_sum_upper(np.array([1.0, 3.0, 2.0]), 2) < 5.0 + 1e-14)
    True
    """
    n = values.shape[-1]
    if count <= 0 or n == 0:
        return np.zeros(values.shape[:-1])
    if count < n:
        values = np.partition(values, n - count, axis=-1)[..., n - count :]
    return np.asarray(sum_upper(values.sum(axis=-1), min(count, n) + 1))


@dataclass(frozen=True)
class BudgetMoves:
    """At most ``counts[g]`` units of each group g differ from the filled-in table, anywhere among their options.

    A count of at least the number of units is no limit: the worst case of that group.

    Examples
    --------
    >>> BudgetMoves((5,)).count(1)
    0
    """

    counts: tuple[int, ...]

    def count(self, group: int) -> int:
        """Return the budget of a group."""
        return int(self.counts[group]) if group < len(self.counts) else 0

    def total(self, movable: MovableRows, values: Array) -> Array:
        """Bound ``sum_k t_k values_k`` for values that are not negative, along the last axis (S of Lemma 20)."""
        total = np.zeros(values.shape[:-1])
        for group, (units, _) in enumerate(movable.groups):
            if len(units) and self.count(group):
                part = values if len(units) == movable.n_units else values[..., units]
                total = up(total + largest_sum_upper(part, self.count(group)))
        return total

    def row_totals(self, movable: MovableRows, values: Array) -> Array:
        """Bound the same sum over the units of each row: what a row can have of the budget."""
        total = np.zeros((*values.shape[:-1], len(movable.rows)))
        for group, (units, slots) in enumerate(movable.groups):
            if len(units) and self.count(group):
                part = values if len(units) == movable.n_units else values[..., units]
                total = up(total + largest_sum_upper(in_rows(part, slots), self.count(group)))
        return total

    def has_limit(self, movable: MovableRows) -> bool:
        """Whether some units must stay where they are."""
        return any(self.count(group) < len(units) for group, (units, _) in enumerate(movable.groups))


def in_rows(values: Array, slots: np.ndarray) -> Array:
    """Lay values of units out row by row, with zeros where a row has fewer units than others."""
    padded = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
    return padded[..., slots]


def row_sums(movable: MovableRows, values: Array) -> Array:
    """Bound the sum of all units' values of each row, not only those that may move together."""
    total = np.zeros((*values.shape[:-1], len(movable.rows)))
    for units, slots in movable.groups:
        if len(units):
            total = up(total + largest_sum_upper(in_rows(values[..., units], slots), slots.shape[1]))
    return total


__all__ = ["BudgetMoves", "RowSlots", "in_rows", "largest_sum_upper", "row_sums"]
