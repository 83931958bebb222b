"""What the estimators promise, proven on tiny tables: the exact model of every corner of the user's own bounds."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx

from ipub import BoundedClassifier, BoundedRegressor
from ipub.losses import LOSSES
from support.bounded_tables import corner_models, draw_table
from support.enclosures import PRECISION, is_above, is_below
from support.oracles.exact import ExactModel
from support.oracles.losses import sigmoid_ends
from support.oracles.rationals import holds

LOSS_NAMES = tuple(LOSSES)


@pytest.mark.share(4)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("certificate", ["tight", "ball", "sphere"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.3])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_published_bounds_hold_at_every_corner_exactly(loss_name, l1_ratio, certificate, fit_intercept, report_proofs):
    rng = np.random.default_rng([LOSS_NAMES.index(loss_name), int(10 * l1_ratio), len(certificate)])
    count = 0
    for _ in range(5):
        table, lower, upper = draw_table(rng)
        is_regression = LOSSES[loss_name].task == "regression"
        estimator = BoundedRegressor if is_regression else BoundedClassifier
        alpha = float(10.0 ** rng.uniform(-2, 1))
        parameters = {"l1_ratio": l1_ratio, "certificate": certificate, "fit_intercept": fit_intercept}
        model = estimator(loss=loss_name, alpha=alpha, **parameters)
        model.set_params(**{"huber_delta" if is_regression else "hinge_width": float(10.0 ** rng.uniform(-2, 1))})
        y = rng.normal(size=len(table)) if is_regression else np.where(np.arange(len(table)) % 2, 1.0, -1.0)
        weight = rng.choice([0.0, 1.0, 2.5], size=len(table))
        weight[:2] = 1.0
        model.fit(table, y, sample_weight=weight, X_lower=lower, X_upper=upper)
        X_test = rng.normal(size=(3, table.shape[1]))
        bounds = model.predict_bounds(X_test) if is_regression else model.decision_bounds(X_test)
        rows = np.column_stack([X_test, np.ones(len(X_test))]) if fit_intercept else X_test
        weights = [*model.coef_bounds_, *([model.intercept_bounds_] if fit_intercept else [])]
        for exact in corner_models(model, lower, upper, y, weight):
            assert all(holds(bounds[k], exact.score(x)) for k, x in enumerate(rows))
            assert all(holds(ends, exact.score(e)) for ends, e in zip(weights, np.eye(len(weights)), strict=True))
            count += len(X_test) + len(weights)
            if loss_name == "log_loss":
                _prove_probabilities(model.predict_proba_bounds(X_test), exact, rows)
            if not is_regression:
                _prove_labels(model.predict_set(X_test), exact, rows)
    report_proofs(count)


def _prove_probabilities(bounds: np.ndarray, exact: ExactModel, X_test: np.ndarray) -> None:
    with ctx.workprec(PRECISION):
        for (low, high), x in zip(bounds, X_test, strict=True):
            lowest, highest = (arb(score) for score in exact.score(x))
            assert is_below(low, sigmoid_ends(lowest)[0])
            assert is_above(high, sigmoid_ends(highest)[1])


def _prove_labels(possible: np.ndarray, exact: ExactModel, X_test: np.ndarray) -> None:
    for (negative, positive), x in zip(possible, X_test, strict=True):
        lowest, highest = exact.score(x)
        assert negative or lowest > 0
        assert positive or highest < 0
