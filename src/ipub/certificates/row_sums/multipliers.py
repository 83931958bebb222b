"""Which lines, and which mixture of its completions, each row had best use for a direction: advice, not proof.

Whatever is chosen here, the bounds hold (Theorem 11); a good choice makes them narrow. The choice is the one under
which the worst case of all rows together is one and the same model: that is found by Newton steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.first_order import chord, first_force, first_inverse, solved, with_labels
from ipub.certificates.row_sums.graphs import LossGraph, graph_points
from ipub.certificates.row_sums.labels import SecondLabels
from ipub.certificates.row_sums.lines import envelopes
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.data.interval_matrix import Indices
from ipub.rounding import TINY, Array

NEWTON_STEPS = 2
"""Newton steps for each direction: width against time."""

NEWTON_STEPS_OF_JUMPS = 4
"""The same where derivatives jump: which rows are on which side of their jump settles step by step."""

N_POINTS = 9
"""Points of an incomplete row's range of scores at which its derivative's envelope is looked for."""

SPREAD = 0.7
"""How far apart two levels' effects must be, in uncertainties of their weights, for one of them to be preferred."""


LEVEL_STEP = 0.5
"""How far multipliers of levels are shifted, relative to those of a cell of radius 1."""


class Mixture(NamedTuple):
    """Of each incomplete row, for each of k directions: the slope of its line and a law of its cells and categories."""

    slope: Array
    """Shape (k, n_incomplete)."""
    mean: Array
    """Of each cell, from its center; shape (k, n_cells)."""
    variance: Array
    shares: tuple[Array, ...]
    """Of the levels of each missing category, shape (k, n_missing, n_levels) for each category."""


class Shift(NamedTuple):
    """What is added to the multipliers of the incomplete rows that belong to a mixture, for each of k directions."""

    score: Array
    """Shape (k, n_incomplete)."""
    cells: Array
    """Shape (k, n_cells)."""
    levels: tuple[Array, ...]
    """Shape (k, n_missing, n_levels) for each category."""


class Choice(NamedTuple):
    """What is chosen for each of k directions."""

    u: Array
    """The multiplier of the optimality condition, about ``K^-1 y``; shape (k, d)."""
    lines: NDArray[np.intp]
    """Which line of `Lines` each complete row uses, shape (k, n_complete)."""
    mixture: Mixture
    w: Array | None = None
    """About the model that is the worst case of all rows together, shape (k, d)."""
    curvature: Array | None = None
    """K, shape (k, d, d)."""
    shift: Shift | None = None
    labels: SecondLabels | None = None
    """Which rows have their second label in that worst case, where rows have two."""


class Worst(NamedTuple):
    """Where the terms of the incomplete rows are largest, for each of k directions, about."""

    score: Array
    """Scores of the centers, shape (k, n_incomplete)."""
    weights: Array
    """Weights that the cells meet, shape (k, n_cells)."""
    levels: tuple[Array, ...]
    """Weights of the levels of each missing category, shape (k, n_missing, n_levels) for each category."""


def refined(ranges: Ranges, Y: Array, choice: Choice, worst: Worst, size: Array, step: float) -> Choice:
    """Shift multipliers so that the worst cases of single rows come nearer to the one model: a subgradient step.

    Parameters
    ----------
    ranges : Ranges
    Y : array of shape (k, d)
    choice : Choice
        From `choose`.
    worst : Worst
        Of the row terms that belong to it.
    size : array of shape (k, n_incomplete)
        Sizes of the scores' multipliers.
    step : float
        Length of the step, relative to these.
    """
    assert choice.w is not None
    assert choice.curvature is not None
    table, at, columns = ranges.table, ranges.table.cell_rows, ranges.table.cell_columns
    old = choice.shift or Shift(
        np.zeros_like(worst.score), np.zeros_like(worst.weights), tuple(np.zeros_like(each) for each in worst.levels)
    )
    half = np.maximum(0.5 * (ranges.row_upper - ranges.row_lower), TINY)
    aim = np.clip(choice.w @ table.incomplete.T, ranges.row_lower, ranges.row_upper)
    score = old.score - step * size * np.clip((worst.score - aim) / half, -1.0, 1.0)
    doubt = np.maximum(ranges.weight_radius[columns], TINY)
    aim = np.clip(choice.w[:, columns], ranges.weight_lower[columns], ranges.weight_upper[columns])
    turn = np.clip((worst.weights - aim) / doubt, -1.0, 1.0)
    cells = old.cells - step * size[:, at] * table.cell_radii * turn
    levels = tuple(
        of_old - LEVEL_STEP * step * size[:, missing.rows, None] * _turns(ranges, choice.w, found, missing.columns)
        for missing, found, of_old in zip(table.missing, worst.levels, old.levels, strict=True)
    )
    shift = Shift(score, cells, levels)
    taken = (shift.score * table.incomplete_weight) @ table.incomplete
    taken += table.columns_of_cells(shift.cells * table.incomplete_weight[at])
    for missing, of_levels in zip(table.missing, shift.levels, strict=True):
        taken[:, missing.columns] += np.einsum("i,kil->kl", table.incomplete_weight[missing.rows], of_levels)
    u = solved(choice.curvature, (Y - taken)[..., None])[..., 0]
    return choice._replace(u=np.asarray(u, dtype=float), shift=shift)


