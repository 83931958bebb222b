"""The inner bound: attained by real completions, and most of what completions attain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ipub.attained import attained_bounds
from ipub.certificates import CERTIFICATES
from ipub.data.blocks import MemoryRows
from ipub.data.intervals import IntervalMatrix
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from ipub.solvers import solve


def make_problem(loss: str, kappa: float, seed: int) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    if LOSSES[loss].task == "classification":
        y = np.where(y + 2.0 * X[:, 0] > 0.0, 1.0, -1.0)
    radii = np.zeros_like(X)
    radii.flat[rng.choice(X.size, 6, replace=False)] = 0.7
    weight = rng.integers(1, 4, size=30).astype(float)
    rows = MemoryRows(IntervalMatrix.from_bounds(X - radii, X + radii), y, weight)
    return Problem(rows, LOSSES[loss], ElasticNet(0.1, kappa)), rng.normal(size=(3, 3))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kappa", [0.0, 0.02])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_the_attained_range_is_inside_the_certified_and_most_of_that_of_all_vertices(loss, kappa, seed):
    problem, X_test = make_problem(loss, kappa, seed)
    solution = solve(problem)
    attained = attained_bounds(problem, solution, X_test, rounds=4)
    matrix, weight = problem.rows.matrix, problem.rows.weight
    scores = []
    for positions in itertools.product([-1.0, 1.0], repeat=matrix.n_uncertain):
        full = matrix.completion(positions)
        rows = MemoryRows(IntervalMatrix.from_bounds(full, full), problem.rows.y, weight)
        scores.append(X_test @ solve(Problem(rows, problem.loss, problem.penalty), tol=1e-10).w)
    low, high = np.min(scores, axis=0), np.max(scores, axis=0)
    share = 0.85 if problem.loss.twice_differentiable else 0.4
    assert (np.ptp(attained, axis=1) >= share * (high - low)).all()
    bounds = CERTIFICATES["tight"](problem, solution).score_bounds(X_test)
    assert (bounds[:, 0] <= attained[:, 0]).all()
    assert (attained[:, 1] <= bounds[:, 1]).all()


def test_progress_is_told_for_every_row():
    problem, X_test = make_problem("log_loss", 0.0, 0)
    told = []
    attained_bounds(problem, solve(problem), X_test, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
