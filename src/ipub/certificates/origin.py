"""A ball around zero that contains every completion's model; it needs no training (thm-origin)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.intercept import EVERYTHING, narrow_bracket, with_bracket
from ipub.losses import Loss
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.region import Region
from ipub.numeric.rounding import Array, down, overflow_means_unbounded, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.promises import LargestValues, WrongLabels
from ipub.rows import Block, Reads, reads


def certify_origin(problem: Problem, solution: Solution) -> Certificate:
    """Certify ``|w''| <= sqrt(P(0) / lambda)``: P(0) does not depend on the table at all.

    With an intercept, P(0) is that of the best constant tried, and its bracket follows (thm-intercept).
    """
    region = around_zero(problem, solution)
    if problem.penalty.n_free:
        bracket = narrow_bracket(problem, solution, [region], EVERYTHING, in_one_pass=True)
        (region,) = with_bracket(bracket, region)
    return Certificate("origin", (region,), solution.gap)


@overflow_means_unbounded()
def around_zero(problem: Problem, solution: Solution) -> Region:
    """Return the ball around zero that holds the weights of every completion's model; intercepts are not bounded."""
    rows, has_intercept = problem.rows, problem.penalty.n_free > 0
    mean = rows.reduce(_label_sums)[0] / rows.total_weight if has_intercept else 0.0
    constants = np.array([0.0, mean, solution.w[-1]] if has_intercept else [0.0])
    sums = rows.reduce(_origin_sums, problem.loss, constants, problem.wrong_labels)
    # Each constant proves a radius by itself, so one that overflowed may be ignored.
    values = sums.more.added_to(sum_upper(sums.values / rows.total_weight, rows.depth + 5), rows.total_weight)
    at_zero = np.fmin.reduce(values)
    radius = float(up(np.sqrt(up(at_zero / problem.penalty.lam))))
    zero = np.zeros_like(solution.w)
    return Region("origin", zero, zero, radius)


class _OriginSums(NamedTuple):
    """Losses of each constant score."""

    values: Array
    more: LargestValues
    """What wrong labels add (sec-wrong-labels-certificates)."""


@reads(Reads.LABELS)
def _label_sums(block: Block) -> tuple[float]:
    return (float(block.weight @ block.y),)


@reads(Reads.LABELS)
def _origin_sums(block: Block, loss: Loss, constants: Array, wrong: WrongLabels) -> _OriginSums:
    if block.label_uncertainty is None and loss.task == "classification":
        # Rows of one class have the same loss.
        weights = np.array([block.weight @ (block.y == label) for label in (-1.0, 1.0)])
        labels = np.repeat([[-1.0], [1.0]], len(constants), axis=1)
        values = loss.value_upper(labels, np.tile(constants, (2, 1)))
        return _OriginSums(weights @ values, wrong.partial_sum(np.zeros((0, len(constants)))))
    scores = np.broadcast_to(constants, (len(block.y), len(constants)))
    values = loss.value_upper(block.y[:, None], scores)
    if block.label_uncertainty is not None:
        radius, weight_radius = block.label_uncertainty.radius[:, None], block.label_uncertainty.weight_radius[:, None]
        ends = down(block.y[:, None] - radius), up(block.y[:, None] + radius)
        value_upper = np.maximum(*(loss.value_upper(end, scores) for end in ends))
        values = up(np.where(radius > 0.0, value_upper, values) * up(1.0 + weight_radius))
    may = wrong.candidates
    other = np.maximum(up(loss.value_upper(-block.y[may, None], scores[may]) - values[may]), 0.0)
    return _OriginSums(block.weight @ values, wrong.partial_sum(block.weight[may, None] * other))
