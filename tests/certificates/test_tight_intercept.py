"""Slopes that are good enough bound the intercept: no pass of sphere or ball encloses it again."""

import importlib

import numpy as np
import pytest

from ipub.certificates.ball import certify_ball
from ipub.certificates.intercept import bracket_of
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, with_intercept_column
from ipub.tables.interval_matrix import IntervalMatrix

tight_module = importlib.import_module("ipub.certificates.tight")


@pytest.mark.parametrize(("loss", "alpha"), [("log_loss", 0.01), ("squared_hinge", 0.1), ("huber", 0.1)])
def test_the_bracket_of_slopes_serves_all_regions_and_is_narrower(loss, alpha, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    y = X[:, 0] + X[:, 1] + rng.normal(size=3000) + 0.5
    y = np.where(y > 0.0, 1.0, -1.0) if LOSSES[loss].task == "classification" else y
    X[rng.random(X.shape) < 0.01] = np.nan
    rows = with_intercept_column(MemoryRows(IntervalMatrix.from_table(X, np.tile([-1.0, 1.0], (8, 1))), y))
    problem = Problem(rows, LOSSES[loss], ElasticNet(alpha, n_free=1))
    solution = solve(problem)
    monkeypatch.setattr(tight_module, "certify_origin", None)
    monkeypatch.setattr(tight_module, "ranges_at_w", lambda *_: None)
    monkeypatch.setattr(tight_module, "row_sum_bounds_within", lambda *_: None)
    certificate = tight_module.certify_tight(problem, solution)
    slopes = certificate.part(tight_module.SlopeBounds)
    assert tight_module.NEARLY_EXACT < slopes.excess <= tight_module.BOUNDS_INTERCEPT
    (low,), (high,) = slopes.ends(np.eye(9)[-1:])
    found, alone = bracket_of(certificate), bracket_of(certify_ball(problem, solution))
    assert found[0] <= low <= solution.w[-1] <= high <= found[1]
    assert found == pytest.approx((low, high), rel=1e-12)
    assert alone[0] < found[0]
    assert found[1] < alone[1]
