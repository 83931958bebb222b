"""Proximal Newton for every loss and penalty; the hinge is the limit of smoothed hinges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.losses import Loss
from ipub.problem import Evaluation, Problem
from ipub.rounding import Array
from ipub.solvers.quadratic import minimise_quadratic

STEPS = np.array([2.0**-k for k in range(12)])[::-1]
SHRINK = 0.1
"""Factor between the widths of successive smoothed losses."""
PATIENCE = 30
"""How many steps may pass at one width without a smaller gap before rounding is taken to be the limit."""


@dataclass(frozen=True)
class Solution:
    """A trained model with its dual point, and how good the pair is.

    The dual point is ``alpha_i = -dual_loss.derivative(y_i, x_i.w)``.
    """

    w: Array
    dual_loss: Loss
    primal: float
    dual: float
    gap: float
    relative_gap: float
    n_iter: int
    converged: bool


def solve(
    problem: Problem,
    tol: float = 1e-8,
    max_iter: int = 1000,
    start: Array | None = None,
    verbose: int = 0,
) -> Solution:
    """Minimise the problem until ``gap / max(|primal|, |dual|) <= tol``.

    One more Newton step follows, for the price of a pass: it squares the error that is left. If `tol` is
    not reached a `ConvergenceWarning` says so; a certificate made from the result holds all the same.

    Parameters
    ----------
    problem : Problem
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Greatest number of Newton steps.
    start : array of shape (n_features,), optional
        Where to begin; zeros if left out.
    verbose : int
        If positive, print a line for each step.
    """
    w = np.zeros(problem.rows.n_features) if start is None else np.array(start, dtype=float)
    width, dual_loss = 1.0, problem.loss.smoothed(1.0)
    path: list[tuple[float, Array]] = []
    here = problem.evaluate(w, dual_loss)
    best, best_at_width = (w, dual_loss, here), here.penalty_gap
    stalled = n_iter = 0
    reached = here.relative_gap <= tol
    while n_iter < max_iter and stalled < PATIENCE:
        if not problem.loss.is_smooth and here.penalty_gap <= 0.1 * here.loss_gap:
            path = [*path[-1:], (width, w)]
            width *= SHRINK
            dual_loss = problem.loss.smoothed(width)
            w, here = _predict(problem, dual_loss, width, path)
            best_at_width = np.inf
        else:
            w, here = _step(problem, dual_loss, w, here)
            n_iter += 1
        stalled = 0 if here.penalty_gap < best_at_width else stalled + 1
        best_at_width = min(best_at_width, here.penalty_gap)
        if here.gap < best[2].gap or not np.isfinite(best[2].gap):
            best = (w, dual_loss, here)
        if verbose:
            print(f"step {n_iter}: objective {here.primal:.9g}, relative gap {here.relative_gap:.1e}")
        if reached:
            break
        reached = best[2].relative_gap <= tol
    w, dual_loss, here = best
    converged = here.relative_gap <= tol
    if not converged:
        warnings.warn(
            f"The relative duality gap is {here.relative_gap:.1e} after {n_iter} steps, above tol={tol:.1e}. Bounds "
            "stay valid, but are wider than they need be. Rescale the columns, or increase alpha, tol or max_iter.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Solution(w, dual_loss, here.primal, here.dual, here.gap, here.relative_gap, n_iter, converged)


def _predict(
    problem: Problem, loss: Loss, width: float, path: list[tuple[float, Array]]
) -> tuple[Array, Evaluation]:
    """Guess the optimum at a smaller width: linear in the width once the rows near the kink are settled."""
    last_width, last = path[-1]
    candidates = [last]
    if len(path) > 1:
        earlier_width, earlier = path[-2]
        candidates.append(last + (last - earlier) * (width - last_width) / (last_width - earlier_width))
    evaluated = [(w, problem.evaluate(w, loss)) for w in candidates]
    return min(evaluated, key=lambda pair: problem.objective(*pair))


def _step(problem: Problem, loss: Loss, w: Array, here: Evaluation) -> tuple[Array, Evaluation]:
    """Take one Newton step, shortened where the full one goes too far."""
    penalty = problem.penalty
    linear = here.hessian @ w - here.gradient
    direction = minimise_quadratic(here.hessian, linear, penalty.lam, penalty.kappa, w) - w
    there = problem.evaluate(w + direction, loss)
    descends = problem.objective(w + direction, there) < problem.objective(w, here)
    if there.penalty_gap <= (0.25 if descends else 0.01) * here.penalty_gap:
        return w + direction, there
    step = _line_search(problem, loss, w, direction)
    if step == 1.0:
        return w + direction, there
    w = w + step * direction
    return w, problem.evaluate(w, loss)


def _line_search(problem: Problem, loss: Loss, w: Array, direction: Array) -> float:
    """Return a step near the minimum along a direction: where the increasing slope changes sign."""
    low, high = 0.0, 1.0
    for _ in range(3):
        steps = low + (high - low) * (STEPS if low == 0.0 else np.linspace(0.0, 1.0, len(STEPS) + 1)[1:])
        slopes = problem.trial(w, direction, steps, loss)
        if not (slopes[-1] > 0.0):
            return float(steps[-1])
        k = int(np.argmax(slopes > 0.0))
        low, high = (float(steps[k - 1]) if k else low), float(steps[k])
        if low > 0.0 and (slopes[k] <= 0.1 * abs(slopes[k - 1]) or high - low <= 0.01 * high):
            break
    return high if low == 0.0 else 0.5 * (low + high)

