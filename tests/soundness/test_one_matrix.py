"""Row sums with one matrix (Lemma 30): they hold for every w in the ranges, and no model leaves ranges they prove."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from ipub import BoundedRegressor, Draws
from ipub.certificates import Certificate, OneMatrixBounds, Reason, certify_where_little_differs
from ipub.certificates.row_sums.graphs import LossGraph
from ipub.certificates.row_sums.one_matrix import OneMatrixTable, _Reached, prove_with_one_matrix
from ipub.losses import LOSSES
from ipub.numeric.rounding import dot_bounds, sum_error
from support.attacks import Tally, attack
from support.cases import Case, draw_case, draw_solution, intervals, train, with_intercept
from support.row_sums import completed_tables, directions, draw, exact_force, exact_score, forces

SMOOTH_NAMES = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)

each_smooth_loss = pytest.mark.parametrize("loss_name", SMOOTH_NAMES)


def table_of(case: Case, solution) -> OneMatrixTable | None:
    """Return the table, with a gradient of zero: then the bounds are of ``y.w - u.F`` alone."""
    table = OneMatrixTable.of(case.problem, solution)
    if table is not None and np.linalg.matrix_rank(table.hessian[0]) < len(solution.w):
        return None
    return None if table is None else replace(table, gradient=np.zeros_like(table.gradient))


def ends_over(table: OneMatrixTable, W: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of directions over the least ranges that hold some vectors."""
    lower, upper = dot_bounds(table.directions, W.T)
    return table.ends(table.reached(lower.min(axis=1), upper.max(axis=1)), Y)


@each_smooth_loss
def test_they_hold_for_every_w_and_completion_whatever_matrix_is_used(loss_name):
    count = 0
    for number in range(60):
        rng = np.random.default_rng([0, number, SMOOTH_NAMES.index(loss_name)])
        case = draw(rng, number, loss_name, "l2")
        solution = draw_solution(rng, case, str(rng.choice(["trained", "noisy", "zero", "scaled"])))
        table = table_of(case, solution)
        if table is None:
            continue
        d = len(solution.w)
        with np.errstate(all="ignore"):
            if number % 3 == 0:  # any matrix is valid
                table.__dict__["inverse"] = table.inverse * (1.0 + 0.1 * rng.normal(size=(d, d)))
            spread = rng.choice([0.0, 1e-8, 1e-3, 0.1, 1.0])
            size = spread * (np.abs(solution.w) + 1e-3 * (np.abs(solution.w).max() or 1.0))
            W, Y = solution.w + size * rng.normal(size=(3, d)), directions(case)
            low, high = ends_over(table, W, Y)
            U = Y @ table.inverse
            for completed in completed_tables(rng, case, 6, with_centers=True):
                F = forces(case, completed, W)
                value = Y @ W.T - U @ F.T
                slack = 1e-11 * (np.abs(Y) @ np.abs(W).T + np.abs(U) @ np.abs(F).T)
                assert not (high[:, None] < value - slack).any()
                assert not (low[:, None] > value + slack).any()
                count += value.size
    assert count > 2000


@each_smooth_loss
def test_the_worst_ends_of_cells_are_within_them(loss_name):
    """Each cell at the end that pulls a direction most, over ranges that are a point: little is to spare."""
    nearest = np.inf
    for number in range(20):
        rng = np.random.default_rng([1, number])
        case = draw_case(rng, "plain", loss_name, "l2")
        center, radius = case.matrix.center_rows(slice(0, len(case.y))), np.zeros(case.matrix.shape)
        rows, columns, _, radii = case.matrix.cells(slice(0, len(case.y)))
        radius[rows, columns] = 0.01 * radii
        case = replace(case, matrix=intervals(center, radius))
        solution = train(case.problem)
        table = table_of(case, solution)
        if table is None:
            continue
        W, Y = solution.w[None], directions(case)
        low, high = ends_over(table, W, Y)
        for y, u, least, most in zip(Y, Y @ table.inverse, low, high, strict=True):
            _, value, slope = table.lines
            pull = value[:, None] * u + slope[:, None] * (table.X @ u)[:, None] * solution.w
            for side, end in ((-1.0, most), (1.0, least)):
                moved = case.extended(center + side * np.sign(pull)[:, : center.shape[1]] * radius)
                found = float(y @ solution.w - u @ forces(case, moved, W)[0])
                assert least <= found <= most
                nearest = min(nearest, abs(found - end) / (most - least))
    assert nearest < 1e-3


