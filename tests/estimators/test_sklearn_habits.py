"""The estimators are scikit-learn estimators in every habit."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning, UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipub import BoundedClassifier, BoundedRegressor

NAMES = list("abcd")


@pytest.mark.no_cover
@parametrize_with_checks(
    [
        BoundedClassifier(),
        BoundedClassifier("hinge"),
        BoundedClassifier("squared_hinge", certificate="sphere"),
        BoundedClassifier("smoothed_hinge", l1_ratio=0.5),
        BoundedRegressor(),
        BoundedRegressor("huber", l1_ratio=0.5, certificate="sphere"),
    ]
)
@pytest.mark.filterwarnings("ignore::ipub.IntervalWarning")
def test_the_checks_of_scikit_learn_pass(estimator, check):
    with warnings.catch_warnings():
        if "check_class_weight_classifiers" in str(check):
            # One class weighs 10^7 times the other: rounding leaves the hinge 1e-6 of an objective of 1e-7.
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(loc=[0.0, 5.0, -3.0, 0.0], scale=[1.0, 4.0, 0.1, 1.0], size=(120, 4))
    y = (X[:, 0] + X[:, 1] / 4.0 + 0.3 * rng.normal(size=120) > 1.25).astype(int)
    X[rng.random((120, 4)) < 0.04] = np.nan
    return X, y


@pytest.fixture
def bounds(data):
    """Return explicit bounds of every cell."""
    X, _ = data
    holes = np.isnan(X)
    middle = np.nanmean(X, axis=0)
    return np.where(holes, middle - 0.5, X), np.where(holes, middle + 0.5, X)


@pytest.fixture
def X_test():
    rng = np.random.default_rng(1)
    return rng.normal(loc=[0.0, 5.0, -3.0, 0.0], scale=[1.0, 4.0, 0.1, 1.0], size=(30, 4))


def test_parameters_are_kept_as_given_and_cloned():
    parameters = {
        "loss": "hinge", "alpha": 0.3, "l1_ratio": 0.2, "certificate": "sphere", "intervals": {"a": (0.0, 1.0)},
        "tol": 1e-6, "max_iter": 77, "verbose": 0, "random_state": 3,
    }  # fmt: skip
    clf = BoundedClassifier(**parameters)
    assert {name: clf.get_params()[name] for name in parameters} == parameters
    assert clone(clf).get_params() == clf.get_params()
    assert clf.set_params(alpha=2.0).alpha == 2.0


def test_fit_returns_the_estimator_and_leaves_its_parameters(data):
    clf = BoundedClassifier(intervals={0: (-3.0, 3.0)})
    before = clf.get_params()
    assert clf.fit(*data) is clf
    assert clf.get_params() == before


def test_kinds_and_tags_are_right():
    assert is_classifier(BoundedClassifier())
    assert is_regressor(BoundedRegressor())
    for model in (BoundedClassifier(), BoundedRegressor()):
        assert sklearn.utils.get_tags(model).input_tags.allow_nan
    assert sklearn.utils.get_tags(BoundedClassifier()).classifier_tags.multi_class


def test_the_html_repr_names_the_estimator_and_its_changed_parameters():
    html = BoundedClassifier(alpha=0.25)._repr_html_()
    assert "BoundedClassifier" in html
    assert "0.25" in html


@pytest.mark.parametrize(
    "model",
    [
        BoundedClassifier(),
        BoundedClassifier("hinge", l1_ratio=0.3),
        BoundedRegressor(),
        BoundedRegressor("huber", huber_delta=0.2),
    ],
)
@pytest.mark.parametrize("through", ["pickle", "joblib"])
def test_a_round_trip_keeps_every_bit(model, through, data, X_test, tmp_path):
    model = clone(model).fit(pd.DataFrame(data[0], columns=NAMES), data[1])
    if through == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
    frame = pd.DataFrame(X_test, columns=NAMES)
    method = "predict_bounds" if is_regressor(model) else "decision_bounds"
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert np.array_equal(getattr(again, method)(frame), getattr(model, method)(frame))
    np.testing.assert_array_equal(again.feature_names_in_, NAMES)
    assert repr(again.certificate_) == repr(model.certificate_)


def test_a_scaler_before_the_estimator_leaves_the_holes(data, X_test):
    X, y = data
    pipe = make_pipeline(StandardScaler(), BoundedClassifier()).fit(X, y)
    scaler = StandardScaler().fit(X)
    clf = BoundedClassifier().fit(scaler.transform(X), y)
    assert np.array_equal(pipe.predict(X_test), clf.predict(scaler.transform(X_test)))
    bounds = pipe[-1].decision_bounds(pipe[:-1].transform(X_test))
    assert np.array_equal(bounds, clf.decision_bounds(scaler.transform(X_test)))
    assert (np.diff(bounds, axis=1) > 0.0).all()


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_column_transformers_of_every_output_work(output, data, X_test):
    X, y = data
    frame, rows = (pd.DataFrame(part, columns=NAMES) for part in (X, X_test))
    split = ColumnTransformer([("scale", StandardScaler(), ["a", "b"])], remainder="passthrough")
    pipe = make_pipeline(split, BoundedClassifier()).set_output(transform=output)
    scores = pipe.fit(frame, y).decision_function(rows)
    expected = make_pipeline(split, BoundedClassifier()).fit(frame, y).decision_function(rows)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.no_cover
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_categories_pass_through_column_transformers(output, data, X_test):
    X, y = (part[:40] for part in data)
    frame, rows = (pd.DataFrame(part, columns=NAMES) for part in (X, X_test))
    for part in (frame, rows):
        part["site"] = np.resize(["north", "east", None, "west"], len(part))
    split = ColumnTransformer([("scale", StandardScaler(), NAMES)], remainder="passthrough")
    pipe = make_pipeline(split.set_output(transform=output), BoundedClassifier(intervals="observed")).fit(frame, y)
    inside = BoundedClassifier(intervals="observed", scale="standard").fit(frame, y)
    assert list(pipe[-1].get_feature_names_out()[-3:]) == [
        f"remainder__site_{level}" for level in inside.encoder_.levels[-1]
    ]
    bounds = pipe[-1].decision_bounds(pipe[:-1].transform(rows))
    np.testing.assert_allclose(bounds, inside.decision_bounds(rows), rtol=1e-9)
    # Without a frame there is nothing to tell categories by.
    with pytest.raises(ValueError, match=r"set_output\(transform='pandas'\)"):
        make_pipeline(clone(split).set_output(transform="default"), BoundedClassifier()).fit(frame, y)


@pytest.mark.no_cover
@pytest.mark.parametrize("model", [BoundedClassifier(), BoundedClassifier("hinge"), BoundedRegressor()])
def test_a_grid_search_over_alpha_takes_tables_with_holes(model, data):
    X, y = data
    search = GridSearchCV(clone(model), {"alpha": [0.01, 0.1, 1.0], "certificate": ["sphere", "tight"]}, cv=3)
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["alpha"] in (0.01, 0.1, 1.0)
    # The certificate does not change the model, so it does not change a score.
    scores = search.cv_results_["mean_test_score"].reshape(3, 2)
    np.testing.assert_array_equal(scores[:, 0], scores[:, 1])


@pytest.mark.no_cover
@pytest.mark.parametrize("model", [BoundedClassifier(), BoundedRegressor()])
def test_cross_validation_takes_tables_with_holes(model, data):
    X, y = data
    scores = cross_val_score(model, X, y, cv=4)
    assert scores.shape == (4,)
    assert (scores > (0.6 if is_classifier(model) else 0.0)).all()
    assert cross_val_predict(model, X, y, cv=4).shape == (120,)


def test_scores_that_need_probabilities_work_for_the_logistic_loss(data):
    X, y = data
    result = cross_validate(BoundedClassifier(), X, y, scoring=["neg_log_loss", "roc_auc", "accuracy"], cv=3)
    assert all(np.isfinite(result[f"test_{name}"]).all() for name in ("neg_log_loss", "roc_auc", "accuracy"))
    hinge = cross_val_score(BoundedClassifier("hinge"), X, y, scoring="roc_auc", cv=3)
    assert (hinge > 0.7).all()


# --- metadata --------------------------------------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_bounds_reach_the_last_step_of_a_pipeline_by_name(data, bounds):
    X, y = data
    pipe = Pipeline([("clf", BoundedClassifier())])
    pipe.fit(X, y, clf__X_lower=bounds[0], clf__X_upper=bounds[1])
    expected = BoundedClassifier().fit(X, y, X_lower=bounds[0], X_upper=bounds[1])
    assert np.array_equal(pipe[-1].coef_bounds_, expected.coef_bounds_)


def test_bounds_behind_a_scaler_are_refused_with_the_remedy(data, bounds):
    X, y = data
    pipe = Pipeline([("scale", StandardScaler()), ("clf", BoundedClassifier())])
    with pytest.raises(ValueError, match=r"X_lower is .*bounds must equal X there.*transform_input"):
        pipe.fit(X, y, clf__X_lower=bounds[0], clf__X_upper=bounds[1])


@pytest.mark.usefixtures("routing")
def test_bounds_are_routed_through_a_pipeline_and_scaled_with_it(data, bounds, X_test):
    X, y = data
    steps = [("scale", StandardScaler()), ("clf", BoundedClassifier())]
    pipe = Pipeline(steps, transform_input=["X_lower", "X_upper"]).fit(X, y, X_lower=bounds[0], X_upper=bounds[1])
    scaler = StandardScaler().fit(X)
    expected = BoundedClassifier().fit(
        scaler.transform(X), y, X_lower=scaler.transform(bounds[0]), X_upper=scaler.transform(bounds[1])
    )
    assert np.array_equal(pipe[-1].coef_bounds_, expected.coef_bounds_)
    assert (np.diff(expected.coef_bounds_, axis=1) > 1e-3).all()


@pytest.mark.usefixtures("routing")
def test_routed_bounds_that_a_scaler_left_behind_are_refused_with_the_remedy(data, bounds):
    pipe = Pipeline([("scale", StandardScaler()), ("clf", BoundedClassifier())])
    with pytest.raises(ValueError, match=r"transform_input=\['X_lower', 'X_upper'\]"):
        pipe.fit(*data, X_lower=bounds[0], X_upper=bounds[1])


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_when_asked_for_and_refused_otherwise(data):
    X, y = data
    weight = np.random.default_rng(2).integers(1, 4, 120)
    asked = BoundedClassifier().set_fit_request(sample_weight=True)
    pipe = Pipeline([("clf", asked)]).fit(X, y, sample_weight=weight)
    assert np.array_equal(pipe[-1].coef_, BoundedClassifier().fit(X, y, sample_weight=weight).coef_)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        Pipeline([("clf", BoundedClassifier())]).fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("routing")
def test_a_request_may_be_withdrawn(data, bounds):
    clf = BoundedClassifier().set_fit_request(X_lower=False, X_upper=False)
    with pytest.raises(TypeError, match="X_lower"):
        Pipeline([("clf", clf)]).fit(*data, X_lower=bounds[0], X_upper=bounds[1])


@pytest.mark.usefixtures("routing")
def test_bounds_and_weights_are_cut_with_the_rows_in_a_grid_search(data, bounds):
    X, y = data
    weight = np.random.default_rng(2).integers(1, 4, 120).astype(float)
    steps = [("scale", StandardScaler().set_fit_request(sample_weight=False))]
    steps.append(("clf", BoundedClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)))
    pipe = Pipeline(steps, transform_input=["X_lower", "X_upper"])
    search = GridSearchCV(pipe, {"clf__alpha": [0.1, 1.0]}, cv=3, error_score="raise")
    search.fit(X, y, X_lower=bounds[0], X_upper=bounds[1], sample_weight=weight)
    scaler = StandardScaler().fit(X)
    best = BoundedClassifier(alpha=search.best_params_["clf__alpha"]).fit(
        scaler.transform(X),
        y,
        sample_weight=weight,
        X_lower=scaler.transform(bounds[0]),
        X_upper=scaler.transform(bounds[1]),
    )
    assert np.array_equal(search.best_estimator_[-1].coef_bounds_, best.coef_bounds_)


# --- feature names ---------------------------------------------------------------------------------------------------

FRAMES = {
    "pandas": lambda v, names: pd.DataFrame(v, columns=names),
    "polars": lambda v, names: pl.DataFrame(v, schema=names),
    "pyarrow": lambda v, names: pl.DataFrame(v, schema=names).to_arrow(),
}
each_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


@each_frame
def test_feature_names_are_remembered(frame, data):
    clf = BoundedClassifier().fit(frame(data[0], NAMES), data[1])
    np.testing.assert_array_equal(clf.feature_names_in_, NAMES)
    assert not hasattr(clf.fit(*data), "feature_names_in_")


@pytest.mark.no_cover
@each_frame
@pytest.mark.parametrize("method", ["predict", "decision_function", "decision_bounds", "predict_set"])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "c", "e"], r"unseen at fit time(.|\n)*- e"),
        (["a", "c", "b", "d"], "must be in the same order"),
        (["a", "b", "c"], r"seen at fit time, yet now missing(.|\n)*- d"),
    ],
)
def test_wrong_reordered_and_missing_names_are_refused(frame, method, names, message, data, X_test):
    clf = BoundedClassifier().fit(frame(data[0], NAMES), data[1])
    with pytest.raises(ValueError, match=message):
        getattr(clf, method)(frame(X_test[:, : len(names)], names))


@pytest.mark.no_cover
@pytest.mark.parametrize("method", ["predict", "decision_function", "decision_bounds", "predict_set", "predict_proba"])
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_another_number_of_features_is_refused(method, columns, data):
    clf = BoundedClassifier().fit(*data)
    with pytest.raises(ValueError, match=rf"X has {columns} features, but BoundedClassifier is expecting 4 features"):
        getattr(clf, method)(np.zeros((2, columns)))


def test_ranges_may_be_given_by_name_when_the_table_has_names(data):
    X, y = data
    by_name = BoundedClassifier(intervals={"b": (0.0, 9.0)}).fit(pd.DataFrame(X, columns=NAMES), y)
    by_number = BoundedClassifier(intervals={1: (0.0, 9.0)}).fit(X, y)
    assert np.array_equal(by_name.coef_bounds_, by_number.coef_bounds_)


def test_refitting_forgets_the_first_fit(data):
    X, y = data
    clf = BoundedClassifier().fit(pd.DataFrame(X, columns=NAMES), y)
    again = clf.fit(X[:, :2], y)
    fresh = BoundedClassifier().fit(X[:, :2], y)
    assert again.n_features_in_ == 2
    assert np.array_equal(again.coef_bounds_, fresh.coef_bounds_)
    assert vars(again).keys() == vars(fresh).keys()
