"""What a user of the regressor meets."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Ridge

from ipub import BoundedRegressor, IntervalMatrix
from ipub.losses import loss_names

MODELS = [
    BoundedRegressor(),
    BoundedRegressor(l1_ratio=0.5),
    BoundedRegressor(certificate="sphere"),
    BoundedRegressor("huber"),
    BoundedRegressor("huber", l1_ratio=0.5, huber_delta=0.2),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.loss}-{m.l1_ratio}-{m.certificate}")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * rng.normal(size=150)
    X[rng.random((150, 4)) < 0.03] = np.nan
    return X, y


@pytest.fixture
def X_test():
    return np.random.default_rng(1).normal(size=(60, 4))


@each_model
def test_attributes_have_the_promised_shapes(model, data):
    reg = clone(model).fit(*data)
    assert reg.coef_.shape == (4,)
    assert reg.coef_bounds_.shape == (4, 2)
    assert (reg.coef_bounds_[:, 0] <= reg.coef_).all()
    assert (reg.coef_ <= reg.coef_bounds_[:, 1]).all()
    assert isinstance(reg.intercept_, float)
    assert reg.intercept_bounds_[0] < reg.intercept_ < reg.intercept_bounds_[1]
    assert reg.n_features_in_ == 4
    assert reg.certificate_.name == model.certificate
    assert reg.certificate_.gap == reg.dual_gap_


@each_model
def test_bounds_hold_the_prediction_and_are_finite(model, data, X_test):
    reg = clone(model).fit(*data)
    bounds, predictions = reg.predict_bounds(X_test), reg.predict(X_test)
    assert bounds.shape == (60, 2)
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] < predictions).all()
    assert (predictions < bounds[:, 1]).all()
    np.testing.assert_allclose(predictions, X_test @ reg.coef_ + reg.intercept_, rtol=1e-13)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_without_holes_the_model_is_ridge_or_elastic_net_of_scikit_learn(alpha, weighted, fit_intercept, data, X_test):
    X, y = np.nan_to_num(data[0]) + 2.0, data[1] + 10.0
    weight = np.random.default_rng(3).integers(0, 4, 150) if weighted else None
    total = weight.sum() if weighted else 150.0
    parameters = {"alpha": alpha, "fit_intercept": fit_intercept, "tol": 1e-12}
    reg = BoundedRegressor(**parameters).fit(X, y, sample_weight=weight)
    ridge = Ridge(alpha=total * alpha / 2.0, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(reg.coef_, ridge.coef_, rtol=1e-9)
    assert reg.intercept_ == pytest.approx(ridge.intercept_, rel=1e-9)
    reg = BoundedRegressor(l1_ratio=0.3, **parameters).fit(X, y, sample_weight=weight)
    net = ElasticNet(alpha=alpha / 2.0, l1_ratio=0.3, fit_intercept=fit_intercept, tol=1e-13, max_iter=100_000)
    net.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(reg.coef_, net.coef_, rtol=1e-6, atol=1e-9)
    assert reg.intercept_ == pytest.approx(net.intercept_, rel=1e-6)
    # The gap is a rounding error, below 1e-13 of an objective up to 100, which leaves sqrt(2 G / lam) |x| on either
    # side; the intercept moves as the scores of the training rows.
    half = np.sqrt(2e-11 / (0.7 * alpha)) * (np.linalg.norm(X_test, axis=1) + np.linalg.norm(X, axis=1).max())
    assert (np.diff(reg.predict_bounds(X_test), axis=1)[:, 0] <= 2.0 * half).all()


def test_the_retrained_model_of_a_completion_lies_inside_the_bounds(data, X_test):
    X, y = data
    reg = BoundedRegressor(intervals="observed").fit(X, y)
    bounds = reg.predict_bounds(X_test)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    rng = np.random.default_rng(2)
    for _ in range(20):
        filled = np.where(np.isnan(X), np.where(rng.random(X.shape) < 0.5, low, high), X)
        predictions = BoundedRegressor(certificate=None).fit(filled, y).predict(X_test)
        assert (bounds[:, 0] <= predictions).all()
        assert (predictions <= bounds[:, 1]).all()


@each_model
def test_holes_of_a_test_row_take_the_middle_of_the_columns_interval(model, data, X_test):
    reg = clone(model).set_params(intervals={1: (0.0, 5.0)}).fit(*data)
    assert reg.fill_values_[1] == 2.5
    holed, filled = X_test.copy(), X_test.copy()
    holed[3, 1], filled[3, 1] = np.nan, 2.5
    np.testing.assert_array_equal(reg.predict(holed), reg.predict(filled))


def test_bounds_of_a_row_of_intervals_hold_for_every_row_inside(data, X_test):
    reg = BoundedRegressor().fit(*data)
    radius = np.random.default_rng(3).uniform(0.0, 0.5, size=X_test.shape)
    rows = IntervalMatrix.from_bounds(X_test - radius, X_test + radius)
    bounds = reg.predict_bounds(rows)
    np.testing.assert_allclose(reg.predict(rows), reg.predict(X_test))
    for positions in (-1.0, 1.0, 0.3):
        inside = reg.predict_bounds(X_test + positions * radius)
        assert (bounds[:, 0] < inside[:, 0]).all()
        assert (inside[:, 1] < bounds[:, 1]).all()
    with pytest.raises(ValueError, match="X has 3 features, but BoundedRegressor is expecting 4 features"):
        reg.predict_bounds(IntervalMatrix.from_bounds(X_test[:, :3], X_test[:, :3]))


@pytest.mark.no_cover
@each_model
def test_every_container_gives_the_same_model_and_bounds(model, data, X_test):
    X, y = data
    expected = clone(model).fit(X, y)
    names = list("abcd")
    frames = [
        lambda v: v.tolist(),
        lambda v: pd.DataFrame(v, columns=names),
        lambda v: pl.DataFrame(v, schema=names).fill_nan(None),
        lambda v: pl.DataFrame(v, schema=names).fill_nan(None).to_arrow(),
    ]
    for container, targets in zip(frames, (y.tolist(), y.astype(object), pl.Series(y), pd.Series(y)), strict=True):
        reg = clone(model).fit(container(X), targets)
        assert np.array_equal(reg.coef_, expected.coef_)
        # Columns side by side in memory are multiplied in another order.
        bounds = reg.predict_bounds(container(X_test))
        np.testing.assert_allclose(bounds, expected.predict_bounds(X_test), rtol=1e-13, atol=1e-14)


def test_explicit_bounds_ranges_and_a_matrix_say_the_same(data, X_test):
    X, y = data
    lower, upper = np.where(np.isnan(X), -1.0, X), np.where(np.isnan(X), 2.0, X)
    expected = BoundedRegressor(intervals=np.tile([-1.0, 2.0], (4, 1))).fit(X, y).predict_bounds(X_test)
    for fit in (
        BoundedRegressor().fit(X, y, X_lower=lower, X_upper=upper),
        BoundedRegressor().fit(IntervalMatrix.from_bounds(lower, upper), y),
    ):
        assert np.array_equal(fit.predict_bounds(X_test), expected)


def test_a_weight_of_k_equals_k_copies_with_given_intervals(data, X_test):
    X, y = data
    copies = np.random.default_rng(5).integers(0, 3, 150)
    reg = BoundedRegressor(intervals=np.tile([-2.0, 2.0], (4, 1)))
    weighted = clone(reg).fit(X, y, sample_weight=copies)
    copied = clone(reg).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-7)
    np.testing.assert_allclose(weighted.predict_bounds(X_test), copied.predict_bounds(X_test), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-60, 1e-8, 1e8, 1e100])
def test_the_unit_of_y_scales_the_bounds(scale, data, X_test):
    X, y = data
    expected = BoundedRegressor().fit(X, y).predict_bounds(X_test) * scale
    np.testing.assert_allclose(BoundedRegressor().fit(X, y * scale).predict_bounds(X_test), expected, rtol=1e-5)


def test_whole_numbers_are_targets_too(data):
    X, _ = data
    y = np.arange(150)
    assert np.array_equal(BoundedRegressor().fit(X, y).coef_, BoundedRegressor().fit(X, y.astype(float)).coef_)


def test_the_targets_are_never_written(data):
    X, y = data
    y.flags.writeable = False
    before = y.tobytes()
    BoundedRegressor().fit(X, y)
    assert y.tobytes() == before


def test_delta_counts_for_huber_only(data, X_test):
    for loss in loss_names("regression"):
        one, other = (BoundedRegressor(loss, huber_delta=e).fit(*data).predict_bounds(X_test) for e in (1.0, 0.1))
        assert np.array_equal(one, other) == (loss != "huber")


def test_a_wild_target_moves_huber_little(data):
    X, y = np.nan_to_num(data[0]), data[1]
    wild = y.copy()
    wild[0] += 1e4
    moved = {
        loss: np.abs(BoundedRegressor(loss).fit(X, wild).coef_ - BoundedRegressor(loss).fit(X, y).coef_).max()
        for loss in ("squared_error", "huber")
    }
    assert moved["huber"] < 0.1 < 10.0 < moved["squared_error"]


def test_targets_that_are_all_zero_give_the_model_zero_without_a_warning(data):
    for loss in ("squared_error", "huber"):
        np.testing.assert_array_equal(BoundedRegressor(loss).fit(data[0][:7], np.zeros(7)).coef_, 0.0)
