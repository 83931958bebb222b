"""The shape of a tube that may close, by a sample of its directions: advice, not proof.

Row sums over the pieces of a tube say how wide it must be at least. They are made for a sample of the directions; for
the others their width is predicted: a multiple of what cells do to first order, and one of what the lines of the
complete rows leave open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from ipub.certificates.row_sums.first_order import FirstOrderEffects, first_inverse, first_order_effects
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.tube import Reached, Tube
from ipub.data.interval_matrix import Indices
from ipub.parallel import row_slices
from ipub.rounding import TINY, Array

MOST_LEFT = 0.8
"""A weight is followed if, held fixed, it leaves less than this share of what cells do to first order (the median)."""

STEP = 1.0 / 3.0
"""Length of a piece, in first-order changes of the weight: width against time."""

FIRST_LENGTH, STRETCH, RESERVE = 1.6, 0.2, 0.15
"""How far a tube reaches to both sides at first, in first-order changes; how much longer its last piece is made each
time a model may lie at its end; and how near to it, in lengths of that piece, none should, as the tube gets wider."""

FIRST_WIDTH, MOST_WIDENED = 2.2, 4.0
"""Half-width of the first tube, in first-order changes that are left; and that at which a tube is given up."""

MARGIN, LIKELY = 1.015, 0.75
"""How much wider than its row sums a tube is made; the share of directions for which a prediction is to be enough."""

N_SAMPLED = 80
"""Directions in the sample."""

MOST_ROUNDS, PATIENCE = 16, 4
"""How often a tube is reshaped, and how often in vain, at most."""


@dataclass(frozen=True)
class FollowedWeight:
    """A weight along which models lie, and what cells do to directions beside it, to first order.

    Attributes
    ----------
    column : int
    change : float
        How far the weight itself moves.
    factors : array of shape (n_directions,)
        Multiples of the weight that, added to a direction, leave least.
    left : array of shape (n_directions,)
        What they leave.
    """

    column: int
    change: float
    factors: Array
    left: Array


def followed_weight(at_w: Ranges) -> FollowedWeight | None:
    """Return the weight that, held fixed, leaves least of what cells do to first order; None if none matters much."""
    table = at_w.table
    columns, counts = np.unique(table.cell_columns, return_counts=True)
    if not len(columns):
        return None
    column, share = -1, MOST_LEFT
    sampled = table.directions[np.random.default_rng(0).permutation(len(table.directions))[:N_SAMPLED]]
    for candidate in columns[np.argsort(-counts)[:4]]:
        beside = beside_weight(at_w, sampled, int(candidate))
        found = float(np.median(beside.left / np.maximum(beside.total, TINY)))
        if found < share and beside_weight(at_w, np.eye(len(table.w))[[candidate]], int(candidate)).total[0] > 0.0:
            column, share = int(candidate), found
    if column < 0:
        return None
    factors, left, total = beside_weight(at_w, table.directions, column)
    floor = 1e-6 * np.maximum(np.abs(at_w.lower), np.abs(at_w.upper))
    left = np.maximum(left, np.maximum(floor, 1e-6 * left.max()))
    return FollowedWeight(column, float(total[table.weights_at[column]]), factors, left)


class BesideWeight(NamedTuple):
    """For each of k directions: the multiple of a weight that leaves least of what cells do, that rest, and all."""

    factors: Array
    left: Array
    total: Array


def beside_weight(at_w: Ranges, Y: Array, column: int) -> BesideWeight:
    """Return what cells do to directions, to first order, if a weight is held fixed."""
    inverse = at_w.table.inverse_at_w
    along = first_order_effects(at_w, inverse[column][None])
    factors, left, total = (np.empty(len(Y)) for _ in range(3))
    for some in row_slices(len(Y), 4 * len(at_w.table.cell_rows)):
        effects = first_order_effects(at_w, Y[some] @ inverse)
        factors[some] = _least_absolute(effects, along)
        left[some], total[some] = effects.plus(along, factors[some]).total(), effects.total()
    return BesideWeight(factors, left, total)


def _least_absolute(effects: FirstOrderEffects, along: FirstOrderEffects) -> Array:
    """Return f with the least sum of ``|a + f b|`` over the cells: a weighted median of ``-a / b``."""
    weight = np.abs(along.cells[0])
    used = weight > 1e-12 * weight.max(initial=TINY)
    if not used.any():
        return np.zeros(len(effects.cells))
    points = -effects.cells[:, used] / along.cells[0, used]
    order, every = np.argsort(points, axis=1), np.arange(len(points))
    is_half = np.cumsum(weight[used][order], axis=1) >= 0.5 * weight[used].sum()
    return np.asarray(points[every, order[every, is_half.argmax(axis=1)]])


def first_tube(at_w: Ranges, weight: FollowedWeight) -> Tube:
    """Return a tube around the curve that models follow to first order."""
    table, at = at_w.table, at_w.table.w[weight.column]
    n_sides = int(np.ceil(FIRST_LENGTH / STEP))
    knots = at + weight.change * STEP * np.arange(-n_sides, n_sides + 1)
    knots[n_sides] = at
    middle = table.directions @ table.w - weight.factors * (knots - at)[:, None]
    half = FIRST_WIDTH * weight.left
    return Tube(
        replace(at_w, has_common_lines=True), weight.column, knots, middle - half, middle + half, weight.factors
    )


def shaped_tube(at_w: Ranges, weight: FollowedWeight) -> Tube | None:
    """Return a tube that closes as far as a sample of its directions shows; None if none does."""
    tube = first_tube(at_w, weight)
    sampled = _sample(at_w, weight.column)
    if not len(sampled):
        return None
    Y, factors, least, patience = at_w.table.directions[sampled], weight.factors[sampled], np.inf, PATIENCE
    for _ in range(MOST_ROUNDS):
        tube = with_better_ends(tube)
        found = tube.reached(Y, factors)
        middle, half = 0.5 * (tube.lower + tube.upper)[:, sampled], 0.5 * (tube.upper - tube.lower)[:, sampled]
        worst = float((np.maximum(found.upper - middle, middle - found.lower) / half).max())
        if worst < 1.0 and tube.no_model_at_end(0, -1) and tube.no_model_at_end(-1, 1):
            return tube
        patience = PATIENCE if worst < 0.995 * least else patience - 1
        least = min(least, worst)
        width = np.median((tube.upper - tube.lower) / (2.0 * weight.left))
        if not patience or not np.isfinite(worst) or width > MOST_WIDENED:
            return None
        tube = _reshaped(tube, weight, sampled, found)
    return None


def _sample(at_w: Ranges, column: int) -> Indices:
    """Return some of the directions, or all, if they are few; not that of the weight itself."""
    order = np.random.default_rng(1).permutation(len(at_w.table.directions))
    return np.sort(order[order != at_w.table.weights_at[column]][:N_SAMPLED])


def with_better_ends(tube: Tube) -> Tube:
    """Return the tube with an end farther out where a model may lie at it, or with one knot less where it need not."""
    at = tube.ranges.table.w[tube.column]
    for side, first, second in ((-1, 0, 1), (1, -1, -2)):
        knots, lower, upper = tube.knots, tube.lower, tube.upper
        reserve = RESERVE * abs(knots[first] - knots[second])
        if not tube.no_model_at_end(first, side, reserve):
            knots, lower, upper = (each.copy() for each in (knots, lower, upper))
            for each in (knots, lower, upper):
                each[first] += STRETCH * (each[first] - each[second])
            lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
        elif side * (knots[second] - at) > 0.0 and tube.no_model_at_end(second, side, reserve):
            knots, lower, upper = (np.delete(each, first, axis=0) for each in (knots, lower, upper))
        tube = replace(tube, knots=knots, lower=lower, upper=upper)
    return tube


def _reshaped(tube: Tube, weight: FollowedWeight, sampled: Indices, found: Reached) -> Tube:
    """Return a tube as wide as row sums of a sample ask for, and as they are predicted to for the other directions."""
    directions = tube.ranges.table.directions
    middle, reach = 0.5 * (tube.lower + tube.upper), 0.5 * (found.upper - found.lower)
    lower, upper, remainder = np.empty_like(middle), np.empty_like(middle), _remainders(tube)
    X, d = directions[sampled], directions.shape[1]
    for k, half in enumerate(reach):
        scale = 1.0 / half
        terms = np.column_stack([weight.left, remainder[k]])
        predicted = terms @ nnls(terms[sampled] * scale[:, None], np.ones(len(sampled)))[0]
        # The middles are about a linear function of the direction: the scores of one model.
        off = scale * (0.5 * (found.upper[k] + found.lower[k]) - middle[k, sampled])
        A = X * scale[:, None]
        moved = middle[k] + directions @ np.linalg.solve(A.T @ A + 1e-3 * np.trace(A.T @ A) / d * np.eye(d), A.T @ off)
        needed = np.maximum(found.upper[k] - moved[sampled], moved[sampled] - found.lower[k]) / predicted[sampled]
        width = MARGIN * np.quantile(needed, LIKELY) * predicted
        lower[k], upper[k] = moved - width, moved + width
        lower[k, sampled] = found.lower[k] - (MARGIN - 1.0) * half
        upper[k, sampled] = found.upper[k] + (MARGIN - 1.0) * half
    return replace(tube, lower=lower, upper=upper)


def _remainders(tube: Tube) -> Array:
    """Return what the lines of the complete rows leave open of each direction, at each knot."""
    table = tube.ranges.table
    Y = table.directions.copy()
    Y[:, tube.column] += tube.factors
    found = np.full((len(tube.knots), len(Y)), TINY)
    for k, piece in tube.pieces():
        width = 0.5 * table.complete_weight * (piece.lines.above[0] + piece.lines.below[0])
        U = Y @ first_inverse(piece)
        for some in row_slices(len(Y), len(table.complete)):
            of_piece = np.abs(U[some] @ table.complete.T) @ width
            for knot in (k, k + 1):
                np.maximum(found[knot, some], of_piece, out=found[knot, some])
    return found
