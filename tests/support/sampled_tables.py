"""Tables long enough for a sample to suggest where to look, hard ones, and an attack on their bounds."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.answers.attained import attained_bounds
from ipub.certificates import certify_sphere, certify_tight
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, with_intercept_column
from ipub.tables.interval_matrix import IntervalMatrix

N = 2600
TABLES = ("plain", "one column missing", "scales", "kinks", "weights", "sorted", "outlier")


def draw(kind: str, loss_name: str, lam: float, intercept: bool, seed: int = 0) -> tuple[Problem, Array]:
    """Return a problem with two columns and some holes, and test rows."""
    rng = np.random.default_rng([TABLES.index(kind), seed])
    X, holes = rng.normal(size=(N, 2)), rng.random((N, 2)) < 0.004
    scale = np.array([1e6, 1e-6]) if kind == "scales" else np.ones(2)
    if kind == "kinks":
        X = rng.integers(-2, 3, size=(N, 2)).astype(float)
    if kind == "one column missing":
        holes[:, 1] = True
    if kind == "sorted":
        X = X[np.argsort(X[:, 0])]
    if kind == "outlier":
        X[7] = 1e4
    score = X @ [1.0, -0.5] + 0.5 * rng.normal(size=N)
    y = np.round(score) if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    X = X * scale
    width = 0.02 if kind == "one column missing" else 0.5
    lower, upper = (np.where(holes, X + side * width * scale, X) for side in (-1.0, 1.0))
    weight = rng.choice([0.0, 1.0, 3.0], size=N) if kind == "weights" else None
    rows = MemoryRows(IntervalMatrix.from_bounds(lower, upper), y, weight)
    problem_rows = with_intercept_column(rows) if intercept else rows
    test = np.column_stack([rng.normal(size=(4, 2)) * scale, *([np.ones((4, 1))] if intercept else [])])
    return Problem(problem_rows, LOSSES[loss_name], ElasticNet(lam, n_free=int(intercept))), test


def assert_holds(problem: Problem, X: Array, tol: float, part: type | None = None) -> float:
    """Attack the bounds of a model trained to `tol`; return how many times as wide as what is attained they are.

    The certificate must have the `part`, if one is named.
    """
    assert problem.sample() is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a tolerance of 1e-13 may be out of reach
        rough, exact = solve(problem, tol=tol), solve(problem, tol=1e-13)
    attained = attained_bounds(problem, exact, X).bounds
    # Retraining is exact up to its own gap.
    slack = 1e-6 * (1.0 + np.abs(attained)) + 1e-7 * np.abs(X).max()
    certificate = certify_tight(problem, rough)
    assert part is None or certificate.parts_of(part)
    bounds = certificate.score_bounds(X)
    assert np.isfinite(bounds).all()
    # Without training rows, and as a path of penalties has it.
    others = (
        certify_sphere(problem, rough),
        certificate.without_training_rows(),
        certify_tight(problem, rough, in_columns=True),
    )
    for low, high in (bounds.T, *(each.score_bounds(X).T for each in others)):
        assert (low <= attained[:, 0] + slack[:, 0]).all()
        assert (high >= attained[:, 1] - slack[:, 1]).all()
    return float(np.median(np.diff(bounds)[:, 0] / np.maximum(np.diff(attained)[:, 0], 1e-300)))
