"""Scaling inside, and values that are observed but not precise: in the units of the user."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix, Intervals, IntervalWarning
from ipub.app.files.modelfile import load, save

# Row sums, which a weak penalty needs, choose multipliers in steps: rounding sways their bounds a little.
SCALERS = {"standard": StandardScaler(), "minmax": MinMaxScaler((-1, 1))}
NAMES = ["age", "income", "grade"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal([50.0, 3e4, 0.1], [10.0, 1e4, 0.01], size=(150, 3))
    y = (X[:, 0] / 10.0 + X[:, 1] / 1e4 + rng.normal(size=150) > 8.0).astype(int)
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, y


@pytest.fixture
def X_test():
    return np.random.default_rng(1).normal([50.0, 3e4, 0.1], [10.0, 1e4, 0.01], size=(20, 3))


@pytest.mark.parametrize("intervals", ["quantile", "observed"])
@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize(("alpha", "atol"), [(1.0, 0.0), (0.1, 1e-6)], ids=["slopes", "row sums"])
def test_bounds_are_those_of_a_scaler_before_the_estimator(alpha, atol, scale, intervals, data, X_test):
    X_test[3, 1] = np.nan
    clf = BoundedClassifier(alpha=alpha, scale=scale, intervals=intervals).fit(*data)
    pipe = make_pipeline(clone(SCALERS[scale]), BoundedClassifier(alpha=alpha, intervals=intervals)).fit(*data)
    scaled = pipe[:-1].transform(X_test)
    np.testing.assert_allclose(clf.decision_bounds(X_test), pipe[-1].decision_bounds(scaled), rtol=1e-6, atol=atol)
    np.testing.assert_allclose(clf.decision_function(X_test), pipe.decision_function(X_test), rtol=1e-6)
    np.testing.assert_allclose(clf.coef_bounds_, pipe[-1].coef_bounds_, rtol=1e-6)
    bounds, scores = clf.decision_bounds(X_test), clf.decision_function(X_test)
    assert ((bounds[:, 0] < scores) & (scores < bounds[:, 1])).all()


@pytest.mark.parametrize(("alpha", "rtol", "atol"), [(1.0, 1e-9, 0.0), (0.1, 1e-4, 1e-6)], ids=["slopes", "row sums"])
def test_a_column_transformer_before_the_estimator_leaves_the_holes(alpha, rtol, atol, data, X_test):
    X, y = data
    frame, rows = pd.DataFrame(X, columns=NAMES), pd.DataFrame(X_test, columns=NAMES)
    columns = make_column_transformer((StandardScaler(), ["age", "income"]), remainder="passthrough")
    pipe = make_pipeline(columns.set_output(transform="pandas"), BoundedClassifier(alpha=alpha)).fit(frame, y)
    scaler = StandardScaler().fit(X[:, :2])
    by_hand = np.column_stack([scaler.transform(X_test[:, :2]), X_test[:, 2]])
    clf = BoundedClassifier(alpha=alpha).fit(np.column_stack([scaler.transform(X[:, :2]), X[:, 2]]), y)
    bounds = pipe[-1].decision_bounds(pipe[:-1].transform(rows))
    np.testing.assert_allclose(bounds, clf.decision_bounds(by_hand), rtol=rtol, atol=atol)


@pytest.mark.parametrize("scale", SCALERS)
def test_ranges_are_in_the_units_of_the_user(scale, data, X_test):
    X, y = data
    ranges = {"age": (0.0, 120.0), "income": (1e4, 5e4)}
    clf = BoundedClassifier(scale=scale, intervals=ranges).fit(pd.DataFrame(X, columns=NAMES), y)
    np.testing.assert_array_equal(clf.hole_ranges_[:2], [[0.0, 120.0], [1e4, 5e4]])
    bounds = clf.decision_bounds(pd.DataFrame(X_test, columns=NAMES))
    rng = np.random.default_rng(2)
    low, high = clf.hole_ranges_.T
    for number in range(4):
        position = rng.random(X.shape) if number % 2 else rng.integers(0, 2, X.shape)
        filled = np.where(np.isnan(X), low + position * (high - low), X)
        again = BoundedClassifier().fit(clf.scaling_.rows(filled), y)  # the same scaler for every completion
        scores = again.decision_function(clf.scaling_.rows(X_test))
        assert (bounds[:, 0] <= scores + 1e-7).all()
        assert (scores <= bounds[:, 1] + 1e-7).all()


@pytest.mark.parametrize("scale", SCALERS)
def test_rows_of_weight_zero_and_holes_have_no_say_in_the_scale(scale, data):
    X, y = data
    more = np.vstack([X, np.full((5, 3), 1e9)])
    weight = np.append(np.ones(len(X)), np.zeros(5))
    clf = BoundedClassifier(scale=scale).fit(more, np.append(y, [0] * 5), sample_weight=weight)
    expected = clone(SCALERS[scale]).fit(X)
    np.testing.assert_allclose(clf.scaling_.rows(X), expected.transform(X))


@pytest.mark.parametrize("scale", SCALERS)
def test_columns_of_one_value_or_of_none_are_no_trouble(scale, data, X_test):
    X, y = data
    X[:, 2], X[:, 0] = 7.0, np.nan
    clf = BoundedClassifier(scale=scale, intervals={0: (10.0, 20.0)}).fit(X, y)
    assert np.isfinite(clf.decision_bounds(X_test)).all()
    scaled = clf.scaling_.rows(np.array([[10.0, 0.0, 7.0], [20.0, 0.0, 7.0]]))
    np.testing.assert_allclose(scaled[:, 0], [-1.0, 1.0])
    assert scaled[0, 2] == scaled[1, 2]


@pytest.mark.parametrize("scale", SCALERS)
def test_explicit_bounds_and_interval_matrices_are_scaled(scale, data, X_test):
    X, y = data
    lower, upper = np.where(np.isnan(X), [0.0, 1e4, 0.05], X), np.where(np.isnan(X), [99.0, 5e4, 0.2], X)
    by_bounds = BoundedClassifier(scale=scale).fit(X, y, X_lower=lower, X_upper=upper)
    by_range = BoundedClassifier(scale=scale, intervals=[[0.0, 99.0], [1e4, 5e4], [0.05, 0.2]]).fit(X, y)
    np.testing.assert_allclose(by_bounds.decision_bounds(X_test), by_range.decision_bounds(X_test), rtol=1e-9)
    both = BoundedClassifier(scale=scale).fit(IntervalMatrix.from_bounds(lower, upper), y)
    bounds = both.decision_bounds(IntervalMatrix.from_bounds(X_test, X_test * 1.01))
    assert np.isfinite(bounds).all()


def test_files_and_pipelines_keep_the_scale(data, X_test, tmp_path):
    clf = BoundedClassifier(scale="standard", intervals=Intervals(precision={0: 0.5})).fit(*data)
    save(clf, tmp_path / "m.ipub")
    np.testing.assert_array_equal(load(tmp_path / "m.ipub").decision_bounds(X_test), clf.decision_bounds(X_test))


def test_a_memory_mapped_table_is_scaled_in_memory(data, X_test, tmp_path):
    np.save(tmp_path / "X.npy", data[0])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    clf = BoundedClassifier(scale="standard", intervals=Intervals(precision=0.001)).fit(mapped, data[1])
    expected = BoundedClassifier(scale="standard", intervals=Intervals(precision=0.001)).fit(*data)
    np.testing.assert_array_equal(clf.decision_bounds(X_test), expected.decision_bounds(X_test))


# --- precision -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, "standard"])
def test_values_that_are_not_precise_are_intervals_in_training_and_test_rows(scale, X_test):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=60)
    X[:3, 1], X_test = np.nan, rng.normal(size=(5, 3))
    off = np.array([0.05, 0.0, 0.01])
    frame, rows = pd.DataFrame(X, columns=NAMES), pd.DataFrame(X_test, columns=NAMES)
    reg = BoundedRegressor(scale=scale, intervals=Intervals(precision={"age": 0.05, "grade": 0.01})).fit(frame, y)
    bounds, (low, high) = reg.predict_bounds(rows), reg.hole_ranges_.T
    np.testing.assert_array_equal(reg.precision_, off)
    for number in range(6):
        ends = (rng.integers(0, 2, X.shape) * 2.0 - 1.0) if number % 2 else rng.uniform(-1.0, 1.0, X.shape)
        filled = np.where(np.isnan(X), low + (ends + 1.0) / 2.0 * (high - low), X + ends * off)
        moved = X_test + off * rng.choice([-1.0, 1.0], size=X_test.shape)
        if scale is not None:
            filled, moved = reg.scaling_.rows(filled), reg.scaling_.rows(moved)
        predictions = BoundedRegressor().fit(filled, y).predict(moved)
        assert (bounds[:, 0] <= predictions + 1e-7).all()
        assert (predictions <= bounds[:, 1] + 1e-7).all()
    wide = BoundedRegressor(scale=scale).fit(frame, y).predict_bounds(rows)
    assert (np.ptp(bounds, axis=1) > np.ptp(wide, axis=1)).all()
    attained = reg.attained_bounds(rows)
    assert (bounds[:, 0] <= attained[:, 0]).all()
    assert (attained[:, 1] <= bounds[:, 1]).all()


def test_one_number_is_the_precision_of_every_column():
    X, y = np.random.default_rng(4).normal(size=(30, 2)), np.arange(30.0)
    one = BoundedRegressor(intervals=Intervals(precision=0.1)).fit(X, y)
    same = BoundedRegressor().fit(IntervalMatrix.from_bounds(X - 0.1, X + 0.1), y)
    np.testing.assert_allclose(one.coef_bounds_, same.coef_bounds_, rtol=1e-6)
    np.testing.assert_array_equal(BoundedRegressor(intervals=Intervals(precision=0)).fit(X, y).coef_bounds_,
                                  BoundedRegressor().fit(X, y).coef_bounds_)  # fmt: skip


@pytest.mark.filterwarnings("default::ipub.IntervalWarning")
def test_a_hole_of_no_length_stays_a_point_beside_precise_values():
    X = np.array([[1.0, 2.0], [1.0, np.nan], [1.0, 2.0]])
    with pytest.warns(IntervalWarning, match="zero length"):
        reg = BoundedRegressor(intervals=Intervals(precision={0: 0.5})).fit(X, [1.0, 2.0, 3.0])
    assert np.isfinite(reg.predict_bounds(X)).all()
