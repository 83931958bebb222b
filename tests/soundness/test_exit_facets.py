"""Theorem 15: no path of models leaves ranges whose ends are ruled out one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates import pointwise, with_effort
from ipub.certificates.certificate import TrainedModel
from ipub.certificates.pointwise import _within as within
from ipub.certificates.row_sums import bounds as bounds_module
from ipub.certificates.row_sums import exit_facets as module
from ipub.certificates.row_sums.bounds import NOT_CLOSED
from ipub.certificates.row_sums.exit_facets import ranges_that_no_path_leaves
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.ruled_out_scores import SupposedScore
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import largest_scores
from ipub.data.interval_matrix import IntervalMatrix
from ipub.data.missing_category import Levels, MissingCategories
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.rounding import dot_bounds
from support.attacks import Retrained, derivatives, place, retrain
from support.cases import Case, Generator, intervals, train, with_intercept
from support.row_sums import completed_tables

SMOOTH_NAMES = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)


def draw(rng: Generator, loss_name: str) -> Case:
    """Draw a short table with a few wide cells, perhaps a missing category, and an intercept or not."""
    n, c = int(rng.integers(8, 16)), int(rng.integers(2, 4))
    table = np.column_stack([rng.normal(size=(n, 2)), np.eye(c)[rng.integers(0, c, size=n)]])
    score = table @ rng.normal(size=2 + c) + 0.5 * rng.normal(size=n)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > np.median(score), 1.0, -1.0)
    missing = np.zeros((n, 1), dtype=bool)
    missing[rng.integers(0, n, size=rng.integers(0, 3))] = True
    categories = MissingCategories.of(missing, [Levels(np.arange(2, 2 + c))])
    categories.put(table)
    radius = np.zeros_like(table)
    radius[rng.integers(0, n, size=2), rng.integers(0, 2, size=2)] = 10.0 ** rng.uniform(-1.0, 0.0)
    matrix = replace(IntervalMatrix.from_bounds(table - radius, table + radius), missing_categories=categories)
    penalty = ElasticNet(10.0 ** rng.uniform(-1.5, 0.0), float(rng.choice([0.0, 0.0, 0.01])))
    case = Case(matrix, y, None, LOSSES[loss_name], penalty, rng.normal(size=(2, 2 + c)))
    return with_intercept(case) if rng.random() < 0.5 else case


def ranges_at_w(case: Case) -> Ranges:
    table = RowTable.of(case.problem, train(case.problem))
    return Ranges.of(table, *dot_bounds(table.directions, table.w), on_path=True)


def models(rng: Generator, case: Case, count: int) -> Iterator[Retrained]:
    """Yield models of vertices, of points inside, and of completions that are aimed at one of the rows, both ways."""
    d, missing = case.matrix.shape[1], case.matrix.missing_categories
    for table in completed_tables(rng, case, count, with_centers=False):
        first = retrain(case, table[:, :d])
        yield first
        t = case.X_test[int(rng.integers(len(case.X_test)))]
        for side in (-1.0, 1.0):
            aimed = place(case.matrix, side * np.sign(derivatives(rng, case, table[:, :d], first, t)))
            missing.put(aimed, rng.integers(0, 2, size=len(missing)))
            yield retrain(case, aimed, start=first)


@pytest.fixture
def asked(monkeypatch) -> list[tuple[Ranges, SupposedScore, bool]]:
    """All suppositions that were looked at, and whether they were ruled out."""
    asked, ask = [], module.no_model_at

    def remembered(ranges, supposed, *given):
        asked.append((ranges, supposed, ask(ranges, supposed, *given)))
        return asked[-1][2]

    monkeypatch.setattr(module, "HOPELESS", np.inf)
    monkeypatch.setattr(module, "no_model_at", remembered)
    return asked


@pytest.mark.parametrize("loss_name", SMOOTH_NAMES)
def test_models_are_in_ranges_that_no_path_leaves(loss_name, asked, monkeypatch, report_proofs):
    proofs = 0
    for number in range(3):
        rng = np.random.default_rng([15, number, SMOOTH_NAMES.index(loss_name)])
        monkeypatch.setattr(module, "FIRST_WIDTH", (1.05, 1.2)[number % 2])
        case = draw(rng, loss_name)
        ranges = ranges_that_no_path_leaves(ranges_at_w(case), 1.0)
        if ranges is None:
            continue
        directions = replace(case, X_test=ranges.table.directions)
        for model in models(rng, directions, 2):
            assert (model.highest >= ranges.lower).all()
            assert (model.lowest <= ranges.upper).all()
            proofs += len(directions.X_test)
    assert any(is_ruled_out for _, _, is_ruled_out in asked)
    report_proofs(proofs)


def small_case() -> Case:
    rng = np.random.default_rng(2)
    table = rng.normal(size=(20, 2))
    y = np.where(table @ [1.0, -1.0] + 0.5 * rng.normal(size=20) > 0.0, 1.0, -1.0)
    radius = np.full(table.shape, np.nan)
    radius[:3, 0] = 0.5
    return with_intercept(Case(intervals(table, radius), y, None, LOSSES["log_loss"], ElasticNet(0.02), table[:2]))


def test_every_end_that_row_sums_reach_is_ruled_out_in_the_same_ranges(asked, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WIDTH", 1.5)
    ranges = ranges_that_no_path_leaves(ranges_at_w(small_case()), 60.0)
    Y, of_these = ranges.table.directions, [each for each in asked if each[0] is ranges]
    ruled_out = {(*supposed.t, supposed.score) for _, supposed, is_ruled_out in of_these if is_ruled_out}
    for directions, ends in ((Y, ranges.upper), (-Y, -ranges.lower)):
        is_reached = ~(largest_scores(ranges, directions) < ends)
        assert is_reached.any()
        assert {(*y, end) for y, end in zip(directions[is_reached], ends[is_reached], strict=True)} <= ruled_out
    low, high = dot_bounds(Y, ranges.table.w)
    assert (ranges.lower < low).all()
    assert (ranges.upper > high).all()


def ends_of(ranges: Ranges, directions: np.ndarray) -> np.ndarray:
    """Return the upper ends of the ranges of directions, or of their opposites."""
    Y = ranges.table.directions
    ends = {(*y,): end for y, end in zip(np.vstack([Y, -Y]), [*ranges.upper, *-ranges.lower], strict=True)}
    return np.array([ends[(*y,)] for y in directions])


@pytest.mark.parametrize("at_upper_end", [True, False])
def test_row_sums_that_end_where_a_range_does_are_not_inside(at_upper_end, asked, monkeypatch):
    def planted(ranges, directions):
        first = ranges.table.directions[0] if at_upper_end else -ranges.table.directions[0]
        is_first = (directions == first).all(axis=1)
        return np.where(is_first, ends_of(ranges, directions), directions @ ranges.table.w)

    monkeypatch.setattr(module, "largest_scores", planted)
    ranges_that_no_path_leaves(ranges_at_w(small_case()), 60.0)
    assert asked


def test_an_end_that_resists_is_no_end(monkeypatch):
    monkeypatch.setattr(module, "HOPELESS", np.inf)
    monkeypatch.setattr(module, "FIRST_WIDTH", 1.05)
    monkeypatch.setattr(module, "no_model_at", lambda *_: False)
    monkeypatch.setattr(module, "largest_scores", lambda ranges, Y: 1.2 * ends_of(ranges, Y) - 0.2 * Y @ ranges.table.w)
    assert ranges_that_no_path_leaves(ranges_at_w(small_case()), 5.0) is None


def test_nothing_is_proved_without_models_on_the_path_or_without_time(asked, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WIDTH", 2.5)
    at_w = ranges_at_w(small_case())
    assert ranges_that_no_path_leaves(at_w, 60.0) is not None
    assert ranges_that_no_path_leaves(replace(at_w, table=replace(at_w.table, is_coercive=False)), 60.0) is None
    assert ranges_that_no_path_leaves(at_w, 0.0) is None


def test_pointwise_spends_half_of_its_time_on_ends_where_row_sums_did_not_close(asked, monkeypatch):
    case = small_case()
    solution = train(case.problem)
    monkeypatch.setattr(bounds_module, "_proved_bounds", lambda *_: None)
    monkeypatch.setattr(sys.modules["ipub.certificates.pointwise"], "LEAST_FOR_ENDS", 10.0)
    certificate = replace(pointwise(case.problem, solution), note=NOT_CLOSED)
    model, X = TrainedModel(case.problem, solution), case.X_test
    plain = certificate.score_bounds(X)
    hasty = with_effort(certificate, 1.0).score_bounds(X, model)
    assert not asked
    patient = with_effort(certificate, 5.0).score_bounds(X, model)
    assert asked
    assert (patient[:, 0] >= plain[:, 0]).all()
    assert (patient[:, 1] <= plain[:, 1]).all()
    assert np.ptp(patient, axis=1).sum() <= np.ptp(hasty, axis=1).sum()


def test_bounds_are_cut_down_to_what_both_leave():
    bounds, ends = np.array([[0.0, 1.0], [0.0, 1.0]]), (np.array([0.5, -1.0]), np.array([np.nan, 0.5]))
    np.testing.assert_array_equal(within(bounds, ends), [[0.5, 1.0], [0.0, 0.5]])
