"""Bounds for models that scikit-learn has trained: the mapping is exact, the bounds hold, the rest is refused."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectKBest
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix, IntervalWarning, certify
from ipub.losses import LOSSES
from ipub.modelfile import load, save

N, D = 120, 3
TEST = np.random.default_rng(9).normal(size=(7, D)) * 2.0


def table(seed=0, offset=0.0):
    """Return a full table, a table with holes, labels and targets."""
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(N, D)) + offset
    score = (full - offset) @ [1.5, -1.0, 0.5] + 0.4 + rng.normal(size=N)
    holes = full.copy()
    holes[rng.random((N, D)) < 0.03] = np.nan
    holes[0, 0], holes[1, 1] = np.nan, np.nan
    return full, holes, np.where(score > 0.0, "yes", "no"), score


def saga(**params):
    return LogisticRegression(solver="saga", max_iter=100_000, tol=1e-12, random_state=0, **params)


def elastic_logistic(l1_ratio, **params):
    """Return an elastic-net logistic regression in the parameters of the version at hand."""
    old = LogisticRegression().get_params().get("penalty") == "l2"
    return saga(l1_ratio=l1_ratio, **({"penalty": "elasticnet"} if old else {}), **params)


EXACT = {"tol": 1e-10, "max_iter": 1_000_000}
MODELS = {
    "logistic": LogisticRegression(C=0.3, solver="newton-cholesky", tol=1e-12),
    "logistic, lbfgs": LogisticRegression(C=0.1, tol=1e-12, max_iter=10_000),
    "logistic, no intercept": LogisticRegression(C=0.3, fit_intercept=False, solver="newton-cholesky", tol=1e-12),
    "logistic, liblinear": LogisticRegression(C=0.2, fit_intercept=False, solver="liblinear", **EXACT),
    "logistic, elastic net": elastic_logistic(0.4, C=0.1),
    "logistic, classes": LogisticRegression(
        C=0.3, class_weight={"yes": 0.3, "no": 4.0}, solver="newton-cholesky", tol=1e-12
    ),
    "logistic, one class": LogisticRegression(C=0.3, class_weight={"no": 4.0}, solver="newton-cholesky", tol=1e-12),
    "logistic, balanced": LogisticRegression(C=0.3, class_weight="balanced", solver="newton-cholesky", tol=1e-12),
    "SVC": SVC(kernel="linear", C=0.1, tol=1e-10),
    "SVC, classes": SVC(kernel="linear", C=0.05, tol=1e-10, class_weight={"yes": 0.3, "no": 4.0}),
    "SVC, balanced": SVC(kernel="linear", C=0.1, tol=1e-10, class_weight="balanced"),
    "LinearSVC": LinearSVC(C=0.1, fit_intercept=False, **EXACT),
    "LinearSVC, classes": LinearSVC(C=0.1, fit_intercept=False, class_weight={"yes": 3.0, "no": 0.5}, **EXACT),
    "LinearSVC, balanced": LinearSVC(C=0.1, fit_intercept=False, class_weight="balanced", **EXACT),
    "LinearSVC, hinge": LinearSVC(C=0.1, loss="hinge", fit_intercept=False, **EXACT),
    "ridge": Ridge(alpha=7.0),
    "ridge, no intercept": Ridge(alpha=7.0, fit_intercept=False, solver="svd"),
    "elastic net": ElasticNet(alpha=0.2, l1_ratio=0.6, tol=1e-14, max_iter=100_000),
    "elastic net, no intercept": ElasticNet(alpha=0.2, l1_ratio=0.3, fit_intercept=False, tol=1e-14, max_iter=100_000),
    "elastic net, ridge": ElasticNet(alpha=0.2, l1_ratio=0.0001, tol=1e-14, max_iter=100_000),
}
each_model = pytest.mark.parametrize("name", MODELS)


def target(model, labels, score):
    return score if hasattr(model, "predict") and not hasattr(model, "decision_function") else labels


def weights_of(kind):
    return None if kind == "none" else np.random.default_rng(5).integers(0, 4, N) * 0.7


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def score_bounds(estimator, X):
    return (estimator.decision_bounds if hasattr(estimator, "decision_bounds") else estimator.predict_bounds)(X)


def kkt_residual(bounded, X, y, weight):
    """Return by how much the gradient of the objective in the README misses zero, in each weight and the intercept."""
    alpha, l1_ratio, w = bounded.alpha, bounded.l1_ratio, np.ravel(bounded.coef_)
    sign = np.where(y == "yes", 1.0, -1.0) if y.dtype.kind in "US" else y
    t = X @ w + float(np.ravel(bounded.intercept_)[0])
    slope = {
        "log_loss": -sign / (1.0 + np.exp(sign * t)),
        "squared_error": 2.0 * (t - sign),
        "squared_hinge": -2.0 * sign * np.maximum(0.0, 1.0 - sign * t),
    }[bounded.loss]
    mean = weight * slope / weight.sum()
    gradient = mean @ X + alpha * (1.0 - l1_ratio) * w
    kappa = alpha * l1_ratio
    missed = np.where(w != 0.0, gradient + kappa * np.sign(w), np.maximum(np.abs(gradient) - kappa, 0.0))
    return np.append(missed, mean.sum() if bounded.fit_intercept else 0.0)


@pytest.mark.parametrize("weights", ["none", "sample"])
@each_model
def test_the_objective_is_that_of_the_model(name, weights):
    full, _, labels, score = table(offset=0.3)
    model, sample_weight = clone(MODELS[name]), weights_of(weights)
    y = target(model, labels, score)
    model.fit(full, y, sample_weight=sample_weight)
    bounded = certify(model, full, y, sample_weight=sample_weight)
    np.testing.assert_array_equal(np.ravel(bounded.coef_), np.ravel(model.coef_))
    np.testing.assert_array_equal(np.ravel(bounded.intercept_), np.ravel(model.intercept_))
    assert bounded.coef_.shape == model.coef_.shape
    np.testing.assert_array_equal(bounded.predict(TEST), model.predict(TEST))
    np.testing.assert_allclose(scores(bounded, TEST), scores(model, TEST), rtol=1e-12)
    weight = np.ones(N) if sample_weight is None else sample_weight
    if bounded.get_params().get("class_weight") is not None:
        numbers = np.unique(y, return_inverse=True)[1]
        weight = weight * bounded._class_factors(numbers, weight)[numbers]
    if LOSSES[bounded.loss].is_smooth:
        np.testing.assert_allclose(kkt_residual(bounded, full, y, weight), 0.0, atol=1e-7)
    trained = (
        clone(bounded)
        .set_params(tol=1e-12 if LOSSES[bounded.loss].is_smooth else 1e-10)
        .fit(full, y, sample_weight=sample_weight)
    )
    np.testing.assert_allclose(np.ravel(model.coef_), np.ravel(trained.coef_), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(np.ravel(model.intercept_), np.ravel(trained.intercept_), rtol=1e-6, atol=1e-6)
    # Nothing is missing: the bounds are the model itself, but for rounding and what training left.
    assert np.abs(score_bounds(bounded, TEST) - scores(model, TEST)[:, None]).max() < 1e-2


# --- the bounds hold -----------------------------------------------------------------------------------


def fillings(lower, upper, n=25, seed=3):
    """Return fillings of a table: each hole at an end of its interval, or anywhere in it."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        share = rng.integers(0, 2, lower.shape) if k % 2 else rng.random(lower.shape)
        yield np.clip(lower + share * (upper - lower), lower, upper)


