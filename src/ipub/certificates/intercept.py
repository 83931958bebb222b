"""Where the intercept of every completion's model lies, given where its other weights do (thm-intercept)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ipub.losses import Loss
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.region import Region
from ipub.numeric.rounding import Array, down, midpoint_and_radius, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.promises import LargestValues, Uncertainty, WrongLabels
from ipub.rows import Block
from ipub.rows.sparse_array import unit_rows

Bracket = tuple[float, float]
EVERYTHING: Bracket = (-np.inf, np.inf)

OUTWARD = 1024.0 * 8.0 ** -np.arange(8.0)
"""Distances of the trials of the first pass from the trained intercept where nothing is known of it, as multiples of
the largest score or target: time of a pass against later passes."""

INWARD = np.array([0.88, 0.75, 0.62, 0.5, 0.38, 0.27, 0.18, 0.1, 0.04, 0.01, 0.001])
"""The same inside a known bracket, as multiples of the largest distance: width against time, and most
brackets narrow by a factor, not by orders of magnitude."""

AROUND = np.array([-0.3, -0.05, -0.006, 0.006, 0.05, 0.3])
"""Offsets of the trials of a later pass from the estimated root, relative to the open interval, against later passes;
where its ends have no slopes, as many trials are spread evenly."""

MOST_PASSES = 6
"""Passes over the rows that narrow one bracket, at most: they protect from slopes so flat that trials say little."""

PRECISION = 0.01
"""Precision of an end of the final bracket, relative to its width: width against passes."""


def bracket_of(certificate: Certificate) -> Bracket:
    """Return the bracket of the intercept of a certificate whose regions all have the same."""
    region = certificate.parts_of(Region)[0]
    return float(down(region.center[-1] - region.box[-1])), float(up(region.center[-1] + region.box[-1]))


def with_bracket(bracket: Bracket, *regions: Region) -> tuple[Region, ...]:
    """Return regions with the intercept in a bracket."""
    middle, radius = np.zeros(1), np.full(1, np.inf)
    if np.isfinite(bracket).all():
        middle, radius = midpoint_and_radius(np.array(bracket[:1]), np.array(bracket[1:]))
    return tuple(
        replace(
            region,
            center=np.concatenate([region.center[:-1], middle]),
            box=np.concatenate([region.box[:-1], radius]),
            n_free=1,
        )
        for region in regions
    )


def distance_from(solution: Solution, bracket: Bracket) -> float:
    """Bound the distance of the trained intercept from every completion's."""
    here = solution.w[-1]
    return float(np.maximum(up(np.abs(here - bracket[0])), up(np.abs(bracket[1] - here))))


@overflow_means_unbounded()
def narrow_bracket(
    problem: Problem, solution: Solution, regions: Sequence[Region], start: Bracket, *, in_one_pass: bool = False
) -> Bracket:
    """Narrow the bracket `start` of the intercept by regions that contain the other weights.

    A trial b is below every completion's intercept if the slopes of the losses at ``highest score + b`` sum to
    less than 0, and above if those at ``lowest score + b`` sum to more (thm-intercept). Trials at
    growing distances from the trained intercept come first; then trials around the place where the
    slopes seem to change their sign, unless it is to be done `in_one_pass`: for a bracket that is narrowed again.
    """
    inside = Certificate("inside", with_bracket((0.0, 0.0), *regions), solution.gap)
    n = len(solution.w)
    largest_w = np.abs(inside.score_bounds(unit_rows(n))).max(axis=1)
    scores = inside, largest_w, problem.uncertainty
    below, above = _first_trials(problem, solution, scores, start)
    lower, upper = start
    for _ in range(1 if in_one_pass else MOST_PASSES):
        sums = problem.rows.reduce(_slope_sums, problem.loss, scores, below, above, problem.wrong_labels)
        # Only the sign matters: no division by the total weight.
        highest = sums.rise.added_to(up(sums.highest + sum_error(sums.highest_size, problem.rows.depth + 5)))
        lowest = sums.fall.taken_from(down(sums.lowest - sum_error(sums.lowest_size, problem.rows.depth + 5)))
        lower = max([lower, *below[highest < 0.0]])
        upper = min([upper, *above[lowest > 0.0]])
        open_below = lower, min([upper, *below[below > lower]])
        open_above = max([lower, *above[above < upper]]), upper
        widest = max(last - first for first, last in (open_below, open_above))
        if not widest > PRECISION * (upper - lower) or not np.isfinite([lower, upper]).all():
            break
        below, above = next_trials(open_below, below, highest), next_trials(open_above, above, lowest)
    return float(lower), float(upper)


