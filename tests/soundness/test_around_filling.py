"""Bounds around a filled-in table hold for every table that differs from it as allowed (Theorem 9)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates.around_filling import BudgetMoves, FilledBounds, MovableRows, certify_around
from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.force import force_upper
from ipub.certificates.around_filling.hessian_loss import hessian_loss
from ipub.certificates.around_filling.remainder import Remainder
from ipub.certificates.around_filling.table_metric import Metric
from ipub.certificates.around_filling.unit_terms import Directions, products_with_move
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from support.cases import train
from support.fillings import FilledCase, as_floats, bounds_at, filled_case, force, scaled
from support.oracles.rationals import holds
from support.planted import assert_caught, plant, same

each_loss = pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
each_limit = pytest.mark.parametrize("counts", [(1, 0), (1, 1), (2, 1), (9, 9)], ids=str)


def wrong_scores(case: FilledCase, counts: tuple[int, ...], solution, inner: int = 6) -> tuple[int, list[str]]:
    """Compare the bounds with the exact models of all vertices and some inner points; no tolerance."""
    attempt = certify_around(case.problem, solution, case.movable, BudgetMoves(counts))
    if attempt.bounds is None:
        return 0, []
    forms = {
        "rows": attempt.bounds,
        "ellipsoid": attempt.bounds.ellipsoid,
        "one round": FilledBounds.of(attempt.bounds.proved),
    }
    ends = {name: bounds.ends(case.X_test) for name, bounds in forms.items()}
    tables = itertools.chain(case.vertices(counts), case.inner_points(np.random.default_rng(0), counts, inner))
    count, wrong = 0, []
    for table in tables:
        model = case.minimise(table)
        for row, x in enumerate(case.X_test):
            for name, (low, high) in ends.items():
                count += 1
                if not holds((low[row], high[row]), model.score(x)):
                    wrong.append(f"{name}, row {row}: {low[row], high[row]} but {model.score(x)}; {case!r}")
    return count, wrong


@each_loss
@each_intercept
@each_limit
def test_bounds_hold_for_every_vertex_and_inner_point_exactly(loss, intercept, counts, report_proofs):
    rng = np.random.default_rng([4, len(loss), intercept, *counts])
    total = 0
    for trial in range(3):
        case = filled_case(rng, loss, intercept=intercept, large=trial == 2)
        solution = train(case.problem)
        count, wrong = wrong_scores(case, counts, solution)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


def wrong_with_l1(loss: str, intercept: bool, kappa: float) -> tuple[int, int, list[str]]:
    """Return how many bounds and zeros were compared with exact models, and those that are wrong."""
    rng = np.random.default_rng([14, len(loss), intercept, int(100 * kappa)])
    total, n_zero = 0, 0
    found: list[str] = []
    for _ in range(4):
        case = filled_case(rng, loss, intercept=intercept, kappa=kappa)
        solution = train(case.problem)
        count, wrong = wrong_scores(case, (1, 1), solution)
        total, found = total + count, found + wrong
        bounds = certify_around(case.problem, solution, case.movable, BudgetMoves((1, 1))).bounds
        zeros = np.flatnonzero([] if bounds is None else bounds.reach.coordinates == 0.0)
        for table in case.vertices((1, 1)) if len(zeros) else ():
            model, n_zero = case.minimise(table), n_zero + len(zeros)
            found += [f"{j} is not zero: {model.w[j]}" for j in zeros if model.w[j] != 0]
    return total, n_zero, found


@each_loss
@each_intercept
@pytest.mark.parametrize("kappa", [0.02, 0.1, 0.3])
def test_bounds_hold_exactly_with_an_l1_penalty(loss, intercept, kappa, report_proofs):
    total, _, wrong = wrong_with_l1(loss, intercept, kappa)
    assert wrong == []
    assert total > 0
    report_proofs(total)


def test_some_weights_are_proved_to_stay_zero():
    assert sum(wrong_with_l1("log_loss", intercept, 0.3)[1] for intercept in (False, True)) > 0


@each_loss
def test_bounds_hold_for_any_weights(loss, report_proofs):
    rng = np.random.default_rng([5, len(loss)])
    total = 0
    for size in (1e-3, 0.1, 0.5):
        case = filled_case(rng, loss, intercept=True)
        solution = train(case.problem)
        solution = replace(solution, w=solution.w + size * rng.normal(size=len(solution.w)))
        count, wrong = wrong_scores(case, (2, 1), solution)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


@each_loss
@pytest.mark.parametrize("kind", ["tiny", "huge", "mixed", "thin"])
def test_bounds_hold_exactly_whatever_the_units_of_columns_and_however_short_the_intervals(loss, kind, report_proofs):
    rng = np.random.default_rng([12, len(loss), len(kind)])
    total = 0
    for trial in range(3):
        case = filled_case(rng, loss, intercept=bool(trial % 2))
        d = case.X.shape[1]
        exponents = {"tiny": np.full(d, -6.0), "huge": np.full(d, 6.0), "mixed": rng.choice([-6.0, 0.0, 6.0], size=d)}
        size = [1e-14, 1e-9, 1e-5][trial] if kind == "thin" else 1.0
        case = scaled(case, 10.0 ** exponents.get(kind, np.zeros(d)), size)
        count, wrong = wrong_scores(case, (2, 1), train(case.problem), inner=2)
        assert wrong == []
        total += count
    assert total > 0 or kind != "thin"
    report_proofs(total)


def test_bounds_hold_exactly_beside_rows_whose_curvature_vanishes(report_proofs):
    rng = np.random.default_rng(15)
    total = 0
    for trial in range(4):
        case = filled_case(rng, "log_loss", intercept=bool(trial % 2), n=8)
        X = case.X.copy()
        quiet = int(np.setdiff1d(np.arange(8), case.movable.rows)[0])
        X[quiet] = 0.0
        X[quiet, 0] = 3e3 * np.sign(train(case.problem).w[0]) * case.y[quiet]
        case = replace(case, X=X)
        count, wrong = wrong_scores(case, (1, 1), train(case.problem), inner=0)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


def wrong_forces(loss: str, seed: int, trials: int = 8) -> list[str]:
    """Compare `FilledBounds.force_ends` with exact gradients at moved tables and moved models."""
    rng = np.random.default_rng([6, len(loss), seed])
    wrong = []
    for trial in range(trials):
        case = filled_case(rng, loss, intercept=bool(trial % 2), large=trial % 4 < 2, n=int(rng.integers(2, 7)))
        counts = [(1, 0), (1, 1), (2, 0), (9, 9)][trial % 4]
        d = case.X_test.shape[1]
        table = FilledTable.of(case.problem, rng.normal(size=d), case.movable, BudgetMoves(counts))
        assert table is not None
        v = rng.normal(size=d) * rng.choice([0.0, 0.05, 0.5, 2.0])
        U = np.concatenate([rng.normal(size=(4, d)), np.eye(d)])
        low, high, _ = bounds_at(table, v).force_ends(U)
        tables = list(case.vertices(counts))
        tables += list(case.inner_points(rng, counts, 4))
        for moved in tables[:: max(1, len(tables) // 24)]:
            for k, u in enumerate(U):
                if not holds((low[k], high[k]), force(case, table, moved, v, u)):
                    wrong.append(f"trial {trial}, u {k}, v {v}: {low[k], high[k]}")
    return wrong


@each_loss
@pytest.mark.parametrize("seed", range(4))
def test_forces_hold_for_every_move_of_tables_and_models_exactly(loss, seed):
    assert wrong_forces(loss, seed) == []


@each_loss
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_and_the_hessian_of_every_moved_table_are_bounded(loss, seed):
    rng = np.random.default_rng([7, len(loss), seed])
    for trial in range(8):
        case = filled_case(rng, loss, intercept=bool(trial % 2), large=trial % 4 < 2, n=int(rng.integers(3, 9)))
        counts = [(1, 0), (1, 1), (2, 0), (9, 9)][trial % 4]
        d = case.X_test.shape[1]
        w = train(case.problem).w + rng.choice([0.0, 0.3]) * rng.normal(size=d)
        table = FilledTable.of(case.problem, w, case.movable, BudgetMoves(counts))
        assert table is not None
        ratio = rng.uniform(0.2, 1.0, size=len(table.X))
        metric = Metric.of(table, ratio)
        assert metric is not None
        loss_share, force_bound = hessian_loss(metric), force_upper(metric)
        for moved in case.vertices(counts):
            X = as_floats(case.extended(moved))
            score = X @ w
            gradient = (table.m * case.loss.derivative(case.y, score)) @ X + table.lam * w
            hessian = (X * (table.m * ratio * case.loss.curvature(case.y, score))[:, None]).T @ X + np.diag(table.lam)
            assert np.linalg.norm(metric.K @ gradient) <= force_bound * (1.0 + 1e-12)
            assert np.linalg.eigvalsh(metric.K @ hessian @ metric.K.T)[0] >= 1.0 - loss_share - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_change_of_the_curvature_and_squares_are_bounded_in_every_moved_table(seed):
    rng = np.random.default_rng([11, seed])
    for trial in range(4):
        case = filled_case(rng, "log_loss", intercept=bool(trial % 2), large=True, n=int(rng.integers(2, 5)))
        counts = [(1, 0), (1, 1), (2, 0), (9, 9)][trial]
        d = case.X_test.shape[1]
        w, v = rng.normal(size=d), rng.normal(size=d) * rng.choice([0.05, 0.3])
        table = FilledTable.of(case.problem, w, case.movable, BudgetMoves(counts))
        assert table is not None
        bounds = bounds_at(table, v)
        remainder, radius = Remainder(bounds.proved, bounds.reach), bounds.proved.radius
        U, weights = rng.normal(size=(8, d)), rng.uniform(size=(5, len(table.X)))
        at_u = Directions.of(table, U, U @ table.X.T)
        far = np.abs(U @ table.X.T)
        far[:, case.movable.rows] += at_u.row_change
        signed = products_with_move(table, at_u, remainder.unit_moves).signed
        by_third = remainder.third_order(U, far) + table.moves.total(case.movable, signed)
        by_second, squares = remainder.second_order(far), remainder.greatest_squares(weights)
        for moved in case.vertices(counts):
            X = as_floats(case.extended(moved))
            score, change = X @ w, X @ v
            secant = (case.loss.derivative(case.y, score + change) - case.loss.derivative(case.y, score)) / change
            exact = (U @ X.T) @ (table.m * (secant - case.loss.curvature(case.y, score)) * change)
            assert (np.abs(exact) <= by_second + 1e-12).all()
            assert (np.abs(exact) <= by_third + 1e-12).all()
            assert (weights @ change**2 <= squares * radius**2 + 1e-12).all()


def one_row(w: list[float], size: float) -> tuple[FilledCase, FilledTable]:
    """Return a table of which one row counts, with one number that moves by up to `size`."""
    movable = MovableRows.of_numbers([0], [0], [size], [size])
    X, y, weight = np.array([[0.25, 1.0], [1.0, -1.0]]), np.array([-1.0, 1.0]), np.array([1.0, 1e-12])
    case = FilledCase(X, y, weight, LOSSES["log_loss"], ElasticNet(0.1), movable, np.eye(2))
    table = FilledTable.of(case.problem, np.array(w), movable, BudgetMoves((1,)))
    assert table is not None
    return case, table


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_signed_second_order_is_needed_in_full(sign):
    # x.u = 0 and w'_0 = v_0 = 0: what is left is a multiple of delta.u, and a bound attains it but for third order.
    u, v = np.array([1.0, -0.25]), np.array([0.0, sign * 0.01])
    case, table = one_row([0.0, -1.5], 1.0)
    bounds = bounds_at(table, v)
    low, high, _ = bounds.force_ends(u[None])
    for moved in case.vertices((1,)):
        assert holds((low[0], high[0]), force(case, table, moved, v, u))


def test_the_signed_remainder_of_a_unit_is_needed_in_full():
    # At p = 0 the curvature is level: its change is all that the move of the cell does to it.
    w, u, v = np.array([1.0, -0.25]), np.array([0.0, 1.0]), np.array([0.0, 1e-3])
    case, table = one_row(w.tolist(), 0.3)
    bounds = bounds_at(table, v)
    remainder = Remainder(bounds.proved, bounds.reach)
    at_u = Directions.of(table, u[None], u[None] @ table.X.T)
    signed = products_with_move(table, at_u, remainder.unit_moves).signed
    bound = remainder.third_order(u[None], np.abs(u @ table.X.T)[None]) + table.moves.total(case.movable, signed)
    for moved in case.vertices((1,)):
        X = as_floats(moved)
        score, change = X @ w, X @ v
        # The second derivative at the moved score; what is of higher order is 1e-3 of it.
        third = case.loss.curvature_slope_range(case.y, score, score)[0]
        exact = abs(float((0.5 * table.m * third * (X @ u)) @ change**2))
        assert 0.9 * exact <= bound[0]


def test_units_have_the_options_of_numbers_and_of_categories():
    numbers = MovableRows.of_numbers([4, 2], [0, 1], [1.0, 0.0], [3.0, 2.0])
    both = numbers.joined_to(MovableRows.of_categories([2], [5], [[4, 5, 6]]))
    assert both.rows.tolist() == [2, 4]
    changes = []
    for option, (columns, amounts) in enumerate(zip(both.option_columns, both.option_amounts, strict=True)):
        change = np.zeros(7)
        np.add.at(change, columns, amounts)
        changes.append((int(both.rows[both.option_row[option]]), change.tolist()))
    assert sorted(changes) == [
        (2, [0, 0, 0, 0, 0, -1, 1]),
        (2, [0, 0, 0, 0, 1, -1, 0]),
        (2, [0, 2, 0, 0, 0, 0, 0]),
        (4, [-1, 0, 0, 0, 0, 0, 0]),
        (4, [3, 0, 0, 0, 0, 0, 0]),
    ]
    assert both.is_generator.sum() == 4


def test_a_larger_budget_gives_no_narrower_bounds():
    rng = np.random.default_rng(8)
    case = filled_case(rng, "log_loss", intercept=True)
    solution = train(case.problem)
    widths = []
    for count in (0, 1, 2, 9):
        attempt = certify_around(case.problem, solution, case.movable, BudgetMoves((count, count)))
        assert attempt.bounds is not None
        low, high = attempt.bounds.ends(case.X_test)
        widths.append((high - low).max())
    assert widths[0] < 1e-6
    # Each is a least of several bounds, so they are not exactly in order.
    assert all(width <= 1.01 * larger for width, larger in itertools.pairwise(widths))


def test_bounds_without_any_rounding_are_caught(monkeypatch):
    def check() -> list[str]:
        wrong = []
        for seed in range(4):
            case = filled_case(np.random.default_rng([13, seed]), "squared_error", intercept=bool(seed % 2))
            case = scaled(case, np.ones(case.X.shape[1]), 1e-17)
            wrong += wrong_scores(case, (1, 1), train(case.problem), inner=0)[1]
        return wrong

    def plant_errors() -> None:
        for name in ("up", "down"):
            plant(monkeypatch, name, same)
        plant(monkeypatch, "sum_upper", lambda total, _: total)
        plant(monkeypatch, "sum_error", lambda magnitude, _: 0.0 * magnitude)
        plant(monkeypatch, "EPS", 0.0)

    assert_caught(check, plant_errors)


def test_nothing_that_moves_leaves_the_model_as_it_is():
    case = filled_case(np.random.default_rng(9), "squared_error", intercept=False)
    solution = train(case.problem)
    nothing = MovableRows.of_numbers([], [], [], [])
    attempt = certify_around(case.problem, solution, nothing, BudgetMoves((5,)))
    assert attempt.bounds is not None
    low, high = attempt.bounds.ends(case.X_test)
    assert (high - low).max() < 1e-9
    model = case.minimise(case.moved([]))
    assert all(holds((low[k], high[k]), model.score(x)) for k, x in enumerate(case.X_test))


@pytest.mark.parametrize("loss", ["huber", "squared_hinge", "smoothed_hinge", "hinge"])
def test_other_losses_are_refused_with_a_reason(loss):
    case = filled_case(np.random.default_rng(10), "log_loss", intercept=False)
    problem = Problem(case.problem.rows, LOSSES[loss], case.penalty)
    attempt = certify_around(problem, train(case.problem), case.movable, BudgetMoves((1,)))
    assert attempt.bounds is None
    assert loss in attempt.note
