"""Tiny filled-in tables with units that may move: every move is enumerated, and its model is exact."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from flint import fmpq

from ipub import IntervalMatrix
from ipub.certificates.row_sums.ranges import COARSE, FINE, FINEST, Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.losses import LOSSES, Loss
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows import MemoryRows, with_intercept_column
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows
from support.oracles.exact import ExactModel, exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import rational, rational_rows

Generator = np.random.Generator
Table = list[list[fmpq]]
LEVELS = 3


@dataclass(frozen=True)
class FilledCase:
    """A filled-in table, what may move in it, and rows to predict (with a 1 for an intercept)."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    loss: Loss
    penalty: ElasticNet
    movable: MovableRows
    X_test: np.ndarray

    @property
    def problem(self) -> Problem:
        rows = MemoryRows(IntervalMatrix.from_bounds(self.X, self.X), self.y, self.weight)
        return Problem(with_intercept_column(rows) if self.penalty.n_free else rows, self.loss, self.penalty)

    def minimise(self, table: Table) -> ExactModel:
        """Return the exact model of a table."""
        minimise = exact_intercept_model if self.penalty.n_free else exact_model
        return minimise(table, self.y, self.weight, self.loss, self.penalty.lam, self.penalty.kappa)

    def moved(self, chosen: list[tuple[int, fmpq]]) -> Table:
        """Return the table with some options, each times a number in [0, 1]."""
        table, movable = rational_rows(self.X), self.movable
        for option, t in chosen:
            row = table[movable.rows[movable.option_row[option]]]
            for column, amount in zip(movable.option_columns[option], movable.option_amounts[option], strict=True):
                row[column] += t * rational(amount)
        return table

    def choices(self, counts: tuple[int, ...]) -> Iterator[list[int]]:
        """Yield every choice of at most so many units of each group, each at one of its options: the options."""
        movable = self.movable
        groups = [np.flatnonzero(movable.unit_group == group) for group in (HOLES, WRONG_CELLS)]
        subsets = [
            [part for size in range(min(count, len(units)) + 1) for part in itertools.combinations(units, size)]
            for units, count in itertools.zip_longest(groups, counts, fillvalue=0)
        ]
        for parts in itertools.product(*subsets):
            units = [unit for part in parts for unit in part]
            for options in itertools.product(*(np.flatnonzero(movable.option_unit == unit) for unit in units)):
                yield [int(option) for option in options]

    def vertices(self, counts: tuple[int, ...]) -> Iterator[Table]:
        """Yield the table of every choice."""
        for options in self.choices(counts):
            yield self.moved([(option, fmpq(1)) for option in options])

    def some_choices(self, rng: Generator, counts: tuple[int, ...], n: int) -> Iterator[list[int]]:
        """Yield some choices, most of which use all of their budgets."""
        movable = self.movable
        for _ in range(n):
            chosen: list[int] = []
            for group, count in enumerate(counts):
                units = np.flatnonzero(movable.unit_group == group)
                size = min(count, len(units))
                size = int(rng.integers(0, size + 1)) if rng.random() < 0.3 else size
                for unit in rng.choice(units, size=size, replace=False):
                    chosen.append(int(rng.choice(np.flatnonzero(movable.option_unit == unit))))
            yield chosen

    def in_floats(self, options: list[int]) -> np.ndarray:
        """Return the table of a choice, with the column that an intercept sees, in floats."""
        table, movable = self.X.copy(), self.movable
        rows = movable.rows[movable.option_row[options]]
        for columns, amounts in zip(movable.option_columns.T, movable.option_amounts.T, strict=True):
            np.add.at(table, (rows, columns[options]), amounts[options])
        return np.column_stack([table, np.ones((len(table), self.penalty.n_free))])

    def inner_points(self, rng: Generator, counts: tuple[int, ...], n: int) -> Iterator[Table]:
        """Yield tables with some numbers part of their way; a level is always taken whole."""
        movable = self.movable
        for _ in range(n):
            chosen = []
            for group, count in enumerate(counts):
                units = np.flatnonzero(movable.unit_group == group)
                for unit in rng.choice(units, size=min(count, len(units)), replace=False):
                    option = int(rng.choice(np.flatnonzero(movable.option_unit == unit)))
                    is_level = movable.option_amounts[option, 1] != 0.0
                    whole = is_level or rng.random() < 0.3
                    chosen.append((option, fmpq(1) if whole else fmpq(int(rng.integers(1, 16)), 16)))
            yield self.moved(chosen)


