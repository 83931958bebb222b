"""The inner problem of a Newton step, against its optimality conditions and against SciPy."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ipub import IntervalMatrix
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.problem.solvers.quadratic import minimise_quadratic, solve_shifted
from ipub.rows import MemoryRows, with_intercept_column


def draw(seed, d=6, rank=6):
    """Draw a positive semidefinite matrix and a linear term."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(d, rank))
    return factor @ factor.T / d, rng.normal(size=d)


def check_optimality(hessian, linear, lam, kappa, z, atol):
    """Assert that 0 is a subgradient at z."""
    rest = linear - hessian @ z - lam * z
    on = z != 0.0
    np.testing.assert_allclose(rest[on], kappa * np.sign(z[on]), atol=atol)
    assert (np.abs(rest[~on]) <= kappa + atol).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("lam", [1e-6, 0.1, 10.0])
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.3, 100.0])
@pytest.mark.parametrize("rank", [6, 2])
def test_the_optimality_conditions_hold_however_close_to_singular(seed, lam, kappa, rank):
    hessian, linear = draw(seed, rank=rank)
    z = minimise_quadratic(hessian, linear, lam, kappa, np.zeros(6))
    # A backward stable solve leaves some rounding units of |H| |z|.
    check_optimality(hessian, linear, lam, kappa, z, atol=1e-13 * max(1.0, np.abs(hessian).max() * np.abs(z).max()))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kappa", [0.0, 0.3])
def test_scipy_finds_the_same_minimum(seed, kappa):
    hessian, linear = draw(seed)
    z = minimise_quadratic(hessian, linear, 0.1, kappa, np.zeros(6))

    def split(both):
        point = both[:6] - both[6:]
        slope = hessian @ point + 0.1 * point - linear
        value = 0.5 * point @ (hessian @ point + 0.1 * point) - linear @ point + kappa * both.sum()
        return value, np.concatenate([slope + kappa, -slope + kappa])

    result = minimize(
        split,
        np.zeros(12),
        jac=True,
        bounds=[(0, None)] * 12,
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10_000},
    )
    here = split(np.concatenate([np.maximum(z, 0.0), np.maximum(-z, 0.0)]))[0]
    assert here <= result.fun + 1e-14
    np.testing.assert_allclose(z, result.x[:6] - result.x[6:], atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_start_does_not_change_the_minimiser_and_is_not_written(seed):
    hessian, linear = draw(seed)
    expected = minimise_quadratic(hessian, linear, 0.1, 0.3, np.zeros(6))
    start = 10.0 * np.random.default_rng(seed).normal(size=6)
    start.flags.writeable = False
    np.testing.assert_allclose(minimise_quadratic(hessian, linear, 0.1, 0.3, start), expected, rtol=1e-12, atol=1e-14)


def test_a_strong_l1_part_gives_exact_zeros():
    hessian, linear = draw(0)
    np.testing.assert_array_equal(minimise_quadratic(hessian, linear, 0.1, 1e3, np.ones(6)), 0.0)


@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_solve_shifted_solves_the_shifted_system(lam):
    hessian, right = draw(1, rank=3)
    z = solve_shifted(hessian, lam, right)
    np.testing.assert_allclose(hessian @ z + lam * z, right, atol=1e-12)


def test_a_matrix_made_indefinite_by_rounding_is_still_solved():
    ones = np.full((3, 3), 1e8)
    ones[0, 0] -= 1e-6
    right = np.array([3.0, 3.0, 3.0])
    z = solve_shifted(ones, 1e-12, right)
    assert np.isfinite(z).all()
    np.testing.assert_allclose(ones @ z, right, rtol=1e-5)


@pytest.mark.parametrize("shift", [0.0, -1e-6])
def test_several_right_sides_are_solved_as_each_alone(shift):
    hessian = np.full((3, 3), 1e8) + np.diag([shift, 0.0, 0.0])
    right = np.random.default_rng(0).normal(size=(3, 2))
    lam = np.array([1e-12, 1e-3, 1.0])
    together = solve_shifted(hessian, lam, right)
    alone = [solve_shifted(hessian, lam, column) for column in right.T]
    np.testing.assert_allclose(together, np.column_stack(alone), rtol=1e-6)


def test_a_matrix_that_overflowed_gives_a_finite_answer():
    hessian = np.array([[np.inf, 0.0], [0.0, 1.0]])
    assert np.isfinite(solve_shifted(hessian, 0.1, np.ones(2))).all()
    assert np.isfinite(minimise_quadratic(hessian, np.ones(2), 0.1, 0.0, np.zeros(2))).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.3, 100.0])
@pytest.mark.parametrize("start", [0.0, -5.0])
def test_a_coordinate_without_penalty_is_minimised_as_well(seed, kappa, start):
    hessian, linear = draw(seed)
    lam, l1 = np.full(6, 0.1), np.full(6, kappa)
    lam[-1] = l1[-1] = 0.0
    z = minimise_quadratic(hessian, linear, lam, l1, np.full(6, start))
    rest = linear - hessian @ z - lam * z
    on = (z != 0.0) | (l1 == 0.0)
    np.testing.assert_allclose(rest[on], (l1 * np.sign(z))[on], atol=1e-11)
    assert (np.abs(rest[~on]) <= kappa + 1e-11).all()


def test_a_singular_matrix_with_a_free_coordinate_gives_a_finite_answer():
    hessian = np.ones((2, 2))
    z = solve_shifted(hessian, np.array([1e-30, 0.0]), np.ones(2))
    np.testing.assert_allclose(hessian @ z, 1.0, rtol=1e-10)
    assert np.isfinite(solve_shifted(np.zeros((2, 2)), np.array([1.0, 0.0]), np.array([1.0, 0.0]))).all()


def test_what_overflowed_moves_nothing():
    for right in (np.array([np.nan, 1.0]), np.array([np.inf, 1.0])):
        assert np.array_equal(solve_shifted(np.eye(2), 0.1, right), np.zeros(2))
    assert np.array_equal(solve_shifted(np.full((2, 2), np.inf), 0.1, np.ones(2)), np.zeros(2))


@pytest.mark.parametrize("seed", [39, 373])
def test_a_table_whose_steps_overflow_is_trained_as_far_as_possible(seed):
    rng = np.random.default_rng([3, seed])
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    scale = 10.0 ** rng.choice([-150, -100, -30, 0, 0, 30, 75, 100, 140, 150], size=d)
    X = np.clip(rng.normal(size=(n, d)) * scale, -1e150, 1e150)
    if seed % 3 == 0:
        X = np.clip(rng.integers(-2, 3, size=(n, d)) * scale, -1e150, 1e150)
    y = np.concatenate([[1.0, -1.0], rng.choice([-1.0, 1.0], size=n)])[:n]
    weight = rng.choice([1.0, 0.0, 1e-140, 1e-5], size=n)
    weight[:2] = 1.0
    is_free = int(rng.random() < 0.5)
    lam, kappa = 10.0 ** rng.choice([-140, -20, -3, 0, 20, 140]), float(rng.choice([0, 1e-3, 1e10]))
    rows = MemoryRows(IntervalMatrix.from_bounds(X, X), y, weight)
    loss = LOSSES[list(LOSSES)[seed % len(LOSSES)]]
    problem = Problem(with_intercept_column(rows) if is_free else rows, loss, ElasticNet(lam, kappa, is_free))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isfinite(solve(problem, max_iter=300).w).all()
