"""What the uncertain rows do to scores to first order: advice for ruling out scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group
from ipub.numeric.rounding import Array


@dataclass(frozen=True)
class FirstOrderEffects:
    """What each unit of a table's rows, and each label, can do to ``y.w''`` for each of k directions, about.

    Attributes
    ----------
    table : RowTable
    numbers : array of shape (k, n_units)
        What a change by 1 of each number does; 0 for categories.
    levels : tuple of arrays of shape (k, n, n_levels)
        What each level does, for the units of each category that varies.
    labels : tuple of two arrays of shape (k, n_incomplete)
        What the first and the second label of each row do.
    """

    table: RowTable
    numbers: Array
    levels: tuple[Array, ...]
    labels: tuple[Array, Array]

    def total(self) -> Array:
        """Return how far all of them together can raise it, as far as budgets allow."""
        table, units = self.table, self.table.units
        gains = np.maximum(self.numbers * units.lower, self.numbers * units.upper)
        for number, effects in zip(_categories(table), self.levels, strict=True):
            gains[:, units.category == number] = effects.max(axis=2)
        of_labels = np.maximum(*self.labels)
        total = gains[:, units.group == Group.FREE].sum(axis=1) + of_labels[:, table.label_group == Group.FREE].sum(
            axis=1
        )
        for number, most in enumerate(table.budget):
            of_group = [gains[:, units.group == number], of_labels[:, table.label_group == number]]
            of_group = np.maximum(np.concatenate(of_group, axis=1), 0.0)
            k = min(most, of_group.shape[1])
            total = total + (np.partition(of_group, -k, axis=1)[:, -k:].sum(axis=1) if k else 0.0)
        return np.asarray(total)

    def plus(self, other: FirstOrderEffects, factors: Array) -> FirstOrderEffects:
        """Return the effects on directions to which multiples of another direction are added."""
        return FirstOrderEffects(
            self.table,
            self.numbers + factors[:, None] * other.numbers,
            tuple(a + factors[:, None, None] * b for a, b in zip(self.levels, other.levels, strict=True)),
            (self.labels[0] + factors[:, None] * other.labels[0], self.labels[1] + factors[:, None] * other.labels[1]),
        )


def _categories(table: RowTable) -> list[int]:
    """Return the categories that vary in some row."""
    return [int(number) for number in np.unique(table.units.category) if number >= 0]


def first_order_effects(table: RowTable, U: Array) -> FirstOrderEffects:
    """Return what units and labels do to first order, given ``K^-1 y`` of each direction."""
    units, graph, weight = table.units, table.incomplete_graph, table.incomplete_weight
    score = table.incomplete @ table.w
    value, slope = graph.value(score), graph.slope(score)
    along = U @ table.incomplete.T
    row = units.row
    factors = -weight[row] * value[row], -(weight * slope)[row] * along[:, row]
    numbers = np.where(units.is_number, factors[0] * U[:, units.column] + factors[1] * table.w[units.column], 0.0)
    levels = []
    for number in _categories(table):
        here, columns = np.flatnonzero(units.category == number), units.levels[number]
        effects = factors[0][here, None] * U[:, None, columns] + factors[1][:, here, None] * table.w[columns]
        base = np.where(
            units.base[here] >= 0,
            effects[:, np.arange(len(here)), units.base[here]],
            effects.mean(axis=2),
        )
        levels.append(effects - base[..., None])
    is_certain = table.label_group == Group.CERTAIN
    first, second = (np.where(is_certain, 0.0, -weight * (each.value(score) - value)) * along for each in table.labels)
    return FirstOrderEffects(table, numbers, tuple(levels), (first, second))
