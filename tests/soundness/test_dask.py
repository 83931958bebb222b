"""Bounds from a table in Dask partitions of one row or none hold at every corner, exactly."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

import dask
from ipub import BoundedClassifier, BoundedRegressor
from ipub.losses import LOSSES
from ipub.rows import engine_of
from ipub.rows.pieces import FoldedRows
from support.bounded_tables import corner_models, draw_table
from support.oracles.rationals import holds


@pytest.mark.share(2)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::ipub.IntervalWarning")
@pytest.mark.parametrize("certificate", ["tight", "sphere"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_bounds_of_partitions_hold_at_every_corner_exactly(loss_name, certificate):
    rng = np.random.default_rng([list(LOSSES).index(loss_name), len(certificate), 7])
    is_regression = LOSSES[loss_name].task == "regression"
    table = draw_table(rng)[0]
    n, d = table.shape
    ranges = np.sort(rng.normal(size=(d, 2)), axis=1)
    lower, upper = (np.where(np.isnan(table), end, table) for end in ranges.T)
    y = rng.normal(size=n) if is_regression else np.where(np.arange(n) % 2, 1.0, -1.0)
    weight = rng.choice([0.0, 1.0, 2.5], size=n)
    weight[:2] = 1.0
    estimator = BoundedRegressor if is_regression else BoundedClassifier
    model = estimator(loss_name, alpha=float(10.0 ** rng.uniform(-2, 1)), certificate=certificate, intervals=ranges)
    chunks = (*(1,) * (n - 1), 0, 1)
    with dask.config.set(scheduler="synchronous"):
        model.fit(*(da.from_array(part, chunks=(chunks, *part.shape[1:])) for part in (table, y, weight)))
    assert isinstance(engine_of(model.training_.models[0].problem.rows), FoldedRows)
    X_test = rng.normal(size=(3, d))
    bounds = model.predict_bounds(X_test) if is_regression else model.decision_bounds(X_test)
    extended = np.column_stack([X_test, np.ones(3)])
    for exact in corner_models(model, lower, upper, y, weight):
        assert all(holds(bounds[k], exact.score(x)) for k, x in enumerate(extended))
