"""Problems of a few rows, small enough that every completion can be minimised exactly."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.missing_category import Levels, MissingCategories
from support.cases import Case, intervals

TABLES = ("integers", "normal", "tiny scale", "huge scale", "mixed scales", "thin intervals", "weights")


def tiny_case(rng: np.random.Generator, table_kind: str, loss_name: str, penalty: str, cells: int) -> Case:
    n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    integers = table_kind == "integers"
    table = rng.integers(-2, 3, size=(n, d)).astype(float) if integers else rng.normal(size=(n, d))
    X_test = rng.integers(-2, 3, size=(3, d)).astype(float) if integers else rng.normal(size=(3, d))
    radius = np.full((n, d), np.nan)
    for place in rng.choice(n * d, size=min(cells, n * d), replace=False):
        radius.flat[place] = rng.choice([0.25, 0.5, 1.0]) if integers else abs(rng.normal())
    if table_kind == "thin intervals":
        radius *= rng.choice([1e-14, 1e-9, 1e-5])
    exponents = {"tiny scale": -6.0, "huge scale": 6.0, "mixed scales": rng.choice([-6.0, 0.0, 6.0], size=d)}
    scale = 10.0 ** np.broadcast_to(exponents.get(table_kind, 0.0), (d,))
    lam = float(rng.choice([0.25, 0.5, 1.0, 2.0])) if integers else 10.0 ** rng.uniform(-4, 1)
    loss = LOSSES[loss_name]
    if loss.task == "regression":
        y = rng.integers(-2, 3, size=n).astype(float) if integers else rng.normal(size=n)
    else:
        y = rng.choice([-1.0, 1.0], size=n)
    slope = float(np.abs((table * scale).T @ y).max()) / n
    kappa = 0.0 if penalty == "l2" else (0.125 if integers else (slope or 1.0) * 10.0 ** rng.uniform(-2, 0))
    weight = rng.choice([0.5, 1.0, 3.0, 1e-3], size=n) if table_kind == "weights" else None
    matrix = intervals(table * scale, radius * scale)
    return Case(matrix, y, weight, loss, ElasticNet(lam, kappa), X_test * scale)


def tiny_choices(rng: np.random.Generator, loss_name: str, penalty: str, gentle: bool) -> Case:
    """A few rows with numbers, one or two categories, of which some are missing, and perhaps an interval."""
    sizes = rng.integers(2, 4, size=rng.integers(1, 3))
    n, d = int(rng.integers(4, 7)), 1
    starts = d + np.concatenate([[0], np.cumsum(sizes)])
    table = np.concatenate([rng.normal(size=(n, d)), *(np.eye(c)[rng.integers(0, c, size=n)] for c in sizes)], axis=1)
    missing = np.zeros((n, len(sizes)), dtype=bool)
    for _ in range(rng.integers(1, 3)):
        missing[rng.integers(n), rng.integers(len(sizes))] = True
    levels = [Levels(np.arange(a, b)) for a, b in pairwise(starts)]
    missing_categories = MissingCategories.of(missing, levels)
    missing_categories.put(table)
    radius = 0.2 if gentle else 1.0
    holes = rng.integers(0, 2)
    lower, upper = table.copy(), table.copy()
    for _ in range(holes):
        i, j = (
            (int(rng.choice(missing_categories.rows)) if rng.random() < 0.5 else int(rng.integers(n))),
            int(rng.integers(d)),
        )
        lower[i, j], upper[i, j] = table[i, j] - radius, table[i, j] + radius
    matrix = replace(IntervalMatrix.from_bounds(lower, upper), missing_categories=missing_categories)
    y = rng.normal(size=n) if LOSSES[loss_name].task == "regression" else rng.choice([-1.0, 1.0], size=n)
    weight = np.ones(n)
    if gentle:
        weight[missing.any(axis=1)] = 10.0 ** rng.uniform(-4.0, -1.0)
    kappa = 0.0 if penalty == "l2" else 0.1 * float(np.abs(table.T @ y).max()) / n
    lam = 10.0 ** rng.uniform(-2.0, 0.5)
    return Case(matrix, y, weight, LOSSES[loss_name], ElasticNet(lam, kappa), rng.normal(size=(3, table.shape[1])))
