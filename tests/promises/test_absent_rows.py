"""A budget of absent rows and wrong labels, as users meet it: sentences, errors, files, and where nothing is proved."""

from __future__ import annotations

import numpy as np
import pytest

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.errors import IpubError

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.0, "yes", "no")
T = rng.normal(size=(5, 2))
ALL_AT_ONCE = Budget(cells=0, wrong_cells=1, precision=0.1, labels=1, rows=1)


def test_the_sentence_names_each_kind_with_its_number_and_what_stays():
    assert Budget(cells=0, labels=2, rows=5).promise(9) == (
        "Always: the bounds hold for every table in which all 9 missing values are the filled-in ones, and at most 2 "
        "of the labels are those of the other class, and at most 5 of the rows are absent while alpha, the scaling of "
        "the columns and the weights of the other rows stay the same."
    )
    assert repr(Budget(labels=2, rows=5)) == "Budget(labels=2, rows=5)"
    assert Budget(cells=0, wrong_cells=1, precision=0.5).promise(0) == (
        "Always: the bounds hold for every table in which at most 1 of the observed cells differ from what they are, "
        "by up to their precision, while the scaling of the columns stays the same."
    )


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(rows=-1), "rows is -1: give a whole number of rows, at least 0."),
        (Budget(labels=0.5), "labels is 0.5: give a whole number of labels, at least 0."),
        (Budget(rows=True), "rows is True"),
        (Budget(rows=0), "limits nothing"),
        (Budget(rows=40), "lets all of the 40 rows that count be absent"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(budget, message):
    with pytest.raises(IpubError, match=message):
        BoundedClassifier(uncertainty=budget).fit(X, y)


def test_rows_without_weight_do_not_count():
    weight = np.where(np.arange(40) < 38, 0.0, 1.0)
    labels = np.where(np.arange(40) < 39, "yes", "no")
    with pytest.raises(IpubError, match="all of the 2 rows"):
        BoundedClassifier(uncertainty=Budget(rows=2)).fit(X, labels, sample_weight=weight)


def test_labels_are_those_of_two_classes_without_class_weight():
    with pytest.raises(IpubError, match="y has 3 classes: leave labels out"):
        BoundedClassifier(uncertainty=Budget(labels=1)).fit(X, np.arange(40) % 3)
    with pytest.raises(IpubError, match="a target of numbers is of no class: leave labels out"):
        BoundedRegressor(uncertainty=Budget(labels=1)).fit(X, X[:, 0])
    with pytest.raises(IpubError, match="leave out class_weight"):
        BoundedClassifier(class_weight="balanced", uncertainty=Budget(labels=1)).fit(X, y)
    with pytest.raises(IpubError, match=r"which is Budget\(labels=...\) there"):
        BoundedClassifier(max_label_errors=1, uncertainty=Budget(rows=1)).fit(X, y)


def test_what_is_not_proved_without_rows_is_not_bounded_and_the_note_says_why():
    clf = BoundedClassifier("hinge", uncertainty=Budget(rows=1)).fit(X, y)
    assert (clf.decision_bounds(T) == [-np.inf, np.inf]).all()
    assert clf.predict_set(T).all()
    note = clf.certificate_.note
    assert "'hinge' has a kink" in note
    assert note.endswith("so every bound is infinite.")
    assert "at most 1 of the rows are absent" in clf.certificate_.promise


def test_what_is_not_proved_with_wrong_labels_has_the_bounds_of_any_filling_with_wrong_labels():
    clf = BoundedClassifier("hinge", alpha=1.0, uncertainty=Budget(cells=0, labels=1)).fit(X, y)
    low, high = clf.decision_bounds(T).T
    assert np.isfinite(low).all()
    assert clf.certificate_.note.endswith(
        "The bounds are those of any filling with as many wrong labels, which are wider."
    )
    assert "at most 1 of the labels" in clf.certificate_.promise
    widest = np.zeros(len(T))
    for k in range(40):
        labels = y.copy()
        labels[k] = "no" if y[k] == "yes" else "yes"
        scores = BoundedClassifier("hinge", alpha=1.0, certificate=None).fit(X, labels).decision_function(T)
        assert (low <= scores + 1e-6).all()
        assert (scores <= high + 1e-6).all()
        widest = np.maximum(widest, np.abs(scores - clf.decision_function(T)))
    assert (widest > 0.0).all()


@pytest.mark.parametrize("rows", [True, False])
def test_a_file_has_the_bounds_of_the_model(tmp_path, rows):
    clf = BoundedClassifier(alpha=1.0, l1_ratio=0.1, uncertainty=ALL_AT_ONCE).fit(X, y)
    bounds = clf.decision_bounds(T)
    assert np.isfinite(bounds).all()
    clf.save(tmp_path / "model.ipub", rows=rows)
    loaded = ipub.load(tmp_path / "model.ipub")
    assert (loaded.uncertainty.rows, loaded.uncertainty.labels) == (1, 1)
    assert loaded.certificate_.promise == clf.certificate_.promise
    if rows:
        np.testing.assert_array_equal(loaded.decision_bounds(T), bounds)
    else:
        (low, high), attained = loaded.decision_bounds(T).T, clf.attained_bounds(T)
        assert (low <= attained[:, 0]).all()
        assert (attained[:, 1] <= high).all()


def test_each_kind_has_a_number_of_its_own():
    """Labels and rows of the same number would hide an exchange of both."""
    widths = {
        name: np.median(np.ptp(BoundedClassifier(alpha=1.0, uncertainty=budget).fit(X, y).decision_bounds(T), axis=1))
        for name, budget in {
            "rows": Budget(cells=0, rows=2),
            "labels": Budget(cells=0, labels=2),
            "both": Budget(cells=0, rows=2, labels=2),
            "all": Budget(cells=0, rows=2, labels=2, wrong_cells=2, precision=0.5),
        }.items()
    }
    assert 1.5 * widths["rows"] < widths["labels"] < widths["both"] < widths["all"]
    assert widths["both"] > 0.9 * (widths["rows"] + widths["labels"])


def test_the_status_of_a_prediction_is_about_absent_rows_too():
    clf = BoundedClassifier(alpha=0.3, uncertainty=Budget(rows=1)).fit(X, y)
    scores, status = clf.decision_function(T), clf.predict_status(T)
    assert set(status) <= {"certain", "open", "unknown"}
    far = np.abs(scores) > 3.0 * np.ptp(clf.decision_bounds(T), axis=1)
    assert (np.asarray(status)[far] == "certain").all()
    assert far.any()
