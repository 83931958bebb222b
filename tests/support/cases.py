"""Training problems that are hard on a certificate: odd scales, odd tables, odd models."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub import IntervalMatrix
from ipub.losses import LOSSES, Loss
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.rows import MemoryRows, with_intercept_column

Generator = np.random.Generator
MODELS = ("trained", "trained", "loose", "one step", "zero", "noisy", "scaled", "garbage", "other dual")
"""How w and its dual point came about: a certificate must hold for all of them."""


@dataclass(frozen=True)
class Case:
    """A training problem with uncertain cells, and rows to predict."""

    matrix: IntervalMatrix
    y: np.ndarray
    weight: np.ndarray | None
    loss: Loss
    penalty: ElasticNet
    X_test: np.ndarray

    @property
    def problem(self) -> Problem:
        return self.problem_on(self.matrix)

    def problem_on(self, matrix: IntervalMatrix) -> Problem:
        rows = MemoryRows(matrix, self.y, self.weight)
        return Problem(with_intercept_column(rows) if self.penalty.n_free else rows, self.loss, self.penalty)

    def extended(self, table: np.ndarray) -> np.ndarray:
        """Return a table with the column of ones that an intercept sees."""
        return np.column_stack([table, np.ones((len(table), self.penalty.n_free))])


def with_intercept(case: Case) -> Case:
    """Return the case with an unpenalised intercept; both classes are there."""
    y = case.y.copy()
    if case.loss.task == "classification":
        y[:2] = [-y[-1], y[-1]]
    X_test = np.column_stack([case.X_test, np.ones(len(case.X_test))])
    return replace(case, y=y, penalty=replace(case.penalty, n_free=1), X_test=X_test)


def train(problem: Problem, tol: float = 1e-14, max_iter: int = 40, start: np.ndarray | None = None) -> Solution:
    """Train as well as floats allow; that it was not well enough is never an error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(problem, tol=tol, max_iter=max_iter, start=start)


def vary_loss(rng: Generator, case: Case) -> Case:
    """Give a loss that has a parameter another value of it."""
    other = {field.name: float(rng.choice([0.25, 1.0, 10.0 ** rng.uniform(-3, 2)])) for field in fields(case.loss)}
    return replace(case, loss=replace(case.loss, **other))


def draw_solution(rng: Generator, case: Case, model: str) -> Solution:
    """Return a model of the center, trained well, badly or not at all."""
    if model == "loose":
        return train(case.problem, tol=1e-1)
    if model == "one step":
        return train(case.problem, max_iter=1)
    solution = train(case.problem, tol=1e-10 if rng.random() < 0.3 else 1e-14)
    w = solution.w
    size = np.abs(w).max() if np.abs(w).max() > 0.0 else 1.0
    if model == "zero":
        return replace(solution, w=np.zeros_like(w))
    if model == "noisy":
        return replace(solution, w=w + size * 10.0 ** rng.uniform(-8, -1) * rng.normal(size=len(w)))
    if model == "scaled":
        return replace(solution, w=w * rng.choice([-1.0, 0.5, 0.999999, 1.000001, 1.1, 3.0]))
    if model == "garbage":
        return replace(solution, w=size * 10.0 ** rng.uniform(-2, 2) * rng.normal(size=len(w)))
    if model == "other dual":
        solution = replace(solution, dual_w=w + size * 10.0 ** rng.uniform(-8, 1) * rng.normal(size=len(w)))
        if not case.loss.is_smooth:
            dual_loss = case.loss.smoothed(10.0 ** rng.uniform(-8, 0.5)) if rng.random() < 0.7 else case.loss
            solution = replace(solution, dual_loss=dual_loss)
    return solution


def draw_case(rng: Generator, family: str, loss_name: str, penalty: str) -> Case:
    """Draw a problem of a family."""
    table, radius = FAMILIES[family](rng)
    n, d = table.shape
    if family == "kink":
        X_test = rng.integers(-2, 3, size=(4, d)).astype(float)
        lam = float(rng.choice([0.25, 0.5, 1.0, 2.0, 0.1]))
    else:
        scales = np.abs(table).max(axis=0)
        scales[scales == 0.0] = 1.0
        X_test = np.vstack([table[rng.integers(n)], rng.normal(size=(3, d)) * scales])
        lam = 10.0 ** rng.uniform(-4, 1)
    loss = LOSSES[loss_name]
    if loss.task == "regression":
        y = np.round(rng.normal(size=n) * 2) if family == "kink" else rng.normal(size=n) * 10.0 ** rng.uniform(-2, 2)
    else:
        y = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
        if family == "imbalanced":
            y = np.where(np.arange(n) > 0, 1.0, -1.0)
    kappa = 0.0 if penalty == "l2" else _draw_kappa(rng, table, y, family)
    matrix = intervals(table, radius)
    weight = None
    if family == "weights" or rng.random() < 0.2:
        weight = rng.choice([1.0, 2.0, 0.5, 1e-3, 1e3, 0.1], size=n)
    return Case(matrix, y, weight, loss, ElasticNet(lam, kappa), X_test)


