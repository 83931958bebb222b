"""The half-ball, term by term, against thm-half-ball in plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from ipub.certificates.ball import PRICES, certify_ball
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix
from support.oracles.half_ball import half_ball


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kappa", [0.0, 0.05])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_every_region_of_the_ball_is_that_of_the_plain_loops(loss, kappa, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 4)), rng.normal(size=40)
    if LOSSES[loss].task == "classification":
        y = np.where(y + X[:, 0] > 0.0, 1.0, -1.0)
    radii = np.where(rng.random(X.shape) < 0.3, rng.random(X.shape), 0.0)
    rows = MemoryRows(IntervalMatrix.from_bounds(X - radii, X + radii), y, rng.integers(1, 4, size=40).astype(float))
    problem = Problem(rows, LOSSES[loss], ElasticNet(0.1, kappa))
    solution = solve(problem)
    block = next(rows.blocks())
    alpha = solution.dual_point(block)
    regions = iter(certify_ball(problem, solution).parts)
    for price in PRICES:
        price = price * np.linalg.norm(solution.w) if np.isfinite(price) else price
        expected = half_ball(
            block.center.tolist(), radii.tolist(), y, block.weight, LOSSES[loss], 0.1, kappa, solution.w, alpha, price
        )
        for center, box, radius in expected:
            region = next(regions)
            np.testing.assert_allclose(region.center, center, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(region.box, box, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(region.radius, radius, rtol=1e-9)
