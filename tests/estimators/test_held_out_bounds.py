"""Bounds out of fold: each row by the model of the other folds, with steps that were learnt without it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix, IpubError, cross_val_bounds, make_bounded_pipeline
from ipub.answers.certainty import is_certain


def table(n=60):
    """A table with holes whose last rows are far off: a fold with them has another scaling."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[-10:] *= 6.0
    y = (X[:, 0] + X[:, 1] > rng.normal(size=n)).astype(int)
    X[rng.random(X.shape) < 0.07] = np.nan
    return X, y


X, y = table()
FOLDS = KFold(3)


@pytest.mark.parametrize(
    "estimator",
    [
        BoundedClassifier(scale="standard"),
        BoundedClassifier("hinge", certificate="ball"),
        BoundedRegressor(),
        make_bounded_pipeline(StandardScaler(), BoundedClassifier()),
    ],
)
def test_each_row_is_bounded_by_the_model_of_the_other_folds(estimator):
    found = cross_val_bounds(estimator, X, y, cv=FOLDS)
    assert found["row"].tolist() == list(range(len(X)))
    for number, (train, test) in enumerate(FOLDS.split(X)):
        model = clone(estimator).fit(X[train], y[train])
        part = found.iloc[test]
        assert (part["fold"] == number).all()
        assert (part["prediction"] == model.predict(X[test])).all()
        if hasattr(model, "predict_bounds"):
            bounds = model.predict_bounds(X[test])
        elif hasattr(model, "predict_proba_bounds"):
            bounds = model.predict_proba_bounds(X[test])
            np.testing.assert_array_equal(part["probability"], model.predict_proba(X[test])[:, 1])
        else:
            bounds = model.decision_bounds(X[test])
            np.testing.assert_array_equal(part["score"], model.decision_function(X[test]))
        np.testing.assert_array_equal(part[["lower", "upper"]].to_numpy(), bounds)
        if hasattr(model, "classes_"):
            np.testing.assert_array_equal(part["certain"], is_certain(model.decision_bounds(X[test])))


def test_bounds_hold_for_models_of_the_other_folds_filled_in_and_scaled_without_the_row():
    """Each fold again from first principles: its own quantiles, its own scaler, and vertices of its box, retrained."""
    estimator = make_bounded_pipeline(StandardScaler(), BoundedRegressor(alpha=0.1, intervals="observed"))
    found = cross_val_bounds(estimator, X, y, cv=FOLDS)
    rng = np.random.default_rng(1)
    for train, test in FOLDS.split(X):
        known, rows = X[train], np.where(np.isnan(X[test]), np.nanmean(X[train], axis=0), X[test])
        mean, deviation = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
        low, high = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
        part = found.iloc[test]
        for _ in range(20):
            filled = np.where(np.isnan(known), np.where(rng.random(3) < 0.5, low, high), known)
            table = np.column_stack([(filled - mean) / deviation, np.ones(len(train))])
            # Squared loss and the L2 penalty: the minimiser solves linear equations.
            matrix = 2.0 * table.T @ table / len(train) + np.diag([0.1] * 3 + [0.0])
            w = np.linalg.solve(matrix, 2.0 * table.T @ y[train] / len(train))
            score = np.column_stack([(rows - mean) / deviation, np.ones(len(test))]) @ w
            assert (score >= part["lower"] - 1e-7).all()
            assert (score <= part["upper"] + 1e-7).all()


def test_held_out_rows_have_intervals_of_their_own():
    low, high = np.where(np.isnan(X), -0.1, X), np.where(np.isnan(X), 0.1, X)
    cells = IntervalMatrix.from_bounds(low, high)
    found = cross_val_bounds(BoundedRegressor(), cells, y, cv=FOLDS)
    for train, test in FOLDS.split(X):
        model = BoundedRegressor().fit(cells.take(train), y[train])
        expected = model.predict_bounds(IntervalMatrix.from_bounds(low[test], high[test]))
        np.testing.assert_array_equal(found.iloc[test][["lower", "upper"]].to_numpy(), expected)


def test_the_frame_is_of_the_library_of_the_table_and_has_its_labels():
    names = list("abc")
    frame = pd.DataFrame(X, columns=names, index=[f"p{k}" for k in range(len(X))])
    expected = cross_val_bounds(BoundedClassifier(), X, y, cv=FOLDS)
    found = cross_val_bounds(BoundedClassifier(), frame, pd.Series(y, index=frame.index), cv=FOLDS)
    assert found["row"].tolist() == frame.index.tolist()
    np.testing.assert_array_equal(found["lower"], expected["lower"])
    for other, kind in (
        (pl.DataFrame(X, schema=names), pl.DataFrame),
        (pa.Table.from_pandas(frame, preserve_index=False), pa.Table),
    ):
        found = cross_val_bounds(BoundedClassifier(), other, y, cv=FOLDS)
        assert isinstance(found, kind)
        np.testing.assert_array_equal(found["upper"].to_numpy(), expected["upper"])


def test_folds_groups_and_weights_are_those_that_are_asked_for():
    groups = np.repeat(np.arange(6), 10)
    found = cross_val_bounds(BoundedClassifier(), X, y, groups=groups, cv=GroupKFold(3))
    assert (found.groupby(groups)["fold"].nunique() == 1).all()
    twice = cross_val_bounds(BoundedClassifier(), X, y, cv=RepeatedKFold(n_splits=2, n_repeats=2, random_state=0))
    assert twice["row"].tolist() == np.repeat(np.arange(60), 2).tolist()
    assert (twice["fold"].to_numpy().reshape(60, 2) // 2 == [0, 1]).all()
    weight = np.arange(1.0, 61.0)
    train, test = np.arange(40), np.arange(40, 60)
    found = cross_val_bounds(BoundedClassifier(), X, y, cv=[(train, test)], params={"sample_weight": weight})
    expected = BoundedClassifier().fit(X[train], y[train], sample_weight=weight[train]).predict_proba_bounds(X[test])
    assert found["row"].tolist() == test.tolist()
    np.testing.assert_array_equal(found[["lower", "upper"]].to_numpy(), expected)


def test_of_several_classes_the_predicted_one_is_bounded():
    labels = np.where(X[:, 2] > 0.5, "c", np.where(y == 1, "a", "b"))
    labels[np.isnan(X[:, 2])] = "a"
    found = cross_val_bounds(BoundedClassifier(alpha=1.0).set_output(transform="pandas"), X, labels, cv=3)
    assert ((found["lower"] <= found["probability"]) & (found["probability"] <= found["upper"])).all()
    assert all(label in names.split(", ") for label, names in found[["prediction", "possible"]].to_numpy())


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            (make_pipeline(StandardScaler(), BoundedClassifier()), X, y),
            TypeError,
            "make_bounded_pipeline, not a Pipeline",
        ),
        ((BoundedClassifier(), X, y[:-1]), IpubError, "y has 59 entries and X 60 rows"),
        ((BoundedClassifier(certificate=None), X, y), IpubError, "certificate=None proves no bounds"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, error, words):
    with pytest.raises(error, match=words):
        cross_val_bounds(*arguments)


def test_a_table_in_files_is_to_be_read_first(tmp_path):
    pd.DataFrame(X, columns=list("abc")).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(IpubError, match="takes a table in memory"):
        cross_val_bounds(BoundedClassifier(), tmp_path / "table.parquet", y)


def test_bounds_of_cells_come_as_one_matrix():
    with pytest.raises(IpubError, match=r"X_lower would be used in training alone.*IntervalMatrix\.from_bounds"):
        cross_val_bounds(BoundedClassifier(), X, y, params={"X_lower": X})
