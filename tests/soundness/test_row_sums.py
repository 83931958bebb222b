"""Row sums (sec-row-sums): they hold for every w in the ranges, ranges prove themselves, and no model leaves them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx

from ipub.certificates.row_sums import bounds as bounds_module
from ipub.certificates.row_sums import prove as prove_module
from ipub.certificates.row_sums.prove import prove_ranges
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import largest_scores
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import dot_bounds
from support.attacks import Tally, attack
from support.cases import FAMILIES, MODELS, Case, draw_case, draw_solution, intervals, train, vary_loss, with_intercept
from support.exact_proofs import prove
from support.planted import plant_function
from support.row_sums import (
    RowSums,
    completed_tables,
    directions,
    draw,
    exact_force,
    exact_score,
    forces,
    point_case,
    random_sums,
    ranges_over,
    row_sum_bounds,
    sums_of,
    without_tilt,
)
from support.tiny_cases import TABLES, tiny_case, tiny_choices

LOSS_NAMES = tuple(LOSSES)
SMOOTH_NAMES = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)

each_loss = pytest.mark.parametrize("loss_name", LOSS_NAMES)
each_smooth_loss = pytest.mark.parametrize("loss_name", SMOOTH_NAMES)
each_penalty = pytest.mark.parametrize("penalty", ["l2", "elastic net"])
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])


def row_table(case: Case, solution) -> RowTable | None:
    table = RowTable.of(case.problem, solution)
    return table if table is not None and len(table.incomplete) else None


# --- thm-row-sums -----------------------------------------------------------------------------------------------------


def wrong_row_sums(seed: int, loss_name: str, penalty: str, problems: int) -> tuple[int, list[str]]:
    """Compare row sums with ``y.w - u.F`` for vectors w that span the ranges, and completions; any multipliers."""
    count, wrong = 0, []
    for number in range(problems):
        rng = np.random.default_rng([seed, number, LOSS_NAMES.index(loss_name), len(penalty)])
        case = draw(rng, number, loss_name, penalty)
        solution = draw_solution(rng, case, str(rng.choice(["trained", "noisy", "zero", "scaled"])))
        table = row_table(case, solution)
        if table is None:
            continue
        w, spread = solution.w, rng.choice([0.0, 1e-8, 1e-3, 0.1, 1.0, 3.0])
        size = spread * (np.abs(w) + 1e-3 * (np.abs(w).max() or 1.0))
        W = w + size * rng.normal(size=(rng.integers(1, 4), len(w)))
        Y, ranges = directions(case), ranges_over(without_tilt(table), W)
        bounds, u = random_sums(rng, ranges, Y)[:2]
        for completed in completed_tables(rng, case, 6, with_centers=True):
            F = forces(case, completed, W)
            value = Y @ W.T - u @ F.T
            scale = np.abs(Y) @ np.abs(W).T + np.abs(u) @ np.abs(F).T
            count += value.size
            if not (bounds[:, None] >= value - 1e-11 * scale).all():
                wrong.append(f"problem {number}: {bounds} but {value.max(axis=1)}; {case!r}")
    return count, wrong


@each_penalty
@each_loss
def test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen(loss_name, penalty):
    with np.errstate(all="ignore"):
        count, wrong = wrong_row_sums(0, loss_name, penalty, problems=30)
    assert wrong == []
    assert count > 2000


@each_penalty
@each_smooth_loss
def test_row_sums_at_a_point_are_exact_but_for_rounding(loss_name, penalty, report_proofs):
    """With point ranges and no width the bound is what rounding left: a unit that is not counted shows."""
    count = 0
    for number in range(10):
        rng = np.random.default_rng([1, number, LOSS_NAMES.index(loss_name), len(penalty)])
        case = point_case(rng, number, loss_name, penalty)
        solution = draw_solution(rng, case, "noisy")
        table = row_table(case, solution)
        assert table is not None
        Y, ranges = directions(case), ranges_over(without_tilt(table), solution.w[None])
        with np.errstate(all="ignore"):
            bounds, U = random_sums(rng, ranges, Y)[:2]
        with ctx.workprec(300):
            F = exact_force(case, case.extended(case.matrix.center_rows(slice(0, len(case.y)))), solution.w)
            for y, u, bound in zip(Y, U, bounds, strict=True):
                exact = exact_score(y, solution.w)
                for part, value in zip(F, u.tolist(), strict=True):
                    exact -= part * arb(value)
                assert arb(bound) >= exact
                count += 1
    assert count > 0
    report_proofs(count)


@each_penalty
@each_smooth_loss
def test_the_centers_gradient_is_bounded_exactly(loss_name, penalty):
    for number in range(12):
        rng = np.random.default_rng([2, number, LOSS_NAMES.index(loss_name), len(penalty)])
        case = point_case(rng, number, loss_name, penalty)
        model = ("trained", "noisy", "zero", "one step")[number % 4]
        solution = draw_solution(rng, case, model)
        table = RowTable.of(case.problem, solution)
        with ctx.workprec(300):
            F = exact_force(case, case.extended(case.matrix.center_rows(slice(0, len(case.y)))), solution.w)
            for j, part in enumerate(F):
                # Where a weight is zero the subgradient is the one that leaves the least.
                rest = arb.max(abs(part) - case.penalty.kappa, arb(0)) if solution.w[j] == 0.0 else abs(part)
                is_free = case.penalty.n_free and j == len(solution.w) - 1
                assert arb(table.gradient_upper[j]) >= (abs(part) if is_free else rest)


@each_penalty
def test_the_tilted_center_is_covered_for_any_model(penalty):
    """At the start of the way w' is the model, however badly it was trained."""
    for number in range(60):
        rng = np.random.default_rng([3, number, len(penalty)])
        case = draw(rng, number, LOSS_NAMES[number % len(LOSS_NAMES)], penalty)
        solution = draw_solution(rng, case, str(rng.choice(["noisy", "scaled", "garbage", "loose"])))
        table = row_table(case, solution)
        if table is None:
            continue
        with np.errstate(all="ignore"):
            ranges = ranges_over(table, solution.w[None])
            bounds = largest_scores(ranges, directions(case))
            assert (
                bounds >= directions(case) @ solution.w - 1e-12 * np.abs(directions(case)) @ np.abs(solution.w)
            ).all()