def observed_bounds(holes):
    """Return the table with each hole at the least, and at the greatest, observed value of its column."""
    return [np.where(np.isnan(holes), end(holes, axis=0), holes) for end in (np.nanmin, np.nanmax)]


def assert_holds(bounded, model, holes, y, sample_weight=None, slack=1e-6):
    """Retrain on many fillings: every score lies inside the bounds."""
    low, high = score_bounds(bounded, TEST).T
    if isinstance(model, SVC):  # which does not end on every table if asked for much more
        model = clone(model).set_params(tol=1e-6)
    for full in fillings(*observed_bounds(holes)):
        again = clone(model).fit(full, y, sample_weight=sample_weight)
        t = scores(again, TEST)
        assert (t >= low - slack).all()
        assert (t <= high + slack).all()
        coef = np.ravel(again.coef_)
        assert (coef >= bounded.coef_bounds_[:, 0] - slack).all()
        assert (coef <= bounded.coef_bounds_[:, 1] + slack).all()
    assert np.isfinite(high - low).all()


def mean_filled(holes):
    return np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)


@pytest.mark.parametrize("certificate", ["tight", "ball", "sphere"])
@each_model
def test_bounds_contain_the_models_of_other_fillings(name, certificate):
    _, holes, labels, score = table(1)
    model = clone(MODELS[name])
    y, sample_weight = target(model, labels, score), weights_of("sample" if "balanced" in name else "none")
    model.fit(mean_filled(holes), y, sample_weight=sample_weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        bounded = certify(model, holes, y, sample_weight=sample_weight, intervals="observed", certificate=certificate)
    assert bounded.certificate_.name == certificate
    assert_holds(bounded, model, holes, y, sample_weight, slack=1e-5 if "SVC" in name else 1e-6)


@each_model
def test_bounds_are_about_those_of_our_own_training(name):
    _, holes, labels, score = table(1)
    model = clone(MODELS[name])
    y = target(model, labels, score)
    model.fit(mean_filled(holes), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        bounded = certify(model, holes, y, intervals="observed")
    trained = clone(bounded).fit(holes, y)
    here, there = (np.ptp(score_bounds(one, TEST), axis=1).mean() for one in (bounded, trained))
    assert here <= 1.5 * there


LOOSE = [
    LogisticRegression(C=1.0, max_iter=2),
    LogisticRegression(C=1.0, max_iter=3, fit_intercept=False),
    ElasticNet(alpha=0.01, l1_ratio=0.5, max_iter=1),
    LinearSVC(C=1.0, fit_intercept=False, max_iter=2, random_state=0),
    SVC(kernel="linear", C=1.0, max_iter=3),
]


@pytest.mark.parametrize("model", LOOSE, ids=repr)
def test_a_loosely_trained_model_gives_wide_bounds_that_hold(model):
    _, holes, labels, score = table(2)
    y = target(model, labels, score)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        loose = clone(model).fit(mean_filled(holes), y)
    with pytest.warns(ConvergenceWarning, match=r"not the optimum of its training problem.*smaller tol"):
        bounded = certify(loose, holes, y, intervals="observed")
    exact = clone(model).set_params(max_iter=1_000_000, tol=1e-9)
    assert_holds(bounded, exact, holes, y, slack=1e-5)
    np.testing.assert_array_equal(np.ravel(bounded.coef_), np.ravel(loose.coef_))


def test_any_weights_at_all_give_bounds_that_hold():
    _, holes, labels, _ = table(2)
    model = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12).fit(mean_filled(holes), labels)
    wrong = clone(model).fit(mean_filled(holes), labels)
    wrong.coef_, wrong.intercept_ = np.array([[3.0, 3.0, -2.0]]), np.array([1.0])
    with pytest.warns(ConvergenceWarning, match="wider by about") as caught:
        bounded = certify(wrong, holes, labels, intervals="observed")
    assert caught[0].filename == __file__
    assert_holds(bounded, model, holes, labels)


# --- pipelines -----------------------------------------------------------------------------------------

SCALERS = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no std": StandardScaler(with_std=False),
    "min-max": MinMaxScaler((-1.0, 2.0)),
    "min-max, clipped": MinMaxScaler(clip=True),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, no center": RobustScaler(with_centering=False, unit_variance=True),
    "robust, no scale": RobustScaler(with_scaling=False),
    "two": make_pipeline(RobustScaler(), MinMaxScaler()),
    "none": "passthrough",
}
UNITS = np.array([1.0, 4.0, 0.3])


