"""Row sums with one matrix (lem-one-matrix): they hold for every w in the ranges, and prove ranges."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from ipub import BoundedRegressor, Draws
from ipub.certificates import Certificate, OneMatrixBounds, Reason, certify_where_little_differs
from ipub.certificates.row_sums.graphs import LossGraph
from ipub.certificates.row_sums.one_matrix import prove_with_one_matrix
from ipub.certificates.row_sums.one_matrix_sums import OneMatrixSums, OneMatrixTable
from ipub.losses import LOSSES
from ipub.numeric.rounding import dot_bounds
from support.attacks import Tally, attack
from support.cases import Case, draw_case, draw_solution, intervals, train, with_intercept
from support.row_sums import completed_tables, directions, draw, exact_force, exact_score, forces

SMOOTH_NAMES = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)

each_smooth_loss = pytest.mark.parametrize("loss_name", SMOOTH_NAMES)


def table_of(case: Case, solution) -> OneMatrixTable | None:
    """Return the table, with a gradient of zero: then the bounds are of ``y.w - u.F`` alone."""
    table = OneMatrixTable.of(case.problem, solution)
    return None if table is None else replace(table, gradient=np.zeros_like(table.gradient))


def sums_over(table: OneMatrixTable, W: np.ndarray) -> OneMatrixSums:
    """Return the sums over the least ranges that hold some vectors."""
    lower, upper = dot_bounds(table.directions, W.T)
    return OneMatrixSums(table, lower.min(axis=1), upper.max(axis=1))


@each_smooth_loss
def test_they_hold_for_every_w_and_completion_whatever_u_is_used(loss_name):
    count = 0
    for number in range(60):
        rng = np.random.default_rng([0, number, SMOOTH_NAMES.index(loss_name)])
        case = draw(rng, number, loss_name, "l2")
        solution = draw_solution(rng, case, str(rng.choice(["trained", "noisy", "zero", "scaled"])))
        table = table_of(case, solution)
        if table is None:
            continue
        with np.errstate(all="ignore"):
            spread = rng.choice([0.0, 1e-8, 1e-3, 0.1, 1.0])
            size = spread * (np.abs(solution.w) + 1e-3 * (np.abs(solution.w).max() or 1.0))
            W, Y = solution.w + size * rng.normal(size=(3, len(solution.w))), directions(case)
            sums = sums_over(table, W)
            if number % 3 == 0:
                sums.inverse = sums.inverse * (1.0 + 0.1 * rng.normal(size=sums.inverse.shape))
            about = sums.about(Y)
            U, one_for_both = sums.multipliers(Y, about.pulled), Y @ sums.inverse
            high = sums.upper(Y, U)
            for completed in completed_tables(rng, case, 6, with_centers=True):
                F = forces(case, completed, W)
                for u, least, most in ((U, np.full_like(high, -np.inf), high), (one_for_both, about.low, about.high)):
                    value = Y @ W.T - u @ F.T
                    slack = 1e-11 * (np.abs(Y) @ np.abs(W).T + np.abs(u) @ np.abs(F).T)
                    assert not (most[:, None] < value - slack).any()
                    assert not (least[:, None] > value + slack).any()
                    count += value.size
    assert count > 4000


@each_smooth_loss
def test_the_worst_ends_of_cells_are_within_them(loss_name):
    """Each cell at the end that pulls a direction most, over ranges that are a point: little is to spare."""
    nearest = np.inf
    for number in range(20):
        rng = np.random.default_rng([1, number])
        case = draw_case(rng, "plain", loss_name, "l2")
        center, radius = case.matrix.center_rows(slice(0, len(case.y))), np.zeros(case.matrix.shape)
        rows, columns, _, radii = case.matrix.cells(slice(0, len(case.y)))
        radius[rows, columns] = 1e-4 * radii
        case = replace(case, matrix=intervals(center, radius))
        solution = train(case.problem)
        table = table_of(case, solution)
        if table is None:
            continue
        W, Y = solution.w[None], directions(case)
        with np.errstate(all="ignore"):
            sums = sums_over(table, W)
            U, score = sums.multipliers(Y, sums.about(Y).pulled), table.X @ solution.w
            upper = sums.upper(Y, U)
        for y, u, most in zip(Y, U, upper, strict=True):
            value, slope = table.graph.value(score), table.graph.slope(score)
            pull = value[:, None] * u + slope[:, None] * (table.X @ u)[:, None] * solution.w
            found = [
                float(y @ solution.w - u @ forces(case, case.extended(moved), W)[0])
                for moved in (center - side * np.sign(pull)[:, : center.shape[1]] * radius for side in (1.0, 0.0))
            ]
            assert max(found) <= most
            if found[0] > found[1]:
                nearest = min(nearest, (most - found[0]) / (found[0] - found[1]))
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
        sums = sums_over(replace(table, radii=np.zeros_like(table.radii)), solution.w[None])
        about = sums.about(Y)
        with ctx.workprec(300):
            F = exact_force(case, case.extended(case.matrix.center_rows(slice(0, len(case.y)))), solution.w)
            for y, u, least, most in zip(Y, Y @ sums.inverse, about.low, about.high, strict=True):
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
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def exact_lemma(sums, lower, upper, y, u):
    """Return what the lemma says of y, exactly, for the numbers that are floats by definition, and shares that fit."""
    table, (n, d), center = sums.table, sums.table.X.shape, exact(sums.center)
    X, weight, lam, uu = [exact(x) for x in table.X], exact(table.weight), exact(table.lam), exact(u)
    base, slope, off = map(exact, sums.lines)
    ends = list(zip(exact(lower), exact(upper), strict=True))
    of_weights = [max(high - at, at - low) for (low, high), at in zip(ends[n:], center, strict=True)]
    largest = [max(abs(low), abs(high)) for low, high in ends[n:]]
    at_center = [exact_product(x, center) for x in X]
    c = [exact_product(x, uu) for x in X]
    cells = list(zip(table.rows.tolist(), table.columns.tolist(), exact(table.radii), strict=True))
    moves = [sum((r * largest[j] for i, j, r in cells if i == row), Fraction(0)) for row in range(n)]
    left = [
        yy - rate * v - sum(weight[i] * slope[i] * c[i] * X[i][j] for i in range(n))
        for j, (yy, rate, v) in enumerate(zip(exact(y), lam, uu, strict=True))
    ]
    value = exact_product(left, center) - sum(weight[i] * base[i] * c[i] for i in range(n))
    bound = sum(weight[i] * abs(c[i]) * off[i] for i in range(n))
    bound += sum(abs(v) * each for v, each in zip(uu, exact(table.gradient), strict=True))
    for i, j, r in cells:
        reach = max(ends[i][1] - at_center[i], at_center[i] - ends[i][0])
        pull = (base[i] + slope[i] * at_center[i]) * uu[j] + slope[i] * c[i] * center[j]
        limit = abs(slope[i]) * (abs(c[i]) * of_weights[j] + abs(uu[j]) * reach)
        share = max(min(pull / limit, Fraction(1)), Fraction(-1)) if limit else Fraction(0)
        bound += weight[i] * r * (max(abs(pull), limit) + abs(uu[j]) * (abs(slope[i]) * moves[i] + off[i]))
        left[j] += weight[i] * r * share * slope[i] * c[i]
        for k in range(d):
            left[k] += weight[i] * r * share * slope[i] * uu[j] * X[i][k]
    return value + bound + exact_product(map(abs, left), of_weights)


@pytest.mark.parametrize("what", ["scores", "left", "values", "cells", "all"])
def test_where_numbers_cancel_they_are_not_inside_the_lemma(what):
    """Each time one part of the bound is nearly 0, as the difference of numbers a billion times as large."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        n, d = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        X, weight, u = rng.normal(size=(n, d)), rng.uniform(0.1, 1.0, n), rng.normal(size=d)
        w, reach, is_odd = rng.normal(size=d), rng.uniform(0.0, 0.1, (2, n + d)), what in ("scores", "left")
        if is_odd:  # derivatives and ranges are odd: all else is 0
            w, reach[:] = 0.0 * w, np.repeat([3.0, 0.0] if what == "scores" else [0.0, 1e3], [n, d])
        if what != "left":
            X[:, -1] = -(X[:, :-1] @ u[:-1]) / u[-1]
            X *= 1e9
        if what in ("values", "all"):
            w = 1e9 * (w - X[0] * (X[0] @ w) / (X[0] @ X[0]))
        cells = np.repeat(np.arange(d), 2), rng.uniform(0.0, 1.0, 2 * d) * (what in ("cells", "all"))
        in_rows = np.concatenate([rng.choice(n, 2, replace=False) for _ in range(d)])
        graph = LossGraph(LOSSES["huber"], np.zeros(n)) if is_odd else LossGraph(LOSSES["log_loss"], np.ones(n))
        table = OneMatrixTable(X, weight, graph, w, np.zeros(d), np.full(d, 0.5), in_rows, *cells)
        at = dot_bounds(table.directions, w)
        lower, upper = (at[0] - reach[0], at[1] + reach[1]) if not is_odd else (-reach[0], reach[1])
        with np.errstate(all="ignore"):
            sums = OneMatrixSums(table, lower, upper)
            pulled = sums.about(u[None] @ sums.matrix).pulled
            y = (u @ sums.matrix - pulled[0]) if what in ("left", "all") else rng.normal(size=d)
            (found,) = sums.upper(y[None], u[None])
        assert exact_lemma(sums, lower, upper, y, u) <= Fraction(found)


