"""The certificate that needs no training: no completion's model is far from zero (Theorem 3)."""

from __future__ import annotations

import numpy as np

from ipub.certificates.region import Certificate, Region
from ipub.data.blocks import Block, Sums
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import overflow_passes, sum_upper, up
from ipub.solvers import Solution


@overflow_passes()
def origin(problem: Problem, solution: Solution) -> Certificate:
    """Certify ``|w''| <= sqrt(P(0) / lambda)``: P(0) does not depend on the table at all."""
    (value,) = problem.rows.reduce(_origin_sums, problem.loss)
    at_zero = sum_upper(value / problem.rows.total_weight, problem.rows.depth + 5)
    radius = float(up(np.sqrt(up(at_zero / problem.penalty.lam))))
    zero = np.zeros_like(solution.w)
    return Certificate("origin", (Region("origin", zero, zero, radius),), solution.gap)


def _origin_sums(block: Block, loss: Loss) -> Sums:
    return (block.weight @ loss.value_upper(block.y, np.zeros_like(block.y)),)
