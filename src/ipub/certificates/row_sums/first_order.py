"""What cells, missing categories and labels do to scores to first order, and the curvature that this rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.row_sums.graphs import Graph
from ipub.certificates.row_sums.labels import SecondLabels, TableGraphs, TwoLabels
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.parallel import row_slices
from ipub.rounding import TINY, Array


@dataclass(frozen=True)
class FirstOrderEffects:
    """What each cell, and each level of a missing category, can do to ``y.w''`` for each of k directions, about.

    Attributes
    ----------
    cells : array of shape (k, n_cells)
        Of a cell at its upper end; at the lower one it is the negative.
    levels : tuple of arrays of shape (k, n_missing, n_levels)
    labels : tuple of arrays of shape (k, n_rows)
        Of the first and of the second label of each row, where rows have two.
    two_labels : TwoLabels or None
    """

    cells: Array
    levels: tuple[Array, ...]
    labels: tuple[Array, ...] = ()
    two_labels: TwoLabels | None = None

    def total(self) -> Array:
        """Return how far all of them together can raise it."""
        of_levels = sum(each.max(axis=2).sum(axis=1) for each in self.levels)
        total = np.asarray(np.abs(self.cells).sum(axis=1) + of_levels)
        return (
            total
            if self.two_labels is None
            else total + self.labels[0].sum(axis=1) + self.two_labels.gained(*self.labels)
        )

    def plus(self, other: FirstOrderEffects, factors: Array) -> FirstOrderEffects:
        """Return the effects on directions to which multiples of another direction are added."""
        levels, labels = zip(self.levels, other.levels, strict=True), zip(self.labels, other.labels, strict=True)
        return FirstOrderEffects(
            self.cells + factors[:, None] * other.cells,
            tuple(each + factors[:, None, None] * more for each, more in levels),
            tuple(each + factors[:, None] * more for each, more in labels),
            self.two_labels,
        )


def first_order_effects(ranges: Ranges, U: Array) -> FirstOrderEffects:
    """Return what cells and levels do to first order, given ``K^-1 y`` of each direction."""
    table = ranges.table
    score = table.incomplete @ table.w
    value, slope = table.incomplete_graph.value(score), table.incomplete_graph.slope(score)
    at, columns, weight = table.cell_rows, table.cell_columns, table.incomplete_weight
    along = slope * (U @ table.incomplete.T)
    cells = -weight[at] * table.cell_radii * (value[at] * U[:, columns] + along[:, at] * table.w[columns])
    levels = []
    for missing in table.missing:
        rows, of_levels = missing.rows, missing.columns
        effects = value[rows, None] * U[:, None, of_levels] + along[:, rows, None] * table.w[of_levels]
        effects = effects - missing.center * effects.sum(axis=2, keepdims=True)
        levels.append(-weight[rows, None] * effects)
    if table.labels is None:
        return FirstOrderEffects(cells, tuple(levels))
    first, second = (
        _label_effects(table, graphs, U, table.w) - _label_effects(table, table.graphs, U, table.w)
        for graphs in (table.labels.first, table.labels.second)
    )
    return FirstOrderEffects(cells, tuple(levels), (first, second), table.labels)


def first_order_rise(ranges: Ranges, Y: Array) -> Array:
    """Return how far the worst completion raises ``y.w''`` for each direction in Y, to first order."""
    inverse = first_inverse(ranges)
    result = np.empty(len(Y))
    for chunk in row_slices(len(Y), 4 * len(ranges.table.cell_rows) + len(ranges.table.incomplete)):
        U = Y[chunk] @ inverse
        result[chunk] = np.einsum("kd,kd->k", U, first_force(ranges, U))
    return result


def first_force(ranges: Ranges, U: Array) -> Array:
    """Return what the worst completion for each direction takes off the gradient at w, to first order."""
    table = ranges.table
    score = table.incomplete @ table.w
    value, slope = table.incomplete_graph.value(score), table.incomplete_graph.slope(score)
    at, columns, weight = table.cell_rows, table.cell_columns, table.incomplete_weight
    along = U @ table.incomplete.T
    effect = value[at] * U[:, columns] + (slope * along)[:, at] * table.w[columns]
    move = -np.sign(effect) * table.cell_radii * weight[at]
    force = (
        np.sign(U) * table.settled.radius - table.sums_of_cells(move * slope[at] * table.w[columns]) @ table.incomplete
    )
    force -= table.columns_of_cells(move * value[at])
    for missing in table.missing:
        rows, of_levels = missing.rows, missing.columns
        effects = value[rows, None] * U[:, None, of_levels] + (slope * along)[:, rows, None] * table.w[of_levels]
        chosen = np.argmin(effects, axis=2)
        change = np.eye(len(of_levels))[chosen] - missing.center
        by_score = np.einsum("kil,l->ki", change, table.w[of_levels])
        force -= (weight[rows] * slope[rows] * by_score) @ table.incomplete[rows]
        force[:, of_levels] -= np.einsum("i,kil->kl", weight[rows] * value[rows], change)
    if table.labels is not None:
        at_w = np.broadcast_to(table.w, U.shape)
        graphs, _ = with_labels(table, U, at_w)
        for graph, center, X, m in (
            (graphs.complete, table.complete_graph, table.complete, table.complete_weight),
            (graphs.incomplete, table.incomplete_graph, table.incomplete, table.incomplete_weight),
        ):
            force -= (m * (graph.value(at_w @ X.T) - center.value(at_w @ X.T))) @ X
    return force


def with_labels(table: RowTable, U: Array, W: Array) -> tuple[TableGraphs, SecondLabels | None]:
    """Choose the labels of each row that are worst for each direction, given about the multiplier and the model."""
    if table.labels is None:
        return table.graphs, None
    first, second = _label_effects(table, table.labels.first, U, W), _label_effects(table, table.labels.second, U, W)
    gains, most = second - first, table.labels.most
    is_second = gains > 0.0
    if most is not None and most < gains.shape[1]:
        is_second &= gains >= np.partition(gains, -most, axis=1)[:, -most, None]
    n_complete = len(table.complete)
    labels = SecondLabels(is_second[:, :n_complete], is_second[:, n_complete:])
    return table.labels.chosen(labels), labels


def _label_effects(table: RowTable, graphs: TableGraphs, U: Array, W: Array) -> Array:
    """Return about what the rows, with labels of their own, do to each direction; shape (k, n_rows)."""
    return np.concatenate(
        [
            -table.complete_weight * graphs.complete.value(W @ table.complete.T) * (U @ table.complete.T),
            -table.incomplete_weight * graphs.incomplete.value(W @ table.incomplete.T) * (U @ table.incomplete.T),
        ],
        axis=-1,
    )


def first_inverse(ranges: Ranges) -> Array:
    """Return about the inverse of the curvature with the chord of every row at its center."""
    table, lines = ranges.table, ranges.lines
    slope = chord(table.complete_graph, lines.lower, lines.upper)
    K = np.diag(table.lam) + (table.complete.T * (table.complete_weight * slope)) @ table.complete
    slope = chord(table.incomplete_graph, *ranges.row_scores)
    K += (table.incomplete.T * (table.incomplete_weight * slope)) @ table.incomplete
    return np.asarray(solved(K, np.eye(len(K))), dtype=float)


def solved(K: Array, right: Array) -> Array:
    """Solve systems; those of matrices that are flat along some direction with 0 along it, if any is flat.

    Where derivatives jump and no row's range holds its jump, nothing bends along an intercept.
    """
    try:
        return np.asarray(np.linalg.solve(K, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(K, hermitian=True) @ right)


def chord(graph: Graph, lower: Array, upper: Array) -> Array:
    """Return the slope of the chord over a range, of a tangent where that is a point."""
    width, first = upper - lower, graph.value(lower)
    is_point = width <= 1e-7 * (np.abs(first) + np.abs(lower))
    rise = graph.value(upper) - first
    return np.asarray(np.where(is_point, graph.slope(lower), rise / np.maximum(width, TINY)))
