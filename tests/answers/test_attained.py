"""The inner bound: attained by real completions, and nearly all of what completions attain."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ipub.answers.attained import attained_bounds, search
from ipub.certificates import CERTIFICATES, with_effort
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, engine_of, with_intercept_column
from ipub.rows.memory import MemmapRows
from ipub.tables.interval_matrix import IntervalMatrix
from support.small_problems import COMBINATIONS
from support.small_problems import make_problem as problem_with_holes

LOSS_NAMES = tuple(LOSSES)


def tiny_problem(loss: str, kappa: float, seed: int, most: int = 6) -> tuple[Problem, np.ndarray]:
    """Draw a table of any small shape with few uncertain cells, narrow or wider than the column."""
    rng = np.random.default_rng([seed, LOSS_NAMES.index(loss), kappa > 0.0])
    n, d = int(rng.integers(5, 41)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    if LOSSES[loss].task == "classification":
        y = np.where(y > 0.0, 1.0, -1.0)
    radii = np.zeros_like(X)
    count = min(int(rng.integers(1, most + 1)), X.size)
    radii.flat[rng.choice(X.size, count, replace=False)] = 10.0 ** rng.uniform(-1.0, 0.7) * rng.uniform(0.5, 1.5, count)
    weight = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.3 else None
    rows = MemoryRows(IntervalMatrix.from_bounds(X - radii, X + radii), y, weight)
    penalty = ElasticNet(10.0 ** rng.uniform(-2.5, 0.3), kappa * 10.0 ** rng.uniform(-1.0, 1.0))
    return Problem(rows, LOSSES[loss], penalty), rng.normal(size=(2, d))


def train(problem: Problem, table: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Return the model of a completed table."""
    rows = MemoryRows(IntervalMatrix.from_bounds(table, table), problem.rows.labels().y, problem.rows.labels().weight)
    rows = with_intercept_column(rows) if problem.penalty.n_free else rows
    tol = 1e-10 if problem.penalty.n_free == 0 else 1e-8
    return solve(Problem(rows, problem.loss, problem.penalty), tol=tol, start=start).w


def widths_of_all_vertices(problem: Problem, X: np.ndarray) -> np.ndarray:
    engine = engine_of(problem.rows)
    assert isinstance(engine, MemoryRows)
    matrix = engine.matrix
    vertices = itertools.product([-1.0, 1.0], repeat=matrix.n_uncertain)
    return np.ptp([X @ train(problem, matrix.completion(vertex)) for vertex in vertices], axis=0)


@pytest.mark.no_cover
@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kappa", [0.0, 0.02])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_with_few_cells_the_range_is_that_of_all_vertices(loss, kappa, seed):
    problem, X = tiny_problem(loss, kappa, seed)
    found = np.ptp(attained_bounds(problem, solve(problem), X).bounds, axis=1)
    assert (found >= 0.99 * widths_of_all_vertices(problem, X) - 1e-7).all()


@pytest.mark.no_cover
@pytest.mark.share(3)
@pytest.mark.parametrize("few_cells", [0, 12])
@pytest.mark.parametrize("kappa", [0.0, 0.02])
@pytest.mark.parametrize("loss", LOSSES)
def test_with_an_intercept_most_of_the_range_of_all_vertices_is_found(loss, kappa, few_cells, monkeypatch):
    monkeypatch.setattr(search, "FEW_CELLS", few_cells)
    for seed in range(2):
        problem, X = tiny_problem(loss, kappa, seed)
        problem = Problem(with_intercept_column(problem.rows), problem.loss, replace(problem.penalty, n_free=1))
        X = np.column_stack([X, np.ones(len(X))])
        solution = solve(problem)
        bounds, completions, _ = attained_bounds(problem, solution, X, keep_completions=True)
        least = 0.99 if few_cells else 0.5
        assert (np.ptp(bounds, axis=1) >= least * widths_of_all_vertices(problem, X) - 1e-6).all()
        table = completions[0][1].table()
        assert table.shape == problem.rows.rows.matrix.shape
        if problem.loss.has_bounded_third_derivative:
            # The best intercept is unique.
            assert abs(X[0] @ train(problem, table) - bounds[0, 1]) <= 1e-6


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
@pytest.mark.parametrize("kappa", [0.0, 0.02])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_with_up_to_twelve_cells_the_range_is_that_of_all_vertices(loss, kappa, seed):
    problem, X = tiny_problem(loss, kappa, seed, most=12 if LOSSES[loss].is_smooth else 9)
    found = np.ptp(attained_bounds(problem, solve(problem), X).bounds, axis=1)
    assert (found >= 0.99 * widths_of_all_vertices(problem, X) - 1e-7).all()


@pytest.mark.no_cover
@pytest.mark.share(2)
@pytest.mark.parametrize("kappa", [0.0, 0.02])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_moving_all_and_single_cells_finds_most_of_what_comparing_all_vertices_finds(loss, kappa, monkeypatch):
    """Where cells are too many to compare all vertices, as they are made to be here."""
    ratios = []
    for seed in range(5):
        problem, X = tiny_problem(loss, kappa, seed, most=10)
        solution = solve(problem)
        exact = np.ptp(attained_bounds(problem, solution, X).bounds, axis=1)
        with monkeypatch.context() as patch:
            patch.setattr(search, "FEW_CELLS", 0)
            found = np.ptp(attained_bounds(problem, solution, X).bounds, axis=1)
        ratios.extend(found[exact > 1e-6] / exact[exact > 1e-6])
    assert np.mean(ratios) >= 0.95
    assert np.min(ratios) >= 0.5


