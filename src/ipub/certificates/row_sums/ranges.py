"""What is known of the models of all completions: ranges of the scores of all rows, and of all weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ipub.certificates.row_sums.graphs import GraphPoints, LossGraph, graph_points
from ipub.certificates.row_sums.lines import Lines
from ipub.certificates.row_sums.table import MissingLevels, RowTable
from ipub.certificates.row_sums.variants import Variants, make_variants
from ipub.rounding import Array, down, norm_upper, sum_error, sum_upper, up

N_PIECES, FINER = 8, 2
"""Pieces of an incomplete row's range of scores: accuracy against time. Each has finer parts, which cost less."""


MANY_SETTLED = 0.1
"""Rows whose derivative is settled are left out once they are this share of all directions."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of ``y.w''`` for all directions y of a table, and what follows from them for its rows.

    Attributes
    ----------
    table : RowTable
    variants : Variants
    variant_graph : LossGraph
        The derivatives of the variants; with the first label of their rows, where these have two.
    lower, upper : arrays of shape (n_directions,)
    on_path : bool
        Whether they are also about the minimisers on the way from w to the models of completions (Theorem 12), and not
        only about these.
    """

    table: RowTable
    variants: Variants
    variant_graph: LossGraph
    lower: Array
    upper: Array
    on_path: bool

    @classmethod
    def of(cls, table: RowTable, lower: Array, upper: Array, *, on_path: bool) -> Ranges:
        """Put ranges together with the variants of the table's rows (`make_variants`)."""
        variants = make_variants(table, with_centers=on_path)
        graph = table.incomplete_graph if table.labels is None else table.labels.first.incomplete
        return cls(table, variants, graph.of_rows(variants.row), lower, upper, on_path)

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
        lower, upper, labels = *(end[self.table.complete_at] for end in (self.lower, self.upper)), self.table.labels
        if labels is None:
            return Lines.of(self.table.complete_graph, lower, upper)
        return Lines.of(labels.first.complete, lower, upper, labels.second.complete)

    @cached_property
    def row_lower(self) -> Array:
        """The least score of each incomplete row's center."""
        return self.lower[self.table.incomplete_at]

    @cached_property
    def row_upper(self) -> Array:
        """The greatest score of each incomplete row's center."""
        return self.upper[self.table.incomplete_at]

    @cached_property
    def points(self) -> GraphPoints:
        """Points of the graphs of the variants, over all scores that a completion may give them."""
        return self._points_of(self.variant_graph)

    @cached_property
    def second_points(self) -> GraphPoints | None:
        """The same with the second label of each row; None if labels are certain."""
        labels = self.table.labels
        return None if labels is None else self._points_of(labels.second.incomplete.of_rows(self.variants.row))

    def _points_of(self, graph: LossGraph) -> GraphPoints:
        n_pieces, finer = (1, 1) if graph.is_step else (N_PIECES, FINER)
        return graph_points(graph, *self._variant_scores, n_pieces, finer)

    @cached_property
    def _variant_scores(self) -> tuple[Array, Array]:
        """The least and the greatest score that a completion may give each variant."""
        variants, table = self.variants, self.table
        columns = table.cell_columns[variants.cells]
        corners = np.stack(
            [end * weight[columns] for end in (variants.lower, variants.upper) for weight in self.weight_ends]
        )
        low, high = variants.sums(corners.min(axis=0)), variants.sums(corners.max(axis=0))
        size = variants.sums(np.abs(corners).max(axis=0))
        for levels in variants.levels:
            lowest, highest = self._level_changes(table.missing[levels.category])
            if levels.is_settled:
                least, most = (np.where(levels.is_center, 0.0, each[levels.level]) for each in (lowest, highest))
            else:
                least, most = lowest.min(), highest.max()
            np.add.at(low, levels.rows, least)
            np.add.at(high, levels.rows, most)
            np.add.at(size, levels.rows, max(np.abs(lowest).max(), np.abs(highest).max()))
        error = sum_error(size, 2 * len(table.w) + 8)
        lower = down(down(self.row_lower[variants.row] + low) - error)
        upper = up(up(self.row_upper[variants.row] + high) + error)
        # What overflowed is not known; a NaN would be sorted behind the other end.
        return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)

    @property
    def weight_ends(self) -> tuple[Array, Array]:
        """The least and the greatest value of each weight."""
        return self.weight_lower, self.weight_upper

    def _level_changes(self, missing: MissingLevels) -> tuple[Array, Array]:
        """Bound ``d_l.w''`` for each level of a category, rounded outward."""
        low, high, center = self.weight_lower[missing.columns], self.weight_upper[missing.columns], missing.center
        own_low, own_high = (1.0 - center) * low, (1.0 - center) * high
        others_low, others_high = center * (low.sum() - low), center * (high.sum() - high)
        error = sum_error(np.abs(low).sum() + np.abs(high).sum(), len(low) + 8)
        return down(own_low - others_high - error), up(own_high - others_low + error)

    @cached_property
    def row_scores(self) -> tuple[Array, Array]:
        """The least and the greatest score that an option may give each incomplete row."""
        first, last, order = self.points.score[0], self.points.score[-1], self.variants.order
        start = self.variants.first_of_row
        return np.minimum.reduceat(first[order], start), np.maximum.reduceat(last[order], start)

    @cached_property
    def row_norms(self) -> tuple[Array, Array]:
        """Bounds of the Euclidean norms of complete and of incomplete rows."""
        return norm_upper(self.table.complete), norm_upper(self.table.incomplete)

    @cached_property
    def complete_size(self) -> float:
        """``sum_i m_i |x_i| F_i``, F_i the largest number in the lines of row i: what their rounding is relative to."""
        lines, n = self.lines, self.lines.slope.shape[1]
        of_labels = (lines,) if lines.second is None else (lines, lines.second)
        largest = np.abs([bound for each in of_labels for bound in (each.above, each.below)]).max(axis=(0, 1))
        return float(sum_upper(self.table.complete_weight @ (self.row_norms[0] * largest), n + 4))

    @cached_property
    def curvature_size(self) -> Array:
        """``sum_i m_i k_i |x_i| |x_ij|`` with the steepest lines: what the rounding of a residual is relative to."""
        steepest = np.abs(self.lines.slope).max(axis=0)
        weighted = self.table.complete_weight * steepest * self.row_norms[0]
        return sum_upper(weighted @ np.abs(self.table.complete), len(weighted) + 4)

    def compute_shared(self) -> None:
        """Compute what the bounds of all directions need, once, before several threads ask for it."""
        _ = self.complete_size, self.curvature_size, self.row_scores, self.second_points
        _ = self.weight_middle, self.weight_radius, self.weight_size, self.table.complete_squares
        _ = self.variants.order, self.variants.first_of_row

    def without_settled_rows(self) -> Ranges:
        """Leave out the rows whose derivative is settled, if they are many: for the models of completions alone."""
        table, at = self.table, self.table.complete_at
        of_complete = self.lower[at], self.upper[at]
        (low, high), (least, greatest) = table.derivative_ranges(of_complete, self.row_scores)
        complete, incomplete = low == high, least == greatest
        for missing in table.missing:
            incomplete[missing.rows] = False
        if complete.sum() + incomplete.sum() < MANY_SETTLED * len(table.directions):
            return self
        smaller, used = table.without(complete, incomplete, (low, least))
        return Ranges.of(smaller, self.lower[used], self.upper[used], on_path=False)

    def within(self, lower: Array, upper: Array) -> Ranges:
        """Return the ranges cut down to what is between other bounds too."""
        return replace(self, lower=np.fmax(self.lower, lower), upper=np.fmin(self.upper, upper))

    def with_ends(self, lower: Array, upper: Array) -> Ranges:
        """Return other ranges of the same table."""
        return replace(self, lower=lower, upper=upper)
