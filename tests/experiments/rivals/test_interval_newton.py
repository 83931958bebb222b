"""Interval Newton: what it returns, how wide it is, when it refuses. Soundness is attacked in tests/soundness."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.real_data import DATA, with_holes
from experiments.rivals import interval_newton
from ipub import IntervalMatrix
from ipub.answers.attained import attained_bounds
from ipub.certificates import Region, certify_origin, certify_sphere, certify_tight
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, with_intercept_column
from support.real_data import load_default
from support.small_problems import make_problem

SMOOTH = [name for name, loss in LOSSES.items() if loss.is_smooth]


@pytest.mark.parametrize("loss", SMOOTH)
def test_it_holds_what_is_attained_and_lies_inside_the_box_known_before(loss):
    problem = make_problem(loss, holes=0.02, n=60, d=3, alpha=10.0, stretch=0.5)
    solution, X = solve(problem), np.eye(3)
    box = interval_newton(problem, solution)
    attained = attained_bounds(problem, solution, X).bounds
    bounds = box.score_bounds(X)
    assert (bounds[:, 0] <= attained[:, 0]).all()
    assert (attained[:, 1] <= bounds[:, 1]).all()
    np.testing.assert_allclose(bounds, np.column_stack([box.lower, box.upper]), rtol=1e-12)
    assert (np.abs([box.lower, box.upper]) <= certify_origin(problem, solution).parts_of(Region)[0].radius).all()
    assert box.note == "The box stopped shrinking."


def test_without_holes_the_box_is_the_model():
    problem = make_problem("log_loss")
    box = interval_newton(problem)
    np.testing.assert_allclose(box.upper - box.lower, 0.0, atol=1e-9)
    np.testing.assert_allclose(box.lower, solve(problem).w, atol=1e-8)


def test_the_start_hardly_matters_where_the_hessian_is_constant():
    problem = make_problem("squared_error", holes=0.02)
    solution = solve(problem)
    moved = replace(solution, w=solution.w + 0.01)
    first, second = (interval_newton(problem, start) for start in (solution, moved))
    np.testing.assert_allclose(second.upper - second.lower, first.upper - first.lower, rtol=0.2)


def test_whitened_coordinates_are_the_better_ones():
    problem = make_problem("log_loss", holes=0.05, n=300, d=6, stretch=0.1)
    X = np.random.default_rng(0).normal(size=(20, 6))
    widths = [
        np.ptp(interval_newton(problem, coordinates=name).score_bounds(X), axis=1).mean()
        for name in ("whitened", "columns")
    ]
    assert widths[0] < widths[1]


def test_where_no_box_is_mapped_into_itself_the_note_says_so():
    problem = make_problem("log_loss", holes=0.5, alpha=1e-3, stretch=10.0)
    solution = solve(problem)
    box = interval_newton(problem, solution)
    assert "no H-matrix" in box.note
    assert "box without training" in box.note
    bounds, X = box.score_bounds(np.eye(5)), np.eye(5)
    assert np.isfinite(bounds).all()
    around_zero = certify_origin(problem, solution).score_bounds(X)
    assert (around_zero[:, 0] <= bounds[:, 0]).all()
    assert (bounds[:, 1] <= around_zero[:, 1]).all()


def test_too_few_steps_are_reported():
    problem = make_problem("log_loss", holes=0.02, alpha=1.0)
    assert "within 1 steps" in interval_newton(problem, max_iter=1).note
    done = interval_newton(problem, max_iter=2)
    assert done.n_iter == 2
    assert "may still shrink" in done.note


def test_huge_numbers_leave_the_box_known_before():
    matrix = IntervalMatrix.from_bounds([[1e40], [1.0]], [[1e40], [2.0]])
    problem = Problem(MemoryRows(matrix, np.array([1.0, -1.0])), LOSSES["log_loss"], ElasticNet(0.1))
    box = interval_newton(problem, replace(solve(make_problem("log_loss", d=1)), w=np.zeros(1)))
    assert "too large" in box.note
    assert np.isfinite(box.score_bounds(np.ones((1, 1)))).all()


def test_what_it_cannot_do_is_refused():
    problem = make_problem("log_loss")
    with pytest.raises(ValueError, match="kink"):
        interval_newton(make_problem("hinge"))
    with pytest.raises(ValueError, match="l1_ratio=0"):
        interval_newton(make_problem("log_loss", 0.5))
    with pytest.raises(ValueError, match="without an intercept"):
        interval_newton(Problem(with_intercept_column(problem.rows), problem.loss, ElasticNet(0.1, n_free=1)))
    with pytest.raises(ValueError, match="'rotated'"):
        interval_newton(problem, coordinates="rotated")


@pytest.mark.parametrize(("lam", "widest"), [(0.01, 0.9), (0.1, 0.2), (1.0, 0.035)])
def test_the_ridge_problem_of_the_peers(lam, widest):
    if not DATA.exists():
        pytest.skip(f"the real data are not at {DATA}")
    with np.load(DATA / "ridge_peer_problem.npz") as data:
        X_lower, X_upper, y, X_test = (data[name] for name in ("X_lower", "X_upper", "y", "X_test"))
    rows = MemoryRows(IntervalMatrix.from_bounds(X_lower, X_upper), y)
    problem = Problem(rows, LOSSES["squared_error"], ElasticNet(lam))
    solution = solve(problem)
    width = np.ptp(interval_newton(problem, solution).score_bounds(X_test), axis=1).mean()
    assert np.ptp(certify_tight(problem, solution).score_bounds(X_test), axis=1).mean() < width < widest


def test_on_real_data_it_is_narrower_than_the_sphere_and_wider_than_tight():
    X, y = load_default()
    problem = Problem(MemoryRows(with_holes(X[:5000], 0.01, 0.5), y[:5000]), LOSSES["log_loss"], ElasticNet(0.1))
    solution = solve(problem)
    bounds = [
        certify(problem, solution).score_bounds(X[:100]) for certify in (certify_tight, interval_newton, certify_sphere)
    ]
    widths = [np.median(np.ptp(ends, axis=1)) for ends in bounds]
    assert widths == sorted(widths)
    attained = attained_bounds(problem, solution, X[:3]).bounds
    assert (bounds[1][:3, 0] <= attained[:, 0]).all()
    assert (attained[:, 1] <= bounds[1][:3, 1]).all()
