"""sec-ruled-out: no score that a model gives is ruled out, and a side that is proved is that of all models."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ipub.certificates import CERTIFICATES, Certificate, PointwiseBounds, RowSumBounds, with_effort
from ipub.certificates.per_row import ruled_out_scores as module
from ipub.certificates.per_row.ruled_out_scores import (
    SupposedScore,
    is_on_one_side,
    narrow_by_ruling_out,
    no_model_at,
)
from ipub.certificates.per_row.ruled_out_scores import _largest_if_supposed as largest_if_supposed
from ipub.certificates.row_sums.bounds import row_sum_bounds_within
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.certificate import TrainedModel
from ipub.numeric.rounding import dot_bounds
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.missing_category import Levels, MissingCategories
from support.attacks import Retrained, derivatives, place, retrain
from support.cases import Case, Generator, draw_solution, intervals, train, vary_loss, with_intercept
from support.oracles.rationals import exact_dot, rational, rationals
from support.planted import plant_function
from support.row_sums import completed_tables, row_sum_bounds

SMOOTH_NAMES = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)
MODELS = ("trained", "trained", "noisy", "loose", "scaled")
EFFORT = 0.05

each_smooth_loss = pytest.mark.parametrize("loss_name", SMOOTH_NAMES)


def draw(rng: Generator, loss_name: str) -> Case:
    """Draw a table with intervals, several missing categories in a row, rows that occur twice, weights, some of them 0,
    a class of one row, odd scales, any penalty and an intercept or not."""
    n, d = int(rng.integers(5, 20)), int(rng.integers(1, 4))
    sizes = rng.integers(2, 4, size=rng.integers(0, 3))
    starts = d + np.concatenate([[0], np.cumsum(sizes)])
    of_levels = [np.eye(c)[rng.integers(0, c, size=n)] for c in sizes]
    table = np.concatenate([rng.normal(size=(n, d)), *of_levels], axis=1)
    score = table @ rng.normal(size=table.shape[1]) + 0.5 * rng.normal(size=n)
    is_regression = LOSSES[loss_name].task == "regression"
    y = score if is_regression else np.where(score > np.median(score), 1.0, -1.0)
    if not is_regression and rng.random() < 0.2:
        y = np.where(np.arange(n) == 0, 1.0, -1.0)
    if rng.random() < 0.3:
        table, y = np.vstack([table, table[:3]]), np.append(y, y[:3])
    missing = rng.random((len(y), len(sizes))) < 0.1
    missing_categories = MissingCategories.of(missing, [Levels(np.arange(a, b)) for a, b in pairwise(starts)])
    missing_categories.put(table)
    radius = np.zeros_like(table)
    radius[:, :d] = np.where(rng.random((len(y), d)) < 0.15, 10.0 ** rng.uniform(-2.0, 0.0), 0.0)
    radius[0, 0] = 0.3
    scale = np.ones(table.shape[1])
    scale[:d] = 10.0 ** rng.choice([0.0, 0.0, -6.0, 6.0], size=d)
    bounds = (table - radius) * scale, (table + radius) * scale
    matrix = replace(IntervalMatrix.from_bounds(*bounds), missing_categories=missing_categories)
    weight = rng.choice([0.0, 0.3, 1.0, 5.0], size=len(y)) if rng.random() < 0.3 else np.ones(len(y))
    weight[:3] = 1.0
    penalty = ElasticNet(10.0 ** rng.uniform(-3.0, 0.5), rng.choice([0.0, 0.0, 0.01]))
    X_test = rng.normal(size=(2, len(scale))) * scale
    case = Case(matrix, y, weight, LOSSES[loss_name], penalty, X_test)
    case = vary_loss(rng, case) if rng.random() < 0.3 else case
    return with_intercept(case) if rng.random() < 0.5 else case


def models(rng: Generator, case: Case) -> Iterator[Retrained]:
    """Yield models of vertices, of points inside, and of completions that are aimed at the first test row."""
    d, first = case.matrix.shape[1], None
    for table in completed_tables(rng, case, 4, with_centers=False):
        first = retrain(case, table[:, :d])
        yield first
    missing = case.matrix.missing_categories
    levels = np.zeros(len(missing), dtype=np.intp)
    for side in (-1.0, 1.0):
        effect = derivatives(rng, case, table[:, :d], first, case.X_test[0])
        aimed = place(case.matrix, side * np.sign(effect))
        missing.put(aimed, levels)
        yield retrain(case, aimed, start=first)


@each_smooth_loss
def test_no_score_that_a_model_gives_is_ruled_out(loss_name, report_proofs):
    """Nor a lower one."""
    closed, scores, sides = 0, 0, 0
    for number in range(10):
        rng = np.random.default_rng([0, number, SMOOTH_NAMES.index(loss_name)])
        case = draw(rng, loss_name)
        solution = draw_solution(rng, case, MODELS[number % len(MODELS)])
        found = row_sum_bounds(case.problem, solution)
        if found is None:
            continue
        closed += 1
        retrained = list(models(rng, case))
        lowest, highest = (np.array([getattr(each, end) for each in retrained]) for end in ("lowest", "highest"))
        for k, t in enumerate(case.X_test):
            at_w = float(t @ solution.w)
            first, last = highest[:, k].min(), lowest[:, k].max()
            for share in (-1.0, 0.002, rng.random(), 0.998):
                supposed = SupposedScore(t, first + share * (last - first))
                assert not (supposed.score < last and no_model_at(found.searched, supposed, EFFORT))
                scores += 1
            low, high = narrow_by_ruling_out(found.searched, t, (-np.inf, np.inf), EFFORT)
            assert (low, high) == (-np.inf, np.inf)  # nothing to begin with
            low, high = narrow_by_ruling_out(
                found.searched, t, tuple(end[0] for end in found.ends(t[None])), 2.0 * EFFORT
            )
            assert (low <= highest[:, k]).all()
            assert (high >= lowest[:, k]).all()
            for score in (0.0, first - 0.1 * (last - first), last + 0.1 * (last - first)):
                if is_on_one_side(found.searched, t, score, EFFORT):
                    sides += 1
                    assert (highest[:, k] > score if at_w > score else lowest[:, k] < score).all()
    assert closed >= 1
    assert sides >= 1
    report_proofs(scores + sides)


def simple_case(seed: int = 0, n: int = 40) -> Case:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 3))
    y = np.where(table @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.08, 0.8, np.nan)
    case = Case(intervals(table, radius), y, None, LOSSES["log_loss"], ElasticNet(0.01), rng.normal(size=(3, 3)))
    return with_intercept(case)


def test_ruled_out_scores_narrow_what_row_sums_leave():
    case = simple_case()
    solution = train(case.problem)
    found = row_sum_bounds(case.problem, solution)
    wide = np.column_stack(found.ends(case.X_test))
    narrow = np.array(
        [
            narrow_by_ruling_out(found.searched, t, (low, high), 1.0)
            for t, low, high in zip(case.X_test, *wide.T, strict=True)
        ]
    )
    assert (narrow[:, 0] >= wide[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()
    assert np.ptp(narrow, axis=1).sum() < 0.9 * np.ptp(wide, axis=1).sum()
    assert narrow_by_ruling_out(found.searched, case.X_test[0], tuple(wide[0]), 0.0) == tuple(wide[0])


def test_only_scores_strictly_beyond_what_is_known_are_ruled_out(monkeypatch):
    case = simple_case()
    ranges = row_sum_bounds(case.problem, train(case.problem)).searched
    t = case.X_test[0]
    known = {}
    plant_function(monkeypatch, module, "_largest_if_supposed", lambda _, Y, *__: np.full(len(Y), np.inf))
    plant_function(
        monkeypatch,
        module,
        "largest_scores",
        lambda _, Y: np.array([known["upper"] if np.array_equal(y, t) else -known["lower"] for y in Y]),
    )
    known.update(lower=0.25, upper=0.5)
    for score in (0.25, 0.3, 0.5):
        assert not no_model_at(ranges, SupposedScore(t, score))
    assert no_model_at(ranges, SupposedScore(t, np.nextafter(0.5, 1.0)))
    assert not no_model_at(ranges, SupposedScore(t, np.nextafter(0.25, 0.0)))  # higher ones are supposed as well


@pytest.mark.parametrize("beyond", [0.0, 1e-9])
def test_ranges_that_are_points_are_not_empty(beyond, monkeypatch):
    case = simple_case()
    path = row_sum_bounds(case.problem, train(case.problem)).searched
    middle = 0.5 * (path.lower + path.upper)
    ranges = path.with_ends(middle, middle)
    Y, n = ranges.table.directions, len(middle)
    assert len(np.unique(Y, axis=0)) == n
    ends = {y.tobytes(): value for y, value in zip(Y + 0.0, middle, strict=True)}

    def at_the_point(_, Y, *__):
        values = [ends.get((y + 0.0).tobytes(), -ends.get((-y + 0.0).tobytes(), np.nan)) for y in Y]
        return np.array(values) - beyond

    plant_function(monkeypatch, module, "_largest_if_supposed", at_the_point)
    plant_function(monkeypatch, module, "largest_scores", lambda _, Y: np.full(len(Y), np.inf))
    assert no_model_at(ranges, SupposedScore(case.X_test[0], 0.0)) == (beyond > 0.0)


def test_a_supposed_score_is_used_exactly(monkeypatch):
    """With one model w, whose scores are known exactly, the bound is its score but for rounding."""
    rng, count = np.random.default_rng(1), 0
    case = simple_case()
    table = RowTable.of(case.problem, train(case.problem))
    for number in range(200):
        # Few bits, so that t.w is a float.
        t, w = (rng.integers(-64, 65, size=4) / 8.0 for _ in range(2))
        at_w = dot_bounds(table.directions, w)
        ranges = Ranges.of(table, np.minimum(at_w[0], 0.0), np.maximum(at_w[1], 0.0), on_path=True)
        Y, factor = rng.normal(size=(6, 4)), rng.normal(size=6) * 10.0 ** rng.uniform(-3.0, 8.0)
        score = float(t @ w)
        assert exact_dot(rationals(t), rationals(w)) == rational(score)

        def exactly(_, moved, w=w):
            return np.array([_least_float_above(exact_dot(rationals(y), rationals(w))) for y in moved])

        with pytest.MonkeyPatch.context() as patch:
            plant_function(patch, module, "largest_scores", exactly)
            plant_function(patch, module, "_factors", lambda *_, factor=factor: factor)
            bounds = largest_if_supposed(ranges, Y, SupposedScore(t, score), np.inf)
        for y, bound in zip(Y, bounds, strict=True):
            exact = exact_dot(rationals(y), rationals(w))
            size = float(np.abs(y) @ np.abs(w) + np.abs(factor).max() * np.abs(t) @ np.abs(w))
            assert rational(bound) >= exact, number
            assert bound <= float(exact.p) / float(exact.q) + 1e-13 * size
            count += 1
    assert count == 1200


def _least_float_above(value) -> float:
    guess = float(value.p) / float(value.q)
    while rational(guess) < value:
        guess = float(np.nextafter(guess, np.inf))
    return guess


def test_the_side_is_known_only_where_w_is_clearly_on_it(monkeypatch):
    case = simple_case()
    found = row_sum_bounds(case.problem, train(case.problem))
    t, w = case.X_test[0], found.searched.table.w
    plant_function(monkeypatch, module, "no_model_at", lambda *_: True)
    (low,), (high,) = dot_bounds(t[None], w)
    for score in (low, float(t @ w), high):
        assert not is_on_one_side(found.searched, t, score)
    assert is_on_one_side(found.searched, t, np.nextafter(high, np.inf))
    assert is_on_one_side(found.searched, t, np.nextafter(low, -np.inf))


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_bound_is_moved_only_to_scores_that_were_ruled_out(side, monkeypatch):
    case = simple_case()
    path = row_sum_bounds(case.problem, train(case.problem)).searched
    t = case.X_test[0]
    at_w, asked = float(t @ path.table.w), []
    attained = at_w + side * 10.0

    def beyond_what_is_attained(ranges, directions, supposed, *_):
        score = supposed.score if np.array_equal(supposed.t, t) else -supposed.score
        asked.append(score)
        is_beyond = side * score > side * attained
        return module._Narrowed(ranges, directions, -np.inf if is_beyond else np.inf, is_cut_short=False)

    plant_function(monkeypatch, module, "_narrowed_under", beyond_what_is_attained)
    low, high = narrow_by_ruling_out(path, t, (at_w - 40.0, at_w + 40.0), 1.0)
    moved, other = (high, low) if side > 0.0 else (low, high)
    assert side * attained < side * moved < side * attained + 2.0
    assert moved in asked
    assert other == at_w - side * 40.0


def test_bounds_next_to_each_other_are_left(monkeypatch):
    """No float is between them, so there is no score to try."""
    case = simple_case()
    path = row_sum_bounds(case.problem, train(case.problem)).searched
    plant_function(monkeypatch, module, "_narrowed_under", lambda *_: pytest.fail("a score was tried"))
    nothing = module.first_order_effects(path.table, np.zeros((1, 4)))
    plant_function(monkeypatch, module, "first_order_effects", lambda *_: nothing)
    (low,), (high,) = dot_bounds(case.X_test[:1], path.table.w)
    ends = float(np.nextafter(low, -np.inf)), float(np.nextafter(high, np.inf))
    assert narrow_by_ruling_out(path, case.X_test[0], ends, np.inf) == ends


# --- whose ranges -----------------------------------------------------------------------------------------------------


def choices_case() -> Case:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=12), np.eye(2)[np.tile([0, 1], 6)]])
    missing = np.zeros((12, 1), dtype=bool)
    missing[0] = True
    missing_categories = MissingCategories.of(missing, [Levels(np.array([1, 2]))])
    missing_categories.put(table)
    matrix = replace(IntervalMatrix.from_bounds(table, table), missing_categories=missing_categories)
    y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    return Case(matrix, y, None, LOSSES["log_loss"], ElasticNet(0.1), rng.normal(size=(2, 3)))


def test_scores_are_ruled_out_over_ranges_of_completions_alone(monkeypatch):
    """They need not hold w, nor the center of a missing category, and are narrower."""
    case = choices_case()
    solution = train(case.problem)
    certificate = with_effort(CERTIFICATES["pointwise"](case.problem, solution), 1.0)
    row_sums = certificate.part(RowSumBounds)
    if row_sums is None:  # slopes are nearly exact here
        row_sums = row_sum_bounds(case.problem, solution)
        certificate = replace(certificate, parts=(*certificate.parts, row_sums))
    assert len(row_sums.path.variants.row) == len(row_sums.ranges.variants.row) + 1
    assert row_sums.searched is row_sums.ranges
    seen = []

    def recorded(ranges, _, bounds, __):
        seen.append(ranges)
        return bounds

    plant_function(monkeypatch, module, "narrow_by_ruling_out", recorded)
    part = PointwiseBounds()
    bounds = certificate.score_bounds(case.X_test)
    part.prepared(certificate, TrainedModel(case.problem, solution)).narrowed(case.X_test, bounds)
    assert [ranges is row_sums.ranges for ranges in seen] == [True, True]


def test_the_ranges_of_a_path_hold_w_and_all_models():
    for number in range(10):
        rng = np.random.default_rng([3, number])
        case = draw(rng, "log_loss")
        solution = draw_solution(rng, case, MODELS[number % len(MODELS)])
        found = row_sum_bounds(case.problem, solution)
        if found is None:
            continue
        low, high = dot_bounds(found.path.table.directions, solution.w)
        assert (found.path.lower < high).all()
        assert (found.path.upper > low).all()
        for table in completed_tables(rng, case, 3, with_centers=True):
            model = retrain(replace(case, X_test=found.path.table.directions), table[:, : case.matrix.shape[1]])
            assert (found.path.lower <= model.highest).all()
            assert (found.path.upper >= model.lowest).all()


def test_known_ranges_of_smooth_losses_rule_out_no_scores(monkeypatch):
    """They are so wide that it would be work for nothing."""
    case = simple_case()
    solution = train(case.problem)
    known = CERTIFICATES["ball"](case.problem, solution)
    within = row_sum_bounds_within(case.problem, solution, known)
    assert within is not None
    assert within[0].path is None
    certificate = Certificate("pointwise", (*known.parts, within[0]), solution.gap)
    plant_function(monkeypatch, module, "narrow_by_ruling_out", lambda *_: pytest.fail("a score was ruled out"))
    bounds = certificate.score_bounds(case.X_test)
    prepared = PointwiseBounds().prepared(certificate, TrainedModel(case.problem, solution))
    prepared.narrowed(case.X_test, bounds)


def test_a_flat_objective_at_w_is_no_error():
    """All rows in the linear part of their loss: nothing bends along the intercept."""
    table, radius = np.array([[1.0], [-1.0], [0.5], [-0.5]]), np.full((4, 1), np.nan)
    radius[0, 0] = 0.1
    y = np.array([5.0, -5.0, 5.0, -5.0])
    case = Case(intervals(table, radius), y, None, LOSSES["huber"], ElasticNet(1.0), np.array([[1.0], [0.2]]))
    case = with_intercept(case)
    solution = train(case.problem)
    problem_table = RowTable.of(case.problem, replace(solution, w=np.zeros(2)))
    ends = dot_bounds(problem_table.directions, np.zeros(2))
    ranges = Ranges.of(problem_table, ends[0] - 0.1, ends[1] + 0.1, on_path=True)
    assert np.isfinite(ranges.inverse).all()
    with np.errstate(all="ignore"):
        # The models of completions are elsewhere: w is none of them.
        assert no_model_at(ranges, SupposedScore(case.X_test[0], 0.05), EFFORT)


def test_what_could_not_be_ruled_out_bounds_the_score_as_well(monkeypatch):
    """Under the supposition the score is at most so high, and without it lower than supposed."""
    case = simple_case()
    ranges = row_sum_bounds(case.problem, train(case.problem)).searched
    t = case.X_test[0]
    at_w = float(t @ ranges.table.w)

    def not_above(highest):
        return lambda ranges, directions, *_: module._Narrowed(ranges, directions, at_w + highest, is_cut_short=True)

    for highest, bound in ((30.0, 30.0), (50.0, 40.0)):
        plant_function(monkeypatch, module, "_narrowed_under", not_above(highest))
        assert narrow_by_ruling_out(ranges, t, (at_w, at_w + 40.0), 1.0) == (at_w, at_w + bound)


@pytest.mark.parametrize("effort", [0.001, 0.02, 1.0])
def test_the_same_work_gives_the_same_bits_however_long_it_takes(effort, monkeypatch):
    case = simple_case()
    found = row_sum_bounds(case.problem, train(case.problem))
    ends = [tuple(end[0] for end in found.ends(t[None])) for t in case.X_test]
    first = [narrow_by_ruling_out(found.searched, t, *pair, effort) for t, *pair in zip(case.X_test, ends, strict=True)]
    again = row_sum_bounds(case.problem, train(case.problem)).searched
    plain = module.largest_scores

    def slow(ranges, Y):
        time.sleep(0.002)
        return plain(ranges, Y)

    plant_function(monkeypatch, module, "largest_scores", slow)
    assert [narrow_by_ruling_out(again, t, *pair, effort) for t, *pair in zip(case.X_test, ends, strict=True)] == first
