"""Row sums where the derivative jumps (sec-row-sums): constant derivatives, steps, and scores ruled out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq

from ipub.certificates import CERTIFICATES, RowSumBounds, with_effort
from ipub.certificates.per_row import ruled_out_scores as module
from ipub.certificates.per_row.ruled_out_scores import (
    SupposedScore,
    narrow_by_ruling_out,
    no_model_at,
)
from ipub.certificates.per_row.ruled_out_scores import _largest_if_supposed as largest_if_supposed
from ipub.certificates.row_sums import bounds as bounds_module
from ipub.certificates.row_sums.bounds import row_sum_bounds_within
from ipub.certificates.row_sums.prove import narrowed
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import largest_scores
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.certificate import TrainedModel
from ipub.rows import slices
from support.attacks import retrain
from support.cases import Case, Generator, draw_case, draw_solution, intervals, train, with_intercept
from support.exact_ranges import EFFORT, assert_hold, assert_not_ruled_out, exact_models, known_ranges, n_sides
from support.oracles.rationals import exact_dot, holds, rational, rationals
from support.planted import plant_function
from support.row_sums import NoBounds, Points, certificate_of, completed_tables, random_sums, sums_of
from support.tiny_cases import TABLES, tiny_case, tiny_choices

MODELS = ("trained", "noisy", "loose", "scaled", "zero")

each_penalty = pytest.mark.parametrize("penalty", ["l2", "elastic net"])
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])


def tiny(rng: Generator, number: int, penalty: str, intercept: bool) -> Case:
    """Draw a few rows, some without weight, with uncertain cells or missing categories."""
    if number % 3 == 2:
        case = tiny_choices(rng, "hinge", penalty, gentle=bool(rng.integers(2)))
    else:
        case = tiny_case(rng, TABLES[number % len(TABLES)], "hinge", penalty, 1 + number % 3)
    if number % 4 == 1 and len(case.y) > 3:
        weight = np.ones(len(case.y)) if case.weight is None else case.weight.copy()
        weight[2] = 0.0
        case = replace(case, weight=weight)
    return with_intercept(case) if intercept else case


@pytest.mark.share(2)
@each_intercept
@each_penalty
def test_no_exact_model_leaves_narrowed_ranges_or_has_a_score_that_is_ruled_out(penalty, intercept, report_proofs):
    count, n_settled, sides = 0, 0, 0
    for number in range(6):
        rng = np.random.default_rng([0, number, len(penalty), intercept])
        case = tiny(rng, number, penalty, intercept)
        solution = draw_solution(rng, case, MODELS[number % len(MODELS)])
        models = exact_models(case, inner=int(case.matrix.n_uncertain == 1))
        with np.errstate(all="ignore"):
            start = known_ranges(case, solution, ("ball", "slope")[number % 2])
            ranges = narrowed(start, leaves_out_constant=True)
            n_settled += bool(ranges.table.settled.middle.any())
            count += assert_hold(start, models, case.X_test) + assert_hold(ranges, models, case.X_test)
            for t in case.X_test[:2]:
                for sign in (-1.0, 1.0):
                    count += assert_not_ruled_out(rng, ranges, sign * t, models)
                bounds = tuple(float(end[0]) for end in RowSumBounds(ranges).ends(t[None]))
                narrow = narrow_by_ruling_out(ranges, t, bounds, EFFORT)
                assert all(holds(narrow, model.score(t)) for model in models)
                sides += n_sides(ranges, t, models)
    assert n_settled > 0
    assert sides > 0
    report_proofs(count + sides)


# --- rows of constant derivative --------------------------------------------------------------------------------------


def forces(case: Case, table: np.ndarray, W: np.ndarray, is_below: bool) -> np.ndarray:
    """Return a subgradient of the objective of a completed table at each row of W: at a kink one of both extremes."""
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    margin = case.y * (W @ table.T)
    slopes = np.where((margin <= 1.0) if is_below else (margin < 1.0), -case.y, 0.0) * (weight / weight.sum())
    d, at_zero = W.shape[1], 1.0 if is_below else -1.0
    signs = np.where(W == 0.0, at_zero, np.sign(W))
    return slopes @ table + case.penalty.lam_vector(d) * W + case.penalty.kappa_vector(d) * signs


def few_bits(rng: Generator, number: int, penalty: str) -> tuple[Case, np.ndarray]:
    """Draw a table of whole numbers, some rows of it twice, and vectors whose products with them hit the kinks."""
    n, d = int(rng.integers(6, 14)), int(rng.integers(1, 4))
    table, radius = rng.integers(-2, 3, size=(n, d)).astype(float), np.full((n, d), np.nan)
    radius[rng.random((n, d)) < 0.2] = rng.choice([0.25, 0.5, 1.0])
    table = np.vstack([table, table[:2]])
    radius = np.vstack([radius, np.full((2, d), np.nan)])
    y, weight = rng.choice([-1.0, 1.0], size=n + 2), rng.choice([0.0, 0.5, 1.0, 3.0], size=n + 2)
    weight[:2] = 1.0
    net = ElasticNet(0.5, 0.0 if penalty == "l2" else 0.25)
    case = Case(intervals(table, radius), y, weight, LOSSES["hinge"], net, rng.integers(-2, 3, size=(3, d)) * 1.0)
    case = with_intercept(case) if number % 2 else case
    W = rng.integers(-4, 5, size=(rng.integers(1, 4), len(case.X_test[0]))) / 2.0
    return case, W


def drawn(rng: Generator, number: int, penalty: str) -> tuple[Case, np.ndarray, bool]:
    """Draw a problem, some vectors, and whether products with them are exact."""
    if number % 3 == 0:
        return *few_bits(rng, number, penalty), True
    if number % 3 == 1:
        case = tiny_choices(rng, "hinge", penalty, gentle=False)
    else:
        case = draw_case(rng, str(rng.choice(["plain", "kink", "mixed scales", "weights"])), "hinge", penalty)
    case = with_intercept(case) if rng.random() < 0.5 else case
    w = draw_solution(rng, case, "noisy").w * rng.choice([0.3, 1.0, 3.0])
    size = rng.choice([0.0, 0.03, 0.3]) * (np.abs(w) + 1e-3 * np.abs(w).max())
    return case, w + size * rng.normal(size=(rng.integers(1, 4), len(w))), False


@each_penalty
def test_row_sums_with_settled_rows_hold_for_every_w_and_completion(penalty, monkeypatch):
    """Settled by what another certificate knows, by ranges, or by one after the other; on several blocks too."""
    count, n_settled, without_incomplete, without_complete = 0, 0, 0, 0
    for number in range(72):
        rng = np.random.default_rng([1, number, len(penalty)])
        case, W, is_exact = drawn(rng, number, penalty)
        monkeypatch.setattr(slices, "BLOCK_CELLS", int(rng.choice([6, 40, 1 << 17])))
        solution, points = replace(train(case.problem, tol=0.1), w=W[0]), Points(W, is_exact)
        some = Points(np.vstack([W, W + 0.5 * rng.integers(-2, 3, size=W.shape)]), is_exact)
        known = (NoBounds(), points, some)[number % 3 if number % 2 else int(rng.integers(3))]
        table = RowTable.within(case.problem, solution, certificate_of(known))
        ranges = points.ranges(table).without_constant_rows()
        n_settled += len(case.y) - len(ranges.table.complete) - len(ranges.table.incomplete)
        without_incomplete += not len(ranges.table.incomplete)
        without_complete += not len(ranges.table.complete)
        Y = np.vstack([case.X_test, -case.X_test])
        with np.errstate(all="ignore"):
            bounds, u = random_sums(rng, ranges, Y)[:2]
        for completed in completed_tables(rng, case, 6, with_centers=False):
            for is_below in (False, True):
                F = forces(case, completed, W, is_below)
                value = Y @ W.T - u @ F.T
                scale = np.abs(Y) @ np.abs(W).T + np.abs(u) @ np.abs(F).T
                assert (bounds[:, None] >= value - 1e-11 * scale).all(), number
                count += value.size
    assert count > 4000
    assert n_settled > 200
    assert min(without_incomplete, without_complete) > 0


def cancelling(rng: Generator, n: int, d: int = 3) -> Case:
    """Rows far from their kink, large and small, whose pulls cancel; a few of them have uncertain cells."""
    half = rng.normal(size=(n // 2, d)) * 10.0 ** rng.uniform(-9.0, 9.0, size=(n // 2, 1))
    table = np.vstack([half, -half * (1.0 + 1e-13 * rng.normal(size=half.shape))])
    radius = np.full(table.shape, np.nan)
    radius[: n // 8, 0] = 10.0 ** rng.uniform(-30.0, -20.0, size=n // 8)
    weight = rng.choice([0.1, 0.3, 0.7, 1.0], size=n // 2)
    y = rng.choice([-1.0, 1.0], size=n // 2)
    return Case(
        intervals(table, radius), np.tile(y, 2), np.tile(weight, 2), LOSSES["hinge"], ElasticNet(1.0), np.eye(d)
    )


def exact_pull(case: Case, side: float) -> list[fmpq]:
    """Return the exact sum of ``m_i p_i x''_i`` over all rows, with p_i = -y_i, all cells at one end."""
    weight, total = rationals(case.weight), sum(rationals(case.weight), fmpq(0))
    in_row, columns, centers, radii = case.matrix.cells(slice(0, len(case.y)))
    table = [rationals(row) for row in case.matrix.center_rows(slice(0, len(case.y)))]
    for i, j, center, radius in zip(in_row, columns, centers, radii, strict=True):
        table[i][j] = rational(center) + rational(side) * rational(radius)
    result = [fmpq(0)] * len(table[0])
    for i in range(len(table)):
        pull = -rational(case.y[i]) * weight[i] / total
        result = [part + pull * cell for part, cell in zip(result, table[i], strict=True)]
    return result


@pytest.mark.parametrize("block", [6, 1 << 17])
@pytest.mark.parametrize("how", ["known", "ranges"])
def test_settled_sums_are_the_sums_of_their_rows_exactly(how, block, monkeypatch):
    monkeypatch.setattr(slices, "BLOCK_CELLS", block)
    for number in range(15):
        rng = np.random.default_rng([2, number])
        case = cancelling(rng, 64)
        solution = replace(train(case.problem, tol=0.1, max_iter=1), w=np.zeros(3))
        points = Points(np.zeros((1, 3)), is_exact=True)  # all scores are 0: every derivative is -y
        table = RowTable.within(case.problem, solution, certificate_of(points if how == "known" else NoBounds()))
        if how == "ranges":
            assert len(table.complete) + len(table.incomplete) == 64
            table = points.ranges(table).without_constant_rows().table
        assert len(table.complete) + len(table.incomplete) == 0
        for side in (-1.0, 0.0, 1.0):
            exact = exact_pull(case, side)
            for middle, radius, value in zip(table.settled.middle, table.settled.radius, exact, strict=True):
                assert abs(value - rational(middle)) <= rational(radius)
        size = np.abs(case.matrix.center_rows(slice(0, 64))).max(axis=0)
        assert (table.settled.radius <= 1e-12 * size).all()


def test_the_product_with_settled_sums_is_rounded_outward():
    """Directions along which the pulls cancel: what a float product loses is more than what is left."""
    rng, d = np.random.default_rng(3), 40
    table = rng.normal(size=(2, d))
    case = Case(
        intervals(table, np.full((2, d), np.nan)), np.ones(2), np.ones(2), LOSSES["hinge"], ElasticNet(1e-9), np.eye(d)
    )
    points = Points(np.zeros((1, d)), is_exact=True)
    solution = replace(train(case.problem, tol=0.1, max_iter=1), w=np.zeros(d))
    rows = RowTable.within(case.problem, solution, certificate_of(points))
    assert not len(rows.complete)
    G = rows.settled.middle
    rows = replace(rows, settled=replace(rows.settled, radius=np.zeros(d)))  # G is exact by definition
    U = rng.normal(size=(300, d))
    U -= np.outer(U @ G, G) / (G @ G)
    # Weights are 0: any direction has the same row sums, and without rows its multipliers are a multiple of it.
    bounds, U = sums_of(points.ranges(rows), U)[:2]
    for u, bound in zip(U, bounds, strict=True):
        assert rational(bound) >= -exact_dot(rationals(u), rationals(G))


def test_a_row_whose_scores_end_at_its_kink_is_not_settled():
    table, radius = np.array([[1.0], [2.0], [-1.0], [0.5]]), np.full((4, 1), np.nan)
    radius[3, 0] = 0.25
    case = Case(intervals(table, radius), np.ones(4), None, LOSSES["hinge"], ElasticNet(1.0), np.ones((1, 1)))
    solution = train(case.problem)
    # The last row is as high as 0.75 w: what its cell may add is that of the greatest weight.
    for ends, n_complete, n_incomplete in (
        ((0.0, 1.0), 2, 0),
        ((0.0, np.nextafter(1.0, 0.0)), 1, 0),
        ((0.0, 0.4), 0, 0),
        ((1.0, 1.2), 1, 0),
        ((0.0, 1.5), 2, 1),
        ((1.4, 1.5), 0, 1),
    ):
        points = Points(np.array(ends)[:, None], is_exact=True)
        for known in (points, NoBounds()):
            ranges = points.ranges(RowTable.within(case.problem, solution, certificate_of(known)))
            left = ranges.without_constant_rows().table
            assert (len(left.complete), len(left.incomplete)) == (n_complete, n_incomplete)


def middle_case(
    seed: int = 0, *, n: int = 80, lam: float = 0.02, kappa: float = 0.0, intercept: bool = False, width: float = 0.3
) -> Case:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 3))
    y = np.where(table @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.06, width, np.nan)
    net = ElasticNet(lam, kappa)
    case = Case(intervals(table, radius), y, None, LOSSES["hinge"], net, rng.normal(size=(4, 3)))
    return with_intercept(case) if intercept else case


@each_intercept
@each_penalty
def test_leaving_settled_rows_out_changes_no_bound_but_for_rounding(penalty, intercept):
    case = middle_case(kappa=0.0 if penalty == "l2" else 0.005, intercept=intercept)
    solution = train(case.problem)
    table = RowTable.within(case.problem, solution, certificate_of(NoBounds()))
    rng, Y = np.random.default_rng(4), np.vstack([case.X_test, -case.X_test])
    for spread in (1e-3, 0.05, 0.2):
        ranges = Points(solution.w + spread * rng.normal(size=(3, len(solution.w)))).ranges(table)
        smaller = ranges.without_constant_rows()
        assert len(smaller.lower) < 0.9 * len(ranges.lower)
        bounds, before = largest_scores(smaller, Y), largest_scores(ranges, Y)
        assert (bounds <= before + 1e-6).all()
        if (
            not intercept
        ):  # with one the multipliers are large where hardly a row bends, and other rounding is other advice
            np.testing.assert_allclose(bounds, before, rtol=1e-8, atol=1e-9)


def test_what_overflowed_settles_nothing():
    """The score of a variant's center is not known, and what its cells add overflows on the other side."""
    table, radius = np.ones((3, 1)), np.full((3, 1), np.nan)
    radius[0, 0] = 1e10
    case = Case(intervals(table, radius), np.ones(3), None, LOSSES["hinge"], ElasticNet(1.0), np.ones((1, 1)))
    solution = replace(train(case.problem), w=np.ones(1))
    rows = RowTable.within(case.problem, solution, certificate_of(NoBounds()))
    is_weight = np.isin(np.arange(len(rows.directions)), rows.weights_at)
    # The centers are the unit vector: one range serves both; it is set apart so that only the row's own is unknown.
    rows = replace(rows, directions=np.array([[1.0], [1.0]]), incomplete_at=np.array([1]))
    assert is_weight.all()
    for score in ((-np.inf, 0.5), (2.0, np.inf), (-np.inf, np.inf)):
        lower, upper = np.array([1e300, score[0]]), np.array([1e305, score[1]])
        ranges = Ranges.of(rows, lower, upper, on_path=False)
        with np.errstate(all="ignore"):
            low, high = ranges.row_scores
            assert not np.isnan(low).any()
            assert not np.isnan(high).any()
            assert (low < 1.0).all()
            assert (high > 1.0).all()
            assert len(ranges.without_constant_rows().table.incomplete) == 1


