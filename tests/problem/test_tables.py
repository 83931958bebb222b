"""Many small tables side by side: close to what each gives by itself."""

from __future__ import annotations

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.problem.solvers.tables import solve_tables
from ipub.rows import MemoryRows
from support.small_problems import COMBINATIONS, penalty_of


@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
def test_each_model_is_that_of_its_table(loss, l1_ratio, alpha):
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(10, 30, 4)) * rng.uniform(0.2, 3.0, size=(10, 1, 1))
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    weight = rng.integers(0, 3, size=30).astype(float)
    penalty = penalty_of(alpha, l1_ratio)
    models = solve_tables(tables, y, weight, LOSSES[loss], penalty, rng.normal(size=4))
    for table, w in zip(tables, models, strict=True):
        rows = MemoryRows(IntervalMatrix.from_bounds(table, table), y, weight)
        exact = solve(Problem(rows, LOSSES[loss], penalty), tol=1e-10).w
        np.testing.assert_allclose(w, exact, atol=2e-3 * max(1.0, np.abs(exact).max()))


def test_tables_that_overflow_or_are_singular_do_not_fail():
    tables = np.stack([np.full((5, 2), 1e150), np.ones((5, 2)), np.zeros((5, 2))])
    for loss in ("squared_error", "hinge", "log_loss"):
        for kappa in (0.0, 0.1):
            models = solve_tables(tables, np.ones(5), np.ones(5), LOSSES[loss], ElasticNet(1e-12, kappa), np.zeros(2))
            assert models.shape == (3, 2)
            assert np.isfinite(models[1:]).all()
