"""lem-budget with several groups: numbers of units between those that are looked at count as the next larger one."""

from __future__ import annotations

import numpy as np

from ipub.certificates.row_sums.bounds import bounds_around_filling
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.variants import MOST_VARIANTS, make_variants
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows

LAM, HEAVY, D = 1e-3, 1e6, 12


def test_units_of_one_group_saturate_once_one_of_another_differs():
    """Row 0 has eight holes: five gain while its derivative is -1, three others once a wrong cell makes it 2.

    With a budget of five, row 1 takes two; three holes of row 0 and its wrong cell are worth more than what was
    counted for three (the step from 3 to 4 holes was taken off that of 4 and the wrong cell).
    """
    w = np.zeros(D)
    w[8] = 1.0
    weight = np.r_[1.0, 1.0, np.full(D, HEAVY)]
    table = np.vstack([np.zeros((2, D)), np.eye(D)])
    table[:2, 11] = 1.0
    y = np.r_[0.5, 0.5, w * (1.0 + LAM * weight.sum() / HEAVY / 2.0)]
    holes = MovableRows.of_numbers(np.zeros(8, dtype=int), np.arange(8), np.zeros(8), np.ones(8), HOLES)
    holes = holes.joined_to(MovableRows.of_numbers([1, 1], [9, 10], [0.0, 0.0], [50.0, 50.0], HOLES))
    movable = holes.joined_to(MovableRows.of_numbers([0, 1], [8, 8], [0.0, 0.0], [1.5, 1e-9], WRONG_CELLS))
    rows = MemoryRows(IntervalMatrix.from_bounds(table, table), y, weight)
    problem = Problem(rows, LOSSES["squared_error"], ElasticNet(LAM))
    bounds = bounds_around_filling(problem, solve(problem), movable, BudgetMoves((5, 1))).found
    assert bounds is not None
    x = np.array([[1.0] * 5 + [-1.0] * 3 + [0.0, 1.0, 1.0, 0.0]])
    changed = table.copy()
    changed[0, 5:8], changed[0, 8], changed[1, 9:11] = 1.0, 1.5, 50.0
    m = weight / weight.sum()
    model = np.linalg.solve(2.0 * (changed.T * m) @ changed + LAM * np.eye(D), 2.0 * (changed.T * m) @ y)
    attained, (low, high) = x @ model, bounds.ends(x)
    assert low <= attained <= high
    assert attained > 0.999 * high  # the bound that is tested is nearly attained


def test_a_row_has_no_more_variants_than_there_is_room_for():
    """A free category of many levels beside a budget of several units: levels are then not looked at one by one."""
    n, levels = 4, np.arange(3, 3 + 30)
    table = np.zeros((n, 33))
    table[:, 3] = 1.0
    rows = MemoryRows(IntervalMatrix.from_bounds(table, table), np.array([1.0, -1.0, 1.0, -1.0]))
    problem = Problem(rows, LOSSES["log_loss"], ElasticNet(1.0))
    movable = MovableRows.of_categories([0], [3], [levels], HOLES)
    cells = np.zeros(3, dtype=int), np.arange(3), np.ones(3), np.ones(3)
    movable = movable.joined_to(MovableRows.of_numbers(*cells, WRONG_CELLS))
    solution, moves = solve(problem), BudgetMoves((1, 2))
    found = RowTable.around(problem, solution, movable, moves)
    assert found is not None
    assert np.bincount(make_variants(found, with_centers=True).row).max() <= MOST_VARIANTS
    assert bounds_around_filling(problem, solution, movable, moves).found is not None
