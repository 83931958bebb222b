"""The certificate that needs no training."""

import dataclasses

import numpy as np
import pytest

from ipub.certificates import certify_origin
from ipub.problem.solvers import solve
from support.oracles.losses import oracle_of
from support.oracles.rationals import as_float
from support.small_problems import COMBINATIONS, make_problem

each_combination = pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)


@each_combination
def test_the_radius_is_that_of_the_objective_at_zero(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio, holes=0.1)
    (region,) = certify_origin(problem, solve(problem)).parts
    y = problem.rows.labels().y
    at_zero = np.mean([as_float(oracle_of(problem.loss).value(label, 0.0)) for label in y])
    assert region.radius == pytest.approx(np.sqrt(at_zero / problem.penalty.lam), rel=1e-12)
    assert region.radius >= np.sqrt(at_zero / problem.penalty.lam) * (1.0 - 1e-15)
    np.testing.assert_array_equal(region.center, 0.0)
    np.testing.assert_array_equal(region.box, 0.0)


@each_combination
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_every_trained_model_lies_inside(loss, l1_ratio, alpha):
    for seed in range(5):
        problem = make_problem(loss, l1_ratio, alpha, seed=seed)
        solution = solve(problem)
        assert np.linalg.norm(solution.w) <= certify_origin(problem, solution).parts[0].radius


@each_combination
def test_neither_the_intervals_nor_the_model_matter(loss, l1_ratio):
    solution = solve(make_problem(loss, l1_ratio, holes=0.1))
    garbage = dataclasses.replace(solution, w=np.full(5, np.nan))
    radii = {
        certify_origin(make_problem(loss, l1_ratio, holes=0.1, stretch=stretch), model).parts[0].radius
        for stretch in (0.0, 1.0, 1e6)
        for model in (solution, garbage)
    }
    assert len(radii) == 1


def test_weights_count():
    weight = np.zeros(120)
    weight[:10] = 1.0
    problem = make_problem("squared_error", weight=weight)
    (region,) = certify_origin(problem, solve(problem)).parts
    assert region.radius == pytest.approx(np.sqrt(np.mean(problem.rows.labels().y[:10] ** 2) / 0.1), rel=1e-12)
