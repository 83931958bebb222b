"""Whether any model gives a row a certain score: suppose one does, and narrow all ranges under that.

Ranges on the path are about a connected set of models with w in it. So if none of them has ``t.w'' = c``, and w has
``t.w < c``, all models are on w's side (Theorem 13). In other ranges it is supposed that ``t.w'' >= c`` (Theorem 14).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.first_order import first_order_effects
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.upper import largest_scores
from ipub.rounding import EPS, UNDERFLOW, Array, dot_bounds, overflow_means_unbounded, up

MOST_ROUNDS = 12
"""How often ranges are narrowed under one supposition, at most."""

MOST_ROUNDS_OFF_PATH = 24
"""The same in ranges off the path."""

LEAST_GAIN = 0.02
"""A round that narrows them by less than this share is the last."""

MOST_COMPLETE = 160
"""Complete rows whose ranges are narrowed: those that matter most for the score; the others keep theirs."""

MOST_COMPLETE_OFF_PATH = 400
"""The same in ranges off the path, where each may be settled."""

ENOUGH = 0.03
"""A bound this near, in distances from w's score, to a score that could not be ruled out is left."""

FACTORS = np.array([0.0, 0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0])
"""Multiples of t to add to a direction, in units of how far both can move."""


@dataclass(frozen=True)
class SupposedScore:
    """A row t and a score that some model is supposed to give it; or, in ranges off the path, that score or more."""

    t: Array
    score: float


@overflow_means_unbounded()
def no_model_at(ranges: Ranges, supposed: SupposedScore, seconds: float = np.inf) -> bool:
    """Prove that no model in the ranges gives a row a score; False if that fails, or time is up.

    Parameters
    ----------
    ranges : Ranges
        Off the path the proof is that no model gives the row that score or a higher one.
    supposed : SupposedScore
    seconds : float
        Processor time that may be spent, about.
    """
    start, t = time.process_time(), supposed.t[None]
    spent = before_round = 0.0
    for _ in range(MOST_ROUNDS if ranges.on_path else MOST_ROUNDS_OFF_PATH):
        if not ranges.on_path:
            ranges = ranges.without_settled_rows()
        highest = largest_scores(ranges, t)[0]
        if highest < supposed.score:
            return True
        if ranges.on_path and -largest_scores(ranges, -t)[0] > supposed.score:
            return True
        # The next round takes about as long as the last one.
        spent, before_round = time.process_time() - start, spent
        if spent + (spent - before_round) > seconds:
            return False
        rows = _directions_that_matter(ranges, supposed)
        Y, upper, lower = ranges.table.directions[rows], ranges.upper.copy(), ranges.lower.copy()
        upper[rows] = np.fmin(upper[rows], _largest_if_supposed(ranges, Y, supposed, highest))
        lower[rows] = np.fmax(lower[rows], -_largest_if_supposed(ranges, -Y, supposed, highest))
        if (lower > upper).any():
            return True
        before, after = ranges.upper[rows] - ranges.lower[rows], upper[rows] - lower[rows]
        ranges = ranges.with_ends(lower, upper)
        if after.sum() > (1.0 - LEAST_GAIN) * before.sum():
            return False
    return False


def is_on_one_side(ranges: Ranges, t: Array, score: float, seconds: float = np.inf) -> bool:
    """Prove that all models give a row a score on the same side of a number as w does; False if that fails."""
    low, high = (float(end[0]) for end in dot_bounds(t[None], ranges.table.w))
    if low <= score <= high:
        return False
    above = SupposedScore(t, score) if high < score else SupposedScore(-t, -score)
    return no_model_at(ranges, above, seconds)


def narrow_by_ruling_out(ranges: Ranges, t: Array, bounds: tuple[float, float], seconds: float) -> tuple[float, float]:
    """Narrow the bounds of a row's score by scores that no model gives it, in the time there is.

    Parameters
    ----------
    ranges : Ranges
    t : array of shape (d,)
    bounds : tuple of float
        What is known of the score.
    seconds : float
        Processor time for both ends together.
    """
    low, high = bounds
    return -_lowered(ranges, -t, -low, 0.5 * seconds), _lowered(ranges, t, high, 0.5 * seconds)


