"""Which columns' missing values make bounds wide, to first order."""

from __future__ import annotations

import numpy as np

from ipub.answers.attained.first_order import KINK_WIDTH, center_hessian, inverse_times
from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows import Block
from ipub.training import Training


def first_order_widths(training: Training, rows: Array) -> Array:
    """Return how much the missing training cells of each column widen the range of scores, to first order.

    With ``u = H^-1 x`` and H the Hessian of the objective, row i of the training table moves the score of x by ``-m_i
    psi(x''_i.w) (x''_i.u)`` and a constant, to first order in the change of the model. Each missing cell is counted
    with the range of this over its interval, or its levels, while all others stay at the middle. That is not a bound:
    it says which columns matter, not by how much bounds are wider than first order.

    The rows to predict, shape (m, d), are as the models see them, without holes. Widths are summed over rows, models
    and the cells of each column of the training table, shape (n_features_in,).
    """
    if training.fit_intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    widths = np.sum([_widths(*model, rows) for model in training.models], axis=0)
    encoder = training.table.columns.encoder
    of_encoded = np.asarray(widths)[: training.coef.shape[1]]
    if encoder is None:
        return of_encoded
    return np.diff(np.concatenate([[0.0], np.cumsum(of_encoded)])[encoder.starts])


def _widths(problem: Problem, solution: Solution, rows: Array) -> Array:
    """Return the widths that one model has from the cells of each column, those of a category at its first level."""
    loss = problem.loss.smoothed(KINK_WIDTH)
    w, total = solution.w, problem.rows.total_weight
    u = inverse_times(problem, center_hessian(problem, loss, w), w, rows.T)
    return np.asarray(problem.rows.reduce(_width_sum, loss, w, u)[0] / total)


def _width_sum(block: Block, loss: Loss, w: Array, u: Array) -> tuple[Array]:
    """Sum over the cells of each column by how much they move the scores, from one end to the other."""
    found = np.zeros(len(w))
    scores, products = block.center @ w, block.center @ u
    i, j = block.cell_rows, block.cell_columns
    ends = []
    for side in (-1.0, 1.0):
        change = side * block.cell_radii
        force = block.weight[i] * loss.derivative(block.y[i], scores[i] + change * w[j])
        ends.append(force[:, None] * (products[i] + change[:, None] * u[j]))
    np.add.at(found, j, np.abs(ends[1] - ends[0]).sum(axis=1))
    missing = block.missing_categories
    for which, levels in missing.by_category():
        i = missing.rows[which]
        middle = block.center[np.ix_(i, levels.columns)]
        score, product = scores[i] - middle @ w[levels.columns], products[i] - middle @ u[levels.columns]
        at_levels = [
            (block.weight[i] * loss.derivative(block.y[i], score + w[level]))[:, None] * (product + u[level])
            for level in levels.columns
        ]
        found[levels.columns[0]] += np.ptp(at_levels, axis=0).sum()
    return (found,)
