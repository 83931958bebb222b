"""Tilted half-balls (thm-tilted): no completion's gradient or model is outside of what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq

from ipub.certificates import CERTIFICATES, RowSumBounds, with_effort
from ipub.certificates.per_row import tilted_half_ball as module
from ipub.certificates.per_row.tilted_half_ball import Reference, TiltedHalfBall
from ipub.certificates.per_row.tilted_search import TiltedSearch, reason_against_tilts
from ipub.certificates.row_sums import bounds as row_sum_bounds
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.certificate import TrainedModel
from ipub.rows import MemoryRows, slices
from ipub.tables.label_uncertainty import LabelUncertainty
from support.attacks import place, retrain
from support.cases import Case, Generator, draw_solution, intervals, train, with_intercept
from support.exact_ranges import exact_models
from support.oracles.rationals import exact_dot, holds, rational, rationals
from support.row_sums import completed_tables
from support.tiny_cases import TABLES, tiny_case, tiny_choices

MODELS = ("trained", "noisy", "loose", "scaled", "zero")

each_penalty = pytest.mark.parametrize("penalty", ["l2", "elastic net"])
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])


def draw(rng: Generator, *, n: int = 40, d: int = 3, kappa: float = 0.0, intercept: bool = False) -> Case:
    """Draw a table whose rows are near their kinks, many of them incomplete."""
    table = rng.normal(size=(n, d))
    y = np.where(table[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < rng.choice([0.05, 0.2]), rng.choice([0.05, 0.5]), np.nan)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=n) if rng.random() < 0.5 else None
    net = ElasticNet(float(rng.choice([0.05, 0.5])), kappa)
    case = Case(intervals(table, radius), y, weight, LOSSES["hinge"], net, rng.normal(size=(2, d)))
    return with_intercept(case) if intercept else case


def draw_reference(rng: Generator, w: np.ndarray, lam: float) -> Reference:
    """Draw any reference, dual point, and what it follows."""
    d, k = len(w), int(rng.integers(0, 4))
    dual_w = w + 10.0 ** rng.uniform(-3, 0) * rng.normal(size=d)
    return Reference(
        dual_w + 10.0 ** rng.uniform(-3, 0) * rng.normal(size=d),
        dual_w,
        rng.uniform(-1.0, 1.0, size=d),
        LOSSES["hinge"].smoothed(10.0 ** rng.uniform(-4, 0)),
        rng.normal(size=(k, d)),
        10.0 ** rng.uniform(-2, 0, size=k),
        float(rng.choice([0.0, 0.0, 0.003, 0.1, np.inf]) / lam),
    )


# --- the inequality itself, for the gradients of single completions ---------------------------------------------------


def brackets(case: Case, at: Reference, ball: TiltedHalfBall, table: np.ndarray, x: np.ndarray, t: float, B: float):
    """Return ``eps + |g - t x|^2 / (4 lam)`` of a completion, computed row by row as in the proof of thm-tilted."""
    y, d, lam = case.y, len(at.c), case.penalty.lam
    weight = np.ones(len(y)) if case.weight is None else case.weight
    m = weight / weight.sum()
    center = case.extended(case.matrix.center_rows(slice(0, len(y))))
    radius = np.zeros_like(center)
    in_row, columns, _, radii = case.matrix.cells(slice(0, len(y)))
    radius[in_row, columns] = radii
    incomplete = (radius > 0.0).any(axis=1)
    lengths = radius @ np.abs(at.c)
    score, completed, jump = center @ at.c, table @ at.c, y
    p = at.dual_loss.derivative(y, center @ at.dual_w)

    def residual(scores, slopes):
        return np.maximum((1.0 - y * scores) * (1.0 + y * slopes), y * slopes * (1.0 - y * scores))

    worst = np.maximum(residual(score - lengths, p), residual(score + lengths, p))
    d_pen = d - case.penalty.n_free
    undecided = np.abs(jump - score) <= lengths
    adapts = incomplete & (~undecided | (worst > at.price * np.linalg.norm(center[:, :d_pen], axis=1)))
    own = np.where(y * completed < 1.0, -y, 0.0)
    slopes = np.where(adapts, own, p)
    middle = np.where(adapts & undecided, -y / 2.0, slopes)
    products = (center @ at.followed.T) * at.lengths
    distance = np.abs(products).sum(axis=1)
    near = ~incomplete & (np.abs(center @ at.dual_w - jump) < distance)
    e = (m * np.where(incomplete, slopes, 0.0)) @ table - (m * np.where(incomplete, middle, 0.0)) @ center
    tau = np.zeros(len(y))
    if len(at.followed):
        eta = at.followed @ e / ball.capacity
        assert (np.abs(eta) <= 1.0 + 1e-9).all()
        tau[near] = -(products[near] / distance[near, None]) @ eta
    slopes = np.where(near, -y / 2.0 + tau / 2.0, slopes)
    penalty = case.penalty
    g = (m * slopes) @ table + penalty.lam_vector(d) * at.c + penalty.kappa_vector(d) * at.signs
    eps = m @ np.where(adapts, 0.0, residual(completed, slopes))
    eps += penalty.kappa_vector(d) @ (np.abs(at.c) - at.signs * at.c)
    off = g - t * x
    return eps + off[:d_pen] @ off[:d_pen] / (4.0 * lam) + np.abs(off[d_pen:]).sum() * B


def extreme_positions(case: Case, at: Reference, direction: np.ndarray) -> np.ndarray:
    """Return ends of the cells that move the gradient along a direction, some of them by the row's derivative."""
    in_row, columns, _, _ = case.matrix.cells(slice(0, len(case.y)))
    slope = np.where(
        case.y * (case.extended(case.matrix.center_rows(slice(0, len(case.y)))) @ at.c) < 1.0, -case.y, 0.0
    )
    along = np.where(slope[in_row] != 0.0, slope[in_row] * direction[columns], -case.y[in_row] * at.c[columns])
    return np.where(along >= 0.0, 1.0, -1.0)