# --- scores ruled out -------------------------------------------------------------------------------------------------


def test_a_supposition_is_used_for_scores_above_it_alone(monkeypatch):
    """Whatever factors are proposed, the bound holds for all vectors with that score or a higher one."""
    case = middle_case()
    solution = train(case.problem)
    table = RowTable.within(case.problem, solution, certificate_of(NoBounds()))
    for number in range(100):
        rng = np.random.default_rng([5, number])
        W = solution.w + 0.5 * rng.normal(size=(8, 3))
        ranges, t, Y = Points(W).ranges(table), rng.normal(size=3), rng.normal(size=(6, 3))
        score, factor = float(np.median(W @ t)), rng.normal(size=6)
        with pytest.MonkeyPatch.context() as patch:
            plant_function(patch, module, "largest_scores", lambda _, Y, W=W: (Y @ W.T).max(axis=1))
            plant_function(patch, module, "_factors", lambda *_, factor=factor: factor)
            bounds = largest_if_supposed(ranges, Y, SupposedScore(t, score), np.inf)
        above = W[W @ t >= score]
        assert (bounds >= (Y @ above.T).max(axis=1) - 1e-12).all()


def test_what_is_supposed_once_is_forgotten():
    case = middle_case(1, lam=0.1)
    solution = train(case.problem)
    ranges = narrowed(known_ranges(case, solution, "slope"), leaves_out_constant=True)
    before = ranges.lower.copy(), ranges.upper.copy(), ranges.table.settled.middle.copy()
    t = case.X_test[0]
    low, high = (float(end[0]) for end in RowSumBounds(ranges).ends(t[None]))
    assert no_model_at(ranges, SupposedScore(t, high - 0.1 * (high - low)))
    assert no_model_at(ranges, SupposedScore(-t, -low - 0.1 * (high - low)))
    np.testing.assert_array_equal(before[0], ranges.lower)
    np.testing.assert_array_equal(before[1], ranges.upper)
    np.testing.assert_array_equal(before[2], ranges.table.settled.middle)
    for score in (float(t @ solution.w), low):
        assert not no_model_at(ranges, SupposedScore(t, score))


