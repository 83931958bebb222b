"""The penalty that cross-validation picks: scikit-learn's, said in its own words where it cannot be."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, Draws, IpubError
from ipub.estimators import alpha_choice as module
from ipub.estimators.alpha_choice import ALPHAS, N_FOLDS, pick_alpha


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, X[:, 0] + X[:, 1] + rng.normal(size=120)


def test_held_out_losses_are_those_of_logistic_regression(data):
    X, score = data
    X, y = StandardScaler().fit_transform(X), score > 0.0
    found = pick_alpha(BoundedClassifier(), X, y)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, np.where(y, 1.0, -1.0)))
    for alpha, loss in zip(ALPHAS, found.losses, strict=True):
        models = [LogisticRegression(C=1.0 / (len(kept) * alpha), tol=1e-8).fit(X[kept], y[kept]) for kept, _ in folds]
        parts = [log_loss(y[out], m.predict_proba(X[out])) for m, (_, out) in zip(models, folds, strict=True)]
        np.testing.assert_allclose(loss, np.mean(parts), rtol=1e-3)
    assert found.reason == "picked by 4-fold cross-validation (log loss)"


def test_held_out_losses_are_those_of_ridge(data):
    X, y = data
    found = pick_alpha(BoundedRegressor(), X, y)
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(X))
    for alpha, loss in zip(ALPHAS, found.losses, strict=True):
        models = [Ridge(alpha=0.5 * alpha * len(kept)).fit(X[kept], y[kept]) for kept, _ in folds]
        parts = [mean_squared_error(y[out], m.predict(X[out])) for m, (_, out) in zip(models, folds, strict=True)]
        np.testing.assert_allclose(loss, np.mean(parts), rtol=1e-3)
    assert "(squared error)" in found.reason


def test_the_strongest_of_nearly_the_same_losses_is_picked(data):
    X, score = data
    choice = pick_alpha(BoundedClassifier(), X, score > 0.0)
    losses = choice.losses
    as_good = [alpha for alpha, loss in zip(ALPHAS, losses, strict=True) if loss <= (1.0 + module.TIE) * losses.min()]
    assert choice.alpha == max(as_good)
    assert choice.stronger >= choice.alpha


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smoothed_hinge"])
def test_every_loss_is_held_out_as_it_is_trained(loss, data):
    X, score = data
    choice = pick_alpha(BoundedClassifier(loss), X, score > 0.0)
    assert choice.alpha in ALPHAS
    assert f"({loss.replace('_', ' ')})" in choice.reason


def test_rows_without_weight_count_nowhere(data):
    X, score = data
    y, weight = score > 0.0, np.arange(120) % 3.0
    counted = weight > 0.0
    found, expected = (
        pick_alpha(
            BoundedClassifier(intervals=np.tile([0.0, 1.0], (4, 1))), X[rows], y[rows], sample_weight=weight[rows]
        )
        for rows in (slice(None), counted)
    )
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-9)


def test_holes_and_several_classes(data):
    X, score = data
    holed = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    choice = pick_alpha(BoundedClassifier(scale="standard"), holed, np.digitize(score, [-1.0, 1.0]))
    assert choice.alpha in ALPHAS


def test_nothing_is_certified_or_drawn(data, monkeypatch):
    X, score = data

    def refuse(*_args, **_kwargs):
        raise AssertionError("certified")

    monkeypatch.setattr("ipub.certificates.recipe.Recipe.__call__", refuse)
    pick_alpha(BoundedClassifier(uncertainty=Draws(n_draws=3)), X, score > 0.0)


@pytest.mark.parametrize("n_rows", [2, 7])
def test_few_rows_keep_the_alpha_of_the_estimator(n_rows, data):
    choice = pick_alpha(BoundedRegressor(alpha=0.7), data[0][:n_rows], data[1][:n_rows])
    assert (choice.alpha, choice.stronger, len(choice.losses)) == (0.7, 0.7, 0)
    assert choice.reason == f"the default, since {n_rows} rows are too few for cross-validation"


@pytest.mark.parametrize("n_rare", [1, 2, 3])
def test_a_rare_class_does_not_stop_it(n_rare, data):
    y = np.zeros(120)
    y[:n_rare] = 1.0
    assert pick_alpha(BoundedClassifier(), data[0], y).alpha in ALPHAS


def test_every_row_of_another_class(data):
    assert pick_alpha(BoundedClassifier(), data[0][:9], np.arange(9)).alpha in ALPHAS


def test_a_long_table_is_sampled_and_says_so(data, monkeypatch):
    X, score = data
    monkeypatch.setattr(module, "MOST_ROWS", 60)
    assert pick_alpha(BoundedClassifier(), X, score > 0.0).reason.endswith("(log loss) on a sample of 60 of 120 rows")


def test_a_table_in_a_file_is_read(data, tmp_path):
    X, score = data
    on_disk = np.memmap(tmp_path / "X", float, "w+", shape=X.shape)
    on_disk[:] = X
    assert pick_alpha(BoundedClassifier(), on_disk, score > 0.0).alpha in ALPHAS


def test_with_more_columns_than_rows_losses_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50))
    y = X[:, 0] > 0.0
    found = pick_alpha(BoundedClassifier(), X, y)
    monkeypatch.setattr(module, "_rotated", lambda engine: engine)
    np.testing.assert_allclose(found.losses, pick_alpha(BoundedClassifier(), X, y).losses, rtol=1e-6)


def test_labels_that_are_unknown_are_refused(data):
    y = np.where(data[1] > 0.0, 1.0, 0.0)
    y[0] = np.nan
    with pytest.raises(IpubError, match="labels that are certain"):
        pick_alpha(BoundedClassifier(unknown_labels=True), data[0], y)


def test_warnings_are_left_to_fit(data, recwarn):
    X, score = data
    X[:, 0], X[0, 0] = 1.0, np.nan
    pick_alpha(BoundedClassifier(), X, score > 0.0)
    assert not recwarn.list
