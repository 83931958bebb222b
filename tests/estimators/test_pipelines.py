"""Pipelines with methods for bounds: of rows that went through the steps, and never of holes that a step filled in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from ipub import BoundedClassifier, BoundedPipeline, BoundedRegressor, IntervalMatrix, IpubError, make_bounded_pipeline

NAMES = ["age", "dose", "time"]


def table(n=80, seed=0):
    """Columns of different units, with holes."""
    rng = np.random.default_rng(seed)
    X = rng.normal([50.0, 0.2, 9.0], [10.0, 0.05, 3.0], size=(n, 3))
    y = (X[:, 0] - 50.0) / 10.0 + (X[:, 1] - 0.2) / 0.05 > 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, y.astype(int)


X, y = table()
ROWS = table(30, 1)[0]


@pytest.mark.parametrize(
    ("model", "methods"),
    [
        (BoundedClassifier(), ("decision_bounds", "predict_proba_bounds", "predict_set", "predict_status")),
        (BoundedClassifier(), ("attained_bounds", "flip_distance")),
        (BoundedClassifier("hinge", certificate="ball"), ("decision_bounds", "predict_set")),
        (BoundedRegressor(), ("predict_bounds",)),
    ],
)
def test_methods_for_bounds_take_rows_as_the_first_step_does(model, methods):
    pipe = make_bounded_pipeline(StandardScaler(), model).fit(X, y)
    scaler = StandardScaler().fit(X)
    expected = clone(model).fit(scaler.transform(X), y)
    for name in methods:
        np.testing.assert_array_equal(getattr(pipe, name)(ROWS), getattr(expected, name)(scaler.transform(ROWS)))
    if hasattr(model, "classes_"):
        found = pipe.score_range(ROWS, np.resize([0, 1], len(ROWS)))
        assert found == expected.score_range(scaler.transform(ROWS), np.resize([0, 1], len(ROWS)))


def test_a_pipeline_has_the_methods_that_its_last_step_has():
    hinge = make_bounded_pipeline(StandardScaler(), BoundedClassifier("hinge"))
    assert not hasattr(hinge, "predict_proba_bounds")
    assert not hasattr(hinge, "predict_bounds")
    assert hasattr(hinge, "decision_bounds")
    assert not hasattr(make_bounded_pipeline(BoundedRegressor()), "predict_set")


def test_bounds_hold_for_fillings_in_the_units_of_the_table():
    """Each hole at an end of its interval, in the units before the scaler; the model retrained by scikit-learn."""
    pipe = make_bounded_pipeline(MinMaxScaler((-1, 1)), BoundedClassifier(alpha=0.1)).fit(X, y)
    scaler = pipe[0]
    low, high = scaler.inverse_transform(pipe[-1].hole_ranges_.T)
    rows = np.where(np.isnan(ROWS), low, ROWS)
    bounds = pipe.decision_bounds(rows)
    rng, attained = np.random.default_rng(2), []
    plain = LogisticRegression(C=1.0 / (0.1 * len(y)), tol=1e-10, max_iter=10_000)
    for _ in range(40):
        ends = np.where(rng.random(3) < 0.5, low, high)  # all holes of a column at the same end move the model most
        filled = np.where(np.isnan(X), np.where(rng.random(X.shape) < 0.9, ends, low + high - ends), X)
        attained.append(plain.fit(scaler.transform(filled), y).decision_function(scaler.transform(rows)))
    assert (np.min(attained, axis=0) >= bounds[:, 0] - 1e-6).all()
    assert (np.max(attained, axis=0) <= bounds[:, 1] + 1e-6).all()
    assert np.median(np.ptp(attained, axis=0) / np.ptp(bounds, axis=1)) > 0.3


def test_frames_of_every_library_go_in_and_come_out():
    frames = {
        "pandas": pd.DataFrame(ROWS, columns=NAMES, index=np.arange(len(ROWS)) + 7),
        "polars": pl.DataFrame(ROWS, schema=NAMES),
        "pyarrow": pa.table(dict(zip(NAMES, ROWS.T, strict=True))),
    }
    train = {
        "pandas": pd.DataFrame(X, columns=NAMES),
        "polars": pl.DataFrame(X, schema=NAMES),
        "pyarrow": pa.table(dict(zip(NAMES, X.T, strict=True))),
    }
    expected = make_bounded_pipeline(StandardScaler(), BoundedClassifier()).fit(X, y).decision_bounds(ROWS)
    for kind, rows in frames.items():
        pipe = make_bounded_pipeline(StandardScaler(), BoundedClassifier()).set_output(transform=kind)
        found = pipe.fit(train[kind], y).decision_bounds(rows)
        assert type(found).__module__.split(".")[0] == kind
        np.testing.assert_allclose(np.column_stack([found["lower"], found["upper"]]), expected, rtol=1e-9)
        if kind == "pandas":
            assert (found.index == rows.index).all()
            assert pipe[-1].feature_names_in_.tolist() == NAMES


def test_parameters_of_steps_are_searched_and_the_pipeline_is_cloned():
    pipe = make_bounded_pipeline(StandardScaler(), BoundedClassifier())
    search = GridSearchCV(pipe, {"boundedclassifier__alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    assert isinstance(search.best_estimator_, BoundedPipeline)
    assert search.best_estimator_.predict_set(ROWS).shape == (30, 2)


# --- steps that would leave nothing to bound ----------------------------------------------------------------------


@pytest.mark.parametrize("step", [SimpleImputer(), FunctionTransformer(np.nan_to_num)])
def test_a_step_that_fills_in_is_refused_by_name_and_leaves_no_model(step):
    pipe = BoundedPipeline([("scale", StandardScaler()), ("second", step), ("model", BoundedClassifier())])
    with pytest.raises(IpubError, match=rf"The step 'second' \({type(step).__name__}\) leaves fewer missing values"):
        pipe.fit(X, y)
    with pytest.raises(NotFittedError):
        pipe.decision_bounds(ROWS)


def test_an_imputer_that_had_nothing_to_fill_in_is_refused_where_it_has():
    complete = ~np.isnan(X).any(axis=1)
    pipe = make_bounded_pipeline(SimpleImputer(), BoundedClassifier()).fit(X[complete], y[complete])
    assert pipe.decision_bounds(X[complete]).shape == (complete.sum(), 2)
    row = int(np.flatnonzero(np.isnan(ROWS).any(axis=1))[0])
    with pytest.raises(IpubError, match=rf"'simpleimputer' \(SimpleImputer\).*first in row {row},"):
        pipe.decision_bounds(ROWS)


def test_a_category_that_is_missing_must_stay_so():
    frame = pd.DataFrame(X, columns=NAMES).assign(site=np.resize(["north", None, "south", "west"], len(X)))
    encoded = ColumnTransformer([("site", OneHotEncoder(), ["site"])], remainder="passthrough")
    with pytest.raises(IpubError, match=r"'columntransformer'.*first in row 1,"):
        make_bounded_pipeline(encoded, BoundedClassifier()).fit(frame, y)
    passed = ColumnTransformer([("scale", StandardScaler(), NAMES)], remainder="passthrough")
    pipe = make_bounded_pipeline(passed, BoundedClassifier()).set_output(transform="pandas").fit(frame, y)
    assert (pipe.predict_set(frame).sum(axis=1) >= 1).all()


def test_columns_may_be_left_out():
    X_more = np.column_stack([X, np.where(np.arange(len(X)) % 2, np.nan, 1.0)])
    for step in (
        ColumnTransformer([("scale", StandardScaler(), [0, 1, 2])]),
        ColumnTransformer([("none", "drop", [3])], remainder=StandardScaler()),
        Pipeline([("scale", StandardScaler()), ("same", "passthrough")]).set_params(same=None),
        VarianceThreshold(),
    ):
        given = X if isinstance(step, Pipeline) else X_more
        pipe = make_bounded_pipeline(step, StandardScaler(), BoundedClassifier()).fit(given, y)
        expected = make_bounded_pipeline(StandardScaler(), BoundedClassifier()).fit(X, y)
        np.testing.assert_allclose(pipe[-1].coef_bounds_, expected[-1].coef_bounds_, rtol=1e-6)


def test_the_last_step_must_have_bounds():
    with pytest.raises(TypeError, match=r"not a LogisticRegression\. `certify` bounds"):
        make_bounded_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)


# --- bounds of cells ----------------------------------------------------------------------------------------------


@pytest.fixture
def cells():
    """Return a lower and an upper table."""
    middle = np.nanmean(X, axis=0)
    return tuple(np.where(np.isnan(X), middle + sign * np.array([5.0, 0.02, 1.0]), X) for sign in (-1.0, 1.0))


def test_bounds_of_cells_that_no_step_transforms_are_refused(cells):
    pipe = make_bounded_pipeline(StandardScaler(), BoundedClassifier())
    for given in ({"X_lower": cells[0]}, {"boundedclassifier__X_lower": cells[0]}):
        with pytest.raises(IpubError, match=r"X_lower gives bounds of cells.*scale='standard'"):
            pipe.fit(X, y, **given)
    with pytest.raises(IpubError, match="An IntervalMatrix gives bounds of cells"):
        pipe.fit(IntervalMatrix.from_bounds(*cells), y)
    pipe.fit(X, y)
    with pytest.raises(IpubError, match="An IntervalMatrix gives bounds of cells"):
        pipe.decision_bounds(IntervalMatrix.from_bounds(*cells))
    alone = make_bounded_pipeline(BoundedClassifier()).fit(X, y, boundedclassifier__X_lower=cells[0],
                                                           boundedclassifier__X_upper=cells[1])  # fmt: skip
    expected = BoundedClassifier().fit(X, y, X_lower=cells[0], X_upper=cells[1])
    np.testing.assert_array_equal(alone.decision_bounds(ROWS), expected.decision_bounds(ROWS))


def test_bounds_of_cells_are_routed_through_scalers_alone(cells):
    given = {"X_lower": cells[0], "X_upper": cells[1]}
    with sklearn.config_context(enable_metadata_routing=True):
        steps = [("scale", StandardScaler()), ("model", BoundedClassifier())]
        pipe = BoundedPipeline(steps, transform_input=["X_lower", "X_upper"]).fit(X, y, **given)
        scaler = StandardScaler().fit(X)
        expected = BoundedClassifier().fit(
            scaler.transform(X), y, **{name: scaler.transform(each) for name, each in given.items()}
        )
        np.testing.assert_array_equal(pipe[-1].coef_bounds_, expected.coef_bounds_)
        # Both ends of an interval around 0 have the same square: the truth would be outside.
        steps = [("square", FunctionTransformer(np.square)), ("model", BoundedClassifier())]
        with pytest.raises(IpubError, match=r"'square' \(FunctionTransformer\) is not known to keep the order"):
            BoundedPipeline(steps, transform_input=["X_lower", "X_upper"]).fit(X, y, **given)
