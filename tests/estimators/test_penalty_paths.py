"""A path of penalties gives what a fresh fit at each alpha gives, with less training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix, Intervals, penalty_path
from ipub.certificates import SlopeBounds
from ipub.estimators import penalty_paths as penalty_paths_module
from ipub.losses import LOSSES
from support.small_problems import COMBINATIONS, draw_table

ALPHAS = [0.3, 3.0, 0.03]


def estimator_of(loss, **parameters):
    kind = BoundedClassifier if LOSSES[loss].task == "classification" else BoundedRegressor
    return kind(loss, **parameters)


def score_bounds(estimator, X):
    return estimator.decision_bounds(X) if is_classifier(estimator) else estimator.predict_bounds(X)


def fresh(template, alpha, X, y, **arguments):
    return type(template)(**{**template.get_params(deep=False), "alpha": alpha}).fit(X, y, **arguments)


def assert_as_fresh(path, template, X, y, X_test, y_test=None, **arguments):
    """Each alpha of a path must give what an estimator fitted anew with it gives."""
    for k, alpha in enumerate(path.alphas.tolist()):
        alone = fresh(template, alpha, X, y, **arguments)
        bounds = score_bounds(alone, X_test)
        np.testing.assert_allclose(path.bounds[k], bounds, rtol=1e-4, atol=1e-4 * np.ptp(bounds, axis=-1).max())
        np.testing.assert_allclose(path.width[k], np.median(np.ptp(bounds, axis=-1)), rtol=1e-4)
        assert repr(path.estimators[k].get_params()) == repr(alone.get_params())
        np.testing.assert_allclose(path.estimators[k].coef_, alone.coef_, rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(score_bounds(path.estimators[k], X_test), path.bounds[k])
        if isinstance(template, BoundedClassifier):
            sets = np.asarray(alone.predict_set(X_test))
            assert path.certain[k] == pytest.approx((sets.sum(axis=1) == 1).mean())
        if y_test is not None:
            assert path.score[k] == pytest.approx(alone.score(X_test, y_test), rel=1e-3)


@pytest.mark.no_cover
@pytest.mark.share(2)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
def test_each_alpha_has_the_bounds_and_scores_of_a_fresh_fit_in_the_order_given(loss, l1_ratio, fit_intercept):
    X, y = draw_table(n=150, holes=0.02, task=LOSSES[loss].task)
    template = estimator_of(loss, l1_ratio=l1_ratio, fit_intercept=fit_intercept)
    path = penalty_path(template, X[:110], y[:110], X[110:], y[110:], alphas=ALPHAS)
    assert path.alphas.tolist() == ALPHAS == [each.alpha for each in path.estimators]
    assert_as_fresh(path, template, X[:110], y[:110], X[110:], y[110:])


@pytest.mark.no_cover
@pytest.mark.share(2)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "huber", "squared_error"])
def test_many_cells_and_test_rows_are_bounded_without_training_rows(loss, fit_intercept, monkeypatch):
    X, y = draw_table(n=250, holes=0.01, task=LOSSES[loss].task)
    template = estimator_of(loss, fit_intercept=fit_intercept)
    alphas = np.geomspace(6.0, 0.03, 8)[[0, 2, 5, 7]]
    whole = penalty_path(template, X[:200], y[:200], X[200:], alphas=alphas)
    some = slice(0, 3)
    monkeypatch.setattr(penalty_paths_module, "MOST_TERMS", 0)
    path = penalty_path(template, X[:200], y[:200], X[200:], alphas=alphas)
    assert all(each.certificate_.part(SlopeBounds).cells is None for each in path.estimators)
    # Both are certain, so they have what is attained in common; the form without rows is a little wider.
    attained = np.stack([each.attained_bounds(X[200:][some]) for each in whole.estimators])
    slack = 1e-7 * (1.0 + np.abs(attained))
    assert (path.bounds[:, some, 0] <= attained[..., 0] + slack[..., 0]).all()
    assert (path.bounds[:, some, 1] >= attained[..., 1] - slack[..., 1]).all()
    # Where the penalty is weaker, row sums, which look at every training row, are narrower by far.
    assert (path.width[:2] < 2.0 * whole.width[:2]).all()  # those of the whole are by row sums


@pytest.mark.share(2)
@pytest.mark.no_cover
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["log_loss", "smoothed_hinge", "squared_error"])
def test_penalties_near_zero_hold_without_training_rows(loss, fit_intercept, monkeypatch):
    X, y = draw_table(n=160, holes=0.02, task=LOSSES[loss].task)
    monkeypatch.setattr(penalty_paths_module, "MOST_TERMS", 0)
    template = estimator_of(loss, fit_intercept=fit_intercept)
    path = penalty_path(template, X[:157], y[:157], X[157:], alphas=np.geomspace(1.0, 1e-6, 5))
    attained = np.stack([each.attained_bounds(X[157:]) for each in path.estimators])
    slack = 1e-6 * (1.0 + np.abs(attained))
    assert (path.bounds[..., 0] <= attained[..., 0] + slack[..., 0]).all()
    assert (path.bounds[..., 1] >= attained[..., 1] - slack[..., 1]).all()


@pytest.mark.parametrize("certificate", ["sphere", "ball", "slope", "pointwise"])
def test_the_certificate_of_the_estimator_is_used(certificate):
    X, y = draw_table(n=60, holes=0.02)
    template = BoundedClassifier(certificate=certificate)
    path = penalty_path(template, X[:50], y[:50], X[50:53], alphas=[1.0, 0.3])
    assert [each.certificate_.name for each in path.estimators] == [certificate] * 2
    assert_as_fresh(path, template, X[:50], y[:50], X[50:53])


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "squared_error", "huber"])
def test_training_begins_at_the_neighbours_and_needs_fewer_steps(loss):
    X, y = draw_table(n=400, holes=0.01, task=LOSSES[loss].task)
    path = penalty_path(estimator_of(loss, certificate="sphere"), X, y, X[:2])
    warm = sum(each.n_iter_ for each in path.estimators)
    cold = sum(fresh(estimator_of(loss, certificate=None), alpha, X, y).n_iter_ for alpha in path.alphas)
    assert warm <= cold if LOSSES[loss].task == "regression" else warm < 0.8 * cold


def test_the_models_of_retrained_completions_are_within_the_bounds_of_each_alpha():
    rng = np.random.default_rng(3)
    X, y = draw_table(n=100, holes=0.03, seed=3)
    path = penalty_path(BoundedClassifier(intervals="observed"), X[:80], y[:80], X[80:], y[80:], alphas=4)
    low, high = path.estimators[0].hole_ranges_.T
    for _ in range(20):
        ends = rng.integers(0, 2, (2, *X.shape))
        train, test = (np.where(np.isnan(X), np.where(end == 0, low, high), X) for end in ends)
        for k, alpha in enumerate(path.alphas):
            model = BoundedClassifier(alpha=alpha, certificate=None).fit(train[:80], y[:80])
            score = model.decision_function(test[80:])
            assert (path.bounds[k, :, 0] <= score).all()
            assert (score <= path.bounds[k, :, 1]).all()
            assert model.score(test[80:], y[80:]) >= path.guaranteed_score[k]


def test_r2_is_guaranteed_by_the_worse_end_of_each_row():
    X, y = draw_table(n=100, holes=0.03, task="regression")
    path = penalty_path(BoundedRegressor(), X[:70], y[:70], X[70:], y[70:], alphas=ALPHAS)
    assert path.certain is None
    for (low, high), score, guaranteed in zip(
        np.moveaxis(path.bounds, 2, 1), path.score, path.guaranteed_score, strict=True
    ):
        worse = np.where(np.abs(y[70:] - low) > np.abs(y[70:] - high), low, high)
        assert guaranteed == pytest.approx(r2_score(y[70:], worse))
        assert guaranteed < score


def test_more_than_two_classes_have_a_model_each():
    X, _ = draw_table(n=150, holes=0.02)
    y = np.array(["a", "b", "c"])[np.digitize(np.nan_to_num(X[:, 0]), [-0.5, 0.5])]
    template = BoundedClassifier(class_weight="balanced")
    path = penalty_path(template, X[:120], y[:120], X[120:], list(y[120:]), alphas=ALPHAS)
    assert path.bounds.shape == (3, 30, 3, 2)
    assert_as_fresh(path, template, X[:120], y[:120], X[120:], y[120:])


def frame_of(n=90, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n).astype(float),
            "site": rng.choice(["north", "east", "west"], n),
            "smoker": rng.choice([True, False], n),
        }
    )
    y = np.where(frame["age"] + 20 * frame["smoker"] + rng.normal(0, 15, n) > 60, "ill", "well")
    frame.loc[frame.index[:4], "age"] = np.nan
    frame.loc[frame.index[70:73], "site"] = None
    return frame, y


def test_frames_with_categories_weights_scaling_and_holes_in_test_rows():
    X, y = frame_of()
    weight = np.random.default_rng(1).integers(0, 3, 75)
    template = BoundedClassifier(scale="standard", intervals=Intervals(precision={"age": 0.5})).set_output(
        transform="pandas"
    )
    path = penalty_path(template, X[10:85], y[10:85], X[:20], y[:20], alphas=ALPHAS, sample_weight=weight)
    assert isinstance(path.bounds, np.ndarray)
    assert_as_fresh(path, template, X[10:85], y[10:85], X[:20], y[:20], sample_weight=weight)
    assert isinstance(path.estimators[0].predict_set(X), pd.DataFrame)


def test_bounds_of_cells_and_of_targets_and_interval_matrices():
    X, y = draw_table(n=60, holes=0.02, task="regression")
    lower, upper = (np.where(np.isnan(X), end, X) for end in (-1.0, 1.0))
    arguments = {"X_lower": lower, "X_upper": upper, "y_lower": y - 0.1, "y_upper": y + 0.1}
    path = penalty_path(BoundedRegressor(), X, y, np.eye(5), alphas=ALPHAS, **arguments)
    assert_as_fresh(path, BoundedRegressor(), X, y, np.eye(5), **arguments)
    matrix = IntervalMatrix.from_bounds(lower, upper)
    path = penalty_path(BoundedRegressor(), matrix, y, matrix, y, alphas=ALPHAS)
    assert_as_fresh(path, BoundedRegressor(), matrix, y, matrix, y)


@pytest.mark.parametrize("option", ["unknown_labels", "max_label_errors"])
def test_doubtful_labels(option):
    X, y = draw_table(n=60, holes=0.02)
    if option == "unknown_labels":
        y[:2] = np.nan
    template = BoundedClassifier(**{option: 1 if option == "max_label_errors" else True})
    path = penalty_path(template, X, y, X[5:], y[5:], alphas=ALPHAS)
    assert_as_fresh(path, template, X, y, X[5:], y[5:])


def test_the_estimator_is_not_changed_and_those_returned_go_on():
    X, y = draw_table(n=60, holes=0.02)
    template = BoundedClassifier(alpha=0.7)
    path = penalty_path(template, X, y, X, alphas=ALPHAS)
    assert vars(template) == vars(BoundedClassifier(alpha=0.7))
    assert path.estimators[0].attained_bounds(X[:1]).shape == (1, 2)
    assert path.estimators[0].predict_proba_bounds(X).shape == (60, 2)


def test_chosen_alphas_follow_the_units_of_the_table():
    X, y = draw_table(n=60)
    path = penalty_path(BoundedClassifier(), X, y, X, alphas=5)
    assert path.alphas[0] == pytest.approx(X.var(axis=0).sum())
    np.testing.assert_allclose(path.alphas[:-1] / path.alphas[1:], 1e3**0.25)
    stretched = penalty_path(BoundedClassifier(), 8.0 * X + 5.0, y, 8.0 * X + 5.0, alphas=5)
    np.testing.assert_allclose(stretched.alphas, 64.0 * path.alphas)
    np.testing.assert_allclose(stretched.bounds, path.bounds, rtol=1e-4, atol=1e-6)
    alone = penalty_path(BoundedClassifier(fit_intercept=False), X, y, X, alphas=1)
    assert alone.alphas == pytest.approx([(X**2).sum(axis=1).mean()])
    assert len(penalty_path(BoundedClassifier(), X, y, X[:1]).alphas) == 20


def test_it_prints_as_a_table_and_its_columns_make_a_frame():
    X, y = draw_table(n=60, holes=0.02)
    path = penalty_path(BoundedClassifier(), X, y, X, y, alphas=ALPHAS)
    head, *lines = repr(path).splitlines()
    assert head.split() == ["alpha", "loss", "accuracy", "guaranteed_score", "certain", "width"]
    *lines, note, promise = lines
    assert promise == path.promise
    assert promise.startswith("Always:")
    assert note.startswith("Note: with alpha 3 every row is predicted to be of the same class")
    assert [float(line.split()[0]) for line in lines] == ALPHAS
    assert pd.DataFrame(path.columns()).shape == (3, 6)
    without = penalty_path(BoundedClassifier(), X, y, X, alphas=[1])
    assert list(without.columns()) == ["alpha", "loss", "certain", "width"]
    assert "Note: the loss is that of the training rows, since y_test was not given." in repr(without)


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_the_loss_is_that_of_test_rows_or_of_training_rows(kind):
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = {"two": X[:, 0] > 0.0, "three": np.digitize(X[:, 0], [-0.5, 0.5]), "numbers": X[:, 0] + 0.1 * X[:, 1]}[kind]
    model = BoundedRegressor() if kind == "numbers" else BoundedClassifier()
    tested, trained = (penalty_path(model, X, y, X, truth, alphas=ALPHAS) for truth in (y, None))
    np.testing.assert_allclose(tested.loss, trained.loss, rtol=1e-6)
    assert ("r2" if kind == "numbers" else "accuracy") in tested.columns()
    if kind == "two":
        expected = [log_loss(y, each.predict_proba(X)) for each in tested.estimators]
        np.testing.assert_allclose(tested.loss, expected, rtol=1e-9)


def test_where_every_row_has_the_same_class_certain_is_said_to_mean_little():
    X, y = draw_table(n=60, holes=0.02)
    path = penalty_path(BoundedClassifier(), X, y, X, alphas=[1e3, 0.3])
    assert path.one_class.tolist() == [True, False]
    assert path.certain[0] == 1.0
    assert "Note: with alpha 1000 every row" in repr(path)
    assert "every row" not in repr(penalty_path(BoundedClassifier(), X, y, X, alphas=[0.3]))
    assert penalty_path(BoundedRegressor(), X, np.asarray(y, dtype=float), X, alphas=[1.0]).one_class is None


def test_progress_is_shown_if_verbose_and_nothing_else(capsys):
    X, y = draw_table(n=40, holes=0.02)
    path = penalty_path(BoundedClassifier(verbose=1, certificate="pointwise"), X, y, X[:2], alphas=[1.0, 0.5])
    shown = capsys.readouterr().out
    assert "Penalties" in shown
    assert "step" not in shown
    assert path.estimators[0].verbose == 1
    penalty_path(BoundedClassifier(), X, y, X[:2], alphas=[1.0])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("alphas", "message"),
    [
        ([], "at least one number"),
        ([[1.0]], "list"),
        (0.1, r"give a list, \[0.1\], or a whole number"),
        (0, "at least 1"),
        (-3, "at least 1"),
        ([1.0, 0.0], r"alphas\[1\] is 0.0: each must be a number above 0"),
        ([1.0, -0.1], r"alphas\[1\] is -0.1"),
        ([np.nan], "nan"),
        ([np.inf], "inf"),
        ([1.0, 0.1, 1.0], "has 1 more than once"),
        (["strong"], "must be numbers"),
        (None, "nan|must be numbers|list"),
    ],
)
def test_alphas_that_are_none_are_refused(alphas, message):
    X, y = draw_table(n=20)
    with pytest.raises(ValueError, match=message):
        penalty_path(BoundedClassifier(), X, y, X, alphas=alphas)


@pytest.mark.parametrize(
    ("template", "y_test", "message"),
    [
        (BoundedClassifier(), [1.0, -1.0], "y_test has 2 entries and X_test 20 rows"),
        (BoundedClassifier(), [1.0, 2.0] * 10, r"label 2.0 in row 1, which is not in y \(10 row"),
        (BoundedClassifier(), [1.0, np.nan] * 10, "label nan"),
        (BoundedClassifier(), ["yes", "no"] * 10, "labels of y are -1.0, 1.0"),
        (BoundedRegressor(), [1.0, np.nan] * 10, "y_test is nan in row 1"),
        (BoundedRegressor(), ["high", "low"] * 10, "y_test is 'high' in row 0, which is no number"),
        (BoundedRegressor(), [1.0] * 20, "R2 is not defined"),
    ],
)
def test_labels_of_test_rows_that_do_not_fit_are_refused(template, y_test, message):
    X, y = draw_table(n=20)
    with pytest.raises(ValueError, match=message):
        penalty_path(template, X, y, X, y_test, alphas=[1.0])


def test_what_is_no_estimator_of_ours_is_refused_with_the_remedy():
    X, y = draw_table(n=20)
    with pytest.raises(TypeError, match=r"not a Pipeline\. Of a pipeline, give the last step"):
        penalty_path(make_pipeline(StandardScaler(), BoundedClassifier()), X, y, X)
    with pytest.raises(TypeError, match="not the class BoundedClassifier"):
        penalty_path(BoundedClassifier, X, y, X)
    with pytest.raises(TypeError, match="y_lower"):
        penalty_path(BoundedClassifier(), X, y, X, y_lower=y)
    with pytest.raises(ValueError, match="l1_ratio"):
        penalty_path(BoundedClassifier(l1_ratio=2.0), X, y, X)
    with pytest.raises(ValueError, match="no alphas suggest themselves"):
        penalty_path(BoundedClassifier(), np.ones_like(X), y, X)


def test_a_warning_of_training_points_to_the_caller():
    X, y = draw_table(n=60, holes=0.02)
    with pytest.warns(ConvergenceWarning) as caught:
        penalty_path(BoundedClassifier(max_iter=1), X, y, X, alphas=[0.01])
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        BoundedClassifier(max_iter=1, alpha=0.01).fit(X, y)
    assert caught[0].filename == __file__