@each_intercept
@each_penalty
def test_no_completion_has_a_larger_bracket_than_all_together(penalty, intercept):
    nearest, n_following, n_free_rows = [], 0, 0
    for number in range(30):
        rng = np.random.default_rng([3, number, len(penalty), intercept])
        case = draw(rng, kappa=0.0 if penalty == "l2" else 0.02, intercept=intercept)
        at = draw_reference(rng, train(case.problem, tol=1e-6).w, case.penalty.lam)
        ball = TiltedHalfBall.of(case.problem, at)
        n_following += bool(np.abs(ball.shifts).any())
        n_free_rows += len(ball.vectors) > 0
        x, t, B = case.X_test[0], 10.0 ** rng.uniform(-3, 1), float(rng.choice([0.0, 0.3]))
        said = (ball.score_upper(x, t, B) - x @ at.c) * t
        tables = [*completed_tables(rng, case, 6, with_centers=True)]
        for direction in (ball.gradient - t * x, t * x - ball.gradient, rng.normal(size=len(x))):
            positions = extreme_positions(case, at, direction)
            for flipped in (positions, np.where(rng.random(len(positions)) < 0.3, -positions, positions)):
                tables.append(case.extended(case.matrix.completion(flipped)))
        found = max(brackets(case, at, ball, table, x, t, B) for table in tables)
        assert found <= said * (1.0 + 1e-9) + 1e-12
        nearest.append(found / said)
    assert n_following > 10
    assert n_free_rows > 5
    assert max(nearest) > 0.9


def test_without_uncertain_cells_the_bracket_is_that_of_the_table():
    for number in range(20):
        rng = np.random.default_rng([4, number])
        case = draw(rng, kappa=0.01, intercept=bool(number % 2))
        table = case.matrix.completion(np.zeros(case.matrix.n_uncertain))
        case = replace(case, matrix=intervals(table, np.full(table.shape, np.nan)))
        at = draw_reference(rng, train(case.problem, tol=1e-6).w, case.penalty.lam)
        ball = TiltedHalfBall.of(case.problem, at)
        x, t = case.X_test[0], 10.0 ** rng.uniform(-2, 1)
        said = (ball.score_upper(x, t, 0.5) - x @ at.c) * t
        found = brackets(case, at, ball, case.extended(table), x, t, 0.5)
        assert said >= found * (1.0 - 1e-12)
        assert said == pytest.approx(found, rel=1e-6, abs=1e-9)


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.share(2)
@each_intercept
@each_penalty
def test_no_exact_model_has_a_higher_score_than_any_reference_allows(penalty, intercept, report_proofs):
    count = 0
    for number in range(5):
        rng = np.random.default_rng([5, number, len(penalty), intercept])
        case = tiny_case(rng, TABLES[number % len(TABLES)], "hinge", penalty, 1 + number % 2)
        case = with_intercept(case) if intercept else case
        models = exact_models(case, inner=int(case.matrix.n_uncertain == 1))
        solution = draw_solution(rng, case, MODELS[number % len(MODELS)])
        certificate = CERTIFICATES["ball"](case.problem, solution)
        search = TiltedSearch.of(case.problem, solution, certificate)
        for x in (case.X_test[0], -case.X_test[0]):
            upper = [search.score_upper(x, np.inf, 0.0)]
            for _ in range(3):
                at = draw_reference(rng, solution.w, case.penalty.lam)
                ball = TiltedHalfBall.of(case.problem, at)
                B = max(abs(end - at.c[-1]) for end in search.intercepts) if intercept else 0.0
                upper += [ball.score_upper(x, t, B) for t in 10.0 ** rng.uniform(-4, 2, size=3)]
            for model in models:
                assert all(holds((-np.inf, bound), model.score(x)) for bound in upper)
                count += len(upper)
    report_proofs(count)