def test_at_the_start_of_the_way_the_model_is_w_however_badly_it_was_trained():
    count = 0
    for number in range(40):
        rng = np.random.default_rng([6, number])
        case = draw(rng, number, SMOOTH_NAMES[number % len(SMOOTH_NAMES)], "l2")
        solution = draw_solution(rng, case, str(rng.choice(["noisy", "scaled", "loose"])))
        with np.errstate(all="ignore"):
            table = OneMatrixTable.of(case.problem, solution)
            if table is None:
                continue
            Y = directions(case)
            low, high = sums_over(replace(table, radii=np.zeros_like(table.radii)), solution.w[None]).ends(Y)
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
    share = np.where(np.arange(len(first.lower)) % 3 == 0, 1e-3, 3.0)
    narrow = replace(first, tried=(share * first.tried[0], share * first.tried[1]))
    for found in (first, prove_with_one_matrix(case.problem, solution, narrow).found):
        assert found is not None
        low, high = dot_bounds(found.table.directions, solution.w)
        assert (found.lower > low - found.tried[0]).all()
        assert (found.upper < high + found.tried[1]).all()


@pytest.mark.parametrize("seed", range(3))
def test_they_prove_ranges_where_half_of_the_cells_are_uncertain(seed):
    """Without what pulled cells add to the matrix none of these ranges close."""
    rng = np.random.default_rng([9, seed])
    case = draw_case(rng, "plain", "log_loss", "l2")
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(X.shape) < 0.5, 0.15, 0.0)
    penalty = replace(case.penalty, lam=0.1)
    case = replace(case, matrix=intervals(X, radius), y=y, weight=None, penalty=penalty)
    found = prove_with_one_matrix(case.problem, train(case.problem)).found
    assert found is not None
    assert found.excess < 1.7


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
