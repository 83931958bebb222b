"""Small training problems that several test modules share."""

from __future__ import annotations

import numpy as np

from ipub import IntervalMatrix
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.rows import MemoryRows
from ipub.rows.completions import whole_table
from ipub.tables.holes import column_ranges

COMBINATIONS = [(loss, l1_ratio) for loss in LOSSES for l1_ratio in (0.0, 0.5)]
"""All combinations of a loss and a penalty."""


def penalty_of(alpha: float, l1_ratio: float) -> ElasticNet:
    """Return the penalty that an estimator with these parameters uses."""
    return ElasticNet(alpha * (1.0 - l1_ratio), alpha * l1_ratio)


def draw_table(
    n: int = 120, d: int = 5, holes: float = 0.0, seed: int = 0, task: str = "classification"
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table, with a share of its cells NaN, and labels (-1 and +1) or targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    if task == "classification":
        y = np.where(y > 0.0, 1.0, -1.0)
    X[rng.random((n, d)) < holes] = np.nan
    return X, y


def make_problem(
    loss: str,
    l1_ratio: float = 0.0,
    alpha: float = 0.1,
    *,
    holes: float = 0.0,
    n: int = 120,
    d: int = 5,
    seed: int = 0,
    weight: np.ndarray | None = None,
    stretch: float = 1.0,
) -> Problem:
    """Return a problem on a drawn table; `stretch` multiplies the length of its intervals."""
    X, y = draw_table(n, d, holes, seed, LOSSES[loss].task)
    ranges = column_ranges(X, "observed")
    middle = ranges.mean(axis=1, keepdims=True)
    matrix = IntervalMatrix.from_table(X, middle + stretch * (ranges - middle))
    return Problem(MemoryRows(matrix, y, weight), LOSSES[loss], penalty_of(alpha, l1_ratio))


def center_of(problem: Problem) -> np.ndarray:
    """Return the rows of a problem with every hole at the middle of its interval."""
    return whole_table(problem.rows).center


def objective(problem: Problem, X: np.ndarray, w: np.ndarray) -> float:
    """Return the objective of w on a complete table, written out again."""
    weight, penalty = problem.rows.labels().weight, problem.penalty
    loss = weight @ problem.loss.value(problem.rows.labels().y, X @ w) / weight.sum()
    return float(loss + 0.5 * penalty.lam * w @ w + penalty.kappa * np.abs(w).sum())


def dual_value(problem: Problem, X: np.ndarray, a: np.ndarray) -> float:
    """Return the dual objective of dual coordinates a on a complete table, written out again."""
    weight, penalty = problem.rows.labels().weight, problem.penalty
    conjugate = weight @ problem.loss.conjugate(problem.rows.labels().y, a) / weight.sum()
    q = X.T @ (weight * a) / weight.sum()
    excess = np.maximum(np.abs(q) - penalty.kappa, 0.0)
    return float(-conjugate - (excess**2).sum() / (2.0 * penalty.lam))
