"""What sampling does not reach in the slope certificate: overflow, underflow, and derivatives that jump."""

from __future__ import annotations

import numpy as np
import pytest

from ipub.certificates import SlopeBounds, certify_tight
from ipub.certificates.slopes.attempt import attempt_slope_bounds
from ipub.certificates.slopes.prove_moves import prove_move_set
from ipub.losses import LOSSES, Huber
from ipub.losses.penalties import ElasticNet
from support.cases import Case, intervals, train
from support.moves import every_form
from support.oracles.exact import exact_model
from support.oracles.rationals import rational, rational_rows

HOLE = np.nan


def exact_score(case, table):
    model = exact_model(table, case.y, case.weight, case.loss, case.penalty.lam, 0.0)
    value = model.score(case.X_test[0])[0]
    return int(value.p) / int(value.q)


def test_a_force_that_overflows_proves_nothing():
    c = 2.0**-200
    table = np.array([[0.0, 0.0], [c, 1.0], [0.0, 1.0], [0.0, 0.0]])
    radius = np.full((4, 2), HOLE)
    radius[0, 0] = 2.0**313
    y, x = np.array([1e100, 0.0, 0.0, 0.0]), np.array([[c, 2.0]])
    case = Case(intervals(table, radius), y, None, Huber(1.0), ElasticNet(1e-150), x)
    solution = train(case.problem)
    completed = rational_rows(table)
    completed[0][0] = rational(2 * c)
    low, high = certify_tight(case.problem, solution).score_bounds(x)[0]
    assert low <= exact_score(case, completed) <= high
    assert prove_move_set(case.problem, solution).found is None


@pytest.mark.parametrize(
    ("weight", "large", "radii", "lam", "at"),
    [
        (1e-100, 1e120, (1e113, 1e-10), 2e130, 1e100),
        (1e-140, 1e149, (1e142, 1.0), 2e148, 1e129),
        (1e-140, 1e149, (1e142, 1e10), 2e148, 1e129),
    ],
)
def test_a_form_that_underflows_keeps_its_cells(weight, large, radii, lam, at):
    table = np.array([[large, 0.0], [0.0, 0.0]])
    radius = np.array([[HOLE, radii[0]], [HOLE, radii[1]]])
    y, weights, x = np.array([0.0, 1.0]), np.array([weight, 1.0]), np.array([[at, 0.0]])
    case = Case(intervals(table, radius), y, weights, LOSSES["squared_error"], ElasticNet(lam), x)
    certificate = certify_tight(case.problem, train(case.problem))
    completed = rational_rows(table)
    completed[0][1], completed[1][1] = rational(radii[0]), rational(radii[1])
    truth = exact_score(case, completed)
    for low, high in (certificate.score_bounds(x)[0], certificate.without_training_rows().score_bounds(x)[0]):
        assert low <= truth <= high
    part = certificate.part(SlopeBounds)
    if part is not None:
        for form in every_form(part).values():
            low, high = form.ends(x)
            assert low[0] <= truth <= high[0]
        assert abs(truth) <= part.as_move_set().max_score_move(x)[0]


def test_a_derivative_that_jumps_closes_no_set_of_moves():
    rng = np.random.default_rng(0)
    table, radius = rng.normal(size=(6, 2)), np.full((6, 2), HOLE)
    radius[0, 0] = radius[1, 1] = 0.5
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    case = Case(intervals(table, radius), y, None, LOSSES["hinge"], ElasticNet(0.1), table)
    solution = train(case.problem)
    assert prove_move_set(case.problem, solution).found is None
    assert attempt_slope_bounds(case.problem, solution).found is None
