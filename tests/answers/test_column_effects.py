"""Effects of columns to first order: what retraining gives where intervals are short."""

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.answers.column_effects import first_order_widths


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=40)
    X[3, 1] = X[7, 2] = np.nan
    return X, y


@pytest.mark.parametrize("make", [BoundedClassifier, BoundedRegressor])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_short_interval_moves_scores_as_retraining_does(make, intercept, data):
    X, y = data
    y = y > 0.0 if make is BoundedClassifier else y
    radius = 1e-3
    ranges = {0: (0.0, 1.0), 1: (-radius, radius), 2: (0.5 - radius, 0.5 + radius)}
    template = make(alpha=0.1, fit_intercept=intercept, intervals=ranges, tol=1e-14)
    model = template.fit(X, y)
    rows = np.random.default_rng(1).normal(size=(5, 3))
    widths = first_order_widths(model.training_, rows)
    assert widths[0] == 0.0
    for column, (row, middle) in {1: (3, 0.0), 2: (7, 0.5)}.items():
        ends = []
        for end in (middle - radius, middle + radius):
            filled = np.where(np.isnan(X), [0.0, 0.0, 0.5], X)
            filled[row, column] = end
            other = make(alpha=0.1, fit_intercept=intercept, tol=1e-14).fit(filled, y)
            ends.append(rows @ np.ravel(other.coef_) + other.intercept_)
        np.testing.assert_allclose(widths[column], np.abs(ends[1] - ends[0]).sum(), rtol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_losses_with_kinks_have_effects_too(loss, data):
    X, y = data
    model = BoundedClassifier(loss, l1_ratio=0.1).fit(X, y > 0.0)
    widths = first_order_widths(model.training_, np.eye(3))
    assert np.isfinite(widths).all()
    assert (widths[1:] > 0.0).any()


def test_a_category_is_one_column_and_several_classes_add_up(data):
    X, y = data
    site = pd.Series(np.where(X[:, 0] > 0.0, "north", "south"), dtype=object)
    site[5] = None
    frame = pd.DataFrame({"a": np.nan_to_num(X[:, 1]), "site": site, "b": np.where(np.isnan(X[:, 2]), np.nan, X[:, 2])})
    model = BoundedClassifier().fit(frame, np.digitize(y, [-0.5, 0.5]))
    rows = model.training_.table.filled_rows(frame[:4])
    widths = first_order_widths(model.training_, rows)
    assert widths.shape == (3,)
    assert widths[0] == 0.0
    assert (widths[1:] > 0.0).all()