def _lowered(ranges: Ranges, t: Array, bound: float, seconds: float) -> float:
    """Lower an upper bound of ``t.w''``: halve the way to what the worst completion does to first order."""
    end = time.process_time() + seconds
    at_w = float(dot_bounds(t[None], ranges.table.w)[1][0])
    reached = at_w
    if ranges.on_path:
        reached += float(first_order_effects(ranges.table, (t @ _inverse(ranges))[None]).total()[0])
    enough = ENOUGH * (bound - at_w)
    while np.isfinite(bound) and bound - reached > enough and (left := end - time.process_time()) > 0.0:
        score = 0.5 * reached + 0.5 * bound
        if not reached < score < bound:
            break
        if score > at_w and no_model_at(ranges, SupposedScore(t, score), left):
            bound = score
        else:
            reached = score
    return bound


def _inverse(ranges: Ranges) -> Array:
    """Return about the inverse of the curvature, of the chords over the ranges."""
    try:
        return ranges.inverse
    except np.linalg.LinAlgError:
        return np.eye(len(ranges.table.w))  # any advice will do


def _directions_that_matter(ranges: Ranges, supposed: SupposedScore) -> NDArray[np.intp]:
    """Return the directions of incomplete rows, of weights, and of the complete rows that bend the sum for t most."""
    table = ranges.table
    u = supposed.t @ _inverse(ranges)
    width = (ranges.upper - ranges.lower)[table.complete_at]
    bend = table.complete_weight * np.abs(table.complete @ u) * width**2
    most = table.complete_at[np.argsort(-bend)[: MOST_COMPLETE if ranges.on_path else MOST_COMPLETE_OFF_PATH]]
    return np.unique(np.concatenate([most, table.incomplete_at, table.weights_at]))


def _largest_if_supposed(ranges: Ranges, Y: Array, supposed: SupposedScore, highest: float) -> Array:
    """Bound ``y.w''`` from above for models with the supposed score: ``U(y + f t) - f score``, for a good factor f."""
    factor = _factors(ranges, Y, supposed, highest)
    if not ranges.on_path:
        factor = np.maximum(factor, 0.0)
    moved = Y + factor[:, None] * supposed.t
    # y and (moved - f t) differ by rounding, which meets weights of known size.
    size = np.abs(Y) + np.abs(factor)[:, None] * np.abs(supposed.t)
    error = 4.0 * EPS * (size @ ranges.weight_size) + 4.0 * EPS * np.abs(factor * supposed.score) + UNDERFLOW
    return up(up(largest_scores(ranges, moved) - factor * supposed.score) + 2.0 * error)


def _factors(ranges: Ranges, Y: Array, supposed: SupposedScore, highest: float) -> Array:
    """Choose multiples of t by what completions do to first order, scaled to what the row sums now say of t."""
    inverse = _inverse(ranges)
    at_w = float(supposed.t @ ranges.table.w)
    above = supposed.t if supposed.score >= at_w else -supposed.t
    of_t = first_order_effects(ranges.table, (above @ inverse)[None])
    of_Y = first_order_effects(ranges.table, Y @ inverse)
    rise = max(of_t.total()[0], 1e-300)
    reach = max((highest if supposed.score >= at_w else np.inf) - at_w, rise) if np.isfinite(highest) else rise
    scale, gap = max(1.0, reach / rise), abs(supposed.score - at_w)
    unit = of_Y.total() / rise
    factors = FACTORS if ranges.on_path else FACTORS[FACTORS >= 0.0]
    values = [scale * of_Y.plus(of_t, factor * unit).total() - factor * unit * gap for factor in factors]
    best = factors[np.argmin(values, axis=0)] * unit
    return np.asarray(best if supposed.score >= at_w else -best)
