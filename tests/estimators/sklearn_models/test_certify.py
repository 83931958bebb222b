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
from ipub.app.files.modelfile import load, save
from ipub.losses import LOSSES
from ipub.training.reading.labels import class_factors

N, D = 120, 3
TEST = np.random.default_rng(9).normal(size=(7, D)) * 2.0


def table(seed=0, offset=0.0):
    """Return a full table, a table with holes, labels and targets."""
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(N, D)) + offset
    score = (full - offset) @ [1.5, -1.0, 0.5] + 0.4 + rng.normal(size=N)
    holes = full.copy()
    holes[rng.random((N, D)) < 0.01] = np.nan
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


@pytest.mark.share(2)
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
        weight = weight * class_factors(bounded.class_weight, bounded.classes_, numbers, weight)[numbers]
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


def observed_bounds(holes, sample_weight=None):
    """Return the table with each hole at the least, and at the greatest, value of its column in rows that count."""
    counted = holes if sample_weight is None else holes[sample_weight > 0.0]
    return [np.where(np.isnan(holes), end(counted, axis=0), holes) for end in (np.nanmin, np.nanmax)]


def assert_holds(bounded, model, holes, y, sample_weight=None, slack=1e-6):
    """Retrain on many fillings: every score lies inside the bounds."""
    low, high = score_bounds(bounded, TEST).T
    if isinstance(model, SVC):  # which does not end on every table if asked for much more
        model = clone(model).set_params(tol=1e-6)
    for full in fillings(*observed_bounds(holes, sample_weight)):
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


@pytest.mark.share(3)
@pytest.mark.no_cover
@pytest.mark.parametrize("certificate", ["tight", "ball", "sphere"])
@each_model
def test_bounds_contain_the_models_of_other_fillings(name, certificate):
    _, holes, labels, score = table(1)
    model = clone(MODELS[name])
    y, sample_weight = target(model, labels, score), weights_of("sample" if "balanced" in name else "none")
    model.fit(mean_filled(holes), y, sample_weight=sample_weight)
    bounded = certify(model, holes, y, sample_weight=sample_weight, intervals="observed", certificate=certificate)
    assert bounded.certificate_.name == certificate
    assert_holds(bounded, model, holes, y, sample_weight, slack=1e-5 if "SVC" in name else 1e-6)


@pytest.mark.no_cover
@each_model
def test_bounds_are_about_those_of_our_own_training(name):
    _, holes, labels, score = table(1)
    model = clone(MODELS[name])
    y = target(model, labels, score)
    model.fit(mean_filled(holes), y)
    # Not by row sums, which may just close around one of two models.
    bounded = certify(model, holes, y, intervals="observed", certificate="slope")
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
        pipeline = make_pipeline(SimpleImputer(), clone(model)).fit(holes, y)
    loose = pipeline[-1]
    with pytest.warns(ConvergenceWarning, match=r"not the optimum of its training problem.*smaller tol"):
        bounded = certify(pipeline, holes, y, intervals="observed")
    exact = clone(model).set_params(max_iter=1_000_000, tol=1e-9)
    assert_holds(bounded, exact, holes, y, slack=1e-5)
    np.testing.assert_array_equal(np.ravel(bounded.coef_), np.ravel(loose.coef_))


def test_any_weights_at_all_give_bounds_that_hold():
    _, holes, labels, _ = table(2)
    model = LogisticRegression(C=0.05, solver="newton-cholesky", tol=1e-12).fit(mean_filled(holes), labels)
    wrong = clone(model).fit(mean_filled(holes), labels)
    wrong.coef_, wrong.intercept_ = np.array([[0.5, 1.0, -1.0]]), np.array([1.0])
    with pytest.warns(ConvergenceWarning, match="wider by about") as caught:
        bounded = certify(make_pipeline(SimpleImputer().fit(holes), wrong), holes, labels, intervals="observed")
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


@pytest.mark.share(2)
@pytest.mark.no_cover
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