def test_the_tilt_is_no_more_than_the_gradient():
    rng = np.random.default_rng(4)
    case = draw_case(rng, "plain", "log_loss", "l2")
    solution = train(case.problem)
    table = row_table(case, replace(solution, w=solution.w + 0.3))
    Y = directions(case)
    ranges = ranges_over(table, table.w[None])
    untilted = sums_of(replace(ranges, table=without_tilt(table)), Y)
    found = sums_of(ranges, Y)
    np.testing.assert_array_equal(found.u, untilted.u)
    np.testing.assert_allclose(found.bound - untilted.bound, np.abs(found.u) @ table.gradient_upper, rtol=1e-9)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_known_bounds_nothing(value):
    at_w = at_w_of(simple_case())
    with np.errstate(all="ignore"):
        unknown = at_w.with_ends(np.full_like(at_w.lower, -value), np.full_like(at_w.upper, value))
        assert (largest_scores(unknown, np.eye(4)) == np.inf).all()
        for k in range(len(at_w.lower)):  # each enters by itself, as a row or as a weight
            lower, upper = at_w.lower.copy(), at_w.upper.copy()
            upper[k] = value
            assert (largest_scores(at_w.with_ends(lower, upper), np.eye(4)) == np.inf).all()
            lower[k], upper[k] = -value, at_w.upper[k]
            assert (largest_scores(at_w.with_ends(lower, upper), np.eye(4)) == np.inf).all()