@pytest.mark.parametrize("scaler", SCALERS)
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(C=0.3, solver="newton-cholesky", tol=1e-12), SVC(kernel="linear", C=0.1, tol=1e-6)],
    ids=["logistic", "SVC"],
)
def test_a_pipeline_is_bounded_in_the_units_of_its_input(model, scaler):
    _, holes, y, _ = table(3, offset=2.0)
    holes = holes * UNITS
    rows = (TEST + 2.0) * UNITS
    pipeline = Pipeline(
        [
            ("fill", SimpleImputer()),
            ("scale", clone(SCALERS[scaler])) if scaler != "none" else ("scale", "passthrough"),
            ("nothing", None),
            ("model", clone(model)),
        ]
    ).fit(holes, y)
    bounded = certify(pipeline, holes, y, intervals="observed")
    assert type(bounded) is BoundedClassifier
    np.testing.assert_array_equal(bounded.coef_, pipeline[-1].coef_)
    np.testing.assert_array_equal(bounded.predict(rows), pipeline.predict(rows))
    np.testing.assert_allclose(bounded.decision_function(rows), pipeline.decision_function(rows), rtol=1e-9)
    fixed = pipeline[:-1].transform
    if scaler != "none":
        np.testing.assert_array_equal(bounded.scaling_.rows(rows), fixed(rows))
        np.testing.assert_array_equal(bounded.scaling_.rows(holes)[~np.isnan(holes)], fixed(holes)[~np.isnan(holes)])
    low, high = bounded.decision_bounds(rows).T
    for full in fillings(*observed_bounds(holes)):
        t = clone(model).fit(fixed(full), y).decision_function(fixed(rows))
        assert (t >= low - 1e-5).all()
        assert (t <= high + 1e-5).all()
