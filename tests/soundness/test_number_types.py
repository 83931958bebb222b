"""Numbers of another type are taken at their value: none of their lower precision reaches a bound."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from ipub import BoundedClassifier, BoundedRegressor
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import midpoint_and_radius


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("certificate", ["sphere", "ball", "tight"])
@pytest.mark.parametrize("estimator", [BoundedClassifier, BoundedRegressor])
def test_a_parameter_of_another_type_gives_the_bounds_of_its_value(estimator, certificate, kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, size=30)
    X[::7, 1] = np.nan
    alpha, l1_ratio = kind(8.03125), kind(0.25)
    given = estimator(alpha=alpha, l1_ratio=l1_ratio, certificate=certificate).fit(X, y)
    expected = estimator(alpha=float(alpha), l1_ratio=float(l1_ratio), certificate=certificate).fit(X, y)
    np.testing.assert_array_equal(given.coef_bounds_, expected.coef_bounds_)
    assert given.coef_bounds_.dtype == np.float64


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize(
    ("model", "name"),
    [(BoundedClassifier("smoothed_hinge"), "hinge_width"), (BoundedRegressor("huber"), "huber_delta")],
)
def test_a_parameter_of_a_loss_of_another_type_gives_the_bounds_of_its_value(model, name, kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, size=30)
    X[::7, 1] = np.nan
    given, expected = (
        clone(model).set_params(**{name: value}).fit(X, y).coef_bounds_ for value in (kind(0.1), float(kind(0.1)))
    )
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float16, np.float32, bool])
def test_rows_of_another_type_are_bounded_as_their_values(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    X[::5, 0] = np.nan
    model = BoundedRegressor().fit(X, rng.normal(size=30))
    rows = np.array([[100, 3, 1], [127, 0, 100]]).astype(kind)
    expected = model.certificate_.score_bounds(np.column_stack([rows.astype(float), np.ones(2)]))
    extended = np.column_stack([rows, np.ones(2, dtype=kind)])
    np.testing.assert_array_equal(model.certificate_.score_bounds(extended), expected)
    np.testing.assert_array_equal(model.predict_bounds(rows), expected)
    assert (expected[:, 0] < expected[:, 1]).all()


@pytest.mark.parametrize("lam", [9e307, 1e-308, np.inf, np.nan, 0.0, -1.0])
def test_a_penalty_whose_double_or_inverse_could_overflow_is_refused(lam):
    with pytest.raises(ValueError, match="l2 penalty"):
        ElasticNet(lam)


def test_a_penalty_of_lower_precision_is_doubled_in_full():
    assert ElasticNet(np.float32(3e38)).lam * 2.0 < np.inf


@pytest.mark.parametrize("end", [0.0, 5e-324, 1.5e-323, 1.0, -3e-308, 1e150])
def test_a_point_interval_is_its_point(end):
    midpoint, radius = midpoint_and_radius(np.array([end]), np.array([end]))
    assert midpoint[0] == end
    assert radius[0] == 0.0
