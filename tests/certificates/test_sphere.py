"""The paper's certificate."""

import dataclasses

import numpy as np
import pytest

from ipub.certificates import CERTIFICATES, certify_sphere
from ipub.certificates.sphere import gap_upper
from ipub.losses import LOSSES
from ipub.problem.solvers import solve
from ipub.rows import with_wrong_labels
from support.small_problems import COMBINATIONS, center_of, dual_value, make_problem, objective

each_combination = pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)


@each_combination
def test_a_table_without_holes_has_the_solvers_gap_and_nothing_more(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio)
    solution = solve(problem, tol=1e-10)
    # Rows and columns add some rounding errors of terms of size 1.
    assert solution.gap - 1e-15 <= gap_upper(problem, solution) <= solution.gap + 1e-12


@each_combination
def test_the_radius_is_two_gaps_over_lambda_under_a_root_around_the_trained_model(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio, holes=0.1)
    solution = solve(problem)
    (region,) = certify_sphere(problem, solution).parts
    assert region.name == "sphere"
    np.testing.assert_array_equal(region.center, solution.w)
    np.testing.assert_array_equal(region.box, 0.0)
    assert region.radius == pytest.approx(np.sqrt(2.0 * gap_upper(problem, solution) / problem.penalty.lam), rel=1e-14)
    assert certify_sphere(problem, solution).gap == solution.gap


@each_combination
def test_the_gap_bound_is_above_the_gap_of_many_completions_and_reached_apart(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio, holes=0.1)
    solution, matrix = solve(problem), problem.rows.matrix
    a = np.concatenate([solution.dual_point(block) for block in problem.rows.blocks()])
    rng = np.random.default_rng(0)
    primals, duals = [], []
    for _ in range(300):
        X = matrix.completion(np.sign(rng.normal(size=matrix.n_uncertain)))
        primals.append(objective(problem, X, solution.w))
        duals.append(dual_value(problem, X, a))
    assert max(primals) - min(duals) <= gap_upper(problem, solution)


@each_combination
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gap_bound_is_the_greatest_primal_minus_the_least_dual_value(loss, l1_ratio, weighted):
    weight = np.random.default_rng(3).choice([0.0, 1.0, 3.0], 120) if weighted else None
    problem = make_problem(loss, l1_ratio, holes=0.1, weight=weight)
    solution, matrix, y = solve(problem), problem.rows.matrix, problem.rows.labels().y
    a = np.concatenate([solution.dual_point(block) for block in problem.rows.blocks()])
    in_row, columns, _, _ = matrix.cells(slice(0, 120))
    # The greatest loss of a row is at the least or the greatest score that its cells allow.
    scores = [matrix.completion(side * np.sign(solution.w[columns])) @ solution.w for side in (-1.0, 1.0)]
    worst = np.maximum(*(problem.loss.value(y, score) for score in scores))
    share = problem.rows.labels().weight / problem.rows.labels().weight.sum()
    primal = share @ worst + problem.penalty.value(solution.w)
    # The least dual value has every q_j as far from zero as the cells of its column allow.
    ends = [matrix.completion(side * np.sign(a[in_row])).T @ (share * a) for side in (-1.0, 1.0)]
    dual = -share @ problem.loss.conjugate(y, a) - problem.penalty.conjugate(np.maximum(*np.abs(ends))).sum()
    assert gap_upper(problem, solution) == pytest.approx(primal - dual, rel=1e-10)


@each_combination
def test_the_radius_grows_when_intervals_grow(loss, l1_ratio):
    solution = solve(make_problem(loss, l1_ratio, holes=0.1))
    radii = [
        certify_sphere(make_problem(loss, l1_ratio, holes=0.1, stretch=stretch), solution).parts[0].radius
        for stretch in (0.0, 1e-6, 0.1, 0.5, 1.0, 2.0)
    ]
    assert (np.diff(radii) > 0.0).all()


@each_combination
def test_a_bad_model_costs_width_but_is_taken(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio, holes=0.1)
    solution = solve(problem)
    bad = dataclasses.replace(solution, w=-solution.w + 1.0)
    wide, narrow = (certify_sphere(problem, s).parts[0].radius for s in (bad, solution))
    assert narrow < wide < np.inf
    assert np.linalg.norm(bad.w - solution.w) <= wide


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [np.nan, np.inf, 1e200])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_model_that_overflowed_has_infinite_bounds_and_never_nan(loss, size):
    problem = make_problem(loss, holes=0.1)
    solution = dataclasses.replace(solve(problem), w=np.full(5, size))
    bounds = certify_sphere(problem, solution).score_bounds(np.vstack([center_of(problem)[:5], np.eye(5)]))
    np.testing.assert_array_equal(bounds, np.tile([-np.inf, np.inf], (10, 1)))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sum_that_training_has_made_changes_no_bit(loss):
    problem, alone = (make_problem(loss, 0.5, holes=0.1) for _ in range(2))
    solution, other = solve(problem, beside=CERTIFICATES["sphere"].sum_for_last_pass(problem)), solve(alone)
    np.testing.assert_array_equal(solution.w, other.w)
    assert solution.gap == other.gap
    assert gap_upper(problem, solution) == gap_upper(alone, other)


def test_a_sum_that_training_has_made_saves_the_pass(monkeypatch):
    problem = make_problem("log_loss", 0.0, holes=0.1)
    solution = solve(problem, beside=CERTIFICATES["sphere"].sum_for_last_pass(problem))
    monkeypatch.setattr(type(problem.rows), "results", None)
    assert np.isfinite(gap_upper(problem, solution))


def test_a_sum_that_training_has_made_serves_no_other_model_and_no_other_problem():
    problem, fresh = (make_problem("log_loss", 0.0, holes=0.1) for _ in range(2))
    solution = solve(problem, beside=CERTIFICATES["sphere"].sum_for_last_pass(problem))
    others = [
        dataclasses.replace(solution, w=2.0 * solution.w),
        dataclasses.replace(solution, dual_w=0.5 * solution.w),
        dataclasses.replace(solution, w=np.full_like(solution.w, np.nan)),
    ]
    for other in others:
        np.testing.assert_equal(gap_upper(problem, other), gap_upper(fresh, other))
        assert gap_upper(problem, other) != gap_upper(problem, solution)
    holed = make_problem("log_loss", 0.0, holes=0.4)
    changed = dataclasses.replace(problem, rows=holed.rows)
    assert gap_upper(changed, solution) == gap_upper(holed, solution) > gap_upper(problem, solution)


def test_uncertain_labels_have_no_sum_to_be_made_in_training():
    problem = make_problem("log_loss", 0.0, holes=0.1)
    labels_open = dataclasses.replace(problem, rows=with_wrong_labels(problem.rows, 1))
    assert CERTIFICATES["sphere"].sum_for_last_pass(labels_open) is None
    assert CERTIFICATES["tight"].sum_for_last_pass(problem) is None