def test_where_no_row_is_near_its_kink_and_nothing_bends_nothing_fails():
    """With an intercept the curvature is flat along it: bounds of other directions are still there."""
    rng = np.random.default_rng(6)
    case = middle_case(intercept=True)
    solution = train(case.problem)
    table = RowTable.within(case.problem, solution, certificate_of(NoBounds()))
    w = np.array([1e-3, -1e-3, 1e-3, 0.0])
    ranges = Points(w + 1e-4 * rng.normal(size=(3, 4))).ranges(table)
    for each in (ranges, ranges.without_constant_rows()):
        assert np.isfinite(largest_scores(each, case.X_test)).all()
        assert no_model_at(each, SupposedScore(case.X_test[0], 100.0))
        no_model_at(each, SupposedScore(case.X_test[0], -100.0))


def test_known_ranges_are_those_of_completions_alone(monkeypatch):
    """What another certificate knows says nothing of the way from w to a completion: no single score is ruled out."""
    case, seen = middle_case(), []
    solution = train(case.problem)

    def recorded(ranges, *args, **kwargs):
        seen.append(ranges)
        return narrowed(ranges, *args, **kwargs)

    plant_function(monkeypatch, bounds_module, "narrowed", recorded)
    assert row_sum_bounds_within(case.problem, solution, CERTIFICATES["slope"](case.problem, solution)) is not None
    assert [ranges.on_path for ranges in seen] == [False]


