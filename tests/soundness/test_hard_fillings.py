"""Budgets on hard tables: penalties near zero, loose training, a column all missing, huge and tiny scales, points."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget
from support.draws import logistic_models

N_TABLES, N_MOVED = 40, 12
SLACK = 1e-6
"""Of a retrained score, for the rounding of its training."""


def exact_scores(X, y, alpha, rows, task):
    """Return the scores of rows under the model of a table, with a free intercept, trained to rounding."""
    if task == "classification":
        w = logistic_models(X[None], np.where(y == 1, 1.0, -1.0), alpha, steps=300)[0]
    else:
        Z = np.column_stack([X, np.ones(len(X))])
        w = np.linalg.solve(2.0 * Z.T @ Z / len(Z) + np.diag([alpha] * X.shape[1] + [0.0]), 2.0 * Z.T @ y / len(Z))
    return np.column_stack([rows, np.ones(len(rows))]) @ w


def hard_table(rng, task):
    """Return a table with holes, labels, ranges of the holes and a filling, which may be at an end of each range."""
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 4))
    scale = 10.0 ** rng.choice([-6, -3, 0, 0, 3, 6], size=d)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + 0.5 * rng.normal(size=n)
    y = (y > 0).astype(int) if task == "classification" else y
    y[:2] = 0, 1
    holes = np.zeros(X.shape, dtype=bool)
    holes.ravel()[rng.permutation(n * d)[: rng.integers(1, 6)]] = True
    if d > 1 and rng.random() < 0.25:
        holes[:, rng.integers(d)] = True
    ranges = np.column_stack([-rng.uniform(0, 3, d), rng.uniform(0, 3, d)]) * scale[:, None]
    if rng.random() < 0.2:
        ranges[0] = ranges[0, 0]
    filling = ranges.mean(axis=1) if rng.random() < 0.5 else ranges[:, rng.integers(2)]
    return np.where(holes, np.nan, X * scale), y, ranges, np.where(holes, filling, X * scale), scale


@pytest.mark.share(2)
@pytest.mark.parametrize("tol", [1e-10, 0.3])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_no_table_within_a_budget_breaks_a_bound_of_a_hard_one(task, tol):
    rng = np.random.default_rng([len(task), int(1.0 / tol) % 1000])
    kind, n_proved, count = BoundedClassifier if task == "classification" else BoundedRegressor, 0, 0
    for _ in range(N_TABLES):
        X, y, ranges, filled, scale = hard_table(rng, task)
        cells, wrong_cells, alpha = int(rng.integers(0, 3)), int(rng.integers(0, 2)), 10.0 ** rng.uniform(-6, 1)
        off = 0.3 * scale
        precision = dict(enumerate(off)) if wrong_cells else None
        budget = Budget(cells=cells, filling=filled, wrong_cells=wrong_cells, precision=precision)
        model = kind(alpha=alpha, tol=tol, scale="standard", intervals=ranges, uncertainty=budget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        rows = rng.normal(size=(3, X.shape[1])) * scale
        bounds = model.decision_bounds(rows) if task == "classification" else model.predict_bounds(rows)
        n_proved += any(part.name == "row sums" for part in model.certificate_.parts)
        holes, observed = np.argwhere(np.isnan(X)), np.argwhere(~np.isnan(X))
        for _ in range(N_MOVED):
            other = filled.copy()
            for i, j in rng.permutation(holes)[:cells]:
                other[i, j] = rng.choice([*ranges[j], rng.uniform(*ranges[j])])
            if wrong_cells and len(observed):
                i, j = rng.permutation(observed)[0]
                other[i, j] += rng.choice([-1.0, 1.0]) * off[j]
            scores = exact_scores(model.scaling_.rows(other), y, alpha, model.scaling_.rows(rows), task)
            slack = SLACK * (1.0 + np.abs(scores))
            assert (bounds[:, 0] <= scores + slack).all()
            assert (scores <= bounds[:, 1] + slack).all()
            count += 2 * len(rows)
    assert n_proved >= N_TABLES // 4
    assert count == 6 * N_TABLES * N_MOVED


def test_a_share_is_of_all_missing_values_also_of_those_that_have_one_value_alone():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0.0, 1, 0)
    X[:, 2] = 1.0
    X[:40, 1] = X[50:90, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BoundedClassifier(alpha=0.1, uncertainty=Budget(share=0.1)).fit(X, y)
    assert "at most 8 of the 80 missing values" in model.certificate_.promise
    low, high = model.hole_ranges_[1]
    filled = np.where(np.isnan(X), model.fill_values_, X)
    rows = np.array([[0.0, 1.0, 1.0]])
    (bounds,) = model.decision_bounds(rows)
    for end, few in ((low, y[:40] == 1), (high, y[:40] == 0), (low, y[:40] == 0), (high, y[:40] == 1)):
        other = filled.copy()
        other[np.flatnonzero(few)[:8], 1] = end
        score = exact_scores(other, y, 0.1, rows, "classification")[0]
        assert bounds[0] - SLACK <= score <= bounds[1] + SLACK


def test_more_wrong_cells_than_a_table_has_are_all_of_them():
    X = np.random.default_rng(3).normal(size=(30, 2))
    y = (X[:, 0] > 0.0).astype(int)
    X[0, 1] = np.nan
    fitted = [
        BoundedClassifier(uncertainty=Budget(cells=1, wrong_cells=n, precision={0: 1e-3, 1: 1e-3})).fit(X, y)
        for n in (59, 10**20)
    ]
    np.testing.assert_array_equal(*(each.decision_bounds(np.eye(2)) for each in fitted))