def _turns(ranges: Ranges, W: Array, worst: Array, columns: Indices) -> Array:
    """Return how far the worst weights of levels are from those of the one model, in uncertainties of them."""
    aim = np.clip(W[:, columns], ranges.weight_lower[columns], ranges.weight_upper[columns])
    return np.clip((worst - aim[:, None]) / np.maximum(ranges.weight_radius[columns], TINY), -1.0, 1.0)


def choose(ranges: Ranges, Y: Array) -> Choice:
    """Choose lines, mixtures and labels for each direction in Y."""
    table, lines = ranges.table, ranges.lines
    steps = NEWTON_STEPS_OF_JUMPS if table.incomplete_graph.is_step else NEWTON_STEPS
    inverse = first_inverse(ranges)
    X, U = table.complete, Y @ inverse
    W = table.w + first_force(ranges, U) @ inverse
    is_below = U @ X.T > 0.0
    graphs, labels = with_labels(table, U, W)
    mixture, mixed = _mixture(ranges, graphs.incomplete, U, W, W @ table.incomplete.T)
    for _ in range(steps):
        score = np.clip(W @ X.T, lines.lower, lines.upper)
        height, slope = lines.envelope_at(graphs.complete, score, is_below, labels and labels.complete)
        K = _curvature(table, slope, mixture, mixed)
        at = np.clip(np.einsum("kid,kd->ki", mixed, W), *ranges.row_scores)
        pull = table.incomplete_weight * graphs.incomplete.value(at)
        residual = table.lam * W + (height * table.complete_weight) @ X + np.einsum("ki,kid->kd", pull, mixed)
        residual += _variance_times(table, mixture, W) + table.settled.middle - np.sign(U) * table.settled.radius
        step = solved(K, np.stack([residual, Y], axis=2))
        W, U = W - step[..., 0], step[..., 1]
        is_below = U @ X.T > 0.0
        graphs, labels = with_labels(table, U, W)
        mixture, mixed = _mixture(ranges, graphs.incomplete, U, W, at)
    score = np.clip(W @ X.T, lines.lower, lines.upper)
    chosen = lines.choose(score, is_below, labels and labels.complete)
    slope = np.take_along_axis(lines.slope.T, chosen.T, axis=1).T
    K = _curvature(table, slope, mixture, mixed)
    u = np.asarray(solved(K, Y[..., None])[..., 0], dtype=float)
    return Choice(u, chosen, mixture, W, K, labels=labels)


def mixed_rows(table: RowTable, mixture: Mixture) -> Array:
    """Return the incomplete rows with the mean of their mixture, shape (k, n_incomplete, d)."""
    rows = np.repeat(table.incomplete[None], len(mixture.slope), axis=0)
    rows[:, table.cell_rows, table.cell_columns] += mixture.mean
    for missing, shares in zip(table.missing, mixture.shares, strict=True):
        rows[:, missing.rows[:, None], missing.columns] += shares - missing.center
    return rows


def level_spread(shares: Array, values: Array) -> Array:
    """Return the covariance of the levels' indicators times values, along the last axis."""
    mean = np.einsum("...l,...l->...", shares, values)
    return np.asarray(shares * (values - mean[..., None]))


def _variance_times(table: RowTable, mixture: Mixture, V: Array) -> Array:
    """Return the sum over the incomplete rows of weight, slope and covariance of the mixture, times vectors (k, d)."""
    weight = table.incomplete_weight * mixture.slope
    result = table.columns_of_cells(weight[:, table.cell_rows] * mixture.variance * V[:, table.cell_columns])
    for missing, shares in zip(table.missing, mixture.shares, strict=True):
        part = level_spread(shares, V[:, None, missing.columns])
        result[:, missing.columns] += np.einsum("ki,kil->kl", weight[:, missing.rows], part)
    return result