def filled_case(
    rng: Generator, loss_name: str, *, intercept: bool, large: bool = False, n: int = 0, kappa: float = 0.0
) -> FilledCase:
    """Draw a tiny table: numbers, sometimes a category, holes with intervals of any shape, and wrong cells."""
    n, d = n or int(rng.integers(5, 9)), int(rng.integers(1, 4))
    numbers = rng.normal(size=(n, d))
    has_category = rng.random() < 0.5
    levels = rng.integers(0, LEVELS, size=n)
    X = np.column_stack([numbers, np.eye(LEVELS)[levels]]) if has_category else numbers
    loss = LOSSES[loss_name]
    y = numbers @ rng.normal(size=d) + rng.normal(size=n)
    if loss.task == "classification":
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:2] = [1.0, -1.0]
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if rng.random() < 0.5 else None
    size = 1.0 if large else 0.25
    places = rng.permutation(n * d)[: int(rng.integers(2, 5))]
    n_wrong = int(rng.integers(0, 3))
    movable = MovableRows.of_numbers(*_numbers(rng, places, d, size))
    if has_category:
        rows = rng.choice(n, size=1)
        columns = [np.arange(d, d + LEVELS)]
        movable = movable.joined_to(MovableRows.of_categories(rows, d + levels[rows], columns))
    if n_wrong:
        others = rng.permutation(np.setdiff1d(np.arange(n * d), places))[:n_wrong]
        movable = movable.joined_to(MovableRows.of_numbers(*_numbers(rng, others, d, size), group=WRONG_CELLS))
    penalty = ElasticNet(10.0 ** rng.uniform(-1.0, 0.5), kappa, int(intercept))
    X_test = rng.normal(size=(3, X.shape[1]))
    return FilledCase(X, y, weight, loss, penalty, movable, np.column_stack([X_test, np.ones((3, int(intercept)))]))


def scaled(case: FilledCase, scale: np.ndarray, size: float = 1.0) -> FilledCase:
    """Return the case with numbers in other units, which move `size` times as far; levels stay 0 and 1."""
    movable = case.movable
    is_number = movable.is_number[movable.option_unit][:, None]
    scale = scale.copy()
    scale[np.unique(movable.option_columns[~is_number.ravel()])] = 1.0
    amounts = np.where(is_number, movable.option_amounts * scale[movable.option_columns] * size, movable.option_amounts)
    X_test = case.X_test.copy()
    X_test[:, : len(scale)] *= scale
    return replace(case, X=case.X * scale, movable=replace(movable, option_amounts=amounts), X_test=X_test)


def _numbers(rng: Generator, places: np.ndarray, d: int, size: float) -> tuple[np.ndarray, ...]:
    """Return rows, columns, and how far below and above; some intervals have the filled-in value at an end."""
    below, above = size * np.abs(rng.normal(size=(2, len(places))))
    ends = rng.random(len(places))
    return places // d, places % d, np.where(ends < 0.2, 0.0, below), np.where(ends > 0.8, 0.0, above) + 1e-3


def case_of_long_rows(rng: Generator, loss_name: str, n_units: int, *, intercept: bool = False) -> FilledCase:
    """Draw a table with `n_units` holes in its first row, two in its second and a few wrong cells in both."""
    n, d = 7, n_units + 3
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    y = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    loss = LOSSES[loss_name]
    if loss.task == "classification":
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:2] = [1.0, -1.0]
    columns = rng.permutation(d)
    holes = np.concatenate([columns[:n_units], d + columns[:2]])
    wrong = np.concatenate([columns[n_units : n_units + 2], d + columns[2:4]])
    size = 0.6 / np.sqrt(d)
    movable = MovableRows.of_numbers(*_numbers(rng, holes, d, size))
    movable = movable.joined_to(MovableRows.of_numbers(*_numbers(rng, wrong, d, size), group=WRONG_CELLS))
    X_test = np.column_stack([rng.normal(size=(2, d)), np.ones((2, int(intercept)))])
    return FilledCase(X, y, None, loss, ElasticNet(0.3, 0.0, int(intercept)), movable, X_test)