@pytest.mark.share(2)
@each_intercept
@each_penalty
def test_searched_bounds_are_narrower_than_the_half_ball_and_hold(penalty, intercept, monkeypatch):
    monkeypatch.setattr(row_sum_bounds, "FEW_DIRECTIONS", 0)
    monkeypatch.setattr(row_sum_bounds, "can_be_narrowed", lambda _: False)
    rng = np.random.default_rng(6)
    table = rng.normal(size=(300, 3))
    y = np.where(table @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=300) > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.02, 0.1, np.nan)
    net = ElasticNet(0.02, 0.0 if penalty == "l2" else 0.003)
    case = Case(intervals(table, radius), y, None, LOSSES["hinge"], net, rng.normal(size=(2, 3)))
    case = with_intercept(case) if intercept else case
    solution = train(case.problem)
    certificate = CERTIFICATES["pointwise"](case.problem, solution)
    assert certificate.part(RowSumBounds) is None
    assert certificate.refinement is not None
    assert "near the kink" in certificate.note
    training = TrainedModel(case.problem, solution)
    before = certificate.score_bounds(case.X_test)
    np.testing.assert_array_equal(with_effort(certificate, 0.0).score_bounds(case.X_test, training), before)
    bounds = with_effort(certificate, 0.3).score_bounds(case.X_test, training)
    assert (bounds[:, 0] >= before[:, 0]).all()
    assert (bounds[:, 1] <= before[:, 1]).all()
    assert np.ptp(bounds, axis=1).sum() < 0.9 * np.ptp(before, axis=1).sum()
    for _ in range(3):
        model = retrain(case, place(case.matrix, rng.choice([-1.0, 1.0], size=case.matrix.n_uncertain)))
        assert (bounds[:, 0] <= model.highest).all()
        assert (bounds[:, 1] >= model.lowest).all()


# --- parts ------------------------------------------------------------------------------------------------------------


def test_blocks_and_weights_that_are_scaled_change_nothing(monkeypatch):
    rng = np.random.default_rng(7)
    case = draw(rng, intercept=True)
    at = draw_reference(rng, train(case.problem, tol=1e-6).w, case.penalty.lam)
    x = case.X_test[0]
    before = TiltedHalfBall.of(case.problem, at).score_upper(x, 0.3, 0.1)
    weight = 8.0 * (np.ones(len(case.y)) if case.weight is None else case.weight)
    monkeypatch.setattr(slices, "BLOCK_CELLS", 16)
    after = TiltedHalfBall.of(replace(case, weight=weight).problem, at).score_upper(x, 0.3, 0.1)
    assert after == pytest.approx(before, rel=1e-9)


def test_the_norm_of_sums_of_vectors_is_bounded():
    for number in range(30):
        rng = np.random.default_rng([8, number])
        vectors = rng.normal(size=(int(rng.integers(1, 9)), int(rng.integers(1, 5))))
        vectors *= 10.0 ** rng.uniform(-3, 3, size=(len(vectors), 1))
        corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * len(vectors))).reshape(len(vectors), -1).T
        largest = np.linalg.norm(corners @ vectors, axis=1).max()
        found = module._sum_norm_upper(vectors)
        assert largest * (1.0 - 1e-12) <= found <= 2.0 * largest


def test_what_is_left_of_a_change_of_the_gradient_is_within_the_spread():
    nearest = []
    for number in range(30):
        rng = np.random.default_rng([15, number])
        case = draw(rng, d=1 if number % 2 else 3, intercept=number % 4 >= 2)
        at = draw_reference(rng, train(case.problem, tol=1e-6).w, case.penalty.lam)
        ball = TiltedHalfBall.of(case.problem, at._replace(price=0.0))
        d = len(at.c) - case.penalty.n_free
        ends = rng.choice([-1.0, 1.0], size=(200, len(ball.box))) * ball.box
        e = ends + rng.choice([-1.0, 1.0], size=(200, len(ball.vectors))) @ ball.vectors
        left = e + (e @ ball.followed.T / ball.capacity) @ ball.shifts
        largest = np.linalg.norm(left[:, :d], axis=1).max()
        assert largest <= ball.spread * (1.0 + 1e-12)
        assert (np.abs(left[:, d:]).max(axis=0, initial=0.0) <= ball.free_spread * (1.0 + 1e-12)).all()
        nearest.append(largest / ball.spread)
    assert max(nearest) > 0.99


