"""Theorem 17: no path of models leaves a tube, whose ranges follow one weight."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates import pointwise
from ipub.certificates.row_sums import tube as module
from ipub.certificates.row_sums import tube_bounds as bounds_module
from ipub.certificates.row_sums import tube_shape as shape_module
from ipub.certificates.row_sums.bounds import NOT_CLOSED
from ipub.certificates.row_sums.bounds import ranges_at_w as at_model
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.ruled_out_scores import narrow_by_ruling_out
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.tube import Reached, Tube
from ipub.certificates.row_sums.tube_bounds import TubeBounds, proved_tube, searched_bounds
from ipub.certificates.row_sums.upper import bound_with
from ipub.data.interval_matrix import IntervalMatrix
from ipub.data.missing_category import Levels, MissingCategories
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.rounding import dot_bounds
from support.attacks import derivatives, place, retrain
from support.cases import Case, Generator, draw_solution, train, with_intercept
from support.exact_proofs import prove
from support.oracles.rationals import exact_dot, rational, rationals
from support.row_sums import (
    NoBounds,
    certificate_of,
    completed_tables,
    directions,
    forces,
    random_choice,
    ranges_over,
    without_tilt,
)
from support.row_sums import draw as draw_any
from support.tiny_cases import tiny_case

SMOOTH_NAMES = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)


def draw(rng: Generator, loss_name: str, *, size: float = 0.3) -> Case:
    """Draw a table with several holes in one column, perhaps a missing category, an l1 penalty, or an intercept."""
    n, c = 16, 2
    table = np.column_stack([rng.normal(size=(n, 2)), np.eye(c)[rng.integers(0, c, size=n)]])
    score = table @ np.array([1.0, -1.0, 0.3, 0.0]) + 0.5 * rng.normal(size=n)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > np.median(score), 1.0, -1.0)
    missing = np.zeros((n, 1), dtype=bool)
    missing[rng.integers(0, n, size=rng.integers(0, 2))] = True
    categories = MissingCategories.of(missing, [Levels(np.arange(2, 2 + c))])
    categories.put(table)
    radius = np.zeros_like(table)
    radius[:4, 0] = size
    matrix = replace(IntervalMatrix.from_bounds(table - radius, table + radius), missing_categories=categories)
    penalty = ElasticNet(0.1, float(rng.choice([0.0, 0.0, 0.01])))
    case = Case(matrix, y, None, LOSSES[loss_name], penalty, rng.normal(size=(3, 2 + c)))
    return with_intercept(case) if rng.random() < 0.5 else case


def simple_case() -> Case:
    return draw(np.random.default_rng([17, 0, SMOOTH_NAMES.index("log_loss")]), "log_loss")


def ranges_at_w(case: Case) -> Ranges:
    return at_model(case.problem, train(case.problem))


@pytest.fixture(scope="module")
def tube() -> Tube:
    found = proved_tube(ranges_at_w(simple_case()), 20.0)
    assert found is not None
    return found


def in_tube(tube: Tube, lowest: np.ndarray, highest: np.ndarray) -> bool:
    """Whether a model, given bounds of its products with all directions, may lie in a tube."""
    own = tube.ranges.table.weights_at[tube.column]
    at = 0.5 * (lowest[own] + highest[own])
    lower, upper = (
        np.array([np.interp(at, tube.knots, of_direction) for of_direction in ends.T])
        for ends in (tube.lower, tube.upper)
    )
    slack = 1e-9 * (1.0 + np.abs(lower) + np.abs(upper))
    is_inside = (highest >= lower - slack) & (lowest <= upper + slack)
    is_inside[own] = tube.knots[0] < highest[own] and lowest[own] < tube.knots[-1]
    return bool(is_inside.all())


@pytest.mark.parametrize("loss_name", SMOOTH_NAMES)
def test_models_are_in_the_tube_and_their_scores_in_its_bounds(loss_name, monkeypatch, report_proofs):
    proofs = 0
    monkeypatch.setattr(shape_module, "MOST_LEFT", 1.1)
    for number in range(4):
        if proofs:
            break
        rng = np.random.default_rng([17, number, SMOOTH_NAMES.index(loss_name)])
        case = draw(rng, loss_name, size=0.15)
        tube = proved_tube(ranges_at_w(case), 20.0)
        if tube is None:
            continue
        low, high = TubeBounds(tube).ends(case.X_test)
        searched = searched_bounds(case.problem, tube).searched
        ends = zip(case.X_test, low.tolist(), high.tolist(), strict=True)
        left = np.array([narrow_by_ruling_out(searched, x, of_tube, 0.05) for x, *of_tube in ends])
        assert (left[:, 0] >= low).all()
        assert (left[:, 1] <= high).all()
        Y, d = tube.ranges.table.directions, case.matrix.shape[1]
        every, missing = replace(case, X_test=np.vstack([case.X_test, Y])), case.matrix.missing_categories
        m = len(case.X_test)
        for table in completed_tables(rng, case, 2, with_centers=False):
            first = retrain(every, table[:, :d])
            aimed = place(case.matrix, np.sign(derivatives(rng, case, table[:, :d], first, case.X_test[0])))
            missing.put(aimed, rng.integers(0, 2, size=len(missing)))
            for model in (first, retrain(every, aimed, start=first)):
                assert (model.highest[:m] >= left[:, 0]).all()
                assert (model.lowest[:m] <= left[:, 1]).all()
                assert (model.highest[m:] >= searched.lower).all()
                assert (model.lowest[m:] <= searched.upper).all()
                assert in_tube(tube, model.lowest[m:], model.highest[m:])
                proofs += len(every.X_test)
    assert proofs
    report_proofs(proofs)


def test_knots_that_do_not_rise_close_nothing(tube, monkeypatch):
    monkeypatch.setattr(Tube, "no_model_at_end", lambda *_: True)
    wide = replace(tube, lower=tube.lower - 1.0, upper=tube.upper + 1.0)
    assert wide.is_closed(inside(wide))
    knots, lower, upper = (np.insert(each, 1, each[0], axis=0) for each in (wide.knots, wide.lower, wide.upper))
    twice = replace(wide, knots=knots, lower=lower, upper=upper)
    assert not twice.is_closed(inside(twice))


@pytest.mark.parametrize("loss_name", ["squared_error", "squared_hinge"])
def test_bounds_over_tubes_hold_exactly_on_tiny_tables(loss_name, monkeypatch, report_proofs):
    monkeypatch.setattr(shape_module, "MOST_LEFT", 1.1)
    closed, proofs = 0, 0
    for number in range(6):
        if closed:
            break
        case = tiny_case(np.random.default_rng([18, number]), "dyadic", loss_name, "l2", 2)

        def in_pieces(problem, solution):
            nonlocal closed
            found = bounds_module.tube_bounds(problem, solution, 5.0)
            closed += found is not None
            return certificate_of(NoBounds() if found is None else found)

        count, failures = prove(case, [train(case.problem)], 1, {"tube": in_pieces})
        assert failures == []
        proofs += count
    assert closed
    report_proofs(proofs)


@pytest.mark.parametrize("loss_name", SMOOTH_NAMES)
def test_row_sums_with_one_line_a_row_hold_for_every_w_and_completion(loss_name):
    count = 0
    for number in range(12):
        rng = np.random.default_rng([19, number, SMOOTH_NAMES.index(loss_name)])
        case = draw_any(rng, number, loss_name, "elastic net" if number % 2 else "l2")
        solution = draw_solution(rng, case, "noisy")
        table = RowTable.of(case.problem, solution)
        if table is None or not len(table.incomplete):
            continue
        w = solution.w
        W = w + (np.abs(w) + 1e-3) * rng.choice([1e-3, 0.3, 2.0]) * rng.normal(size=(3, len(w)))
        Y, ranges = directions(case), replace(ranges_over(without_tilt(table), W), has_common_lines=True)
        with np.errstate(all="ignore"):
            try:
                choice = random_choice(rng, ranges, Y)
            except np.linalg.LinAlgError:
                continue
            bounds = bound_with(ranges, Y, choice)
        for completed in completed_tables(rng, case, 4, with_centers=True):
            F = forces(case, completed, W)
            value = Y @ W.T - choice.u @ F.T
            scale = np.abs(Y) @ np.abs(W).T + np.abs(choice.u) @ np.abs(F).T
            assert (bounds[:, None] >= value - 1e-11 * scale).all(), number
            count += value.size
    assert count > 200


def test_a_piece_holds_the_ranges_at_both_of_its_knots(tube):
    own = tube.ranges.table.weights_at[tube.column]
    others = np.arange(len(tube.factors)) != own
    pieces = list(tube.pieces())
    assert [k for k, _ in pieces] == list(range(len(tube.knots) - 1))
    for k, piece in pieces:
        for knot in (k, k + 1):
            assert (piece.lower <= tube.lower[knot])[others].all()
            assert (piece.upper >= tube.upper[knot])[others].all()
        assert (piece.lower[own], piece.upper[own]) == (tube.knots[k], tube.knots[k + 1])


def test_the_hull_of_a_tube_holds_the_ranges_at_all_knots(tube):
    hull, own = tube.hull(), tube.ranges.table.weights_at[tube.column]
    for k, value in enumerate(tube.knots):
        lower, upper = tube.lower[k].copy(), tube.upper[k].copy()
        lower[own] = upper[own] = value
        assert (hull.lower <= lower).all()
        assert (hull.upper >= upper).all()


def test_what_is_reached_at_a_knot_is_the_larger_of_what_both_pieces_reach(tube, monkeypatch):
    n = len(tube.knots) - 1
    for biggest in range(n):
        pieces = iter(range(n))

        def planted(*_, pieces=pieces, biggest=biggest):
            return np.full((2, 4), 5.0 if next(pieces) == biggest else 1.0)

        monkeypatch.setattr(module, "_largest_at", planted)
        found = tube.reached(tube.ranges.table.directions[:2], np.zeros(2))
        expected = np.ones(n + 1)
        expected[[biggest, biggest + 1]] = 5.0
        np.testing.assert_array_equal(found.upper[:, 0], expected)
        np.testing.assert_array_equal(found.lower[:, 1], -expected)


def test_bounds_at_both_values_of_the_weight_are_exact_but_for_rounding(tube, monkeypatch):
    rng, d, column = np.random.default_rng(4), len(tube.ranges.table.w), tube.column

    def exactly(ranges, moved):
        return np.array([_least_float_above(exact_dot(rationals(y), rationals(w))) for y in moved])

    monkeypatch.setattr(module, "largest_scores", exactly)
    for _ in range(60):
        w = rng.integers(-64, 65, size=d) / 8.0
        piece = tube.ranges.with_ends(*dot_bounds(tube.ranges.table.directions, w))
        Y, factors = rng.normal(size=(6, d)), rng.normal(size=6) * 10.0 ** rng.uniform(-3.0, 8.0)
        bounds = module._largest_at(piece, Y, column, factors, np.array([w[column], w[column]]))
        for y, f, bound in zip(Y, factors, bounds[1], strict=True):
            exact = exact_dot(rationals(y), rationals(w))
            assert rational(bound) >= exact
            size = np.abs(y) @ np.abs(w) + np.abs(f * w[column])
            assert bound <= float(exact.p) / float(exact.q) + 1e-13 * size


def _least_float_above(value) -> float:
    guess = float(value.p) / float(value.q)
    while rational(guess) < value:
        guess = float(np.nextafter(guess, np.inf))
    return guess


def inside(tube: Tube) -> Reached:
    """Return what row sums might reach, strictly inside a tube."""
    middle, half = 0.5 * (tube.lower + tube.upper), 0.5 * (tube.upper - tube.lower)
    return Reached(middle - 0.5 * half, middle + 0.5 * half)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_row_sums_that_end_where_a_tube_does_are_not_inside(tube, side, monkeypatch):
    monkeypatch.setattr(Tube, "no_model_at_end", lambda *_: True)
    wide = replace(tube, lower=tube.lower - 1.0, upper=tube.upper + 1.0)
    found = inside(wide)
    assert wide.is_closed(found)
    other = int(wide.ranges.table.weights_at[tube.column] == 0)
    for knot in (0, -1):
        touching = Reached(found.lower.copy(), found.upper.copy())
        getattr(touching, side)[knot, other] = getattr(wide, side)[knot, other]
        assert not wide.is_closed(touching)


def test_a_tube_that_does_not_hold_w_or_has_no_path_is_not_closed(tube, monkeypatch):
    monkeypatch.setattr(Tube, "no_model_at_end", lambda *_: True)
    wide = replace(tube, lower=tube.lower - 1.0, upper=tube.upper + 1.0)
    assert wide.is_closed(inside(wide))
    table, at = wide.ranges.table, int(np.flatnonzero(wide.knots == wide.ranges.table.w[wide.column])[0])
    other = int(table.weights_at[wide.column] == 0)
    score = float(table.directions[other] @ table.w)
    for low, high in ((score - 2.0, score - 1.0), (score + 1.0, score + 2.0)):
        lower, upper = wide.lower.copy(), wide.upper.copy()
        lower[at, other], upper[at, other] = low, high
        beside = replace(wide, lower=lower, upper=upper)
        assert not beside.is_closed(inside(beside))
    shifted = replace(wide, knots=wide.knots + 1e-3)
    assert not shifted.is_closed(inside(shifted))
    cut = replace(wide, knots=wide.knots[at:], lower=wide.lower[at:], upper=wide.upper[at:])
    assert not cut.is_closed(inside(cut))
    for ranges in (
        replace(wide.ranges, on_path=False),
        replace(wide.ranges, table=replace(table, is_coercive=False)),
    ):
        off = replace(wide, ranges=ranges)
        assert not off.is_closed(inside(off))


def test_both_ends_of_a_tube_are_ruled_out(tube, monkeypatch):
    asked = []

    def remembered(ranges, t, *_):
        own = ranges.table.weights_at[tube.column]
        asked.append((float(ranges.lower[own]), float(ranges.upper[own]), float(t[0, tube.column])))
        return np.array([t[0, tube.column] * ranges.upper[own]])  # at the end itself: not ruled out

    wide = replace(tube, lower=tube.lower - 1.0, upper=tube.upper + 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "largest_scores", remembered)
        assert not wide.no_model_at_end(0, -1)
        assert not wide.no_model_at_end(-1, 1)
    assert asked == [(wide.knots[0], wide.knots[0], -1.0), (wide.knots[-1], wide.knots[-1], 1.0)]
    for closed_end in (-1, 1):
        monkeypatch.setattr(Tube, "no_model_at_end", lambda _, k, side, closed_end=closed_end: side == closed_end)
        assert not wide.is_closed(inside(wide))


def test_nothing_is_proved_without_time_and_pointwise_says_that_it_went_by_pieces(monkeypatch):
    case = simple_case()
    assert proved_tube(ranges_at_w(case), 0.0) is None
    monkeypatch.setattr("ipub.certificates.row_sums.bounds._proved_bounds", lambda *_: None)
    monkeypatch.setattr(sys.modules["ipub.certificates.tight"], "NEARLY_EXACT", 0.0)
    monkeypatch.setattr(sys.modules["ipub.certificates.pointwise"], "NEARLY_EXACT", 0.0)
    found = pointwise(case.problem, train(case.problem))
    assert found.part(TubeBounds) is not None
    assert "in pieces" in found.note
    assert NOT_CLOSED not in found.note