@pytest.mark.parametrize("heavy", ["complete", "incomplete"])
def test_products_that_cancel_are_rounded_outward(heavy):
    """At w = 0 scores are exact and no multiplier counts; ``x.u`` is next to nothing but for what it loses."""
    rng, d = np.random.default_rng(13), 40
    table, radius = rng.normal(size=(2, d)), np.full((2, d), np.nan)
    radius[1, 0] = 1e-300
    weight = np.array([1.0, 1e-9] if heavy == "complete" else [1e-9, 1.0])
    case = Case(intervals(table, radius), np.ones(2), weight, LOSSES["squared_error"], ElasticNet(1e-9), np.eye(d))
    solution = replace(train(case.problem), w=np.zeros(d))
    ranges = ranges_over(without_tilt(row_table(case, solution)), solution.w[None])
    U = rng.normal(size=(300, d))
    basis = np.linalg.qr(table.T)[0]
    U -= (U @ basis) @ basis.T
    # Weights are 0, so that any direction has the same row sums; those across the rows have multipliers across them.
    bounds, U = sums_of(ranges, U)[:2]
    assert np.abs(U @ table[weight == 1.0].T).max() < 1e-13 * np.abs(U).max()
    with ctx.workprec(300):
        F = exact_force(case, table, solution.w)
        for u, bound in zip(U.tolist(), bounds, strict=True):
            assert arb(bound) >= -sum((part * arb(value) for part, value in zip(F, u, strict=True)), arb(0))


# --- thm-ranges -------------------------------------------------------------------------------------------------------


def simple_case(loss_name: str = "log_loss", seed: int = 0, intercept: bool = True) -> Case:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(40, 3))
    score = table @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=40)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.06, 0.5, np.nan)
    case = Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(0.05), rng.normal(size=(3, 3)))
    return with_intercept(case) if intercept else case


def at_w_of(case: Case) -> Ranges:
    solution = train(case.problem)
    table = RowTable.of(case.problem, solution)
    return Ranges.of(table, *dot_bounds(table.directions, solution.w), on_path=True)


@pytest.mark.parametrize(("inward", "closes"), [(1e-9, True), (0.0, False), (-1e-9, False)])
def test_ranges_are_proved_only_if_row_sums_are_strictly_inside(inward, closes, monkeypatch):
    at_w = at_w_of(simple_case())

    def bounds_at_the_ends(ranges, Y):
        return ends_of(ranges, Y) - inward

    plant_function(monkeypatch, prove_module, "largest_scores", bounds_at_the_ends)
    assert (prove_ranges(at_w).found is not None) == closes


def ends_of(ranges: Ranges, Y: np.ndarray) -> np.ndarray:
    """Return the ends of the ranges of some directions, or of their opposites."""
    known = {(-y + 0.0).tobytes(): -low for y, low in zip(ranges.table.directions, ranges.lower, strict=True)}
    known |= {(y + 0.0).tobytes(): high for y, high in zip(ranges.table.directions, ranges.upper, strict=True)}
    return np.array([known[(y + 0.0).tobytes()] for y in Y])


@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 0.9])
def test_every_range_must_close(place, monkeypatch):
    at_w = at_w_of(simple_case())
    honest = prove_module.largest_scores
    plant_function(monkeypatch, prove_module, "_sampled_ratio", lambda *_: 0.0)

    def one_outside(ranges, Y):
        bounds, k = honest(ranges, Y), int(place * len(Y))
        bounds[k] = ends_of(ranges, Y[k : k + 1])[0]
        return bounds

    assert prove_ranges(at_w).found is not None
    plant_function(monkeypatch, prove_module, "largest_scores", one_outside)
    assert prove_ranges(at_w).found is None


def test_proved_ranges_hold_w_and_only_shrink():
    at_w = at_w_of(simple_case())
    ranges = prove_ranges(at_w).found.ranges
    narrower = prove_module.narrowed(ranges)
    for each in (ranges, narrower):
        assert (each.lower < at_w.lower).all()
        assert (each.upper > at_w.upper).all()
    assert (narrower.lower >= ranges.lower).all()
    assert (narrower.upper <= ranges.upper).all()