@each_smooth_loss
def test_at_a_point_they_are_exact_but_for_rounding(loss_name, report_proofs):
    count = 0
    for number in range(10):
        rng = np.random.default_rng([2, number, SMOOTH_NAMES.index(loss_name)])
        case = draw(rng, number, loss_name, "l2")
        solution = draw_solution(rng, case, "noisy")
        table = table_of(case, solution)
        if table is None:
            continue
        Y = directions(case)
        low, high = ends_over(replace(table, radii=np.zeros_like(table.radii)), solution.w[None], Y)
        with ctx.workprec(300):
            F = exact_force(case, case.extended(case.matrix.center_rows(slice(0, len(case.y)))), solution.w)
            for y, u, least, most in zip(Y, Y @ table.inverse, low, high, strict=True):
                exact = exact_score(y, solution.w)
                for part, value in zip(F, u.tolist(), strict=True):
                    exact -= part * arb(value)
                assert arb(least) <= exact
                assert arb(most) >= exact
                count += 1
    assert count > 0
    report_proofs(count)


def exact(values):
    return [Fraction(each) for each in np.asarray(values, dtype=float).ravel().tolist()]


def exact_product(a, b):
    return sum((x * y for x, y in zip(exact(a), exact(b), strict=True)), Fraction(0))


def lemma_30(table, reached, weighted, y, u):
    """Return ``u.q - B`` and ``u.q + B`` exactly, for the numbers that are floats by definition."""
    (score, value, slope), d = map(exact, table.lines), len(u)
    X, weight, uu = [exact(x) for x in table.X], exact(table.weight), exact(u)
    rows = range(len(X))
    q = [
        sum((weight[i] * (slope[i] * score[i] - value[i]) + Fraction(weighted[i])) * X[i][j] for i in rows)
        for j in range(d)
    ]
    c = [sum(a * b for a, b in zip(x, uu, strict=True)) for x in X]
    bound = sum(e * abs(each) for e, each in zip(exact(reached.spread), c, strict=True))
    cells = list(zip(table.rows.tolist(), table.columns.tolist(), exact(table.radii), strict=True))
    for j in range(d):
        sums = [
            sum(
                weight[i] * r * abs(value[i] * uu[j] + slope[i] * c[i] * Fraction(end[j]))
                for i, k, r in cells
                if k == j
            )
            for end in reached.ends
        ]
        left = Fraction(y[j]) - Fraction(table.lam[j]) * uu[j]
        left -= sum(weight[i] * slope[i] * c[i] * X[i][j] for i in rows)
        bound += max(sums) + abs(left) * Fraction(reached.largest_weight[j])
        bound += abs(uu[j]) * (Fraction(reached.of_cells[j]) + Fraction(table.gradient[j]))
    center = sum(a * b for a, b in zip(uu, q, strict=True))
    return center - bound, center + bound