def test_ranges_that_row_sums_do_not_narrow_serve_to_rule_out_scores(monkeypatch):
    case = middle_case(n=60, lam=0.1, width=0.1)
    solution = train(case.problem)
    plant_function(monkeypatch, bounds_module, "can_be_narrowed", lambda _: False)
    certificate = CERTIFICATES["pointwise"](case.problem, solution)
    found = certificate.part(RowSumBounds)
    assert found in certificate.only_searched
    assert certificate.parts_of(RowSumBounds) == ()
    before = certificate.score_bounds(case.X_test)
    bounds = with_effort(certificate, 0.2).score_bounds(case.X_test, TrainedModel(case.problem, solution))
    assert np.ptp(bounds, axis=1).sum() < 0.95 * np.ptp(before, axis=1).sum()
    for completed in completed_tables(np.random.default_rng(10), case, 4, with_centers=False):
        model = retrain(case, completed)
        assert (bounds[:, 0] <= model.highest).all()
        assert (bounds[:, 1] >= model.lowest).all()
    monkeypatch.setattr(bounds_module, "FEW_DIRECTIONS", 0)
    certificate = CERTIFICATES["pointwise"](case.problem, solution)
    assert certificate.part(RowSumBounds) is None
    assert certificate.refinement is not None
    assert "near the kink" in certificate.note


