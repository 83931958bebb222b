"""What is known of the models of all completions: ranges of the scores of all rows, and of all weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ipub.certificates.row_sums.graphs import GraphPoints, graph_points
from ipub.certificates.row_sums.lines import Lines
from ipub.certificates.row_sums.table import RowTable
from ipub.data.interval_matrix import Indices
from ipub.rounding import Array, down, norm_upper, sum_upper, up

N_PIECES = 12
"""Pieces of an incomplete row's range of scores: accuracy against time."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of ``y.w''`` for all directions y of a table, and what follows from them for its rows.

    Attributes
    ----------
    table : RowTable
    lower, upper : arrays of shape (n_directions,)
    """

    table: RowTable
    lower: Array
    upper: Array

    @cached_property
    def weight_lower(self) -> Array:
        """The least value of each weight."""
        return self.lower[self.table.weights_at]

    @cached_property
    def weight_upper(self) -> Array:
        """The greatest value of each weight."""
        return self.upper[self.table.weights_at]

    @cached_property
    def weight_size(self) -> Array:
        """The greatest size of each weight."""
        return np.maximum(np.abs(self.weight_lower), np.abs(self.weight_upper))

    @cached_property
    def weight_middle(self) -> Array:
        """A value inside the range of each weight."""
        return 0.5 * self.weight_lower + 0.5 * self.weight_upper

    @cached_property
    def weight_radius(self) -> Array:
        """How far any value of a weight is from the middle."""
        return np.maximum(up(self.weight_upper - self.weight_middle), up(self.weight_middle - self.weight_lower))

    @cached_property
    def lines(self) -> Lines:
        """Lines of the complete rows."""
        at = self.table.complete_at
        return Lines.of(self.table.complete_graph, self.lower[at], self.upper[at])

    @cached_property
    def row_lower(self) -> Array:
        """The least score of each incomplete row's center."""
        return self.lower[self.table.incomplete_at]

    @cached_property
    def row_upper(self) -> Array:
        """The greatest score of each incomplete row's center."""
        return self.upper[self.table.incomplete_at]

    @cached_property
    def cell_change(self) -> Array:
        """The most that cells and categories can change the score of an incomplete row (``|d.w''|``)."""
        table = self.table
        change = table.sums_of_cells(table.cell_radii * self.weight_size[table.cell_columns])
        for missing in table.missing:
            size = self.weight_size[missing.columns]
            np.add.at(change, missing.rows, size.max() + size.mean())
        return sum_upper(change, 2 * len(table.w) + 4)

    @cached_property
    def points(self) -> GraphPoints:
        """Points of the graphs of the incomplete rows, over all scores that a completion may give them."""
        lower, upper = down(self.row_lower - self.cell_change), up(self.row_upper + self.cell_change)
        return graph_points(self.table.incomplete_graph, lower, upper, N_PIECES)

    @cached_property
    def main_cells(self) -> tuple[Indices, ...]:
        """For each incomplete row the cells that move its score most, and then those that do second most; -1: none."""
        table = self.table
        size = table.cell_radii * np.abs(self.weight_middle[table.cell_columns])
        order = np.lexsort((-size, table.cell_rows))
        first = np.flatnonzero(np.diff(table.cell_rows[order], prepend=-1)) if len(order) else np.zeros(0, dtype=int)
        rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        chosen = []
        for place in (0, 1):
            which = np.full(len(table.incomplete), -1)
            cells = order[rank == place]
            which[table.cell_rows[cells]] = cells
            chosen.append(which)
        return tuple(chosen)

    @cached_property
    def row_norms(self) -> tuple[Array, Array]:
        """Bounds of the Euclidean norms of complete and of incomplete rows."""
        return norm_upper(self.table.complete), norm_upper(self.table.incomplete)

    @cached_property
    def complete_size(self) -> float:
        """``sum_i m_i |x_i| F_i``, F_i the largest number in the lines of row i: what their rounding is relative to."""
        largest = np.maximum(np.abs(self.lines.above), np.abs(self.lines.below)).max(axis=0)
        n = len(largest)
        return float(sum_upper(self.table.complete_weight @ (self.row_norms[0] * largest), n + 4))

    @cached_property
    def curvature_size(self) -> Array:
        """``sum_i m_i k_i |x_i| |x_ij|`` with the steepest lines: what the rounding of a residual is relative to."""
        steepest = self.lines.slope.max(axis=0)
        weighted = self.table.complete_weight * steepest * self.row_norms[0]
        return sum_upper(weighted @ np.abs(self.table.complete), len(weighted) + 4)

    def within(self, lower: Array, upper: Array) -> Ranges:
        """Return the ranges cut down to what is between other bounds too."""
        return Ranges(self.table, np.fmax(self.lower, lower), np.fmin(self.upper, upper))
