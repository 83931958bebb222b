"""The paper's certificate: Algorithm 1 and Corollary 1, with the true duality gap (thm-sphere)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.ball import certify_ball
from ipub.certificates.intercept import bracket_of, distance_from, narrow_bracket, with_bracket
from ipub.certificates.origin import certify_origin
from ipub.certificates.scores import score_ranges
from ipub.losses import Loss
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.region import Region
from ipub.numeric.rounding import Array, down, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.problem.objective import Point, Problem, Sum
from ipub.problem.solvers import Solution
from ipub.promises import Uncertainty
from ipub.rows import Block, Reads, reads


@overflow_means_unbounded()
def certify_sphere(problem: Problem, solution: Solution, start: Certificate | None = None) -> Certificate:
    """Certify ``|w'' - w'| <= sqrt(2 Delta / lambda)`` for the model w'' of every completion.

    ``Delta`` is the greatest primal value of w' minus the least dual value of alpha' over all completions
    (thm-sphere), so it holds for any w' and any feasible alpha', trained or not. One
    pass over the rows, or none if training has made it (`sphere_sum`); O(M) beyond a gradient. Where there is an
    intercept, it must be bounded first: by `origin`, and then once more inside the sphere, or by the certificate
    `start`, whose bracket is taken as it is.
    """
    if (reason := reason_against_sphere(problem)) is not None:
        return replace(certify_ball(problem, solution, start), name="sphere", note=reason)
    if problem.penalty.n_free == 0:
        return Certificate("sphere", (_region(problem, solution, gap_upper(problem, solution)),), solution.gap)
    around = certify_origin(problem, solution) if start is None else start
    bracket = bracket_of(around)
    region = _region(problem, solution, gap_upper(problem, solution, distance_from(solution, bracket)))
    if start is None:
        bracket = narrow_bracket(problem, solution, [region, *around.parts_of(Region)], bracket)
    return Certificate("sphere", with_bracket(bracket, region), solution.gap)


def reason_against_sphere(problem: Problem) -> str | None:
    """Return why a problem has no sphere, and what is used instead; None if it has one."""
    certain = not problem.rows.uncertain_labels
    return None if certain else "'sphere' needs certain labels: 'ball' is used instead."


def _region(problem: Problem, solution: Solution, gap: float) -> Region:
    radius = float(up(np.sqrt(up(2.0 * gap / problem.penalty.lam))))
    return Region("sphere", solution.w, np.zeros_like(solution.w), radius)


def sphere_sum(problem: Problem, point: Point) -> Sum:
    """Return the sum over the rows that `gap_upper` is made of."""
    return _sphere_sums, problem.loss, point, problem.uncertainty


@overflow_means_unbounded()
def gap_upper(problem: Problem, solution: Solution, intercept_distance: float = 0.0) -> float:
    """Bound ``Delta = max P(w') - min D(alpha')``, both over all completions, from above.

    An intercept may be as far as `intercept_distance` from the trained one: that distance times the
    sum of the dual point is added (thm-intercept).
    """
    rows, penalty, w = problem.rows, problem.penalty, solution.w
    sums = problem.reduce(*sphere_sum(problem, solution.point))
    # Two products in a term, the division and the rounding of the total weight: 5 beside the sum itself.
    roundings = rows.depth + 5
    q = sums.q / rows.total_weight
    error = sum_error(sums.q_magnitude / rows.total_weight, roundings)
    spread = sum_upper(sums.q_change / rows.total_weight, roundings)
    ends = [down(q - error), up(q + error)]
    penalty_part = np.maximum(*(up(penalty.conjugate_upper(up(np.abs(end) + spread)) + up(-w * end)) for end in ends))
    penalty_part = up(penalty.value_upper(w) + penalty_part)
    free_part = up(np.maximum(*np.abs(ends)) * intercept_distance)
    penalty_part = np.where(penalty.is_free(len(w)), free_part, penalty_part)
    penalty_sum = up(penalty_part.sum() + sum_error(np.abs(penalty_part).sum(), len(w)))
    loss_part = sum_upper(sums.loss / rows.total_weight, roundings)
    # np.maximum, unlike max, lets a NaN through: an overflow must never look like a zero gap.
    return float(np.maximum(0.0, up(loss_part + penalty_sum)))


def _decoupled(
    loss: Loss, y: Array, a: Array, lower: Array, upper: Array, score_lower: Array, score_upper: Array
) -> Array:
    """Bound the greatest loss over [lower, upper] plus conjugate plus a times the score of the center."""
    highest_loss = np.maximum(loss.value_upper(y, lower), loss.value_upper(y, upper))
    product = np.maximum(up(a * score_lower), up(a * score_upper))
    return np.maximum(0.0, up(up(highest_loss + loss.conjugate_upper(y, a)) + product))


class _SphereSums(NamedTuple):
    loss: Array
    """Greatest losses and conjugates, or residuals."""
    q: Array
    """``sum_i s_i alpha_i x_i``."""
    q_magnitude: Array
    """The same of absolute values, to which rounding is relative."""
    q_change: Array
    """How far completions can move q."""


@reads(Reads.NORMS)
def _sphere_sums(block: Block, loss: Loss, point: Point, uncertainty: Uncertainty) -> _SphereSums:
    at = score_ranges(block, point.w, uncertainty)
    y, a = block.y, point.dual_point(block, at.score)
    row_part = loss.residual_upper_between(y, at.score_lower, at.score_upper, a)
    holed = np.flatnonzero(at.incomplete)
    row_part[holed] = _decoupled(loss, y[holed], a[holed], *(part[holed] for part in at.intervals))
    weighted = block.weight * a
    return _SphereSums(
        block.weight @ row_part,
        block.center.T @ weighted,
        block.column_sizes(weighted),
        uncertainty.column_change(block, weighted),
    )
