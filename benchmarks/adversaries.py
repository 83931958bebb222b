"""Bounds around a filled-in table: a budget of holes, wrong cells; columns scaled to [0, 1].

Numbers are filled in with the middle of their intervals (the central 90 % of a column), columns with two values with
1/2, other missing categories with their most frequent level. Test rows are filled in likewise, so that only the
training table varies. Bounds are those around the filling alone, not met with the worst case.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.real_tables import LEVEL, MOST_TEST_ROWS, SOURCES
from ipub import IntervalMatrix
from ipub.answers.certainty import is_certain
from ipub.certificates.row_sums.bounds import bounds_around_filling
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.rows import MemoryRows, with_intercept_column
from ipub.tables.movable_units import WRONG_CELLS, BudgetMoves, MovableRows

BUDGETS = (
    ("heart_disease_4sites", 0.1),
    ("chronic_kidney_disease", 0.1),
    ("pbc_cirrhosis", 0.1),
    ("pima_diabetes", 0.01),
)
SHARE = 0.05
WRONG = ("hepatitis", 0.01)
PRECISION = 0.1
N_CANDIDATES = 6
"""Wrong cells that are tried for each end of each test row."""


@dataclass(frozen=True)
class Filled:
    """A filled-in training table with what may move in it, labels, and filled-in test rows with an intercept's 1."""

    X: Array
    y: Array
    movable: MovableRows
    X_test: Array

    def problem(self, alpha: float, X: Array | None = None) -> Problem:
        X = self.X if X is None else X
        rows = with_intercept_column(MemoryRows(IntervalMatrix.from_bounds(X, X), self.y))
        return Problem(rows, LOSSES["log_loss"], ElasticNet(alpha, 0.0, 1))