def test_what_overflows_bounds_nothing_and_too_many_free_rows_are_refused(monkeypatch):
    rng = np.random.default_rng(9)
    case = draw(rng)
    at = draw_reference(rng, np.zeros(3), 1.0)
    ball = TiltedHalfBall.of(case.problem, at)
    assert ball.score_upper(1e200 * case.X_test[0], 1.0) == np.inf
    assert TiltedHalfBall.of(case.problem, at._replace(c=np.full(3, np.nan))).score_upper(case.X_test[0], 1.0) == np.inf
    monkeypatch.setattr(module, "MOST_FREE_NUMBERS", 0)
    assert TiltedHalfBall.of(case.problem, at._replace(c=train(case.problem).w, price=0.0)) is None
    search = TiltedSearch.of(case.problem, train(case.problem), CERTIFICATES["ball"](case.problem, train(case.problem)))
    assert search.score_upper(case.X_test[0], 7.0, 0.1) <= 7.0


def test_missing_categories_and_uncertain_labels_are_refused():
    rng = np.random.default_rng(10)
    assert reason_against_tilts(draw(rng).problem) is None
    assert "categories" in reason_against_tilts(tiny_choices(rng, "hinge", "l2", gentle=True).problem)
    case = draw(rng)
    doubt = LabelUncertainty(np.zeros(len(case.y)), np.ones(len(case.y)))
    rows = MemoryRows(case.matrix, case.y, case.weight, label_uncertainty=doubt)
    assert "labels" in reason_against_tilts(replace(case.problem, rows=rows))


def test_an_intercept_may_be_at_the_farther_end():
    case = draw(np.random.default_rng(11), intercept=True)
    solution = train(case.problem)
    search = TiltedSearch.of(case.problem, solution, CERTIFICATES["ball"](case.problem, solution))
    bounds = []
    for intercepts in ((-1.0, 5.0), (-5.0, 1.0), (-5.0, 5.0)):
        found = replace(search, intercepts=tuple(solution.w[-1] + end for end in intercepts))
        bounds.append(found.score_upper(case.X_test[0], np.inf, 0.0))
    assert bounds == pytest.approx([bounds[2]] * 3, rel=0.05)


def test_signs_beyond_one_count_as_one():
    case = draw(np.random.default_rng(12), kappa=0.1)
    at = draw_reference(np.random.default_rng(13), np.ones(3), case.penalty.lam)
    bounds = [
        TiltedHalfBall.of(case.problem, at._replace(signs=size * np.sign(at.signs))).score_upper(case.X_test[0], 0.3)
        for size in (1.0, 7.0)
    ]
    assert bounds[0] == bounds[1]


def test_a_bound_of_a_certain_table_is_not_below_the_exact_one():
    """Without uncertain cells the bound is exact but for rounding."""
    for number in range(30):
        rng = np.random.default_rng([14, number])
        n, d = int(rng.integers(3, 30)), int(rng.integers(1, 4))
        table, y = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3), rng.choice([-1.0, 1.0], size=n)
        lam = 10.0 ** rng.uniform(-3, 1)
        case = Case(
            intervals(table, np.full((n, d), np.nan)),
            y,
            None,
            LOSSES["hinge"],
            ElasticNet(lam),
            rng.normal(size=(2, d)),
        )
        c = rng.normal(size=d)
        at = Reference(c, 10.0 * c, np.zeros(d), LOSSES["hinge"], np.zeros((0, d)), np.zeros(0), np.inf)
        x, t = case.X_test[0], 10.0 ** rng.uniform(-3, 3)
        ball = TiltedHalfBall.of(case.problem, at)
        found = rational(ball.score_upper(x, t))
        exact_c, exact_x, exact_t, exact_lam = rationals(c), rationals(x), rational(t), rational(lam)
        g = [exact_lam * each for each in exact_c]
        eps = fmpq(0)
        for row, label in zip(table, y, strict=True):
            is_on = label * float(row @ at.dual_w) < 1.0
            z = 1 - rational(label) * exact_dot(rationals(row), exact_c)
            eps += max(-z, fmpq(0)) / n if is_on else max(z, fmpq(0)) / n
            if is_on:
                g = [each - rational(label) * value / n for each, value in zip(g, rationals(row), strict=True)]
        for each, computed, error in zip(g, ball.gradient, ball.box, strict=True):
            assert abs(each - rational(computed)) <= rational(error)
        off = [each - exact_t * value for each, value in zip(g, exact_x, strict=True)]
        exact = exact_dot(exact_x, exact_c) + (eps + exact_dot(off, off) / (4 * exact_lam)) / exact_t
        assert found >= exact
