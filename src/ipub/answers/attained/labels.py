"""Labels, among those that are possible, that move one prediction far to one side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipub.answers.attained.first_order import KINK_WIDTH
from ipub.answers.attained.retraining import TOLERANCE, gathered
from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.problem.solvers.quadratic import solve_shifted
from ipub.rows import Block, Reads, Rows, SlicedRows, engine_of, reads, with_labels
from ipub.tables.label_uncertainty import NO_PAIRS, LabelUncertainty

LABEL_ROUNDS = 2
"""How often labels are chosen, each time for the model trained with the last ones: more rounds, better labels."""


def with_adversarial_labels(problem: Problem, solution: Solution, x: Array, side: float) -> tuple[Problem, Solution]:
    """Choose labels that move ``x.w`` to one side (-1 or 1), to first order; return their problem and its model."""
    rows, (y, weight) = problem.rows, problem.rows.labels()
    uncertain = None if rows.max_wrong_labels else _label_uncertainty(rows)
    penalty, loss = problem.penalty, problem.loss.smoothed(KINK_WIDTH)
    certain, model = problem, solution
    for _ in range(LABEL_ROUNDS):
        hessian = certain.evaluate(model.w, loss).hessian
        u = solve_shifted(hessian, penalty.lam_vector(len(x)), x)
        slopes, other_slopes, products = gathered(rows, _label_effects, loss, model.w, u)
        if uncertain is None:
            gain = side * weight * (slopes - other_slopes) * products
            chosen = _with_wrong_labels(y, gain, rows.max_wrong_labels), weight
        else:
            # The score of a row rises with its target, and changes against the derivative with its weight.
            moved = np.where(uncertain.radius > 0.0, products, -slopes * products)
            chosen = uncertain.settled(y, weight, np.where(side * moved >= 0.0, 1.0, -1.0))
        certain = replace(problem, rows=with_labels(rows, *chosen))
        model = solve(certain, tol=TOLERANCE, start=model.w)
    return certain, model


def _label_uncertainty(rows: Rows) -> LabelUncertainty:
    """Gather how far labels are uncertain; only an engine in this process has the pairs of rows of unknown class."""
    (radius, weight_radius), engine = gathered(rows, _label_ranges), engine_of(rows)
    pairs = engine.label_uncertainty.pairs if isinstance(engine, SlicedRows) and engine.label_uncertainty else NO_PAIRS
    return LabelUncertainty(radius, weight_radius, pairs)


@reads(Reads.LABELS)
def _label_ranges(block: Block) -> tuple[Array, Array]:
    uncertainty = block.label_uncertainty or LabelUncertainty.of_wrong_labels(block.n_rows, 0)
    return uncertainty.radius, uncertainty.weight_radius


def _label_effects(block: Block, loss: Loss, w: Array, u: Array) -> tuple[Array, Array, Array]:
    """Return for each row the derivative of its label and of the other one, and its product with a direction."""
    score = block.center @ w
    return loss.derivative(block.y, score), loss.derivative(-block.y, score), block.center @ u


def _with_wrong_labels(y: Array, gain: Array, count: int) -> Array:
    """Return labels of which at most `count` are wrong, those with the most gain; a row of each class stays."""
    y = y.copy()
    for k in np.argsort(-gain, kind="stable")[:count]:
        if gain[k] > 0.0 and np.count_nonzero(y == y[k]) > 1:
            y[k] = -y[k]
    return y
