"""`Intervals`: how cells are read, as one object; and the parameters that are part of it now."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from ipub import BoundedClassifier, BoundedRegressor, Intervals, IpubError, certify, imputation_report, penalty_path
from ipub.app.files.modelfile import load, save


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] > 0.0).astype(int)
    X[:4, 1] = np.nan
    return X, y


def test_one_object_says_what_parameters_say(table):
    X, y = table
    one = BoundedClassifier(intervals=Intervals("quantile", 0.5)).fit(X, y)
    other = BoundedClassifier(intervals=Intervals(level=0.5)).fit(X, y)
    np.testing.assert_array_equal(one.decision_bounds(X), other.decision_bounds(X))
    np.testing.assert_array_equal(one.hole_ranges_, other.hole_ranges_)


def test_former_parameters_warn_and_mean_the_same(table, tmp_path):
    X, y = table
    new = BoundedClassifier(intervals=Intervals({1: (-1.0, 1.0)}, precision=0.1)).fit(X, y)
    former = clone(BoundedClassifier(intervals={1: (-1.0, 1.0)}, precision=0.1))  # nothing is said before fit
    assert repr(former) == "BoundedClassifier(intervals={1: (-1.0, 1.0)}, precision=0.1)"
    with pytest.warns(
        FutureWarning, match=r"precision=0.1 is part of intervals now: use intervals=Intervals\("
    ) as seen:
        former.fit(X, y)
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(former.decision_bounds(X), new.decision_bounds(X))
    save(former, tmp_path / "model.ipub")
    np.testing.assert_array_equal(load(tmp_path / "model.ipub").decision_bounds(X), new.decision_bounds(X))
    with pytest.raises(NotFittedError, match=r"precision was 0.1 when"):
        former.set_params(precision=0.2).decision_bounds(X)
    with pytest.raises(NotFittedError, match=r"precision was None when"):
        new.set_params(precision=0.2).decision_bounds(X)
    level = Intervals("observed", level=0.5)
    with pytest.warns(FutureWarning, match=r"interval_level=0.9 is part of intervals now: use .*Intervals\(level="):
        assert (
            BoundedRegressor(intervals=level, interval_level=0.9, certificate=None).fit(X, y).hole_ranges_[1, 0] < 0.0
        )
    with pytest.warns(FutureWarning, match="handle_unknown='any' is part of intervals now"):
        BoundedRegressor(handle_unknown="any", certificate=None).fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'exactness'"):
        BoundedRegressor(exactness=0.1)


@pytest.mark.parametrize("through", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, clone])
def test_copies_have_it(through, table):
    model = BoundedClassifier(intervals=Intervals(np.tile([-1.0, 1.0], (3, 1)), precision={0: 0.1})).fit(*table)
    again = through(model)
    assert repr(again.intervals) == repr(model.intervals)
    assert again.intervals is not model.intervals


def test_a_file_has_it(table, tmp_path):
    model = BoundedClassifier(intervals=Intervals(np.tile([-1.0, 1.0], (3, 1)), precision={0: 0.1})).fit(*table)
    save(model, tmp_path / "model.ipub")
    assert repr(load(tmp_path / "model.ipub").intervals) == repr(model.intervals)


def test_parts_are_set_by_name(table):
    model = BoundedRegressor(intervals=Intervals(level=0.8)).set_params(intervals__precision=0.1)
    assert repr(model.intervals) == "Intervals(level=0.8, precision=0.1)"
    assert model.get_params()["intervals__precision"] == 0.1
    search = GridSearchCV(BoundedClassifier(certificate=None), {"intervals__level": [0.5, 0.9]}).fit(*table)
    assert search.best_estimator_.intervals.level in (0.5, 0.9)
    with pytest.raises(IpubError, match="Intervals has no parameter 'width': use kind, level"):
        model.set_params(intervals__width=1.0)


def test_what_is_read_later_may_change_after_fit(table):
    X, y = table
    model = BoundedClassifier(intervals=Intervals(precision=0.1)).fit(X, y)
    bounds = model.decision_bounds(X)
    np.testing.assert_array_equal(model.set_params(intervals__handle_unknown="any").decision_bounds(X), bounds)
    with pytest.raises(NotFittedError, match=r"intervals was Intervals\(precision=0.1\) when"):
        model.set_params(intervals__precision=0.2).decision_bounds(X)


def test_functions_take_it(table):
    from sklearn.linear_model import LogisticRegression

    X, y = table
    cells = Intervals("observed", precision=0.01)
    theirs = LogisticRegression(C=0.01).fit(np.nan_to_num(X), y)
    assert (certify(theirs, X, y, intervals=cells).precision_ == 0.01).all()
    path = penalty_path(BoundedClassifier(intervals=cells), X, y, X[5:8], alphas=[0.5])
    assert (path.estimators[0].precision_ == 0.01).all()
    observed = imputation_report(theirs, X, y, X[5:8], intervals=Intervals("observed"), shares=())
    quantiles = imputation_report(theirs, X, y, X[5:8], shares=())
    assert observed.promises[0].width > quantiles.promises[0].width
