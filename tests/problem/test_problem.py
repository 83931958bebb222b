"""The training problem: values, gap and derivatives of one evaluation."""

import numpy as np
import pytest

from ipub.losses import LOSSES
from ipub.problem.objective import Evaluation
from support.small_problems import COMBINATIONS, center_of, dual_value, make_problem, objective

each_combination = pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
WEIGHT = np.random.default_rng(9).choice([0.0, 0.5, 1.0, 3.0], size=120)


@pytest.fixture(params=[None, WEIGHT], ids=["unweighted", "weighted"])
def weight(request):
    return request.param


@each_combination
def test_primal_and_dual_are_the_written_out_objectives(loss, l1_ratio, weight):
    problem = make_problem(loss, l1_ratio, holes=0.1, weight=weight)
    X = center_of(problem)
    w = np.random.default_rng(1).normal(size=5)
    at = problem.evaluate(w, problem.loss.smoothed(0.3))
    a = -problem.loss.smoothed(0.3).derivative(problem.rows.labels().y, X @ w)
    assert at.primal == pytest.approx(objective(problem, X, w), rel=1e-13)
    assert at.dual == pytest.approx(dual_value(problem, X, a), rel=1e-12)


@each_combination
def test_the_gap_without_cancellation_is_primal_minus_dual(loss, l1_ratio, weight):
    problem = make_problem(loss, l1_ratio, weight=weight)
    rng = np.random.default_rng(2)
    for _ in range(5):
        at = problem.evaluate(rng.normal(size=5), problem.loss.smoothed(0.3))
        assert at.gap >= 0.0
        assert at.gap == pytest.approx(at.primal - at.dual, rel=1e-10)


@each_combination
def test_a_dual_point_at_other_weights_keeps_the_gap_true(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio)
    rng = np.random.default_rng(3)
    w, dual_w = rng.normal(size=(2, 5))
    at = problem.evaluate(w, problem.loss.smoothed(0.3), dual_w)
    X = center_of(problem)
    a = -problem.loss.smoothed(0.3).derivative(problem.rows.labels().y, X @ dual_w)
    assert at.gap == pytest.approx(objective(problem, X, w) - dual_value(problem, X, a), rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_and_hessian_are_those_of_the_mean_loss(loss, weight):
    problem = make_problem(loss, holes=0.1, weight=weight)
    smooth, h = problem.loss.smoothed(0.5), 1e-5
    w = np.random.default_rng(4).normal(size=5)
    at = problem.evaluate(w, smooth)
    steps = h * np.eye(5)
    above = [problem.evaluate(w + step, smooth) for step in steps]
    below = [problem.evaluate(w - step, smooth) for step in steps]
    slopes = [(a.objective - b.objective) / (2.0 * h) for a, b in zip(above, below, strict=True)]
    np.testing.assert_allclose(at.gradient + problem.penalty.lam * w, slopes, atol=1e-8)
    differences = [(a.gradient - b.gradient) / (2.0 * h) for a, b in zip(above, below, strict=True)]
    np.testing.assert_allclose(at.hessian, differences, atol=1e-7)
    np.testing.assert_allclose(at.hessian, at.hessian.T, rtol=1e-12)


@each_combination
def test_trial_gives_the_slope_of_the_objective_along_a_direction(loss, l1_ratio, weight):
    problem = make_problem(loss, l1_ratio, weight=weight)
    smooth, h = problem.loss.smoothed(0.5), 1e-6
    w, direction = np.random.default_rng(5).normal(size=(2, 5))
    steps = np.array([1e-3, 0.25, 1.0])

    def along(step):
        point = w + step * direction
        return problem.evaluate(point, smooth).objective

    slopes = [(along(step + h) - along(step - h)) / (2.0 * h) for step in steps]
    np.testing.assert_allclose(problem.trial(w, direction, steps, smooth), slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_trial_takes_the_slope_ahead_where_a_weight_is_zero(loss):
    problem = make_problem(loss, 0.5)
    smooth, h = problem.loss.smoothed(0.5), 1e-6
    w, direction = np.array([0.0, -0.5, 1.0, 0.0, 0.25]), np.array([1.0, 1.0, -2.0, -1.0, 0.5])
    # At the step 1/2 the second and the third weight arrive at zero; at 0 the first and the fourth leave it.
    for step in (0.0, 0.5):
        points = [w + (step + k * h) * direction for k in (0, 1)]
        values = [problem.evaluate(point, smooth).objective for point in points]
        slope = problem.trial(w, direction, np.array([step]), smooth)[0]
        assert slope == pytest.approx((values[1] - values[0]) / h, abs=1e-4)


@pytest.mark.parametrize(
    ("primal", "dual", "gaps", "expected"),
    [
        (2.0, 1.0, (0.75, 0.25), 0.5),
        (-1.0, -4.0, (3.0, 0.0), 0.75),
        (0.0, 0.0, (0.0, 0.0), 0.0),
        (0.0, 0.0, (1e-320, 0.0), 0.0),
        (0.0, 0.0, (1e-150, 0.0), np.inf),
    ],
)
def test_relative_gap_is_the_gap_over_the_larger_objective_and_never_nan(primal, dual, gaps, expected):
    at = Evaluation(primal, dual, *gaps, objective=primal, gradient=np.zeros(1), hessian=np.zeros((1, 1)))
    assert at.relative_gap == expected


def test_rows_of_weight_zero_count_nowhere():
    problem = make_problem("log_loss", holes=0.1, weight=WEIGHT)
    X, y = center_of(problem)[WEIGHT > 0.0], problem.rows.labels().y[WEIGHT > 0.0]
    w = np.random.default_rng(6).normal(size=5)
    loss = WEIGHT[WEIGHT > 0.0] @ LOSSES["log_loss"].value(y, X @ w) / WEIGHT.sum()
    expected = loss + problem.penalty.value(w)
    assert problem.evaluate(w, problem.loss).objective == pytest.approx(expected, rel=1e-13)