@pytest.mark.parametrize(
    "imputer",
    [SimpleImputer(strategy="median"), KNNImputer(), IterativeImputer(random_state=0, max_iter=20, tol=1e-2)],
    ids=["simple", "nearest", "iterative"],
)
@pytest.mark.parametrize("first", [True, False])
def test_an_imputer_may_stand_anywhere(imputer, first):
    _, holes, _, score = table(4)
    steps = [clone(imputer), StandardScaler()] if first else [StandardScaler(), clone(imputer)]
    pipeline = make_pipeline(*steps, Ridge(alpha=5.0)).fit(holes, score)
    bounded = certify(pipeline, holes, score, intervals="observed")
    assert type(bounded) is BoundedRegressor
    np.testing.assert_allclose(bounded.predict(TEST), pipeline.predict(TEST), rtol=1e-12)
    low, high = bounded.predict_bounds(TEST).T
    scaler = pipeline["standardscaler"]
    for full in [
        steps[0].transform(holes) if first else scaler.inverse_transform(steps[1].transform(scaler.transform(holes))),
        *fillings(*observed_bounds(holes)),
    ]:
        t = Ridge(alpha=5.0).fit(scaler.transform(full), score).predict(scaler.transform(TEST))
        assert (t >= low - 1e-9).all()
        assert (t <= high + 1e-9).all()


def test_the_filling_of_training_tells_how_well_the_model_is_trained():
    _, holes, y, _ = table(4)
    holes[:10, 0] = np.nan
    model = LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-12)
    pipeline = make_pipeline(SimpleImputer(strategy="constant", fill_value=3.0), model).fit(holes, y)
    intervals = dict.fromkeys(range(D), (-3.0, 3.0))
    for given in (pipeline, pipeline[-1]):
        bounded = certify(given, holes, y, intervals=intervals)
        assert bounded.dual_gap_ > 1e-3  # at the middle of the intervals
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap is [^ ]*\. Its weights"):
        certify(pipeline, holes, y[::-1], intervals=intervals)
    narrow = dict.fromkeys(range(D), (-0.01, 0.01))
    with pytest.warns(ConvergenceWarning, match="no filling inside them gives its weights"):
        certify(pipeline[-1], holes, y, intervals=narrow)


def test_a_value_filled_in_outside_its_interval_is_told():
    _, holes, y, _ = table(4)
    frame = pd.DataFrame(holes, columns=["a", "b", "c"])
    pipeline = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=9.0), StandardScaler(), LogisticRegression(C=0.1)
    ).fit(frame, y)
    row, column = np.argwhere(np.isnan(holes))[0]
    with pytest.warns(
        IntervalWarning, match=rf"outside their interval \(the first: row {row}, column '{'abc'[column]}'"
    ) as caught:
        certify(pipeline, frame, y)
    assert caught[0].filename == __file__


# --- what comes back, what goes in ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified():
    _, holes, y, _ = table(5)
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.03, tol=1e-8)).fit(holes, y)
    return pipeline, holes, y, certify(pipeline, holes, y, intervals="observed")


def test_what_comes_back_has_all_methods(certified):
    pipeline, holes, _, clf = certified
    np.testing.assert_allclose(clf.predict_proba(TEST), pipeline.predict_proba(TEST), rtol=1e-12)
    low, high = clf.predict_proba_bounds(TEST).T
    assert (low <= clf.predict_proba(TEST)[:, 1]).all()
    assert (high >= clf.predict_proba(TEST)[:, 1]).all()
    assert clf.predict_set(TEST).any(axis=1).all()
    assert clf.score(mean_filled(holes), pipeline.predict(mean_filled(holes))) == 1.0
    assert clf.n_iter_ == 0
    assert clf.alpha == pytest.approx(1.0 / (0.03 * N), rel=1e-15)
    inner, outer = clf.attained_bounds(TEST[:2]), clf.decision_bounds(TEST[:2])
    assert (outer[:, 0] <= inner[:, 0]).all()
    assert (inner[:, 1] <= outer[:, 1]).all()
    assert (np.ptp(inner, axis=1) > 0.3 * np.ptp(outer, axis=1)).all()


def test_holes_of_a_test_row_take_the_middle_before_they_are_scaled(certified):
    *_, clf = certified
    row = np.array([[np.nan, 1.0, 1.0]])
    np.testing.assert_array_equal(clf.decision_function(row), clf.decision_function([[clf.fill_values_[0], 1.0, 1.0]]))
    low, high = clf.decision_bounds(row)[0]
    for end in clf.hole_ranges_[0]:
        inside = clf.decision_bounds([[end, 1.0, 1.0]])[0]
        assert low <= inside[0] + 1e-9
        assert inside[1] <= high + 1e-9


