"""What a change of the training rows does to a score, to first order: ``u = H^-1 x`` at the model of the center."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers.quadratic import solve_shifted
from ipub.rows import Block

KINK_WIDTH = 0.1
"""Width over which a loss with kinks is smoothed, in units of the score: it has no derivative of its own there."""

NEARLY = 0.5
"""Share of the l1 penalty from which a gradient is taken to be near it."""


def center_hessian(problem: Problem, loss: Loss, w: Array, ahead: float = 0.0) -> Array:
    """Return the Hessian of a smooth loss at w, of the center of the table, without the penalty.

    With `ahead` every score is taken to be so much lower for its label: a smoothed hinge then bends around its kink.
    """
    (total,) = problem.rows.reduce(_hessian_sums, loss, ahead, w)
    return np.asarray(total / problem.rows.total_weight)


def _hessian_sums(block: Block, loss: Loss, ahead: float, w: Array) -> tuple[Array]:
    curvature = block.weight * loss.curvature(block.y, block.center @ w - ahead * block.y)
    return ((block.center * curvature[:, None]).T @ block.center,)


def nearly_entering(problem: Problem, w: Array) -> NDArray[np.bool_]:
    """Return which weights are zero at the center but nearly enter its model, with an l1 penalty.

    These are zeros at which the gradient of the loss is at least `NEARLY` as large as the penalty allows.
    """
    kappa = problem.penalty.kappa_vector(len(w))
    if not kappa.any():
        return np.zeros(len(w), dtype=bool)
    (total,) = problem.rows.reduce(_gradient_sums, problem.loss, w)
    gradient = np.abs(total / problem.rows.total_weight)
    return np.asarray((w == 0.0) & (kappa > 0.0) & (gradient >= NEARLY * kappa))


def _gradient_sums(block: Block, loss: Loss, w: Array) -> tuple[Array]:
    return ((block.weight * loss.derivative(block.y, block.center @ w)) @ block.center,)


def inverse_times(problem: Problem, hessian: Array, w: Array, X: Array) -> Array:
    """Return ``H^-1 x`` for a vector or each column of X, H with the penalty; if that has l1, on the support of w."""
    penalty = problem.penalty
    free = np.flatnonzero((w != 0.0) | (penalty.kappa_vector(len(w)) == 0.0))
    u = np.zeros(X.shape)
    u[free] = solve_shifted(hessian[np.ix_(free, free)], penalty.lam_vector(len(w))[free], X[free])
    return u
