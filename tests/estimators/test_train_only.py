"""certificate=None trains only: the same predictions, no bounds, and no work for them."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import ipub.training.draws as draws_module
import ipub.training.filled as filled_module
from ipub import (
    BoundedClassifier,
    BoundedRegressor,
    Budget,
    Draws,
    IpubError,
    certify,
    imputation_report,
    penalty_path,
)
from ipub.app.files.modelfile import load, load_with_metadata, save

UNCERTAINTIES = {
    "worst": "worst",
    "budget": Budget(cells=2),
    "draws": Draws(n_draws=4, random_state=0),
    "draws with cells": Draws(n_draws=3, random_state=0, cells=1),
}
each_uncertainty = pytest.mark.parametrize("uncertainty", UNCERTAINTIES.values(), ids=UNCERTAINTIES)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0.0).astype(int)
    X[:7, 1] = np.nan
    return X, y


def three_classes(data):
    X, y = data
    return X, y + (X[:, 2] > 0.5)


@pytest.fixture
def nothing_certified(monkeypatch):
    """Make every way to a certificate an error."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("certified")

    monkeypatch.setattr("ipub.certificates.recipe.Recipe.__call__", refuse)
    for module in (draws_module, filled_module):
        monkeypatch.setattr(module, "bounds_around_filling", refuse)
    monkeypatch.setattr("ipub.model_sets.certificate.Certificate.score_bounds", refuse)


@each_uncertainty
def test_nothing_is_certified(uncertainty, data, nothing_certified):
    clf = BoundedClassifier(certificate=None, uncertainty=uncertainty).fit(*data)
    assert clf.certificate_ is None
    with pytest.raises(AssertionError, match="certified"):
        _ = BoundedClassifier(uncertainty=uncertainty).fit(*data).certificate_


def test_a_grid_search_certifies_nothing(data, nothing_certified):
    search = GridSearchCV(BoundedClassifier(certificate=None), {"alpha": [1.0, 0.1]}, cv=3).fit(*data)
    assert search.best_params_["alpha"] in (1.0, 0.1)
    assert 0.5 < search.score(*data) <= 1.0


@each_uncertainty
def test_predictions_are_those_of_the_certified_model(uncertainty, data):
    X, _ = data
    only, whole = (
        BoundedClassifier(certificate=name, uncertainty=uncertainty, scale="standard").fit(*data)
        for name in (None, "tight")
    )
    np.testing.assert_allclose(only.coef_, whole.coef_, rtol=1e-6)
    np.testing.assert_allclose(only.predict_proba(X), whole.predict_proba(X), rtol=1e-6)
    np.testing.assert_array_equal(only.predict(X), whole.predict(X))
    assert only.score(*data) == whole.score(*data)


def test_more_than_two_classes_and_regressions_train_only_as_well(data):
    X, y = three_classes(data)
    only, whole = (BoundedClassifier(certificate=name).fit(X, y) for name in (None, "tight"))
    np.testing.assert_array_equal(only.predict_proba(X), whole.predict_proba(X))
    only, whole = (BoundedRegressor(certificate=name).fit(X, y) for name in (None, "tight"))
    np.testing.assert_array_equal(only.predict(X), whole.predict(X))


@each_uncertainty
@pytest.mark.parametrize("method", ["decision_bounds", "predict_proba_bounds", "predict_set", "attained_bounds"])
def test_methods_for_bounds_say_what_to_set(method, uncertainty, data):
    clf = BoundedClassifier(certificate=None, uncertainty=uncertainty).fit(*data)
    with pytest.raises(IpubError, match=r"certificate=None.*set certificate='tight' and call fit again"):
        getattr(clf, method)(data[0])


def test_so_do_the_other_ways_to_bounds(data):
    X, y = data
    clf = BoundedClassifier(certificate=None)
    with pytest.raises(IpubError, match="set certificate='tight'"):
        clone(clf).fit(X, y).flip_distance(X[20:22])
    with pytest.raises(IpubError, match="set certificate='tight'"):
        BoundedRegressor(certificate=None).fit(X, y).predict_bounds(X)
    with pytest.raises(IpubError, match="set certificate='tight'"):
        penalty_path(clf, X, y, X)
    with pytest.raises(IpubError, match="set certificate='tight'"):
        imputation_report(clf, X, y)
    with pytest.raises(ValueError, match="'certificate' parameter of certify"):
        certify(LogisticRegression().fit(X[:, [0, 2]], y), X[:, [0, 2]], y, certificate=None)


def test_a_refit_without_certificate_leaves_no_bounds_behind(data):
    clf = BoundedClassifier().fit(*data)
    clf.set_params(certificate=None)
    with pytest.raises(NotFittedError, match="certificate was 'tight'"):
        clf.predict(data[0])
    clf.fit(*data)
    assert not hasattr(clf, "coef_bounds_")
    assert not hasattr(clf, "intercept_bounds_")
    clf.set_params(certificate="tight").fit(*data)
    assert clf.coef_bounds_.shape == (3, 2)


@each_uncertainty
@pytest.mark.parametrize("several", [False, True], ids=["two classes", "three classes"])
def test_copies_pickles_and_files_predict_and_have_no_bounds(several, uncertainty, data, tmp_path):
    X, y = three_classes(data) if several else data
    clf = BoundedClassifier(certificate=None, uncertainty=uncertainty).fit(X, y)
    path = tmp_path / "model.ipub"
    save(clf, path)
    assert not load_with_metadata(path).training_rows
    for other in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf)), load(path)):
        np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))
        assert other.certificate_ is None
        with pytest.raises(IpubError, match="certificate=None"):
            other.decision_bounds(X)
