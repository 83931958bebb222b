"""Slopes over the moves that row sums leave: what is kept where training rows are not."""

from __future__ import annotations

import numpy as np
import pytest

from ipub.certificates.row_sums.bounds import row_sum_bounds
from ipub.certificates.slope.attempt import slope_bounds_within
from ipub.certificates.slope.linearize import linearize
from ipub.certificates.slope.move_sets import KnownRows
from ipub.engine import Block
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from ipub.solvers import Solution
from support.cases import Case, intervals, train

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
    """Row sums say nothing of them."""
    ends = []
    for is_cut in (False, True):
        case = simple_case(loss_name, is_cut=is_cut)
        solution = train(case.problem)
        moves = known_rows(case.problem, solution)
        linear = linearize(case.problem, solution, moves)
        assert np.isfinite(linear.row_move_form)
        assert np.isfinite(linear.incomplete.row_move).all()
        ends.append(np.array(slope_bounds_within(case.problem, solution, moves).ends(case.X_test)))
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)


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