def next_trials(gap: Bracket, trials: Array, slopes: Array) -> Array:
    """Return trials inside a gap: around the place where the slopes at its ends, as a line, change their sign."""
    start, end = gap
    near = 1e-9 * (end - start)
    at_start, at_end = (slopes[np.abs(trials - place) <= near] for place in gap)
    if len(at_start) and len(at_end) and np.isfinite([at_start[0], at_end[0]]).all() and at_start[0] < at_end[0]:
        root = start - at_start[0] * (end - start) / (at_end[0] - at_start[0])
        around = root + (end - start) * AROUND
        around = around[(around > start) & (around < end)]
        if len(around):
            return np.asarray(around)
    return np.linspace(start, end, len(AROUND) + 2)[1:-1]


def _first_trials(problem: Problem, solution: Solution, scores: _Scores, start: Bracket) -> tuple[Array, Array]:
    here = solution.w[-1]
    largest_distance = distance_from(solution, start)
    if not np.isfinite(largest_distance):
        largest_score = max(problem.rows.map(_largest_score, scores).parts)
        # A trained intercept far too large, or NaN, is not used as a start.
        here = here if abs(here) <= OUTWARD[0] * largest_score else 0.0
        distances = OUTWARD * (largest_score + abs(here) / OUTWARD[0])
    else:
        distances = largest_distance * INWARD
    trials = np.concatenate([here - distances, [here], here + distances])
    trials = np.sort(trials[np.isfinite(trials)])
    return trials, trials


_Scores = tuple[Certificate, Array, Uncertainty]
"""A certificate of the weights, a bound of the size of each weight, and what may vary."""


def _score_ends(block: Block, scores: _Scores) -> tuple[Array, Array]:
    """Bound the score without intercept that every completion's row has under its own model."""
    inside, largest_w, uncertainty = scores
    center = block.center.copy()
    center[:, -1] = 0.0
    bounds = inside.score_bounds(center)
    move = sum_upper(uncertainty.score_change_within(block, largest_w), center.shape[1] + 1)
    move = np.where(block.incomplete, move, 0.0)
    return down(bounds[:, 0] - move), up(bounds[:, 1] + move)


def _largest_score(block: Block, scores: _Scores) -> float:
    sizes = np.abs(np.column_stack([*_score_ends(block, scores), block.y])).max(axis=1)
    return float(sizes[block.weight > 0.0].max(initial=0.0))


class _SlopeSums(NamedTuple):
    """Sums of derivatives, one for each trial intercept."""

    highest: Array
    highest_size: Array
    lowest: Array
    lowest_size: Array
    rise: LargestValues
    fall: LargestValues
    """What wrong labels add to the highest slopes, and take from the lowest (sec-wrong-labels-certificates)."""


def _slope_sums(
    block: Block, loss: Loss, scores: _Scores, below: Array, above: Array, wrong: WrongLabels
) -> _SlopeSums:
    low, high = _score_ends(block, scores)
    uncertainty = scores[2]
    y = block.y[:, None]
    highest, lowest = up(high[:, None] + below), down(low[:, None] + above)
    most, least = loss.derivative_range(y, highest, highest)[1], loss.derivative_range(y, lowest, lowest)[0]
    if block.label_uncertainty is not None:
        most = up(most + uncertainty.derivative_change(block, loss, highest, highest))
        least = down(least - uncertainty.derivative_change(block, loss, lowest, lowest))
    weight = block.weight
    may = wrong.candidates
    other_most = loss.derivative_range(-y[may], highest[may], highest[may])[1]
    other_least = loss.derivative_range(-y[may], lowest[may], lowest[may])[0]
    rise = weight[may, None] * np.maximum(up(other_most - most[may]), 0.0)
    fall = weight[may, None] * np.maximum(up(least[may] - other_least), 0.0)
    sums = weight @ most, weight @ np.abs(most), weight @ least, weight @ np.abs(least)
    return _SlopeSums(*sums, wrong.partial_sum(rise), wrong.partial_sum(fall))
