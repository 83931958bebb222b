"""The compared methods, each as one call from the training problem to its predictions of test rows."""

from __future__ import annotations

from experiments.rivals import Imputation, complete_cases, interval_newton, multiple_imputation, single_imputation
from experiments.rivals.newton_steps import Coordinates
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem

FIT_ROWS = 1_000
"""Rows, drawn anew for each imputation, on which the imputer is fitted; it then fills all rows."""


def newton_bounds(problem: Problem, X_test: Array, coordinates: Coordinates) -> tuple[Array, str]:
    """Return the score bounds of test rows by interval Newton, from a start of its own, and its note."""
    box = interval_newton(problem, coordinates=coordinates)
    return box.score_bounds(X_test), box.note


def imputed_once(problem: Problem, X_test: Array) -> Imputation:
    """Fill every hole by the mean of its column, train and predict."""
    return single_imputation(problem, X_test)


def without_holed_rows(problem: Problem, X_test: Array) -> Imputation:
    """Leave out the rows with holes, train and predict."""
    return complete_cases(problem, X_test)


def imputed_again(problem: Problem, X_test: Array, n_draws: int, seed: int) -> Imputation:
    """Fill the holes at random several times, train and predict."""
    return multiple_imputation(problem, X_test, n_draws, fit_rows=FIT_ROWS, random_state=seed)