@pytest.mark.no_cover
@pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
def test_both_ends_are_inside_every_certificate(loss, l1_ratio):
    problem = problem_with_holes(loss, l1_ratio, holes=0.05)
    solution = solve(problem)
    X = np.random.default_rng(1).normal(size=(2, 5))
    bounds = attained_bounds(problem, solution, X).bounds
    assert (bounds[:, 0] < bounds[:, 1]).all()
    for certify in CERTIFICATES.values():
        certified = with_effort(certify(problem, solution), 0.2).score_bounds(X)
        assert (certified[:, 0] <= bounds[:, 0]).all()
        assert (bounds[:, 1] <= certified[:, 1]).all()


@pytest.mark.no_cover
@pytest.mark.share(2)
@pytest.mark.parametrize("holes", [0.01, 0.05])
@pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
def test_a_model_trained_from_scratch_on_a_completion_gives_the_end(loss, l1_ratio, holes):
    weight = np.random.default_rng(2).integers(0, 3, size=120).astype(float)
    problem = problem_with_holes(loss, l1_ratio, holes=holes, weight=weight)
    matrix = problem.rows.matrix
    X = np.random.default_rng(1).normal(size=(2, 5))
    bounds, completions, _ = attained_bounds(problem, solve(problem), X, keep_completions=True)
    for x, ends, pair in zip(X, bounds, completions, strict=True):
        for end, completion in zip(ends, pair, strict=True):
            table = completion.table()
            assert np.array_equal(table, matrix.completion(completion.positions))
            assert abs(x @ train(problem, table) - end) <= 1e-7


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_loosely_trained_model_gives_the_same_bounds(loss):
    problem = problem_with_holes(loss, holes=0.05)
    X = np.random.default_rng(1).normal(size=(3, 5))
    loose = attained_bounds(problem, solve(problem, tol=1e-1), X).bounds
    np.testing.assert_allclose(loose, attained_bounds(problem, solve(problem), X).bounds, atol=1e-6)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_without_holes_both_ends_are_the_score(loss):
    problem = problem_with_holes(loss)
    solution = solve(problem)
    X = np.random.default_rng(1).normal(size=(2, 5))
    bounds, completions, _ = attained_bounds(problem, solution, X, keep_completions=True)
    np.testing.assert_allclose(bounds, np.repeat(X @ solution.w, 2).reshape(2, 2), atol=1e-8)
    assert len(completions[0][0].positions) == 0


def test_rows_from_a_file_give_the_bounds_of_rows_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5000, 40))
    y = np.where(table[:, 0] > 0.0, 1.0, -1.0)
    table[rng.random(table.shape) < 0.01] = np.nan
    ranges = np.tile([-1.0, 1.0], (40, 1))
    np.save(tmp_path / "table.npy", table)
    memory = MemoryRows(IntervalMatrix.from_table(table, ranges), y)
    mapped = MemmapRows(np.load(tmp_path / "table.npy", mmap_mode="r"), y, ranges)
    found = []
    for rows in (memory, mapped):
        problem = Problem(rows, LOSSES["log_loss"], ElasticNet(0.1))
        found.append(attained_bounds(problem, solve(problem), np.eye(40)[:2], keep_completions=True))
    np.testing.assert_allclose(found[0].bounds, found[1].bounds, rtol=1e-12)
    assert np.array_equal(found[0].completions[1][0].table(), found[1].completions[1][0].table())


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_where_intervals_are_narrow_sharing_passes_makes_no_difference(l1_ratio, monkeypatch):
    problem = problem_with_holes("log_loss", l1_ratio, holes=0.1, n=400, stretch=0.1)
    solution = solve(problem)
    X = np.random.default_rng(1).normal(size=(5, 5))
    together = attained_bounds(problem, solution, X).bounds
    monkeypatch.setattr(search, "ROWS_AT_ONCE", 1)
    alone = attained_bounds(problem, solution, X).bounds
    assert (np.abs(together - alone) <= 1e-3 * np.ptp(alone, axis=1, keepdims=True)).all()


def test_progress_grows_to_one():
    problem = problem_with_holes("log_loss", holes=0.1)
    reported = []
    attained_bounds(problem, solve(problem), np.eye(5)[[0, 1, 2] * 4], progress=reported.append)
    assert reported == sorted(reported)
    assert len(reported) > 2
    assert reported[-1] == 1.0


def test_huge_numbers_do_not_fail():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2)) * [1e100, 1e-100]
    radii = np.where(rng.random(X.shape) < 0.5, np.abs(X), 0.0)
    rows = MemoryRows(IntervalMatrix.from_bounds(X - radii, X + radii), np.sign(X[:, 0]))
    for loss in LOSS_NAMES:
        problem = Problem(rows, LOSSES[loss], ElasticNet(0.1))
        with np.errstate(all="ignore"):
            bounds = attained_bounds(problem, solve(problem, tol=1.0), np.ones((1, 2))).bounds
        assert not np.isnan(bounds).any()