def test_an_objective_without_a_minimiser_proves_nothing():
    case = simple_case()
    # Far out there is next to no gradient either.
    for label, b in ((1.0, 0.0), (1.0, 50.0), (-1.0, 0.0), (-1.0, -50.0)):
        one_class = replace(case, y=np.full_like(case.y, label))
        solution = replace(train(case.problem), w=np.array([0.0, 0.0, 0.0, b]))
        assert row_sum_bounds(one_class.problem, solution) is None
    assert row_sum_bounds(case.problem, train(case.problem)) is not None


@pytest.mark.parametrize("end", [0, 1])
def test_ranges_without_an_end_prove_nothing(end, monkeypatch):
    """They are no bounded set: objectives might have no minimiser in it (lem-no-exit)."""
    at_w, around = at_w_of(simple_case()), prove_module.around

    def without_an_end(*args):
        ends = around(*args)
        ends[end][-1] = (-np.inf, np.inf)[end]
        return ends

    assert prove_ranges(at_w).found is not None
    monkeypatch.setattr(prove_module, "around", without_an_end)
    assert prove_ranges(at_w).found is None


def test_the_center_of_a_missing_category_is_an_option_until_the_ranges_are_proved(monkeypatch):
    """It is the mean of levels and no level: row sums over the levels alone do not cover the start of the way."""
    rng = np.random.default_rng(5)
    case = tiny_choices(rng, "log_loss", "l2", gentle=False)
    assert len(case.matrix.missing_categories)
    seen = []

    def recorded(at_w, width):
        seen.append(at_w)
        return prove_ranges(at_w, width)

    plant_function(monkeypatch, bounds_module, "prove_ranges", recorded)
    found = row_sum_bounds(case.problem, train(case.problem))
    (at_w,) = seen
    n_missing_rows = len(np.unique(case.matrix.missing_categories.rows))
    assert found is not None
    assert len(at_w.variants.row) == len(found.ranges.variants.row) + n_missing_rows


@pytest.mark.parametrize("with_centers", [False, True])
def test_levels_alone_do_not_cover_the_center(with_centers):
    violated = 0
    for number in range(40):
        rng = np.random.default_rng([6, number])
        case = tiny_choices(rng, "squared_error", "l2", gentle=False)
        solution = train(case.problem)
        W = solution.w + 0.1 * rng.normal(size=(2, len(solution.w)))
        Y = directions(case)
        ranges = ranges_over(without_tilt(row_table(case, solution)), W, with_centers=with_centers)
        found = sums_of(ranges, Y)
        F = forces(case, case.matrix.center_rows(slice(0, len(case.y))), W)
        violated += (found.bound[:, None] < Y @ W.T - found.u @ F.T - 1e-9).any()
    assert (violated == 0) == with_centers


# --- the bounds -------------------------------------------------------------------------------------------------------


@pytest.mark.share(2)
@each_penalty
@each_loss
def test_bounds_hold_at_every_vertex_and_inside_exactly(loss_name, penalty, report_proofs):
    row_sums, count = RowSums(), 0
    for number in range(6):
        rng = np.random.default_rng([7, number, LOSS_NAMES.index(loss_name), len(penalty)])
        cells = 1 + number % 3
        case = vary_loss(rng, tiny_case(rng, TABLES[number % len(TABLES)], loss_name, penalty, cells))
        case = replace(case, penalty=replace(case.penalty, lam=10.0 ** rng.uniform(-4.0, 0.5)))
        case = with_intercept(case) if number % 2 else case
        solutions = [train(case.problem), draw_solution(rng, case, str(rng.choice(MODELS)))]
        with np.errstate(all="ignore"):
            made, failures = prove(case, solutions, {1: 5, 2: 1, 3: 0}[cells], {"row sums": row_sums})
        assert failures == []
        count += made
    assert row_sums.closed > 0 or not LOSSES[loss_name].is_smooth  # a jump has no row sums
    report_proofs(count)


