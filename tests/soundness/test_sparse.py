"""The attacks on bounds that were computed from a sparse table, and exact proofs of those of the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ipub import BoundedClassifier, BoundedRegressor
from ipub.losses import LOSSES
from ipub.rows import engine_of
from ipub.rows import sparse as engine
from ipub.rows.sparse import SparseRows
from support import attacks, cases
from support.attacks import attack_family
from support.bounded_tables import corner_models, draw_table
from support.oracles.rationals import holds
from support.sparse_rows import keep_every_table_sparse, sparse_rows


@pytest.mark.share(2)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("number", "loss_name"), list(enumerate(LOSSES)))
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_no_completion_breaks_a_bound(number, loss_name, intercept, monkeypatch, report_attack):
    monkeypatch.setattr(cases, "MemoryRows", sparse_rows)
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 30)
    certificates = {name: make for name, make in attacks.ATTACKED.items() if name != "slope"}
    monkeypatch.setattr(attacks, "ATTACKED", certificates)
    families = list(cases.FAMILIES)
    penalty = ("l2", "elastic net")[(number + intercept) % 2]
    family = families[(2 * number + intercept) % len(families)]
    tally = attack_family(3, family, loss_name, penalty, problems=1, intercept=intercept)
    report_attack(tally)
    assert tally.checks > 0
    assert tally.violations == []


@pytest.mark.share(2)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::ipub.IntervalWarning")
@pytest.mark.parametrize("certificate", ["ball", "sphere"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_bounds_of_a_sparse_table_hold_at_every_corner_exactly(loss_name, certificate, monkeypatch):
    keep_every_table_sparse(monkeypatch)
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 3)
    rng = np.random.default_rng([list(LOSSES).index(loss_name), len(certificate)])
    is_regression = LOSSES[loss_name].task == "regression"
    for trial in range(2):
        table = draw_table(rng)[0]
        table[~np.isnan(table) & (rng.random(table.shape) < 0.4)] = 0.0
        ranges = np.sort(rng.normal(size=(table.shape[1], 2)), axis=1)
        lower, upper = (np.where(np.isnan(table), end, table) for end in ranges.T)
        y = rng.normal(size=len(table)) if is_regression else np.where(np.arange(len(table)) % 2, 1.0, -1.0)
        weight = rng.choice([0.0, 1.0, 2.5], size=len(table))
        weight[:2] = 1.0
        estimator = BoundedRegressor if is_regression else BoundedClassifier
        model = estimator(
            loss_name, alpha=float(10.0 ** rng.uniform(-2, 1)), certificate=certificate, intervals=ranges
        ).set_params(fit_intercept=bool(trial), l1_ratio=0.3 * trial)
        model.fit(csr_array(table), y, sample_weight=weight)
        assert isinstance(engine_of(model.training_.models[0].problem.rows), SparseRows)
        X_test = rng.normal(size=(3, table.shape[1]))
        X_test[0, 0] = 0.0
        bounds = (model.predict_bounds if is_regression else model.decision_bounds)(csr_array(X_test))
        extended = np.column_stack([X_test, np.ones(3)]) if model.fit_intercept else X_test
        for exact in corner_models(model, lower, upper, y, weight):
            assert all(holds(bounds[k], exact.score(x)) for k, x in enumerate(extended))
