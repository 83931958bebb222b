"""More than two classes: one model for each against the others, and what their bounds say together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from flint import arb, ctx
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.real_data import DATA
from ipub import BoundedClassifier
from ipub.app.files.modelfile import load, save
from ipub.estimators.classifier import share_bounds
from ipub.losses import LOSSES

K = 3
CLASSIFIERS = [name for name, loss in LOSSES.items() if loss.task == "classification"]


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], np.array(["setosa", "versicolor", "virginica"])[y[order]]
    X_test = X[120:].copy()
    X, y = X[:120].copy(), y[:120]
    X[np.random.default_rng(1).random(X.shape) < 0.03] = np.nan
    return X, y, X_test


def test_the_models_are_those_of_each_class_against_the_others(data):
    X, y, X_test = data
    clf = BoundedClassifier(class_weight={"setosa": 2.0, "versicolor": 1.0, "virginica": 0.5}).fit(X, y)
    assert clf.coef_.shape == (K, 4)
    assert clf.coef_bounds_.shape == (K, 4, 2)
    assert clf.intercept_.shape == (K,)
    assert clf.intercept_bounds_.shape == (K, 2)
    assert len(clf.certificate_) == K
    weight = pd.Series(y).map(clf.class_weight).to_numpy()
    for k, label in enumerate(clf.classes_):
        one = BoundedClassifier().fit(X, y == label, sample_weight=weight)
        np.testing.assert_array_equal(clf.coef_[k], one.coef_[0])
        np.testing.assert_array_equal(clf.coef_bounds_[k], one.coef_bounds_)
        np.testing.assert_array_equal(clf.intercept_bounds_[k], one.intercept_bounds_)
        np.testing.assert_array_equal(clf.decision_bounds(X_test)[:, k], one.decision_bounds(X_test))
    assert clf.n_iter_ >= 1


def test_predictions_are_those_of_scikit_learn(data):
    X, y, X_test = data
    X = np.nan_to_num(X)
    clf = BoundedClassifier(alpha=0.1).fit(X, y)
    plain = OneVsRestClassifier(LogisticRegression(C=1.0 / (len(y) * 0.1), tol=1e-10, max_iter=1000)).fit(X, y)
    np.testing.assert_allclose(clf.decision_function(X_test), plain.decision_function(X_test), atol=1e-5)
    np.testing.assert_allclose(clf.predict_proba(X_test), plain.predict_proba(X_test), atol=1e-5)
    np.testing.assert_array_equal(clf.predict(X_test), plain.predict(X_test))


@pytest.mark.no_cover
@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_retrained_fillings_stay_inside(loss, data):
    X, y, X_test = data
    rows = X_test[:8].copy()
    rows[0, 1] = rows[1, 0] = np.nan
    clf = BoundedClassifier(loss).fit(X, y)
    bounds, labels = clf.decision_bounds(rows), clf.predict_set(rows)
    shares = clf.predict_proba_bounds(rows) if LOSSES[loss].has_probability else None
    assert bounds.shape == (8, K, 2)
    assert labels.shape == (8, K)
    low, high = clf.hole_ranges_.T
    rng = np.random.default_rng(2)
    for number in range(6):
        position = rng.random(X.shape) if number % 2 else rng.integers(0, 2, X.shape)
        again = clone(clf).fit(np.where(np.isnan(X), low + position * (high - low), X), y)
        filled = np.where(np.isnan(rows), low + rng.integers(0, 2, rows.shape) * (high - low), rows)
        scores = again.decision_function(filled)
        assert (bounds[..., 0] <= scores + 1e-6).all()
        assert (scores <= bounds[..., 1] + 1e-6).all()
        assert labels[np.arange(8), scores.argmax(axis=1)].all()
        if shares is not None:
            probability = again.predict_proba(filled)
            np.testing.assert_allclose(probability.sum(axis=1), 1.0)
            assert (shares[..., 0] <= probability + 1e-7).all()
            assert (probability <= shares[..., 1] + 1e-7).all()


@pytest.mark.parametrize(
    ("ends", "labels"),
    [
        ([(1.0, 2.0), (-1.0, 0.5), (-2.0, -1.0)], [True, False, False]),
        ([(1.0, 2.0), (-1.0, 1.0), (-2.0, -1.0)], [True, True, False]),  # a tie is possible
        ([(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [True, True, True]),
        ([(-5.0, -4.0), (-3.0, -2.0), (-9.0, -2.5)], [False, True, True]),  # no score has to be positive
        ([(-np.inf, np.inf), (1.0, 2.0), (0.0, 1.0)], [True, True, True]),
    ],
)
def test_a_label_is_possible_if_no_other_is_surely_ahead(ends, labels, data, monkeypatch):
    clf = BoundedClassifier().fit(*data[:2])
    monkeypatch.setattr(clf, "_score_bounds", lambda *_: np.array([ends]))
    assert clf.predict_set(data[2][:1]).tolist() == [labels]


def test_shares_are_bounded_in_ball_arithmetic():
    rng = np.random.default_rng(0)
    with ctx.workprec(200):
        for _ in range(300):
            n = int(rng.integers(3, 12))
            low = 10.0 ** rng.uniform(-320, 0, size=(1, n)) * rng.choice([0.0, 1.0, 1.0], size=(1, n))
            high = np.minimum(1.0, np.maximum(low, 5e-324) * (1.0 + rng.choice([0.0, 1e-15, 1.0]) * rng.random((1, n))))
            lower, upper = share_bounds(low, high)
            for k in range(n):
                one, least, most = low[0, k], low[0].copy(), high[0].copy()
                most[k], least[k] = one, high[0, k]
                assert arb(lower[0, k]) <= arb(one) / sum(map(arb, most.tolist())) or lower[0, k] == 0.0
                assert arb(upper[0, k]) >= arb(high[0, k]) / sum(map(arb, least.tolist())) or upper[0, k] == 1.0


def test_attained_bounds_are_inside_the_certified_ones_for_each_class(data):
    X, y, X_test = data
    clf = BoundedClassifier().fit(X, y)
    attained, completions = clf.attained_bounds(X_test[:2], return_completions=True)
    certified, scores = clf.decision_bounds(X_test[:2]), clf.decision_function(X_test[:2])
    assert attained.shape == (2, K, 2)
    assert (certified[..., 0] <= attained[..., 0]).all()
    assert (attained[..., 1] <= certified[..., 1]).all()
    assert (attained[..., 0] <= scores).all()
    lowest, highest = completions[1][2]
    for completion, end in ((lowest, attained[1, 2, 0]), (highest, attained[1, 2, 1])):
        again = clone(clf).fit(completion.table(), y)
        assert abs(again.decision_function(X_test[1:2])[0, 2] - end) < 1e-6


@pytest.mark.parametrize("training_rows", [True, False])
def test_a_file_keeps_every_class(training_rows, data, tmp_path):
    X, y, X_test = data
    clf = BoundedClassifier(certificate="slope").fit(X, y)
    save(clf, tmp_path / "m.ipub", rows=training_rows)
    again = load(tmp_path / "m.ipub")
    np.testing.assert_array_equal(again.predict(X_test), clf.predict(X_test))
    expected, bounds = clf.decision_bounds(X_test), again.decision_bounds(X_test)
    if training_rows:
        np.testing.assert_array_equal(bounds, expected)
    assert (bounds[..., 0] <= expected[..., 0] + 1e-9).all()
    assert (expected[..., 1] <= bounds[..., 1] + 1e-9).all()


@pytest.mark.parametrize("certificate", ["sphere", "ball", "pointwise"])
def test_every_certificate_serves_several_classes(certificate, data):
    X, y, X_test = data
    clf = BoundedClassifier(certificate=certificate).fit(X, y)
    bounds, scores = clf.decision_bounds(X_test[:2]), clf.decision_function(X_test[:2])
    assert ((bounds[..., 0] < scores) & (scores < bounds[..., 1])).all()


def test_the_eleven_classes_of_a_real_table():
    path = DATA / "drive_partial.parquet"
    if not path.exists():
        pytest.skip(f"the real data are not at {DATA}")
    frame = pd.read_parquet(path)
    frame = frame[frame["stratified"]]
    y, X = frame["class"].to_numpy(), frame.filter(like="f").filter(regex=r"^f\d\d$").to_numpy(dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    test = np.arange(len(y)) % 50 == 0
    holed = X[~test].copy()
    holed[np.random.default_rng(0).random(holed.shape) < 0.0005] = np.nan
    clf = BoundedClassifier(alpha=0.1).fit(holed, y[~test])
    labels = clf.predict_set(X[test])
    assert labels.shape == (test.sum(), 11)
    assert (labels.sum(axis=1) == 1).mean() > 0.2
    assert labels[np.arange(test.sum()), np.searchsorted(clf.classes_, clf.predict(X[test]))].all()
    again = clone(clf).fit(np.where(np.isnan(holed), X[~test].clip(*clf.hole_ranges_.T), holed), y[~test])
    bounds, scores = clf.decision_bounds(X[test]), again.decision_function(X[test])
    assert (bounds[..., 0] <= scores + 1e-7).all()
    assert (scores <= bounds[..., 1] + 1e-7).all()
