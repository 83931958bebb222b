"""Tiny filled-in tables with units that may move: every move is enumerated, and its model is exact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, ctx, fmpq

from ipub import IntervalMatrix
from ipub.certificates.around_filling import HOLES, WRONG_CELLS, MovableRows
from ipub.certificates.around_filling.bounds import FilledBounds
from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.prove_move import ProvedMove
from ipub.certificates.around_filling.remainder import Reach
from ipub.certificates.around_filling.table_metric import Metric
from ipub.engine import MemoryRows, with_intercept_column
from ipub.losses import LOSSES, Loss
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from support.oracles.exact import ExactModel, exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.losses import SmoothOracle, oracle_of
from support.oracles.rationals import ball_ends, rational, rational_rows

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

    def extended(self, table: Table) -> Table:
        """Return the table with the column of ones that an intercept sees."""
        return [[*row, fmpq(1)] for row in table] if self.penalty.n_free else table

    def vertices(self, counts: tuple[int, ...]) -> Iterator[Table]:
        """Yield the table of every choice of at most so many units of each group, each at one of its options."""
        movable = self.movable
        groups = [np.flatnonzero(movable.unit_group == group) for group in (HOLES, WRONG_CELLS)]
        subsets = [
            [part for size in range(min(count, len(units)) + 1) for part in itertools.combinations(units, size)]
            for units, count in itertools.zip_longest(groups, counts, fillvalue=0)
        ]
        for parts in itertools.product(*subsets):
            units = [unit for part in parts for unit in part]
            for options in itertools.product(*(np.flatnonzero(movable.option_unit == unit) for unit in units)):
                yield self.moved([(option, fmpq(1)) for option in options])

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
    penalty = ElasticNet(10.0 ** rng.uniform(-1.5, 0.3), kappa, int(intercept))
    X_test = rng.normal(size=(3, X.shape[1]))
    return FilledCase(X, y, weight, loss, penalty, movable, np.column_stack([X_test, np.ones((3, int(intercept)))]))


def scaled(case: FilledCase, scale: np.ndarray, size: float = 1.0) -> FilledCase:
    """Return the case with columns in other units, and with units that move `size` times as far."""
    movable = case.movable
    amounts = movable.option_amounts * scale[movable.option_columns] * size
    X_test = case.X_test.copy()
    X_test[:, : len(scale)] *= scale
    return replace(case, X=case.X * scale, movable=replace(movable, option_amounts=amounts), X_test=X_test)


def _numbers(rng: Generator, places: np.ndarray, d: int, size: float) -> tuple[np.ndarray, ...]:
    """Return rows, columns, and how far below and above; some intervals have the filled-in value at an end."""
    below, above = size * np.abs(rng.normal(size=(2, len(places))))
    ends = rng.random(len(places))
    return places // d, places % d, np.where(ends < 0.2, 0.0, below), np.where(ends > 0.8, 0.0, above) + 1e-3


def bounds_at(table: FilledTable, v: np.ndarray, ratio: np.ndarray | None = None) -> FilledBounds:
    """Return the bounds that hold for one move v of the model, and for hardly any other."""
    metric = Metric.of(table, np.ones(len(table.X)) if ratio is None else ratio)
    assert metric is not None
    radius = float(np.linalg.norm(np.linalg.solve(metric.K.T, v))) * (1.0 + 1e-9) + 1e-12
    rows, coordinates = np.abs(table.X @ v) * (1.0 + 1e-9) + 1e-13, np.abs(v) * (1.0 + 1e-9)
    return FilledBounds(ProvedMove(metric, radius), Reach(rows, coordinates))


def force(case: FilledCase, filled: FilledTable, table: Table, v: np.ndarray, u: np.ndarray) -> tuple[fmpq, fmpq]:
    """Enclose ``u.(grad P''(w' + v) - A v)`` of a moved table, A and the l1 subgradient being those of `filled`."""
    with ctx.workprec(200):
        weight = np.ones(len(case.y)) if case.weight is None else case.weight
        total = sum((rational(value) for value in weight), fmpq(0))
        oracle = oracle_of(case.loss)
        assert isinstance(oracle, SmoothOracle)
        slope = oracle.slope_ball
        moves, along = [rational(value) for value in v], [rational(value) for value in u]
        model = [rational(a) + b for a, b in zip(filled.w, moves, strict=True)]
        result = arb(0)
        rows = zip(case.extended(table), case.extended(rational_rows(case.X)), strict=True)
        for i, (row, base) in enumerate(rows):
            share = rational(weight[i]) / total
            change = share * rational(filled.at.second[i]) * _dot(base, along) * _dot(base, moves)
            result += arb(share * _dot(row, along)) * slope(float(case.y[i]), arb(_dot(row, model))) - arb(change)
        for lam, l1, a, b, x in zip(filled.lam, filled.l1_choice, along, model, moves, strict=True):
            result += arb(a * (rational(lam) * (b - x) + rational(l1)))
        return ball_ends(result)


def _dot(left: list[fmpq], right: list[fmpq]) -> fmpq:
    return sum((a * b for a, b in zip(left, right, strict=True)), fmpq(0))


def as_floats(table: Table) -> np.ndarray:
    """Return a table of rationals as the nearest floats."""
    return np.array([[int(value.p) / int(value.q) for value in row] for row in table])