def _curvature(table: RowTable, slope: Array, mixture: Mixture, mixed: Array) -> Array:
    """Return K of Theorem 11 for each direction, shape (k, d, d)."""
    d = len(table.w)
    K = (slope * table.complete_weight @ table.complete_squares).reshape(-1, d, d)
    weight = table.incomplete_weight * mixture.slope
    K += np.matmul((mixed * weight[..., None]).transpose(0, 2, 1), mixed)
    diagonal = table.columns_of_cells(weight[:, table.cell_rows] * mixture.variance)
    K[:, np.arange(d), np.arange(d)] += table.lam + diagonal
    for missing, shares in zip(table.missing, mixture.shares, strict=True):
        share, columns = weight[:, missing.rows], missing.columns
        K[:, columns, columns] += np.einsum("ki,kil->kl", share, shares)
        K[:, columns[:, None], columns] -= np.matmul((shares * share[..., None]).transpose(0, 2, 1), shares)
    return K


def _mixture(ranges: Ranges, graph: LossGraph, U: Array, W: Array, score: Array) -> tuple[Mixture, Array]:
    """Choose the mixture of each incomplete row, given about the multiplier, the model and the row's score.

    Returns also the rows with its mean (`mixed_rows`).
    A cell is at the end where it does most; where the uncertainty of its weight leaves that open, between the ends.
    """
    table = ranges.table
    at, columns, radius = table.cell_rows, table.cell_columns, table.cell_radii
    value = graph.value(np.clip(score, *ranges.row_scores))
    along = chord(graph, *ranges.row_scores) * (U @ table.incomplete.T)
    effect = value[:, at] * U[:, columns] + along[:, at] * ranges.weight_middle[columns]
    doubt = np.abs(along[:, at]) * ranges.weight_radius[columns]
    decided = np.clip(np.abs(effect) / np.maximum(doubt, TINY), 0.0, 1.0)
    mean = -np.sign(effect) * decided * radius
    shares = []
    for missing in table.missing:
        rows, of_levels = missing.rows, missing.columns
        effects = value[:, rows, None] * U[:, None, of_levels]
        effects = effects + along[:, rows, None] * ranges.weight_middle[of_levels]
        doubts = SPREAD * np.abs(along[:, rows, None]) * ranges.weight_radius[of_levels].mean()
        relative = (effects.min(axis=2, keepdims=True) - effects) / np.maximum(doubts, TINY)
        likely = np.exp(np.maximum(relative, -50.0))
        shares.append(likely / likely.sum(axis=2, keepdims=True))
    mixture = Mixture(along, mean, radius**2 - mean**2, tuple(shares))
    mixed = mixed_rows(table, mixture)
    return mixture._replace(slope=_row_slopes(ranges, graph, mixture, mixed, U, W)), mixed


def _row_slopes(ranges: Ranges, graph: LossGraph, mixture: Mixture, mixed: Array, U: Array, W: Array) -> Array:
    """Return the slope of each incomplete row: that of the envelope over scores it may have with its mixture."""
    table = ranges.table
    low, high = ranges.row_scores
    middle = 0.5 * (ranges.row_lower + ranges.row_upper)
    half = 0.5 * (ranges.row_upper - ranges.row_lower)
    size, columns = np.abs(ranges.weight_middle), table.cell_columns
    middle = middle + table.sums_of_cells(mixture.mean * ranges.weight_middle[columns])
    left = table.cell_radii - np.abs(mixture.mean)
    half = half + table.sums_of_cells(left * size[columns] + table.cell_radii * ranges.weight_radius[columns])
    first, last = np.clip(middle - half, low, high), np.clip(middle + half, low, high)
    score = np.clip(np.einsum("kid,kd->ki", mixed, W), first, last)
    if graph.is_step:
        points = graph_points(graph, first, last, 1)
        convex, concave = envelopes(graph, points.score, points.middle)
    else:
        scores = first + (last - first) * np.linspace(0.0, 1.0, N_POINTS)[:, None, None]
        convex, concave = envelopes(graph, scores, graph.value(scores))
    is_below = np.einsum("kid,kd->ki", mixed, U) > 0.0
    tangent = graph.slope(score)
    below = np.where(score <= convex.knee, tangent, convex.slope)
    above = np.where(score >= concave.knee, tangent, concave.slope)
    slope = np.where(is_below, below, above)
    if table.missing:
        whole = np.broadcast_to(chord(graph, low, high), slope.shape)
        for missing in table.missing:
            slope[:, missing.rows] = whole[:, missing.rows]
    return slope
