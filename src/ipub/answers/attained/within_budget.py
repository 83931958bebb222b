"""The inner bound of a budget: tables that differ from a filled-in one in little, chosen for a row and retrained.

To first order in the change of the model, with ``u = H^-1 x`` and H the Hessian of the objective, row i moves ``x.w``
by ``-m_i (psi(x''_i.w) x''_i.u - psi(x_i.w) x_i.u)``, by the same with the other label, or, where it is absent, by
``m_i (psi(x_i.w) x_i + g).u``, g the gradient of the penalty. Each cell, label and row is looked at by itself, the best
ones within the budget are changed, and the model is retrained there; again from that model, as long as something is
gained.
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
from ipub.tables.movable_units import DROPPED_ROWS, N_CELL_GROUPS, WRONG_LABELS, BudgetMoves, MovableRows

MOST_ROUNDS = 6
"""How often cells are chosen anew, at most."""


NOTHING: Indices = np.zeros(0, dtype=np.intp)
"""No options, or no rows."""


class Changes(NamedTuple):
    """By what a table differs from the filled-in one."""

    options: Indices = NOTHING
    """Of the units that differ."""
    wrong_labels: Indices = NOTHING
    """Rows with the other label."""
    dropped_rows: Indices = NOTHING
    """Rows that are absent."""


class Found(NamedTuple):
    """A table that was retrained: the score of its model, and what was changed."""

    score: float
    options: Indices
    wrong_labels: Indices = NOTHING
    dropped_rows: Indices = NOTHING


class BudgetSearch:
    """The search for changes of a filled-in table that move a score most: all that does not depend on the row."""

    def __init__(self, problem: Problem, solution: Solution, movable: MovableRows) -> None:
        table = whole_table(problem.rows)
        self.problem, self.movable = problem, movable
        self.X, self.y, self.weight = table.center, table.y, table.weight
        self.loss = problem.loss.smoothed(KINK_WIDTH)
        self.w = self.retrained(NOTHING, solution.w)

    def table_with(self, options: Indices) -> Array:
        """Return the filled-in table with these options of its units taken."""
        table, movable = self.X.copy(), self.movable
        rows = movable.rows[movable.option_row[options]]
        for columns, amounts in zip(movable.option_columns.T, movable.option_amounts.T, strict=True):
            np.add.at(table, (rows, columns[options]), amounts[options])
        return table

    def retrained(
        self, options: Indices, start: Array, wrong_labels: Indices = NOTHING, dropped_rows: Indices = NOTHING
    ) -> Array:
        """Return the model of the table with these options taken, labels wrong and rows absent; NaN if that failed."""
        y, weight = self.y.copy(), self.weight.copy()
        y[wrong_labels], weight[dropped_rows] = -y[wrong_labels], 0.0
        return self._trained(self.table_with(options), y, weight, start)

    def trained_on(self, table: Array, start: Array) -> Array:
        """Return the model of any table with as many rows and columns; NaN if training failed."""
        return self._trained(table, self.y, self.weight, start)

    def _trained(self, table: Array, y: Array, weight: Array, start: Array) -> Array:
        rows = MemoryRows(IntervalMatrix.from_bounds(table, table), y, weight)
        problem = Problem(rows, self.problem.loss, self.problem.penalty)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = solve(problem, TOLERANCE, start=start)
        size = max(abs(solution.primal), np.finfo(float).tiny)
        return np.asarray(solution.w if solution.gap <= FAILED * size else np.full_like(start, np.nan))

    def gains(self, x: Array, w: Array, table: Array) -> Array:
        """Return about how much each option, by itself, moves ``x.w`` up."""
        movable, u = self.movable, self._direction(x, w, table)
        scores, products = self.X @ w, self.X @ u
        i = movable.rows[movable.option_row]
        moved_score = scores[i] + movable.changes(w)
        moved_product = products[i] + movable.changes(u)
        before = self.loss.derivative(self.y, scores)[i] * products[i]
        after = self.loss.derivative(self.y[i], moved_score) * moved_product
        return np.asarray(-(self.weight[i] / self.weight.sum()) * (after - before))

    def _direction(self, x: Array, w: Array, table: Array) -> Array:
        """Return ``H^-1 x``."""
        curvature = self.weight * self.loss.curvature(self.y, table @ w) / self.weight.sum()
        hessian = (table * curvature[:, None]).T @ table + np.diag(self.problem.penalty.lam_vector(len(w)))
        return np.asarray(np.linalg.lstsq(hessian, x, rcond=None)[0], dtype=float)

    def gains_of_labels(self, x: Array, w: Array, table: Array) -> Array:
        """Return about how much each row with its other label, by itself, moves ``x.w`` up."""
        scores, products = self.X @ w, self.X @ self._direction(x, w, table)
        change = self.loss.derivative(-self.y, scores) - self.loss.derivative(self.y, scores)
        return np.asarray(-(self.weight / self.weight.sum()) * change * products)

    def gains_of_rows(self, x: Array, w: Array, table: Array) -> Array:
        """Return about how much the absence of each row, by itself, moves ``x.w`` up."""
        u, penalty = self._direction(x, w, table), self.problem.penalty
        of_penalty = penalty.lam_vector(len(w)) * w + penalty.kappa_vector(len(w)) * np.sign(w)
        value = self.loss.derivative(self.y, self.X @ w) * (self.X @ u)
        return np.asarray((self.weight / self.weight.sum()) * (value + of_penalty @ u))

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
        chosen = [order[groups == group][: moves.count(group)] for group in range(N_CELL_GROUPS)]
        return np.sort(np.concatenate(chosen))

    def chosen(self, x: Array, w: Array, table: Array, side: float, moves: BudgetMoves) -> Changes:
        """Return what a budget allows and gains most: rows first, then labels and cells of the others."""
        dropped = wrong = NOTHING
        if moves.count(DROPPED_ROWS):
            dropped = _largest(side * self.gains_of_rows(x, w, table), moves.count(DROPPED_ROWS))
        if moves.count(WRONG_LABELS):
            gains = side * self.gains_of_labels(x, w, table)
            gains[dropped] = 0.0
            wrong = _largest(gains, moves.count(WRONG_LABELS))
        gains = side * self.gains(x, w, table)
        gains[np.isin(self.movable.rows[self.movable.option_row], dropped)] = 0.0
        return Changes(self.within(self.order(gains), moves), wrong, dropped)

    def best(self, x: Array, radius: Array, side: float, moves: BudgetMoves) -> Found:
        """Search for the table that gives a row its highest (side 1) or lowest (side -1) score."""
        w, table, changes = self.w, self.X, Changes()
        found = Found(self.end(x, radius, w, side), *changes)
        for _ in range(MOST_ROUNDS):
            chosen = self.chosen(x + side * radius * np.sign(w), w, table, side, moves)
            if all(map(np.array_equal, chosen, changes)):
                break
            changes, w = chosen, self.retrained(chosen.options, w, chosen.wrong_labels, chosen.dropped_rows)
            score = self.end(x, radius, w, side)
            if not np.isfinite(score):
                break
            table = self.table_with(changes.options)
            if side * (score - found.score) <= 0.0:
                break
            found = Found(score, *changes)
        return found

    @staticmethod
    def end(x: Array, radius: Array, w: Array, side: float) -> float:
        """Return the score of the row inside its radius that suits a model best."""
        return float(x @ w + side * (radius @ np.abs(w)))


def _largest(gains: Array, count: int) -> Indices:
    """Return the rows with the most gain, in order, as many as gain anything and are allowed."""
    ranked = np.argsort(-gains, kind="stable")[:count]
    return np.sort(ranked[gains[ranked] > 0.0])
