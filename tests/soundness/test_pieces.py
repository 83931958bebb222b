"""Bounds from a table that is streamed in tiny pieces hold at every corner, exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.losses import LOSSES
from ipub.rows import engine_of
from ipub.rows.pieces import PieceRows
from support.bounded_tables import corner_models, draw_table
from support.long_tables import FrameTable, cut, stream_everything, write_files
from support.oracles.rationals import holds


@pytest.mark.share(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::ipub.IntervalWarning")
@pytest.mark.parametrize("kind", ["frames", "files"])
@pytest.mark.parametrize("certificate", ["tight", "sphere"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_bounds_of_pieces_hold_at_every_corner_exactly(loss_name, certificate, kind, tmp_path, monkeypatch):
    stream_everything(monkeypatch, 1)
    rng = np.random.default_rng([list(LOSSES).index(loss_name), len(certificate), len(kind)])
    is_regression = LOSSES[loss_name].task == "regression"
    for trial in range(2):
        table = draw_table(rng)[0]
        names = [f"x{j}" for j in range(table.shape[1])]
        ranges = np.sort(rng.normal(size=(len(names), 2)), axis=1)
        lower, upper = (np.where(np.isnan(table), end, table) for end in ranges.T)
        y = rng.normal(size=len(table)) if is_regression else np.where(np.arange(len(table)) % 2, 1.0, -1.0)
        weight = rng.choice([0.0, 1.0, 2.5], size=len(table))
        weight[:2] = 1.0
        frame = pd.DataFrame(table, columns=names).assign(y=y, w=weight)
        estimator = BoundedRegressor if is_regression else BoundedClassifier
        model = estimator(
            loss_name, alpha=float(10.0 ** rng.uniform(-2, 1)), certificate=certificate, intervals=ranges
        ).set_params(fit_intercept=bool(trial), l1_ratio=0.3 * trial)
        source = FrameTable(cut(frame, 3)) if kind == "frames" else write_files(tmp_path / str(trial), frame, 2, 1)
        model.fit(source, "y", sample_weight="w")
        assert isinstance(engine_of(model.training_.models[0].problem.rows), PieceRows)
        X_test = rng.normal(size=(3, len(names)))
        rows = pd.DataFrame(X_test, columns=names)
        bounds = model.predict_bounds(rows) if is_regression else model.decision_bounds(rows)
        extended = np.column_stack([X_test, np.ones(3)]) if model.fit_intercept else X_test
        for exact in corner_models(model, lower, upper, y, weight):
            assert all(holds(bounds[k], exact.score(x)) for k, x in enumerate(extended))
