"""Uncertain labels as a user gives them."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.app.files.modelfile import load, save


@pytest.fixture
def table():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=60)


def inside(bounds, lowest, highest):
    return (bounds[:, 0] <= lowest + 1e-7).all() and (bounds[:, 1] >= highest - 1e-7).all()


@pytest.mark.share(2)
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
@pytest.mark.parametrize("intercept", [False, True])
def test_targets_in_intervals(table, loss, intercept):
    X, y = table
    lower, upper = np.floor(4.0 * y) / 4.0, np.ceil(4.0 * y) / 4.0
    reg = BoundedRegressor(loss=loss, alpha=0.5, fit_intercept=intercept)
    bounds = reg.fit(X, np.where(np.arange(60) < 5, np.nan, y), y_lower=lower, y_upper=upper).predict_bounds(X[:8])
    attained = reg.attained_bounds(X[:8])
    rng = np.random.default_rng(0)
    other = BoundedRegressor(loss=loss, alpha=0.5, fit_intercept=intercept, certificate="sphere")
    scores = np.array([other.fit(X, np.where(rng.random(60) < 0.5, lower, upper)).predict(X[:8]) for _ in range(50)])
    assert inside(bounds, scores.min(axis=0), scores.max(axis=0))
    assert inside(bounds, *attained.T)
    assert (attained[:, 1] >= scores.max(axis=0) - 1e-7).all()
    certain = reg.fit(X, y, y_lower=y, y_upper=y).predict_bounds(X[:8])
    np.testing.assert_array_equal(certain, reg.fit(X, y).predict_bounds(X[:8]))


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_rows_of_unknown_class(table, loss, tmp_path):
    X, score = table
    y = np.where(score > 0.0, "yes", "no").astype(object)
    unknown = [3, 17, 40]
    y[unknown] = None
    clf = BoundedClassifier(loss=loss, alpha=0.5, unknown_labels=True).fit(X, y)
    bounds, attained = clf.decision_bounds(X[:8]), clf.attained_bounds(X[:8])
    scores = []
    for labels in itertools.product(["yes", "no"], repeat=3):
        y[unknown] = labels
        scores.append(
            BoundedClassifier(loss=loss, alpha=0.5, certificate=None).fit(X, y.astype(str)).decision_function(X[:8])
        )
    assert inside(bounds, np.min(scores, axis=0), np.max(scores, axis=0))
    assert inside(bounds, *attained.T)
    assert (attained[:, 1] - attained[:, 0] >= 0.5 * np.ptp(scores, axis=0)).all()
    save(clf, tmp_path / "model.ipub")
    np.testing.assert_array_equal(load(tmp_path / "model.ipub").decision_bounds(X[:8]), bounds)


def test_rows_of_unknown_class_among_three(table):
    X, score = table
    y = pd.Series(np.digitize(score, [-0.5, 0.5]), dtype=object)
    y[5] = None
    bounds = BoundedClassifier(alpha=0.5, unknown_labels=True).fit(X, y).decision_bounds(X[:8])
    for label in (0, 1, 2):
        y[5] = label
        scores = BoundedClassifier(alpha=0.5).fit(X, y.astype(int)).decision_function(X[:8])
        assert (bounds[..., 0] <= scores + 1e-7).all()
        assert (bounds[..., 1] >= scores - 1e-7).all()


def test_without_unknown_labels_nothing_changes(table):
    X, score = table
    y = (score > 0.0).astype(float)
    expected = BoundedClassifier(alpha=0.5).fit(X, y).decision_bounds(X[:5])
    np.testing.assert_array_equal(
        BoundedClassifier(alpha=0.5, unknown_labels=True).fit(X, y).decision_bounds(X[:5]), expected
    )


def test_unknown_labels_are_refused_with_the_remedy(table):
    X, score = table
    y = np.where(score > 0.0, 1.0, 0.0)
    y[4] = np.nan
    with pytest.raises(ValueError, match=r"row 4 has no label.*unknown_labels=True"):
        BoundedClassifier().fit(X, y)
    with pytest.raises(ValueError, match="leave out class_weight"):
        BoundedClassifier(unknown_labels=True, class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match="Every label is unknown"):
        BoundedClassifier(unknown_labels=True).fit(X, np.full(60, np.nan))


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (0.0, None, "Give both y_lower and y_upper, or neither"),
        (-np.inf, 9.0, r"y_lower is -inf in row 0.*finite"),
        (2.0, 1.0, "swap them"),
        (5.0, 6.0, "not between its bounds"),
    ],
)
def test_bad_bounds_of_targets_are_refused(table, lower, upper, message):
    X, y = table
    ends = [None if end is None else np.full(60, end) for end in (lower, upper)]
    with pytest.raises(ValueError, match=message):
        BoundedRegressor().fit(X, np.clip(y, -3.0, 3.0), y_lower=ends[0], y_upper=ends[1])


def test_a_list_with_nan_among_words_has_unknown_labels(table):
    X, score = table
    y = ["yes" if s > 0.0 else "no" for s in score]
    y[2] = float("nan")
    clf = BoundedClassifier(alpha=0.5, unknown_labels=True).fit(X, y)
    assert clf.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="row 2 has no label"):
        BoundedClassifier().fit(X, y)
    with pytest.raises(ValueError, match="mixes text and numbers"):
        BoundedClassifier(unknown_labels=True).fit(X, [1, "a", *y[2:]])


def test_the_targets_of_a_filling_go_with_its_table(table):
    X, y = table
    reg = BoundedRegressor(alpha=0.5).fit(X, y, y_lower=y - 0.25, y_upper=y + 0.25)
    bounds, fillings = reg.attained_bounds(X[:1], return_completions=True)
    again = BoundedRegressor(alpha=0.5).fit(fillings[0][1].table(), fillings[0][1].targets())
    np.testing.assert_allclose(again.predict(X[:1]), bounds[:, 1], rtol=1e-6)
