"""Which units of a filled-in table may move together: support functions of the set of moves (Lemma 20)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.around_filling.largest_sums import largest_sum_upper
from ipub.certificates.around_filling.unit_norms import sum_norm_upper
from ipub.certificates.around_filling.units import MovableRows
from ipub.data.interval_matrix import Indices
from ipub.rounding import Array, up


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

    def norm_upper(self, movable: MovableRows, Z: Array, error: Array, rounds: int = 3) -> Array:
        """Bound ``|sum_k t_k z_k|``, one vector for each generator that is off by `error` (Lemma 20 (ii)).

        For each of several sets of vectors, shape (n_sets, n_generators, d); weights are chosen `rounds` times.
        """
        return sum_norm_upper(movable, self.count, Z, error, rounds)

    def has_limit(self, movable: MovableRows) -> bool:
        """Whether some units must stay where they are."""
        return any(self.count(group) < len(units) for group, (units, _) in enumerate(movable.groups))


def in_rows(values: Array, slots: Indices) -> Array:
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