# --- sums over rows, for given multipliers ----------------------------------------------------------------------------


def some_ranges(
    rng: Generator, case: FilledCase, counts: tuple[int, ...], solution: Solution, size: float
) -> SomeRanges:
    """Return ranges around a model that hold many others, whichever, and these."""
    w = solution.w
    table = RowTable.around(case.problem, solution, case.movable, BudgetMoves(counts))
    assert table is not None
    W = np.concatenate([w[None], w + size * rng.normal(size=(60, len(w)))])
    scores = W @ table.directions.T
    slack = 1e-13 * (np.abs(W) @ np.abs(table.directions.T)).max(axis=0)
    ranges = Ranges.of(table, scores.min(axis=0) - slack, scores.max(axis=0) + slack, on_path=True)
    accuracy = (COARSE, FINE, FINEST)[int(rng.integers(3))]
    return SomeRanges(replace(ranges, accuracy=accuracy), W)


@dataclass(frozen=True, eq=False)
class SomeRanges:
    """Ranges of all directions of a table, and models that are in them."""

    ranges: Ranges
    W: np.ndarray


def wrong_sums(
    rng: Generator, case: FilledCase, counts: tuple[int, ...], some: SomeRanges, Y: np.ndarray, choices: list[list[int]]
) -> tuple[int, list[str]]:
    """Compare row sums with ``y.w - u.grad P_tau(w)`` at models w in the ranges and tables within the budget.

    The choices are tried, and for each direction those that gain most, unit by unit. P_tau is between the filled-in
    table, tilted so that its gradient at w' is 0, and the other one.
    """
    bound, multipliers = some.ranges.kernel.upper_with_multipliers(np.ascontiguousarray(Y, dtype=float))[:2]
    base = _gradients(case, case.in_floats([]), some.W)
    tilted = base - base[0]
    count, wrong = 0, []
    for k, (y, u) in enumerate(zip(Y, multipliers, strict=True)):
        at_y = some.W @ y

        def values(options: list[int], u: np.ndarray = u, at_y: np.ndarray = at_y) -> np.ndarray:
            return np.asarray(at_y - _gradients(case, case.in_floats(options), some.W) @ u)

        tried = [*choices, *(_greedy(case, counts, values, at) for at in (0, int(rng.integers(len(some.W)))))]
        allowed = 1e-11 * (np.abs(bound[k]) + np.abs(at_y).max() + np.abs(base @ u).max())
        for options in tried:
            ends = (values(options), at_y - tilted @ u)
            tau = rng.random()
            found = np.concatenate([ends[0], tau * ends[0] + (1.0 - tau) * ends[1]]).max()
            count += 1
            if not found <= bound[k] + allowed:
                wrong.append(f"direction {k}, options {options}: {found} above {bound[k]}; {counts} of {case!r}")
    return count, wrong


def _gradients(case: FilledCase, X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return the gradients of a table's objective at many models."""
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    d = X.shape[1]
    scores = W @ X.T
    slopes = case.loss.derivative(np.broadcast_to(case.y, scores.shape), scores)
    pulls = (slopes * (weight / weight.sum())) @ X
    return np.asarray(pulls + case.penalty.lam_vector(d) * W + case.penalty.kappa_vector(d) * np.sign(W))


def _greedy(case: FilledCase, counts: tuple[int, ...], values: Callable[[list[int]], np.ndarray], at: int) -> list[int]:
    """Take the option that gains most at one model, and again, as long as a budget is left."""
    movable, left = case.movable, list(counts)
    chosen: list[int] = []
    while True:
        units = {int(movable.option_unit[option]) for option in chosen}
        open_ = [
            option
            for option, unit in enumerate(movable.option_unit)
            if int(unit) not in units and left[movable.unit_group[unit]] > 0
        ]
        gains = [float(values([*chosen, option])[at]) for option in open_]
        if not open_ or max(gains) <= float(values(chosen)[at]):
            return chosen
        chosen.append(open_[int(np.argmax(gains))])
        left[movable.unit_group[movable.option_unit[chosen[-1]]]] -= 1
