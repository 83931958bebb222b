"""Where the intercept of every completion's model lies, given where its other weights do (Theorem 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ipub.certificates.label_noise import largest, largest_sum, n_flips
from ipub.certificates.region import Certificate, Region
from ipub.certificates.score_ranges import label_doubt
from ipub.engine.rows import Block, Sums
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import Array, down, midpoint_and_radius, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.solvers import Solution

Bracket = tuple[float, float]
EVERYTHING: Bracket = (-np.inf, np.inf)

DISTANCES = 7
"""Trial intercepts of the first pass, for each side of the bracket."""
RATIO = 16.0
"""Between distances of the first pass: seven of them span seven orders of magnitude."""
TRIALS = 6
"""Trials of a later pass, for each side."""
FARTHEST = 1024.0
"""Farthest trial of all, as a multiple of the largest score or target."""
PASSES = 6
FINE, COARSE = 0.01, 0.25
"""Share of its width to which an end of a bracket is worth knowing: at last, and on the way."""


def bracket_of(certificate: Certificate) -> Bracket:
    """Return the bounds of the intercept that the regions of a certificate have in common."""
    region = certificate.parts_of(Region)[0]
    return float(down(region.center[-1] - region.box[-1])), float(up(region.center[-1] + region.box[-1]))


def with_bracket(region: Region, bracket: Bracket) -> Region:
    """Return the region with the intercept in a bracket."""
    center, box = region.center.copy(), region.box.copy()
    if np.isfinite(bracket).all():
        center[-1:], box[-1:] = midpoint_and_radius(np.array(bracket[:1]), np.array(bracket[1:]))
    else:
        center[-1], box[-1] = 0.0, np.inf
    return replace(region, center=center, box=box, n_free=1)


def reach(solution: Solution, bracket: Bracket) -> float:
    """Bound the distance of the trained intercept from every completion's."""
    here = solution.w[-1]
    return float(np.maximum(up(np.abs(here - bracket[0])), up(np.abs(bracket[1] - here))))


@overflow_means_unbounded()
def narrow(
    problem: Problem, solution: Solution, regions: Sequence[Region], known: Bracket, precision: float = FINE
) -> Bracket:
    """Narrow a bracket of the intercept by regions of the other weights, all of which hold.

    A trial b is below every completion's intercept if the slopes of the losses at ``highest score + b`` sum to
    less than 0, and above if those at ``lowest score + b`` sum to more (``docs/theory.md``, Theorem 5). Trials at
    growing distances from the trained intercept come first; then the gap around either end is divided evenly.
    """
    inside = Certificate("inside", tuple(with_bracket(region, (0.0, 0.0)) for region in regions), solution.gap)
    n = len(solution.w)
    largest_w = np.abs(inside.score_bounds(np.eye(n))).max(axis=1)
    below, above = _first_trials(problem, solution, (inside, largest_w), known)
    lower, upper = known
    for _ in range(PASSES):
        known_sums = problem.loss, inside, largest_w, below, above
        sums, flipped = problem.rows.reduce_and_collect(_slope_sums, *known_sums)
        # Only the sign matters: no division by the total weight.
        highest, high_size, lowest, low_size = sums
        highest = up(highest + sum_error(high_size, problem.rows.depth + 5))
        lowest = down(lowest - sum_error(low_size, problem.rows.depth + 5))
        doubt = problem.rows.doubt
        if doubt is not None and doubt.flips:
            highest = up(highest + largest_sum(flipped[0], doubt.flips))
            lowest = down(lowest - largest_sum(flipped[1], doubt.flips))
        is_below, is_above = highest < 0.0, lowest > 0.0
        lower = max([lower, *below[is_below]])
        upper = min([upper, *above[is_above]])
        doubt_below = min([upper, *below[below > lower]])
        doubt_above = max([lower, *above[above < upper]])
        open_ = max(doubt_below - lower, upper - doubt_above)
        if not open_ > precision * (upper - lower) or not np.isfinite([lower, upper]).all():
            break
        below = np.linspace(lower, doubt_below, TRIALS + 2)[1:-1]
        above = np.linspace(doubt_above, upper, TRIALS + 2)[1:-1]
    return float(lower), float(upper)


def _first_trials(
    problem: Problem, solution: Solution, inside: tuple[Certificate, Array], known: Bracket
) -> tuple[Array, Array]:
    here = solution.w[-1]
    farthest = reach(solution, known)
    if not np.isfinite(farthest):
        (sizes,) = problem.rows.collect(_largest, *inside)
        farthest = FARTHEST * sizes.max()
        # A trained intercept out of all proportion, or NaN, is no place to begin.
        here = here if abs(here) <= farthest else 0.0
        farthest += abs(here)
    distances = farthest * RATIO ** -np.arange(float(DISTANCES))
    trials = np.concatenate([here - distances, [here], here + distances])
    trials = np.sort(trials[np.isfinite(trials)])
    return trials, trials


def _score_ends(block: Block, inside: Certificate, largest_w: Array) -> tuple[Array, Array]:
    """Bound the score without intercept that every completion's row has under its own model."""
    center = block.center.copy()
    center[:, -1] = 0.0
    bounds = inside.score_bounds(center)
    move = sum_upper(block.row_reach(largest_w), center.shape[1] + 1)
    move = np.where(block.incomplete, move, 0.0)
    return down(bounds[:, 0] - move), up(bounds[:, 1] + move)


def _largest(block: Block, inside: Certificate, largest_w: Array) -> Sums:
    sizes = np.abs([*_score_ends(block, inside, largest_w), block.y]).max(axis=0)
    return (sizes[block.weight > 0.0].max(initial=0.0, keepdims=True),)


def _slope_sums(
    block: Block, loss: Loss, inside: Certificate, largest_w: Array, below: Array, above: Array
) -> tuple[Sums, Sums]:
    low, high = _score_ends(block, inside, largest_w)
    y = block.y[:, None]
    highest, lowest = up(high[:, None] + below), down(low[:, None] + above)
    most, least = loss.derivative_range(y, highest, highest)[1], loss.derivative_range(y, lowest, lowest)[0]
    most = up(most + label_doubt(block, loss, highest, highest)) if block.doubt is not None else most
    least = down(least - label_doubt(block, loss, lowest, lowest)) if block.doubt is not None else least
    weight = block.weight
    sums = weight @ most, weight @ np.abs(most), weight @ least, weight @ np.abs(least)
    count = n_flips(block)
    if count == 0:
        return sums, (np.zeros((0, len(below))), np.zeros((0, len(above))))
    rise = up(loss.derivative_range(-y, highest, highest)[1] - most)
    fall = up(least - loss.derivative_range(-y, lowest, lowest)[0])
    return sums, tuple(largest(weight[:, None] * np.maximum(part, 0.0), count) for part in (rise, fall))
