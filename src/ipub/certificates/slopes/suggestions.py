"""Where to look for the moves of all completions: what a sample of the rows suggests, and a pass proves, or not."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.certificates.slopes.cell_coefficients import TuningChoices
from ipub.certificates.slopes.incomplete_rows import PriceSums, block_price_sums
from ipub.certificates.slopes.prove_moves import GROWTH, Suggestion, box_of_moves, prove_move_set
from ipub.numeric.linalg import rough_inverse
from ipub.numeric.rounding import overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve

MOVING_SHARE = 0.1
"""How much of a column's form goes to what depends on the move (lem-column-form) where no sample says more: width only,
any value is valid."""

SAMPLE_GROWTH = 1.35
"""By which factor the set that a sample of the rows suggests is made larger: it protects from a pass over the table
that proves nothing."""


@overflow_means_unbounded()
def suggest_from_sample(problem: Problem, solution: Solution, is_summed: bool) -> Suggestion | None:
    """Return what a sample of the rows suggests: the set of its own moves, made larger."""
    sample = problem.sample() if problem.loss.is_smooth else None
    if sample is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trained = solve(sample, start=solution.w)
    proved = prove_move_set(sample, trained).found
    if proved is None:
        return None
    linear, inside = proved
    # A table whose cells are summed will have the form of whole columns.
    limits = SAMPLE_GROWTH * box_of_moves(linear, inside, is_summed) if problem.penalty.kappa == 0.0 else None
    tuning = linear.cells.tuning_for_sums(inside.inverse.center) if is_summed else None
    return Suggestion(replace(inside, radius=SAMPLE_GROWTH / GROWTH * inside.radius), limits, tuning)


def choose_tuning(problem: Problem, solution: Solution, suggested: Suggestion | None) -> TuningChoices:
    """Return the choices that were suggested, or what the Hessian of the trained model says."""
    if suggested is not None and suggested.tuning is not None:
        return suggested.tuning
    d = len(solution.w)
    hessian = problem.evaluate(solution.w, problem.loss).hessian + np.diag(problem.penalty.lam_vector(d))
    try:
        inverse = rough_inverse(hessian, pseudo=True)
    except np.linalg.LinAlgError:  # a model that is NaN: no set can be proved
        inverse = np.eye(d)
    prices: PriceSums = problem.rows.reduce(block_price_sums, inverse)
    return TuningChoices(inverse, np.full(d, MOVING_SHARE), prices.prices(inverse))