def test_files_and_pickles_keep_the_scaling(certified, tmp_path):
    *_, clf = certified
    for training_rows in (True, False):
        save(clf, tmp_path / f"{training_rows}.ipub", rows=training_rows)
    with_rows, without_rows = load(tmp_path / "True.ipub"), load(tmp_path / "False.ipub")
    pickled = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(with_rows.decision_bounds(TEST), clf.decision_bounds(TEST))
    np.testing.assert_array_equal(pickled.decision_bounds(TEST), clf.decision_bounds(TEST))
    for again in (with_rows, without_rows, pickled):
        np.testing.assert_array_equal(again.decision_function(TEST), clf.decision_function(TEST))


def test_fitting_it_again_leaves_the_scaling_behind(certified):
    pipeline, holes, y, _ = certified
    clf = certify(pipeline, holes, y, intervals="observed").fit(holes, y)
    assert clf.scaling_ is None
    np.testing.assert_array_equal(clf.coef_, clone(clf).fit(holes, y).coef_)


def test_bounds_of_cells_are_in_the_units_of_the_input(certified, tmp_path):
    pipeline, holes, y, clf = certified
    lower, upper = observed_bounds(holes)
    expected = clf.decision_bounds(TEST)
    given = certify(pipeline, holes, y, X_lower=lower, X_upper=upper)
    np.testing.assert_array_equal(given.decision_bounds(TEST), expected)
    matrix = certify(pipeline, IntervalMatrix.from_bounds(lower, upper), y)
    np.testing.assert_allclose(matrix.decision_bounds(TEST), expected, rtol=1e-12)
    np.save(tmp_path / "X.npy", holes)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    from_file = certify(pipeline, mapped, y, intervals="observed")
    np.testing.assert_array_equal(from_file.decision_bounds(TEST), expected)
    alone = LogisticRegression(C=0.03, tol=1e-8).fit(mean_filled(holes), y)
    streamed, in_memory = (certify(alone, X, y, intervals="observed") for X in (mapped, holes))
    np.testing.assert_array_equal(streamed.decision_bounds(TEST), in_memory.decision_bounds(TEST))


def test_frames_are_compared_with_the_features_of_the_model():
    _, holes, y, _ = table(5)
    frame = pd.DataFrame(holes, columns=["a", "b", "c"])
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(frame, y)
    clf = certify(pipeline, frame, y, intervals={"a": (-2.0, 2.0)})
    assert list(clf.feature_names_in_) == ["a", "b", "c"]
    rows = pd.DataFrame(TEST, columns=["a", "b", "c"])
    np.testing.assert_array_equal(clf.predict(rows), pipeline.predict(rows))
    with pytest.raises(ValueError, match="feature names"):
        certify(pipeline, frame[["b", "a", "c"]], y)
    with pytest.raises(ValueError, match="feature names"):
        certify(pipeline, frame[["a", "b"]], y)
    with pytest.raises(ValueError, match="X has 2 features, but BoundedClassifier is expecting 3 features"):
        certify(LogisticRegression().fit(mean_filled(holes), y), holes[:, :2], y)


def test_labels_and_parameters_are_checked(certified):
    pipeline, holes, y, _ = certified
    with pytest.raises(ValueError, match=r"trained on the classes \['no' 'yes'\], but y has \[0 1\]"):
        certify(pipeline, holes, (y == "yes").astype(int))
    with pytest.raises(ValueError, match="'certificate' parameter of certify"):
        certify(pipeline, holes, y, certificate="magic")
    with pytest.raises(ValueError, match="intervals='wide' is not known"):
        certify(pipeline, holes, y, intervals="wide")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        certify(pipeline, holes, y[:-1])


def test_warnings_point_at_the_line_of_the_call():
    _, holes, y, _ = table(5)
    holes[:, 1] = np.where(np.isnan(holes[:, 1]), np.nan, 1.0)
    model = LogisticRegression(C=0.1).fit(mean_filled(holes), y)
    with pytest.warns(IntervalWarning, match="zero length") as caught:
        certify(model, holes, y)
    assert caught[0].filename == __file__


