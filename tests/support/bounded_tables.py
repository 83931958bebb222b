"""Tables with bounds of their cells as a user gives them, and the exact models of their corners."""

from __future__ import annotations

import itertools

import numpy as np

from ipub.estimators.fitted_state import loss_of
from support.oracles.exact import ExactModel, exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import rational, rational_rows


def draw_table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a table with holes, and bounds of every cell that agree with the observed ones."""
    n, d = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    table = rng.normal(size=(n, d)) * 10.0 ** rng.choice([-3, 0, 3], size=d)
    lower, upper = table.copy(), table.copy()
    for place in rng.choice(n * d, size=2, replace=False):
        lower.flat[place] -= abs(rng.normal()) * abs(table.flat[place])
        upper.flat[place] += abs(rng.normal()) * abs(table.flat[place])
        table.flat[place] = np.nan
    return table, lower, upper


def corner_models(model, lower, upper, y, weight) -> list[ExactModel]:
    """Return the exact minimiser of the documented problem for every corner and the middle of each edge."""
    cells = np.argwhere(lower != upper)
    strength, ratio = rational(model.alpha), rational(model.l1_ratio)
    models = []
    for positions in itertools.product((0, 1, 2), repeat=len(cells)):
        table = rational_rows(lower)
        for (i, j), position in zip(cells, positions, strict=True):
            table[i][j] += (rational(upper[i, j]) - rational(lower[i, j])) * position / 2
        minimise = exact_intercept_model if model.fit_intercept else exact_model
        models.append(minimise(table, y, weight, loss_of(model), strength * (1 - ratio), strength * ratio))
    return models