@pytest.mark.share(2)
@each_intercept
@each_penalty
def test_ruled_out_scores_narrow_bounds_and_no_completion_breaks_them(penalty, intercept):
    case = middle_case(1, lam=0.1, kappa=0.0 if penalty == "l2" else 0.003, intercept=intercept, width=0.2)
    solution = train(case.problem)
    certificate = CERTIFICATES["pointwise"](case.problem, solution)
    found = certificate.part(RowSumBounds)
    assert certificate.note == ""
    assert certificate.refinement is not None
    assert found.path is None
    assert found.searched is found.ranges
    training = TrainedModel(case.problem, solution)
    tight = certificate.score_bounds(case.X_test)
    plain = replace(certificate, parts=tuple(part for part in certificate.parts if part is not found))
    wide = plain.score_bounds(case.X_test)
    narrow = with_effort(certificate, 0.6).score_bounds(case.X_test, training)
    unchanged = with_effort(certificate, 0.0).score_bounds(case.X_test, training)
    np.testing.assert_array_equal(unchanged, tight)
    for outer, inner in ((wide, tight), (tight, narrow)):
        assert (outer[:, 0] <= inner[:, 0]).all()
        assert (outer[:, 1] >= inner[:, 1]).all()
        # Where row sums are for the search alone, they narrow nothing before it.
        if inner is narrow or found in certificate.parts:
            assert np.ptp(inner, axis=1).sum() < np.ptp(outer, axis=1).sum()
    rng = np.random.default_rng(8)
    for completed in completed_tables(rng, case, 8, with_centers=False):
        model = retrain(case, completed[:, :3])
        assert (narrow[:, 0] <= model.highest).all()
        assert (narrow[:, 1] >= model.lowest).all()


# --- long tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss_name", ["hinge", "log_loss"])
def test_a_long_table_is_bounded_by_the_rows_near_their_kink_alone(loss_name):
    rng, n = np.random.default_rng(9), 8000
    table = rng.normal(size=(n, 3))
    y = np.where(table @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.01, 0.05, np.nan)
    loss = LOSSES[loss_name]
    case = Case(intervals(table, radius), y, None, loss, ElasticNet(0.1), rng.normal(size=(4, 3)))
    solution = train(case.problem, tol=1e-10)
    known = CERTIFICATES["slope"](case.problem, solution)
    found = row_sum_bounds_within(case.problem, solution, known)
    if loss.is_smooth:
        assert found is None
        return
    table = found[0].ranges.table
    assert 0 < len(table.complete) + len(table.incomplete) < 1000
    low, high = found[0].ends(case.X_test)
    assert (high - low).sum() < np.ptp(known.score_bounds(case.X_test), axis=1).sum()
    for completed in completed_tables(rng, case, 3, with_centers=False):
        model = train(case.problem_on(type(case.matrix).from_bounds(completed, completed)), tol=1e-9)
        scores = case.X_test @ model.w
        assert (low <= scores + 1e-3).all()
        assert (high >= scores - 1e-3).all()