def test_a_column_that_was_never_observed_has_no_scale():
    _, holes, y, _ = table(5)
    holes[:, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = make_pipeline(StandardScaler(), SimpleImputer(keep_empty_features=True), LogisticRegression()).fit(
            holes, y
        )
    with pytest.raises(ValueError, match="Column 1 has no scale"):
        certify(pipeline, holes, y, intervals={1: (0.0, 1.0)})


# --- what is refused -------------------------------------------------------------------------------------


class OtherRegression(LogisticRegression):
    pass


def no_penalty():
    return (
        LogisticRegression(C=np.inf)
        if LogisticRegression().penalty == "deprecated"
        else LogisticRegression(penalty=None)
    )


FULL, HOLES, LABELS, SCORES = table(6)
THREE = np.where(FULL[:, 0] > 1.0, "maybe", LABELS)
REFUSED = [
    (LinearRegression(), SCORES, "LinearRegression cannot be certified: its penalty has no L2 part.*Train Ridge"),
    (Lasso(), SCORES, "no L2 part.*ElasticNet"),
    (ElasticNet(l1_ratio=1.0), SCORES, "no L2 part"),
    (elastic_logistic(1.0), LABELS, "no L2 part"),
    (no_penalty(), LABELS, "no penalty"),
    (Ridge(alpha=0.0), SCORES, "no penalty"),
    (Ridge(positive=True), SCORES, "positive=True"),
    (Ridge(), np.column_stack([SCORES, SCORES]), "2 targets"),
    (RidgeClassifier(), LABELS, "Train Ridge on labels"),
    (HuberRegressor(), SCORES, "scale of the noise"),
    (LinearSVR(), SCORES, "insensitive"),
    (SGDClassifier(), LABELS, "stops before its optimum"),
    (LogisticRegression(solver="liblinear"), LABELS, "liblinear penalises its intercept.*another solver"),
    (LinearSVC(), LABELS, "liblinear penalises its intercept.*SVC"),
    (LinearSVC(penalty="l1", fit_intercept=False), LABELS, "no L2 part"),
    (LinearSVC(multi_class="crammer_singer", fit_intercept=False), LABELS, "another model"),
    (SVC(), LABELS, "kernel is 'rbf'"),
    (LogisticRegression(), THREE, "3 classes, and only two are supported"),
    (SVC(kernel="linear"), THREE, "3 classes, and only two are supported"),
    (OtherRegression(), LABELS, "OtherRegression cannot be certified: the models supported"),
    (RandomForestClassifier(n_estimators=2), LABELS, "the models supported, all of scikit-learn, are ElasticNet"),
    (GridSearchCV(Ridge(), {"alpha": [1.0]}), SCORES, "best_estimator_"),
    (make_pipeline(SelectKBest(k=1), LogisticRegression()), LABELS, "SelectKBest cannot be certified: the steps"),
    (make_pipeline(PolynomialFeatures(), Ridge()), SCORES, "PolynomialFeatures cannot be certified"),
    (make_pipeline(ColumnTransformer([("a", "passthrough", [0])]), Ridge()), SCORES, "trained on an array"),
    (make_pipeline(SimpleImputer(missing_values=-1.0), Ridge()), SCORES, "missing_values are -1"),
    (make_pipeline(SimpleImputer(add_indicator=True), Ridge()), SCORES, "adds or drops columns"),
    (make_pipeline(StandardScaler(), "passthrough"), SCORES, "str cannot be certified"),
]


@pytest.mark.parametrize(("model", "y", "message"), REFUSED, ids=[repr(case[0])[:60] for case in REFUSED])
def test_what_is_not_exact_is_refused_with_a_reason(model, y, message):
    X = HOLES if "add_indicator" in repr(model) else FULL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        certify(model, X, y)


def test_a_search_over_penalties_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegressionCV(Cs=2).fit(FULL, LABELS)
    with pytest.raises(ValueError, match=r"search over models\. Train LogisticRegression"):
        certify(model, FULL, LABELS)


@pytest.mark.parametrize(
    "model", [LogisticRegression(), make_pipeline(StandardScaler(), Ridge())], ids=["model", "pipeline"]
)
def test_a_model_that_is_not_fitted_is_refused(model):
    with pytest.raises(NotFittedError):
        certify(model, FULL, LABELS)
