"""effort: work for a row, as it is set when bounds are asked for."""

import numpy as np
import pytest

import ipub.answers.status as status_module
from ipub import BoundedClassifier, BoundedRegressor, penalty_path
from ipub.certificates import RowSumBounds
from support.planted import plant

T = np.random.default_rng(9).normal(size=(3, 3))


def table(seed=3, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] - 0.5 * X[:, 1] > 0.4 * rng.normal(size=n)).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.fixture
def efforts(monkeypatch):
    """Collect what may be spent on rows."""
    spent = []

    def recorded(path, t, bounds, effort):
        spent.append(effort)
        return bounds

    plant(monkeypatch, "narrow_by_ruling_out", recorded)
    return spent


@pytest.mark.parametrize(("kind", "alpha"), [(BoundedClassifier, 0.03), (BoundedRegressor, 0.3)])
def test_effort_may_be_changed_after_fit(kind, alpha, efforts):
    model = kind(alpha=alpha, certificate="pointwise", effort=0.25).fit(*table())
    assert model.certificate_.part(RowSumBounds).path is not None
    ask = model.decision_bounds if kind is BoundedClassifier else model.predict_bounds
    for effort in (0.25, 2.0, 0.0):
        model.set_params(effort=effort)
        ask(T)
    assert efforts == [0.25] * len(T) + [2.0] * len(T)  # without effort nothing is tried


def test_every_method_that_bounds_rows_spends_the_effort_that_is_set(efforts, monkeypatch):
    asked = []

    def recorded(path, t, score, effort):
        asked.append(effort)
        return False

    monkeypatch.setattr(status_module, "is_on_one_side", recorded)
    clf = BoundedClassifier(alpha=0.03, certificate="pointwise").fit(*table()).set_params(effort=0.5)
    clf.predict_set(T)
    clf.predict_proba_bounds(T)
    assert efforts == [0.5] * 6
    clf.predict_status(T)
    assert set(efforts) == {0.5}
    assert set(asked) <= {0.5}
    clf.flip_distance(T[:1])
    assert set(efforts) == {0.5}


def test_a_path_spends_the_effort_of_its_estimator(efforts):
    X, y = table()
    penalty_path(BoundedClassifier(certificate="pointwise", effort=0.125), X, y, T, alphas=[0.03])
    assert set(efforts) == {0.125}


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_two_calls_give_the_same_bits(loss):
    X, y = table()
    rows = np.vstack([T, T[:1]])
    rows[-1, 0] = np.nan
    models = [BoundedClassifier(alpha=0.1, loss=loss, certificate="pointwise", effort=0.05).fit(X, y) for _ in range(2)]
    first = models[0].decision_bounds(rows)
    for model in models:
        np.testing.assert_array_equal(model.decision_bounds(rows), first)