def load(name: str) -> Filled:
    """Return a table of `real_tables`, scaled and filled in."""
    source = next(source for source in SOURCES if source.name == name)
    frame, positive = source.load()
    order = np.random.default_rng(0).permutation(len(frame))
    n_test = min(MOST_TEST_ROWS, len(frame) // 5)
    train, test = order[n_test:], order[:n_test]
    tables, movable, column = [], MovableRows.of_numbers([], [], [], []), 0
    for _, values in frame.items():
        filled, units = _column(values, train, column)
        tables.append(filled)
        movable = movable.joined_to(units)
        column += filled.shape[1]
    X = np.concatenate(tables, axis=1)
    X_test = np.column_stack([X[test], np.ones(n_test)])
    return Filled(X[train], np.where(positive[train], 1.0, -1.0), movable, X_test)


def _column(values: pd.Series, train: Array, start: int) -> tuple[Array, MovableRows]:
    """Fill in one column; return its columns, from `start` on, and what may move in the training rows."""
    holes = values.isna().to_numpy()
    rows = np.flatnonzero(holes[train])
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float)
        known = numbers[train][~holes[train]]
        least, span = known.min(), np.ptp(known) or 1.0
        numbers, known = (numbers - least) / span, (known - least) / span
        low, high = np.quantile(known, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
        return _number(numbers, rows, float(low), float(high), start)
    levels = sorted(values.dropna().unique())
    if len(levels) == 2:
        return _number(np.where(holes, np.nan, values == levels[1]).astype(float), rows, 0.0, 1.0, start)
    filled = values.fillna(values.iloc[train].mode()[0])
    encoded = np.column_stack([filled == level for level in levels]).astype(float)
    columns = np.arange(start, start + len(levels))
    at_base = columns[encoded[train][rows].argmax(axis=1)] if len(rows) else np.zeros(0, dtype=int)
    return encoded, MovableRows.of_categories(rows, at_base, [columns] * len(rows))


def _number(values: Array, rows: Array, low: float, high: float, column: int) -> tuple[Array, MovableRows]:
    middle, half = 0.5 * (low + high), np.full(len(rows), 0.5 * (high - low))
    units = MovableRows.of_numbers(rows, np.full(len(rows), column), half, half)
    return np.where(np.isnan(values), middle, values)[:, None], units


def run(console: Console) -> None:
    """Print a line for each table."""
    columns = ("table", "alpha", "rows", "units", "moves", "certain", "median width", "seconds")
    lines = Lines(console, "bounds around a filled-in table, share of certain predictions", *columns)
    for name, alpha in BUDGETS:
        lines.piece(name, partial(_show, lines, name, alpha))
    _wrong_cells(console)


def _show(lines: Lines, name: str, alpha: float) -> None:
    filled = load(name)
    count = int(SHARE * filled.movable.n_units)
    lines.add(name, f"{alpha:g}", *_measure(filled, alpha, BudgetMoves((count,)), f"at most {count} holes"))


def _measure(filled: Filled, alpha: float, moves: BudgetMoves, said: str) -> list[str]:
    problem = filled.problem(alpha)
    solution, start = solve(problem), time.perf_counter()
    bounds = bounds_around_filling(problem, solution, filled.movable, moves).found
    sizes = [f"{len(filled.X):,}", f"{filled.movable.n_units:,}", said]
    if bounds is None:
        return [*sizes, "-", "not proved", f"{time.perf_counter() - start:.1f}"]
    low, high = bounds.ends(filled.X_test)
    certain = np.mean(is_certain(np.column_stack([low, high])))
    return [*sizes, f"{certain:.2f}", f"{np.median(high - low):.3g}", f"{time.perf_counter() - start:.1f}"]


def _wrong_cells(console: Console) -> None:
    """Compare the bounds for one wrong cell, of all cells, with what retraining with one finds."""
    name, alpha = WRONG
    filled = load(name)
    problem = filled.problem(alpha)
    solution = solve(problem)
    n, d = filled.X.shape
    rows, columns = np.repeat(np.arange(n), d), np.tile(np.arange(d), n)
    size = np.full(n * d, PRECISION)
    movable = MovableRows.of_numbers(rows, columns, size, size, group=WRONG_CELLS)
    bounds = bounds_around_filling(problem, solution, movable, BudgetMoves((0, 1))).found
    if bounds is None:
        return
    low, high = bounds.ends(filled.X_test)
    attained = np.array([_attained(filled, problem, solution, alpha, x) for x in filled.X_test])
    ratio = np.median((high - low) / (attained[:, 1] - attained[:, 0]))
    outside = int(((attained[:, 0] < low) | (attained[:, 1] > high)).sum())
    title = f"one wrong cell, by up to {PRECISION:g} of the range: certified over attained width"
    lines = Lines(console, title, "table", "alpha", "ratio", "violations")
    lines.add(name, f"{alpha:g}", f"{ratio:.3f}", f"{outside}")


def _attained(filled: Filled, problem: Problem, solution: Solution, alpha: float, x: Array) -> tuple[float, float]:
    """Retrain with the wrong cells that matter most to first order."""
    X, w = np.column_stack([filled.X, np.ones(len(filled.X))]), solution.w
    loss, score = problem.loss, X @ w
    second = loss.curvature(filled.y, score)
    hessian = (X * second[:, None]).T @ X / len(X) + np.diag(problem.penalty.lam_vector(len(w)))
    u = np.linalg.solve(hessian, x)
    first = loss.derivative(filled.y, score)[:, None] * u[:-1] + (second * (X @ u))[:, None] * w[:-1]
    ends = [float(x @ w), float(x @ w)]
    for place in np.argsort(-np.abs(first).ravel())[:N_CANDIDATES]:
        for move in (-PRECISION, PRECISION):
            changed = filled.X.copy()
            changed.flat[place] += move
            found = float(x @ solve(filled.problem(alpha, changed), start=w).w)
            ends = [min(ends[0], found), max(ends[1], found)]
    return ends[0], ends[1]
