"""The rivals, each as one call from training rows to what it says of test rows."""

from __future__ import annotations

import numpy as np

from ipub.baselines.interval_newton import Coordinates, interval_newton
from ipub.data.intervals import IntervalMatrix
from ipub.problem import Problem
from ipub.rounding import Array

IMPUTATION_SEED = 4


def interval_newton_bounds(problem: Problem, X_test: Array, coordinates: Coordinates) -> tuple[Array, str]:
    """Return the score bounds of test rows by interval Newton, from a start of its own, and its note."""
    box = interval_newton(problem, coordinates=coordinates)
    return np.asarray(box.score_bounds(X_test)), box.note


def single_imputation_scores(X: IntervalMatrix, y: Array, lam: float, X_test: Array) -> Array:
    """Return the scores of test rows after every hole was filled once."""
    raise NotImplementedError


def complete_cases_scores(X: IntervalMatrix, y: Array, lam: float, X_test: Array) -> Array:
    """Return the scores of test rows after rows with holes were left out."""
    raise NotImplementedError


def multiple_imputation_scores(X: IntervalMatrix, y: Array, lam: float, X_test: Array, count: int) -> Array:
    """Return the scores of test rows, shape (count, m), after holes were filled at random, again and again."""
    raise NotImplementedError