@pytest.mark.parametrize("what", ["scores", "product", "middle", "shift", "all"])
def test_where_numbers_cancel_they_are_not_inside_the_lemma(what):
    """Each time one part of the bound is nearly 0, as the difference of numbers a billion times as large."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        n, d = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        X, weight = rng.normal(size=(n, d)), rng.uniform(0.1, 1.0, n)
        slope = np.zeros(n) if what != "all" else rng.uniform(0.0, 1.0, n)
        value, weighted, spread, ends = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((2, d))
        Y = rng.normal(size=(4, d))
        if what in ("scores", "all"):
            spread = rng.uniform(0.5, 1.0, n)
            X[:, -1] = -(X[:, :-1] @ Y[0, :-1]) / Y[0, -1]
            X *= 1e9
        if what == "product":
            value[0], weight[0] = -1.0, 1.0
            X[0, -1], X[1:] = -(X[0, :-1] @ Y[0, :-1]) / Y[0, -1], 0.0
        if what in ("middle", "shift", "all"):
            part = rng.normal(size=n)
            X[-1] = -((weight * part)[:-1] @ X[:-1]) / (weight * part)[-1]
            value, weighted = (part, weighted) if what == "middle" else (value, weight * part)
        if what == "all":
            ends = np.sort(rng.normal(size=(2, d)), axis=0)
        cells = np.repeat(np.arange(d), 2), rng.uniform(0.0, 1.0, 2 * d) * (what == "all")
        in_rows = np.concatenate([rng.choice(n, 2, replace=False) for _ in range(d)])
        graph = LossGraph(LOSSES["log_loss"], np.ones(n))
        table = OneMatrixTable(X, weight, graph, np.zeros(d), np.zeros(d), np.full(d, 0.5), in_rows, *cells)
        table.__dict__["lines"], table.__dict__["inverse"] = (np.zeros(n), value, slope), np.eye(d)
        if what == "product":  # one row: it is exact
            table.__dict__["middle"] = X[0], np.zeros(d)
        error = sum_error(np.abs(X).T @ np.abs(weighted), n + 8) if weighted.any() else np.zeros(d)
        reached = _Reached(np.abs(ends).max(axis=0), (ends[0], ends[1]), spread, X.T @ weighted, error, np.zeros(d))
        for y, least, most in zip(Y, *table.ends(reached, Y), strict=True):
            low, high = lemma_30(table, reached, weighted, y, y)
            assert Fraction(least) <= low
            assert high <= Fraction(most)


def test_at_the_start_of_the_way_the_model_is_w_however_badly_it_was_trained():
    count = 0
    for number in range(40):
        rng = np.random.default_rng([6, number])
        case = draw(rng, number, SMOOTH_NAMES[number % len(SMOOTH_NAMES)], "l2")
        solution = draw_solution(rng, case, str(rng.choice(["noisy", "scaled", "loose"])))
        with np.errstate(all="ignore"):
            table = OneMatrixTable.of(case.problem, solution)
            if table is None or table_of(case, solution) is None:
                continue
            Y = directions(case)
            low, high = ends_over(replace(table, radii=np.zeros_like(table.radii)), solution.w[None], Y)
            assert not (high < Y @ solution.w).any()
            assert not (low > Y @ solution.w).any()
        count += 1
    assert count > 10


@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@each_smooth_loss
def test_no_model_leaves_the_ranges_they_prove(loss_name, intercept, report_attack):
    tally, proved, like = Tally(), 0, None

    def certificate(problem, solution):
        nonlocal proved
        found = certify_where_little_differs(problem, solution, like)
        if found is None:
            return Certificate("nothing", (), solution.gap)
        proved += 1
        return found

    for number in range(9):
        rng = np.random.default_rng([3, number])
        case = draw_case(rng, "plain", loss_name, "l2")
        center, radius = case.matrix.center_rows(slice(0, len(case.y))), np.zeros(case.matrix.shape)
        rows, columns, _, radii = case.matrix.cells(slice(0, len(case.y)))
        radius[rows, columns] = 0.5 * radii
        case = replace(case, matrix=intervals(center, radius), penalty=replace(case.penalty, lam=0.5))
        case = with_intercept(case) if intercept else case
        solution = draw_solution(rng, case, ["trained", "loose", "one step"][number % 3])
        found = prove_with_one_matrix(case.problem, solution).found
        if found is None:
            continue
        narrow = replace(found, tried=(1e-3 * found.tried[0], 1e-3 * found.tried[1]))  # these do not hold
        like = (None, found, narrow)[number % 3]
        attack(rng, case, solution, tally, rounds=1, certificates={"one matrix": certificate})
    assert proved > 1
    report_attack(tally)


def test_what_is_proved_lies_strictly_inside_what_was_tried():
    rng = np.random.default_rng(7)
    case = draw_case(rng, "plain", "log_loss", "l2")
    case = replace(case, penalty=replace(case.penalty, lam=1.0))
    solution = train(case.problem)
    first = prove_with_one_matrix(case.problem, solution).found
    assert first is not None
    share = np.where(np.arange(len(first.lower)) % 2 == 0, 1e-3, 3.0)
    narrow = replace(first, tried=(share * first.tried[0], share * first.tried[1]))
    for found in (first, prove_with_one_matrix(case.problem, solution, narrow).found):
        assert found is not None
        low, high = dot_bounds(found.table.directions, solution.w)
        assert (found.lower > low - found.tried[0]).all()
        assert (found.upper < high + found.tried[1]).all()


def test_what_they_are_not_made_for_is_left_to_others():
    rng = np.random.default_rng(4)
    case = draw_case(rng, "plain", "log_loss", "elastic net")
    solution = train(case.problem)
    outcome = prove_with_one_matrix(case.problem, solution)
    assert outcome.found is None
    assert outcome.reason is Reason.NOT_APPLICABLE
    case = draw_case(rng, "plain", "hinge", "l2")
    assert certify_where_little_differs(case.problem, train(case.problem)) is None


def test_a_draw_whose_matrix_has_no_inverse_takes_the_usual_recipe():
    """Huber: two rows have curvature in one draw and none in another, whose intercept is in no term of the matrix."""
    X = np.array([np.nan, 3.0, 0.0, 0.66, -1.29, 0.4, 0.43, 0.7])[:, None]
    y = np.array([1.26, -3.6, 2.8, -2.4, 4.3, -3.2, 4.7, -2.8])
    draws = Draws(n_draws=12, radius=0.01, random_state=0)
    bounds = BoundedRegressor("huber", alpha=0.5, uncertainty=draws).fit(X, y).predict_bounds(X[1:])
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] <= bounds[:, 1]).all()


def test_their_box_of_weights_is_what_is_kept_without_rows():
    rng = np.random.default_rng(5)
    case = draw_case(rng, "plain", "log_loss", "l2")
    case = replace(case, penalty=replace(case.penalty, lam=1.0))
    certificate = certify_where_little_differs(case.problem, train(case.problem))
    assert certificate is not None
    bounds = certificate.part(OneMatrixBounds)
    assert bounds is not None
    assert bounds.keeps_training_rows
    with_rows, without = (each.score_bounds(case.X_test) for each in (certificate, certificate.without_training_rows()))
    assert np.isfinite(without).all()
    assert (without[:, 0] <= with_rows[:, 0]).all()
    assert (without[:, 1] >= with_rows[:, 1]).all()