@pytest.mark.share(2)
@each_penalty
@each_loss
def test_bounds_hold_for_every_level_exactly(loss_name, penalty, report_proofs):
    row_sums, count = RowSums(), 0
    for number in range(4):
        rng = np.random.default_rng([8, number, LOSS_NAMES.index(loss_name), len(penalty)])
        case = vary_loss(rng, tiny_choices(rng, loss_name, penalty, gentle=number % 2 == 0))
        case = with_intercept(case) if number > 1 else case
        made, failures = prove(case, [train(case.problem)], 1, {"row sums": row_sums})
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_completion_breaks_a_bound(family, report_attack):
    row_sums, tally = RowSums(), Tally()
    which = list(FAMILIES).index(family)
    for number, loss_name in list(enumerate(LOSS_NAMES))[which % 2 :: 2]:
        rng = np.random.default_rng([9, number, which])
        case = vary_loss(rng, draw_case(rng, family, loss_name, "elastic net" if number % 3 == 2 else "l2"))
        case = with_intercept(case) if rng.random() < 0.5 else case
        solution = draw_solution(rng, case, str(rng.choice(["trained", "trained", "noisy", "loose", "scaled"])))
        with np.errstate(all="ignore"):
            attack(rng, case, solution, tally, rounds=1, certificates={"row sums": row_sums})
    report_attack(tally)
    assert tally.violations == []


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 0.3, 3.0])
@pytest.mark.parametrize("loss_name", ["log_loss", "squared_error", "smoothed_hinge"])
def test_no_completion_breaks_a_bound_at_any_penalty(loss_name, alpha, report_attack):
    row_sums, tally, rng = RowSums(), Tally(), np.random.default_rng(10)
    case = simple_case(loss_name, seed=11)
    # Rows that occur twice, weights, and a row without weight.
    matrix = intervals(np.vstack([case.matrix.center_rows(slice(0, 40))] * 2), np.vstack([radii_of(case)] * 2))
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], size=80)
    case = replace(case, matrix=matrix, y=np.tile(case.y, 2), weight=weight, penalty=replace(case.penalty, lam=alpha))
    attack(rng, case, train(case.problem), tally, rounds=2, certificates={"row sums": row_sums})
    report_attack(tally)
    assert tally.violations == []
    assert row_sums.closed == 1 or alpha < 0.1


def radii_of(case: Case) -> np.ndarray:
    radius = np.full(case.matrix.shape, np.nan)
    in_row, columns, _, radii = case.matrix.cells(slice(0, len(radius)))
    radius[in_row, columns] = radii
    return radius


@each_intercept
@each_loss
def test_tables_at_the_edge_are_bounded_or_left_alone(loss_name, intercept):
    """Only incomplete rows; one column; no hole; a hinge at its kinks."""
    rng = np.random.default_rng([12, LOSS_NAMES.index(loss_name)])
    for shape, share in (((5, 2), 1.0), ((6, 1), 0.5), ((1, 1), 1.0), ((7, 3), 0.0)):
        table = rng.normal(size=shape)
        radius = np.where(rng.random(shape) < share, 0.1, np.nan)
        y = rng.choice([-1.0, 1.0], size=shape[0])
        X_test = rng.normal(size=(2, shape[1]))
        case = Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(0.5), X_test)
        case = with_intercept(case) if intercept and shape[0] > 1 else case
        with np.errstate(all="ignore"):
            solution = train(case.problem)
            bounds = row_sum_bounds(case.problem, solution)
            assert share > 0.0 or bounds is None
            if case.matrix.n_uncertain <= 4:
                assert prove(case, [solution], 0, {"row sums": RowSums()})[1] == []
