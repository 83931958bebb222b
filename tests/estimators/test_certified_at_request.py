"""`fit` of a small table trains; what is proved is proved at the first request, of the table that `fit` was given."""

import copy
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import ipub.training.fit as fit_module
import ipub.training.training as training_module
from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix
from ipub.app.files.modelfile import load, save
from ipub.certificates.recipe import Recipe
from ipub.estimators import fitted_state
from ipub.training.deferred import Deferred

RESULTS = ("certificate_", "coef_bounds_", "intercept_bounds_")


def table(n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    score = X[:, 0] + 0.5 * rng.normal(size=60)
    y = score if n_classes == 0 else np.digitize(score, np.linspace(-0.5, 0.5, n_classes + 1)[1:-1])
    X[:7, 1] = np.nan
    return X, y


X_TEST = np.array([[0.5, 0.0, 1.0], [0.1, np.nan, 0.0]])


@pytest.fixture
def counted(monkeypatch):
    """Count certificates."""
    calls = []
    make = Recipe.__call__

    def count(self, *args, **kwargs):
        calls.append(self)
        return make(self, *args, **kwargs)

    monkeypatch.setattr(Recipe, "__call__", count)
    return calls


def test_what_needs_no_bounds_certifies_nothing(counted):
    X, y = table()
    clf = BoundedClassifier().fit(X, y)
    clf.predict(X_TEST), clf.predict_proba(X_TEST), clf.decision_function(X_TEST), clf.score(X[7:], y[7:])
    clone(clf), repr(clf), clf.get_feature_names_out()
    assert np.isfinite(cross_val_score(BoundedClassifier(), X, y)).all()
    GridSearchCV(BoundedClassifier(), {"alpha": [0.1, 1.0]}, cv=3).fit(X, y).predict(X_TEST)
    assert counted == []
    assert not set(RESULTS) & set(vars(clf))


@pytest.mark.parametrize(
    "request_bounds",
    [
        *(lambda clf, name=name: getattr(clf, name) for name in RESULTS),
        lambda clf: clf.decision_bounds(X_TEST),
        lambda clf: clf.training_.certificates,
        lambda clf: clf.predict_status(X_TEST),
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        lambda clf: save(clf, "m.ipub"),
    ],
)
def test_the_first_request_certifies_once(request_bounds, counted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clf = BoundedClassifier().fit(*table())
    request_bounds(clf)
    assert len(counted) == 1
    bounds = clf.decision_bounds(X_TEST)
    for name in RESULTS:
        getattr(clf, name)
    assert len(counted) == 1
    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "KEPT_CELLS", 0)
        at_once = BoundedClassifier().fit(*table())
    assert set(RESULTS) <= set(vars(at_once))
    np.testing.assert_array_equal(bounds, at_once.decision_bounds(X_TEST))
    np.testing.assert_array_equal(clf.coef_bounds_, at_once.coef_bounds_)
    np.testing.assert_array_equal(clf.intercept_bounds_, at_once.intercept_bounds_)


CASES = {
    "two classes": (BoundedClassifier(scale="standard"), 2),
    "l1": (BoundedClassifier(l1_ratio=0.5), 2),
    "hinge": (BoundedClassifier("hinge"), 2),
    "three classes": (BoundedClassifier(), 3),
    "wrong labels": (BoundedClassifier(max_label_errors=2), 2),
    "unknown labels": (BoundedClassifier(unknown_labels=True), 2),
    "regression": (BoundedRegressor(), 0),
    "pointwise": (BoundedRegressor(certificate="pointwise", effort=0.0), 0),
}


@pytest.mark.parametrize("kind", ["array", "float32", "frame", "bounds", "intervals"])
@pytest.mark.parametrize(("model", "n_classes"), CASES.values(), ids=CASES)
def test_changes_of_the_arrays_after_fit_change_no_bound(model, n_classes, kind):
    X, y = table(n_classes)
    weight = np.linspace(0.5, 2.0, 60)
    if "unknown_labels" in model.get_params() and model.unknown_labels:
        y = y.astype(float)
        y[20] = np.nan
    lower, upper = (np.where(np.isnan(X), end, X) for end in (-1.0, 1.0))
    arrays, fit_with = [X, y, weight], {"sample_weight": weight}
    if kind == "float32":
        X = X.astype(np.float32)
        arrays[0] = X
    elif kind == "frame":
        X = pd.DataFrame(X, copy=False)
    elif kind == "bounds":
        fit_with |= {"X_lower": lower, "X_upper": upper}
        arrays += [lower, upper]
    elif kind == "intervals":
        X = IntervalMatrix.from_bounds(lower, upper)
        arrays += [lower, upper, X.table, X.centers, X.radii]
    unchanged, changed = clone(model).fit(X, y, **fit_with), clone(model).fit(X, y, **fit_with)
    method = "predict_bounds" if n_classes == 0 else "decision_bounds"
    expected = getattr(unchanged, method)(X_TEST), unchanged.attained_bounds(X_TEST[:1])
    for array in arrays:
        array[...] = 1
    np.testing.assert_array_equal(getattr(changed, method)(X_TEST), expected[0])
    np.testing.assert_array_equal(changed.coef_bounds_, unchanged.coef_bounds_)
    np.testing.assert_array_equal(changed.attained_bounds(X_TEST[:1]), expected[1])


def test_parameters_that_are_changed_after_fit_make_methods_refuse_and_attributes_those_of_fit():
    X, y = table()
    expected = BoundedClassifier(alpha=0.3).fit(X, y).coef_bounds_
    clf = BoundedClassifier(alpha=0.3).fit(X, y).set_params(alpha=1.0, tol=0.1, verbose=1)
    with pytest.raises(NotFittedError, match=r"alpha was 0.3"):
        clf.decision_bounds(X_TEST)
    with pytest.raises(NotFittedError, match=r"alpha was 0.3"):
        save(clf, "m.ipub")
    np.testing.assert_array_equal(clf.coef_bounds_, expected)


def test_an_interrupted_request_is_made_again(monkeypatch):
    clf = BoundedClassifier().fit(*table())
    state = dict(vars(clf))
    with monkeypatch.context() as patch:

        def interrupt(*args, **kwargs):
            raise KeyboardInterrupt

        patch.setattr(training_module.Certified, "of", interrupt)
        for request_bounds in (lambda: clf.certificate_, lambda: clf.decision_bounds(X_TEST)):
            with pytest.raises(KeyboardInterrupt):
                request_bounds()
    assert vars(clf) == state
    np.testing.assert_array_equal(clf.coef_bounds_, BoundedClassifier().fit(*table()).coef_bounds_)


def test_no_result_of_an_earlier_fit_is_left():
    X, y = table()
    clf = BoundedClassifier().fit(X, y)
    before = clf.certificate_, clf.coef_bounds_
    clf.fit(X[:50], y[:50])
    assert not set(RESULTS) & set(vars(clf))
    assert clf.certificate_ is not before[0]
    assert (clf.coef_bounds_ != before[1]).any()
    clf.set_params(certificate=None).fit(X, y)
    assert clf.certificate_ is None
    assert not hasattr(clf, "coef_bounds_")


def test_models_that_are_not_fitted_or_have_no_bounds_have_no_such_attribute(tmp_path):
    for name in RESULTS:
        with pytest.raises(AttributeError, match=f"'BoundedClassifier' object has no attribute '{name}'"):
            getattr(BoundedClassifier(), name)
    save(BoundedClassifier().fit(*table()), tmp_path / "m.ipub")
    assert load(tmp_path / "m.ipub").certificate_.name == "tight"


def test_a_result_that_is_set_by_hand_before_the_first_request_counts():
    clf, other = BoundedClassifier().fit(*table()), BoundedClassifier("log_loss", alpha=1.0).fit(*table())
    clf.certificate_ = other.certificate_
    clf.coef_bounds_ = np.zeros((3, 2))
    assert clf.training_.certificates == (other.certificate_,)
    assert not clf.training_.coef_bounds.any()
    np.testing.assert_array_equal(clf.intercept_bounds_, BoundedClassifier().fit(*table()).intercept_bounds_)


def test_threads_that_ask_at_once_wait_for_one_computation():
    calls, start = [], threading.Event()

    def compute():
        start.wait(5.0)
        calls.append(1)
        return object()

    deferred, found = Deferred(compute), []
    threads = [threading.Thread(target=lambda: found.append(deferred())) for _ in range(4)]
    for thread in threads:
        thread.start()
    start.set()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(set(map(id, found))) == 1


def test_a_fit_in_another_thread_is_not_given_the_bounds_of_the_table_before(monkeypatch):
    started, go_on = threading.Event(), threading.Event()
    prove = fitted_state._certified_results

    def slowly(training):
        started.set()
        go_on.wait(5.0)
        return prove(training)

    X, y = table()
    clf = BoundedClassifier().fit(X, y)
    monkeypatch.setattr(fitted_state, "_certified_results", slowly)
    thread = threading.Thread(target=lambda: clf.certificate_)
    thread.start()
    assert started.wait(5.0)
    clf.fit(-X, y)
    go_on.set()
    thread.join()
    expected = BoundedClassifier().fit(-X, y)
    np.testing.assert_array_equal(clf.decision_bounds(X[:5]), expected.decision_bounds(X[:5]))
    np.testing.assert_array_equal(clf.coef_bounds_, expected.coef_bounds_)


def test_a_training_can_be_copied_and_pickled():
    clf = BoundedClassifier().fit(*table())
    for again in (copy.deepcopy(clf.training_), pickle.loads(pickle.dumps(clf.training_))):
        np.testing.assert_array_equal(again.coef_bounds, clf.training_.coef_bounds)
