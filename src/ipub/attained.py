"""The inner bound: predictions that retrained completions really attain.

A certificate bounds the range of a prediction from outside; this bounds it from inside. The ratio of the two
widths says how much a certificate can be off. A completion is chosen for one row and one side by pushing every
uncertain cell to the end of its interval that the derivative of the prediction points to:

    d(x.w) / dX_ij = -m_i (psi_i u_j + psi'_i (x_i.u) w_j),   u = H^-1 x,  H the Hessian of the objective.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.data.blocks import Block, Rows, Sums
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import Array
from ipub.solvers import Solution, solve
from ipub.solvers.quadratic import solve_shifted

KINK_WIDTH = 0.3
"""Over which scores the derivative of a kinked loss is taken to change, when a completion is chosen."""


class PushedRows(Rows):
    """Rows with every uncertain cell at one end of its interval: no cell is uncertain any more.

    Which end is a function of the row and of vectors as long as the features; the ends are found when a
    block is first asked for, and then kept.

    Parameters
    ----------
    rows : Rows
        The rows with their intervals.
    seen : Rows
        The same rows at the completion where the derivative is taken.
    loss : Loss
    w, u : arrays of shape (n_features,)
        The model there, and ``H^-1 x``.
    side : float
        1 to push the prediction up, -1 to push it down.
    """

    def __init__(self, rows: Rows, seen: Rows, loss: Loss, w: Array, u: Array, side: float) -> None:
        super().__init__(rows.n_features, rows.y, rows.weight)
        self.rows, self.seen, self.loss = rows, seen, loss
        self.w, self.u, self.side = w, u, side
        self._ends: dict[int, Array] = {}

    def block(self, rows: slice) -> Block:
        whole = self.rows.block(rows)
        if rows.start not in self._ends:
            self._ends[rows.start] = self._push(whole, self.seen.block(rows))
        center = whole.center.copy()
        center[whole.cell_rows, whole.cell_columns] = self._ends[rows.start]
        nothing = np.zeros(0, dtype=np.intp)
        return Block(center, nothing, nothing, np.zeros(0), whole.y, self.weight[rows])

    def _push(self, whole: Block, seen: Block) -> Array:
        slope, curvature = _slopes(self.loss, seen, self.w)
        i, j = whole.cell_rows, whole.cell_columns
        derivative = -(slope[i] * self.u[j] + (curvature * (seen.center @ self.u))[i] * self.w[j])
        return np.asarray(whole.center[i, j] + whole.cell_radii * np.sign(self.side * derivative))


def attained_bounds(
    problem: Problem,
    solution: Solution,
    X: Array,
    rounds: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Array:
    """Return (m, 2): for each row a lowest and a highest score that some completion's model really gives.

    Parameters
    ----------
    problem : Problem
        With uncertain cells.
    solution : Solution
        The model trained at the center.
    X : array of shape (m, n_features)
    rounds : int
        How often the derivative is taken again at the completion that was reached.
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    bounds = np.empty((len(X), 2))
    bounds[:] = (X @ solution.w)[:, None]
    for k, x in enumerate(X):
        for end, side in enumerate((-1.0, 1.0)):
            seen, w = problem.rows, solution.w
            for _ in range(rounds):
                seen, w = _push(problem, seen, w, x, side)
                score = x @ w
                bounds[k, end] = max(bounds[k, end], score) if side > 0.0 else min(bounds[k, end], score)
        if progress is not None:
            progress(k + 1, len(X))
    return bounds


def _push(problem: Problem, seen: Rows, w: Array, x: Array, side: float) -> tuple[Rows, Array]:
    """Choose a completion at the model w of another one, and retrain there."""
    free = (w != 0.0) | (problem.penalty.kappa_vector(len(w)) == 0.0)
    (total,) = seen.reduce(_hessian_sums, problem.loss, w)
    hessian = total[np.ix_(free, free)] / seen.total_weight
    u = np.zeros_like(w)
    u[free] = solve_shifted(hessian, problem.penalty.lam_vector(len(w))[free], x[free])
    pushed = PushedRows(problem.rows, seen, problem.loss, w, u, side)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return pushed, solve(Problem(pushed, problem.loss, problem.penalty), tol=1e-10, start=w).w


def _slopes(loss: Loss, block: Block, w: Array) -> tuple[Array, Array]:
    """Return derivative and curvature of each row's loss, a kink spread evenly over `KINK_WIDTH`."""
    smooth = loss.smoothed(KINK_WIDTH)
    score = block.center @ w - (0.0 if loss.is_smooth else 0.5 * KINK_WIDTH) * block.y
    return smooth.derivative(block.y, score), smooth.curvature(block.y, score)


def _hessian_sums(block: Block, loss: Loss, w: Array) -> Sums:
    curvature = block.weight * _slopes(loss, block, w)[1]
    return ((block.center * curvature[:, None]).T @ block.center,)
