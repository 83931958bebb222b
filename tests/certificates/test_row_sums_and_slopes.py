"""Slopes over the moves that row sums leave: what is kept where training rows are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates import RowSumBounds, SlopeBounds, certify_pointwise, certify_tight
from ipub.certificates.row_sums import prove as prove_module
from ipub.certificates.row_sums import table as table_module
from ipub.certificates.row_sums.ranges import COARSE
from ipub.certificates.row_sums.upper import largest_scores
from ipub.certificates.slopes.attempt import slope_bounds_within
from ipub.certificates.slopes.linearization import linearize
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.base import NOT_CLOSED, Outcome, Reason
from ipub.model_sets.move_sets import KnownRows
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows import Block
from support.cases import Case, intervals, train
from support.planted import plant
from support.row_sums import row_sum_bounds

WITHOUT_WEIGHT = np.arange(0, 40, 4)


def simple_case(loss_name: str, *, is_cut: bool) -> Case:
    """A table in which every fourth row has no weight, some of them with uncertain cells; or that without these."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 3))
    score = table @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=40)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.06, 0.5, np.nan)
    radius[4, 1] = 0.5
    weight = np.where(np.isin(np.arange(40), WITHOUT_WEIGHT), 0.0, 1.0)
    keep = weight > 0.0 if is_cut else np.full(40, True)
    matrix = intervals(table[keep], radius[keep])
    return Case(matrix, y[keep], weight[keep], LOSSES[loss_name], ElasticNet(0.05), rng.normal(size=(3, 3)))


def known_rows(problem: Problem, solution: Solution) -> KnownRows:
    ranges = row_sum_bounds(problem, solution).ranges
    return KnownRows.of(ranges.table.directions, solution.w, ranges.lower, ranges.upper)


@pytest.mark.parametrize("loss_name", ["log_loss", "squared_hinge", "huber"])
def test_rows_without_weight_do_not_widen_slopes(loss_name):
    """Row sums say nothing of them.

    Where the curvature jumps, multipliers may follow another of two lines for a model that differs by rounding, which
    moves bounds by some percent.
    """
    ends = []
    for is_cut in (False, True):
        case = simple_case(loss_name, is_cut=is_cut)
        solution = train(case.problem)
        moves = known_rows(case.problem, solution)
        linear = linearize(case.problem, solution, moves)
        assert np.isfinite(linear.row_move_form)
        assert np.isfinite(linear.incomplete.lines.row_move).all()
        ends.append(np.array(slope_bounds_within(case.problem, solution, moves).found.ends(case.X_test)))
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.05 if loss_name == "squared_hinge" else 1e-6)


def test_of_rows_with_weight_the_moves_are_those_that_are_known():
    case = simple_case("log_loss", is_cut=False)
    moves = known_rows(case.problem, train(case.problem))
    center = case.matrix.center_rows(slice(0, 40))
    nothing = np.zeros(0, dtype=np.intp)
    block = Block(center, nothing, nothing, np.zeros(0), case.y, case.weight)
    found, known = moves.max_score_move_in(block), moves.max_score_move(center)
    has_weight = case.weight > 0.0
    np.testing.assert_array_equal(found[has_weight], known[has_weight])
    assert (known[has_weight] > 0.0).all()
    assert (known[~has_weight] == np.inf).all()
    assert (found[~has_weight] == 0.0).all()


# --- notes --------------------------------------------------------------------------------------------------------


def with_alpha(loss_name: str, alpha: float) -> tuple[Problem, Solution]:
    problem = replace(simple_case(loss_name, is_cut=False), penalty=ElasticNet(alpha)).problem
    return problem, train(problem)


@pytest.mark.parametrize("certify", [certify_tight, certify_pointwise])
def test_where_row_sums_do_not_close_slopes_serve_and_the_note_says_what_narrows_them(certify):
    problem, solution = with_alpha("smoothed_hinge", 1e-3)
    certificate = certify(problem, solution)
    assert NOT_CLOSED in certificate.note
    assert certificate.part(SlopeBounds) is not None
    by_rows = certificate.part(RowSumBounds)
    assert by_rows is None or by_rows.path is None
    assert (certificate.refinement is not None) == (certify is certify_pointwise)


def test_without_slopes_the_note_says_so_alone(monkeypatch):
    problem, solution = with_alpha("smoothed_hinge", 1e-3)
    plant(monkeypatch, "attempt_slope_bounds", lambda *_, **__: Outcome(None, Reason.NOT_CLOSED, "No set of moves."))
    note = certify_tight(problem, solution).note
    assert note == f"No set of moves. {NOT_CLOSED}"


@pytest.mark.parametrize(("loss_name", "alpha"), [("log_loss", 0.01), ("log_loss", 10.0), ("hinge", 0.1)])
def test_where_row_sums_close_or_are_not_tried_there_is_no_note_of_them(loss_name, alpha):
    assert NOT_CLOSED not in certify_tight(*with_alpha(loss_name, alpha)).note


def test_of_a_long_table_there_is_no_note_of_row_sums(monkeypatch):
    monkeypatch.setattr(table_module, "MOST_ROWS", 1)
    assert NOT_CLOSED not in certify_tight(*with_alpha("smoothed_hinge", 1e-3)).note


# --- widths that closed for a similar table -----------------------------------------------------------------------


def test_widths_that_closed_are_tried_first_for_a_similar_table_direction_by_direction(monkeypatch):
    problem, solution = with_alpha("log_loss", 0.01)
    found = row_sum_bounds(problem, solution)
    table = found.ranges.table
    assert found.widths.shape == (2, len(table.complete) + len(table.incomplete) + len(table.w))
    of_directions = prove_module._of_directions(table, found.widths).reshape(2, -1)
    np.testing.assert_array_equal(of_directions[:, table.rows_and_weights_at], found.widths)  # of equal rows the same
    tried = []

    def recorded(ranges, Y):
        tried.append(ranges)
        return largest_scores(ranges, Y)

    monkeypatch.setattr(prove_module, "largest_scores", recorded)
    again = row_sum_bounds(problem, solution, found.widths)
    assert [ranges.accuracy == COARSE for ranges in tried[:2]] == [True, False]  # once to prove, then to narrow
    np.testing.assert_allclose(again.widths, np.maximum(found.widths, 1.0), rtol=1e-12)
    assert (tried[0].upper >= found.ranges.upper).all()


def test_widths_of_a_table_with_other_rows_stand_for_their_median():
    problem, solution = with_alpha("log_loss", 0.01)
    table = row_sum_bounds(problem, solution).ranges.table
    widths = prove_module._of_directions(table, np.array([[1.0, 2.0, 6.0], [1.0, 3.0, 7.0]]))
    np.testing.assert_array_equal(widths, np.full(2 * len(table.directions), 2.5))
