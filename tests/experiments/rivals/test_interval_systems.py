"""Solutions of interval linear systems, against exact solutions at their vertices."""

import itertools

import numpy as np
import pytest
from flint import fmpq_mat

from experiments.rivals.interval_systems import IntervalSystem, both, preconditioned
from support.oracles.rationals import rational


def draw(rng: np.random.Generator, d: int, size: float) -> IntervalSystem:
    spread = rng.random((d, d)) * size / d
    return IntervalSystem(spread, rng.normal(size=d), np.abs(rng.normal(size=d)) * rng.choice([0.0, 0.1, 2.0]))


def exact_solutions(system: IntervalSystem, rng: np.random.Generator | None = None, count: int = 0):
    """Yield exact solutions at vertices: all of them, or some at random."""
    d = len(system.center)
    signs = itertools.product([-1, 1], repeat=d * d + d) if rng is None else rng.choice([-1, 1], (count, d * d + d))
    for sign in signs:
        sign = [int(s) for s in sign]
        matrix = [[int(i == j) + sign[i * d + j] * rational(system.spread[i, j]) for j in range(d)] for i in range(d)]
        vector = [[rational(system.center[i]) + sign[d * d + i] * rational(system.radius[i])] for i in range(d)]
        yield [row[0] for row in fmpq_mat(matrix).solve(fmpq_mat(vector)).tolist()]


def holds(ends, solution) -> bool:
    return all(rational(a) <= v <= rational(b) for a, b, v in zip(*ends, solution, strict=True))


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_every_vertex_is_enclosed(d):
    rng = np.random.default_rng(d)
    for _ in range(20):
        system = draw(rng, d, rng.choice([1e-15, 0.1, 0.9]))
        hull = system.hansen_bliek_rohn()
        assert hull is not None
        around = hull[0] - 1.0, hull[1] + 3.0
        for solution in exact_solutions(system, rng, 10):
            assert holds(hull, solution)
            assert holds(system.gauss_seidel(*around), solution)
            assert holds(system.cut(*around), solution)


@pytest.mark.parametrize("d", [1, 2])
def test_hansen_bliek_rohn_is_the_hull(d):
    rng = np.random.default_rng(d)
    for _ in range(20):
        system = draw(rng, d, 0.9)
        solutions = np.array([[float(v.p) / float(v.q) for v in solution] for solution in exact_solutions(system)])
        low, high = system.hansen_bliek_rohn()
        np.testing.assert_allclose(low, solutions.min(axis=0), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(high, solutions.max(axis=0), rtol=1e-11, atol=1e-11)


def test_it_says_when_it_does_not_apply():
    b = np.ones(2)
    assert IntervalSystem(np.full((2, 2), 0.49), b, b).hansen_bliek_rohn() is not None
    assert IntervalSystem(np.full((2, 2), 0.51), b, b).hansen_bliek_rohn() is None
    assert IntervalSystem(np.full((2, 2), 0.5), b, b).hansen_bliek_rohn() is None
    assert IntervalSystem(np.full((2, 2), np.nan), b, b).hansen_bliek_rohn() is None
    assert IntervalSystem(np.zeros((2, 2)), b, np.array([np.inf, 1.0])).hansen_bliek_rohn() is None


def test_a_row_that_may_have_no_diagonal_says_nothing():
    system = IntervalSystem(np.array([[1.0, 0.0], [0.0, 0.5]]), np.zeros(2), np.ones(2))
    low, high = system.gauss_seidel(np.full(2, -9.0), np.full(2, 9.0))
    assert (low[0], high[0]) == (-np.inf, np.inf)
    assert low[1] == pytest.approx(-2.0)
    assert high[1] == pytest.approx(2.0)
    low, high = system.cut(np.full(2, -9.0), np.full(2, 9.0))
    assert (low[0], high[0]) == (-9.0, 9.0)


def test_preconditioning_keeps_every_solution():
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = int(rng.integers(1, 6))
        root = rng.normal(size=(d, d))
        matrix, vector = root @ root.T + 0.1 * np.eye(d), rng.normal(size=d)
        matrix_radius, radius = 1e-3 * rng.random((d, d)), 0.1 * rng.random(d)
        hull = preconditioned(matrix, matrix_radius, vector, radius).hansen_bliek_rohn()
        for _ in range(20 if hull is not None else 0):
            A = matrix + matrix_radius * rng.choice([-1.0, 1.0], size=(d, d))
            solution = np.linalg.solve(A, vector + radius * rng.choice([-1.0, 1.0], size=d))
            assert (hull[0] - 1e-9 <= solution).all()
            assert (solution <= hull[1] + 1e-9).all()


def test_a_singular_matrix_gives_no_system():
    system = preconditioned(np.ones((2, 2)), np.zeros((2, 2)), np.ones(2), np.zeros(2))
    assert not system.is_finite
    assert system.hansen_bliek_rohn() is None


def test_an_end_that_is_not_a_number_says_nothing():
    low, high = both((np.array([np.nan, 1.0]), np.array([2.0, np.nan])), (np.zeros(2), np.full(2, 3.0)))
    np.testing.assert_array_equal(low, [0.0, 1.0])
    np.testing.assert_array_equal(high, [2.0, 3.0])
