"""The inner bound of a budget: tables that differ from a filled-in one in few cells, chosen for a row and retrained.

To first order in the change of the model, with ``u = H^-1 x`` and H the Hessian of the objective, row i moves ``x.w``
by ``-m_i (psi(x''_i.w) x''_i.u - psi(x_i.w) x_i.u)``. Each cell is looked at by itself, the best ones within the budget
are moved, and the model is retrained there; again from that model, as long as something is gained.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.answers.attained.first_order import KINK_WIDTH
from ipub.answers.attained.retraining import FAILED, TOLERANCE
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.rows import MemoryRows
from ipub.rows.completions import whole_table
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.movable_units import BudgetMoves, MovableRows

MOST_ROUNDS = 6
"""How often cells are chosen anew, at most."""


class Found(NamedTuple):
    """A table that was retrained: the score of its model, and the options of the units that differ."""

    score: float
    options: Indices


class BudgetSearch:
    """The search for cells of a filled-in table that move a score most: all that does not depend on the row."""

    def __init__(self, problem: Problem, solution: Solution, movable: MovableRows) -> None:
        table = whole_table(problem.rows)
        self.problem, self.movable = problem, movable
        self.X, self.y, self.weight = table.center, table.y, table.weight
        self.loss = problem.loss.smoothed(KINK_WIDTH)
        self.w = self.retrained(np.zeros(0, dtype=np.intp), solution.w)

    def table_with(self, options: Indices) -> Array:
        """Return the filled-in table with these options of its units taken."""
        table, movable = self.X.copy(), self.movable
        rows = movable.rows[movable.option_row[options]]
        for columns, amounts in zip(movable.option_columns.T, movable.option_amounts.T, strict=True):
            np.add.at(table, (rows, columns[options]), amounts[options])
        return table

    def retrained(self, options: Indices, start: Array) -> Array:
        """Return the model of the table with these options taken; NaN if training failed."""
        table = self.table_with(options)
        rows = MemoryRows(IntervalMatrix.from_bounds(table, table), self.y, self.weight)
        problem = Problem(rows, self.problem.loss, self.problem.penalty)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = solve(problem, TOLERANCE, start=start)
        size = max(abs(solution.primal), np.finfo(float).tiny)
        return np.asarray(solution.w if solution.gap <= FAILED * size else np.full_like(start, np.nan))

    def gains(self, x: Array, w: Array, table: Array) -> Array:
        """Return about how much each option, by itself, moves ``x.w`` up."""
        movable = self.movable
        curvature = self.weight * self.loss.curvature(self.y, table @ w) / self.weight.sum()
        hessian = (table * curvature[:, None]).T @ table + np.diag(self.problem.penalty.lam_vector(len(w)))
        u = np.asarray(np.linalg.lstsq(hessian, x, rcond=None)[0], dtype=float)
        scores, products = self.X @ w, self.X @ u
        i = movable.rows[movable.option_row]
        moved_score = scores[i] + movable.changes(w)
        moved_product = products[i] + movable.changes(u)
        before = self.loss.derivative(self.y, scores)[i] * products[i]
        after = self.loss.derivative(self.y[i], moved_score) * moved_product
        return np.asarray(-(self.weight[i] / self.weight.sum()) * (after - before))

    def order(self, gains: Array) -> Indices:
        """Return the best option of each unit that gains anything, the best first."""
        movable = self.movable
        best = movable.greatest(gains)
        is_best = gains == best[movable.option_unit]
        first = np.full(movable.n_units, len(gains))
        np.minimum.at(first, movable.option_unit[is_best], np.flatnonzero(is_best))
        ranked = np.argsort(-best, kind="stable")
        return np.asarray(first[ranked[best[ranked] > 0.0]])

    def within(self, order: Indices, moves: BudgetMoves) -> Indices:
        """Return the options, the best first, that a budget allows."""
        groups = self.movable.unit_group[self.movable.option_unit[order]]
        chosen = [order[groups == group][: moves.count(group)] for group in (0, 1)]
        return np.sort(np.concatenate(chosen))

    def best(self, x: Array, radius: Array, side: float, moves: BudgetMoves) -> Found:
        """Search for the table that gives a row its highest (side 1) or lowest (side -1) score."""
        w, table, options = self.w, self.X, np.zeros(0, dtype=np.intp)
        found = Found(self.end(x, radius, w, side), options)
        for _ in range(MOST_ROUNDS):
            aim = x + side * radius * np.sign(w)
            chosen = self.within(self.order(side * self.gains(aim, w, table)), moves)
            if np.array_equal(chosen, options):
                break
            options, w = chosen, self.retrained(chosen, w)
            score = self.end(x, radius, w, side)
            if not np.isfinite(score):
                break
            table = self.table_with(options)
            if side * (score - found.score) <= 0.0:
                break
            found = Found(score, options)
        return found

    @staticmethod
    def end(x: Array, radius: Array, w: Array, side: float) -> float:
        """Return the score of the row inside its radius that suits a model best."""
        return float(x @ w + side * (radius @ np.abs(w)))