def _draw_kappa(rng: Generator, table: np.ndarray, y: np.ndarray, family: str) -> float:
    """Return an l1 strength that leaves some weights at zero and some not."""
    if family == "kink":
        return float(rng.choice([0.125, 0.25, 0.5]))
    slopes = np.sort(np.abs(np.nan_to_num(table).T @ y)) / len(y)
    at = slopes[rng.integers(len(slopes))]
    return float(at * 10.0 ** rng.uniform(-2, 0)) or 1e-3


def intervals(table: np.ndarray, radius: np.ndarray) -> IntervalMatrix:
    """Return the matrix with these exact centers and radii; NaN marks certain cells."""
    in_row, columns = np.nonzero(~np.isnan(radius))
    starts = np.concatenate([[0], np.cumsum(np.bincount(in_row, minlength=len(table)))]).astype(np.intp)
    holed = table.copy()
    holed[in_row, columns] = np.nan
    return IntervalMatrix(holed, starts, columns.astype(np.intp), table[in_row, columns], radius[in_row, columns])


def _holes(rng: Generator, shape: tuple[int, int], share: float) -> np.ndarray:
    holes = rng.random(shape) < share
    if not holes.any():
        holes[rng.integers(shape[0]), rng.integers(shape[1])] = True
    return holes


def _size(rng: Generator, n: int = 60, d: int = 8) -> tuple[int, int]:
    return int(np.exp(rng.uniform(np.log(3), np.log(n + 1)))), int(rng.integers(1, d + 1))


def _plain(rng: Generator, share: float | None = None, width: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    table = rng.normal(size=_size(rng))
    holes = _holes(rng, table.shape, rng.choice([0.02, 0.1, 0.4]) if share is None else share)
    radius = np.abs(rng.normal(size=table.shape)) * (10.0 ** rng.uniform(-4, 0.3) if width is None else width)
    return table, np.where(holes, radius, np.nan)


def _single(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    return _plain(rng, share=0.0)


def _wide(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    return _plain(rng, width=10.0 ** rng.uniform(0, 3))


def _one_column(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table, radius = _plain(rng)
    radius[:] = np.nan
    j = rng.integers(table.shape[1])
    radius[:, j] = np.where(rng.random(len(table)) < 0.9, rng.uniform(0.0, 1.0, len(table)), np.nan)
    return table, radius


def _one_scale(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table, radius = _plain(rng)
    scale = 10.0 ** rng.uniform(-6, 6)
    return table * scale, radius * scale


def _mixed_scales(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table, radius = _plain(rng)
    scale = 10.0 ** rng.uniform(-6, 6, size=table.shape[1])
    return table * scale, radius * scale


def _collinear(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table, radius = _plain(rng)
    copies = rng.integers(1, 3)
    twins = table[:, :1] + rng.choice([0.0, 1e-12, 1e-6]) * rng.normal(size=(len(table), copies))
    return np.hstack([table, twins]), np.hstack([radius, np.full_like(twins, np.nan)])


def _degenerate(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table, radius = _plain(rng)
    table[:, rng.integers(table.shape[1])] = rng.choice([0.0, 1.0, 7.0])
    table[rng.random(len(table)) < 0.3] = 0.0
    return table, radius


def _kink(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table = rng.integers(-2, 3, size=(rng.integers(2, 12), rng.integers(1, 4))).astype(float)
    holes = _holes(rng, table.shape, 0.15)
    return table, np.where(holes, rng.choice([0.25, 0.5, 1.0, 2.0], size=table.shape), np.nan)


def _points(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table, radius = _plain(rng)
    tiny = rng.choice([0.0, 1e-300, 1e-20, 1e-16, 1e-12, 1e-3], size=table.shape)
    return table, np.where(np.isnan(radius), np.nan, tiny)


def _offset(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    table, radius = _plain(rng)
    return table + rng.choice([-1e3, 10.0, 1e3], size=table.shape[1]), radius


FAMILIES: dict[str, Callable[[Generator], tuple[np.ndarray, np.ndarray]]] = {
    "plain": _plain,
    "weights": _plain,
    "single": _single,
    "wide": _wide,
    "one column": _one_column,
    "one scale": _one_scale,
    "mixed scales": _mixed_scales,
    "collinear": _collinear,
    "degenerate": _degenerate,
    "kink": _kink,
    "points": _points,
    "imbalanced": _plain,
    "offset": _offset,
}
