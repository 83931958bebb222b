"""Classifiers whose labels may be wrong in a few rows."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

import ipub.certificates.row_sums.table as table_module
import ipub.rows.slices as blocks_module
from ipub import BoundedClassifier
from ipub.app.files.modelfile import load, save
from ipub.certificates import SlopeBounds
from ipub.losses import loss_names

LOSSES = loss_names("classification")


def data(n=120, seed=0, holes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0.0, "yes", "no")
    X[:holes, 2] = np.nan
    return X, y, rng.normal(size=(6, 3))


@pytest.mark.parametrize("loss", LOSSES)
def test_retrained_models_with_any_wrong_labels_stay_inside(loss):
    X, y, X_test = data()
    clf = BoundedClassifier(loss, alpha=0.2, max_label_errors=3, tol=1e-10).fit(X, y)
    low, high = clf.decision_bounds(X_test).T
    rng = np.random.default_rng(1)
    for _ in range(20):
        table, labels = X.copy(), y.copy()
        table[np.isnan(X[:, 2]), 2] = rng.uniform(*clf.hole_ranges_[2], size=3)
        wrong = rng.choice(len(y), size=rng.integers(0, 4), replace=False)
        labels[wrong] = np.where(labels[wrong] == "yes", "no", "yes")
        scores = (
            BoundedClassifier(loss, alpha=0.2, tol=1e-10, certificate=None).fit(table, labels).decision_function(X_test)
        )
        assert (low <= scores + 1e-5).all()
        assert (scores - 1e-5 <= high).all()


def test_no_wrong_labels_is_what_there_was_before():
    X, y, X_test = data()
    plain, none = BoundedClassifier().fit(X, y), BoundedClassifier(max_label_errors=0).fit(X, y)
    assert np.array_equal(plain.decision_bounds(X_test), none.decision_bounds(X_test))


@pytest.mark.parametrize("certificate", ["tight", "ball", "slope", "sphere"])
def test_bounds_grow_with_the_number_of_wrong_labels(certificate):
    X, y, X_test = data()
    fitted = [BoundedClassifier(certificate=certificate, max_label_errors=k).fit(X, y) for k in (0, 1, 2, 5)]
    widths = [np.diff(clf.decision_bounds(X_test)) for clf in fitted]
    assert all((narrow < wide).all() for narrow, wide in itertools.pairwise(widths))
    assert all(np.array_equal(clf.coef_, fitted[0].coef_) for clf in fitted)


def test_every_label_may_be_wrong():
    X, y, X_test = data(n=20)
    clf = BoundedClassifier(max_label_errors=1000, fit_intercept=False).fit(X, y)
    assert np.isfinite(clf.decision_bounds(X_test)).all()
    assert clf.predict_set(X_test).all()


def test_what_is_attained_is_inside_and_close():
    X, y, X_test = data(n=400, holes=0)
    clf = BoundedClassifier(max_label_errors=2).fit(X, y)
    certified, attained = clf.decision_bounds(X_test), clf.attained_bounds(X_test)
    assert (certified[:, 0] <= attained[:, 0]).all()
    assert (attained[:, 1] <= certified[:, 1]).all()
    assert (np.diff(certified) < 1.5 * np.diff(attained)).all()


def test_pointwise_rules_out_scores_or_falls_back_and_says_so(monkeypatch):
    X, y, X_test = data()
    X_test = X_test[:2]
    tight = BoundedClassifier(max_label_errors=1).fit(X, y).decision_bounds(X_test)
    pointwise = BoundedClassifier(certificate="pointwise", max_label_errors=1).fit(X, y)
    assert pointwise.certificate_.note == ""
    bounds = pointwise.decision_bounds(X_test)
    assert (bounds[:, 0] >= tight[:, 0]).all()
    assert (bounds[:, 1] <= tight[:, 1]).all()
    monkeypatch.setattr(table_module, "MOST_ROWS", 10)
    pointwise = pointwise.fit(X, y)
    assert "With uncertain labels" in pointwise.certificate_.note
    tight = BoundedClassifier(max_label_errors=1).fit(X, y).decision_bounds(X_test)
    assert np.array_equal(pointwise.decision_bounds(X_test), tight)


@pytest.mark.parametrize("training_rows", [True, False])
def test_saved_and_loaded_it_bounds_the_same(tmp_path, training_rows):
    X, y, X_test = data()
    clf = BoundedClassifier(max_label_errors=2).fit(X, y)
    save(clf, tmp_path / "model.ipub", rows=training_rows)
    other = load(tmp_path / "model.ipub")
    assert other.max_label_errors == 2
    saved, loaded = clf.decision_bounds(X_test), other.decision_bounds(X_test)
    if training_rows:
        assert np.array_equal(saved, loaded)
    else:
        assert other.certificate_.part(SlopeBounds).flipped is None
        assert (loaded[:, 0] <= saved[:, 0]).all()
        assert (saved[:, 1] <= loaded[:, 1]).all()


def test_the_same_in_blocks_and_from_a_file(tmp_path, monkeypatch):
    X, y, X_test = data()
    clf = BoundedClassifier(max_label_errors=3)
    whole = clone(clf).fit(X, y).decision_bounds(X_test)
    table = np.memmap(tmp_path / "table", dtype=float, mode="w+", shape=X.shape)
    table[:] = X
    np.testing.assert_allclose(clone(clf).fit(table, y).decision_bounds(X_test), whole, rtol=1e-9)
    monkeypatch.setattr(blocks_module, "BLOCK_CELLS", 64)
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", 16)
    np.testing.assert_allclose(clone(clf).fit(X, y).decision_bounds(X_test), whole, rtol=1e-6)


def test_more_than_two_classes_are_refused():
    X, _, _ = data()
    with pytest.raises(ValueError, match="max_label_errors is for two classes, but y has 3"):
        BoundedClassifier(max_label_errors=1).fit(X, np.arange(len(X)) % 3)


def test_class_weights_are_refused():
    X, y, _ = data()
    with pytest.raises(ValueError, match="leave out class_weight"):
        BoundedClassifier(max_label_errors=1, class_weight="balanced").fit(X, y)


def test_unknown_labels_besides_are_refused():
    X, y, _ = data()
    labels = y.astype(object)
    labels[0] = None
    with pytest.raises(ValueError, match="cannot be combined"):
        BoundedClassifier(max_label_errors=1, unknown_labels=True).fit(X, labels)


@pytest.mark.parametrize("value", [-1, 0.5, "few"])
def test_a_number_of_labels_is_a_number(value):
    X, y, _ = data()
    with pytest.raises(ValueError, match="max_label_errors"):
        BoundedClassifier(max_label_errors=value).fit(X, y)
