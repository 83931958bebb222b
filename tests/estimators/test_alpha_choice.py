"""The penalty that cross-validation picks: scikit-learn's losses on the same folds, and what users do with it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IpubError, imputation_report, penalty_path
from ipub.app.files.modelfile import load, save
from ipub.errors import IpubWarning
from ipub.tables import new_frames
from ipub.training import alpha_choice as module
from ipub.training.alpha_choice import ALPHAS, LOST_ACCURACY, N_FOLDS
from ipub.training.cross_validation import fold_numbers

N = 320
"""Rows: enough for one way to cut them into folds."""


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = StandardScaler().fit_transform(rng.normal(size=(N, 4)))
    return X, X[:, 0] + X[:, 1] + rng.normal(size=N)


def trained_only(kind=BoundedClassifier, **parameters):
    return kind(**{"alpha": "1se", "certificate": None} | parameters)


def held_out(make, X, y, folds, scores):
    """Return the score of each row under a plain model that was trained on the other folds."""
    found = np.empty(len(y))
    for fold in range(N_FOLDS):
        kept = folds != fold
        found[~kept] = scores(make(int(kept.sum())).fit(X[kept], y[kept]), X[~kept])
    return found


# --- against scikit-learn, on the same folds -------------------------------------------------------


def test_logistic_regression(data):
    X, score = data
    y = score > 0.0
    choice = trained_only().fit(X, y).alpha_choice_
    folds = fold_numbers(y.astype(int), N, N_FOLDS, 0)
    for k, alpha in enumerate(ALPHAS):
        make = lambda n, alpha=alpha: LogisticRegression(C=1.0 / (n * alpha), tol=1e-9)  # noqa: E731
        t = held_out(make, X, y, folds, lambda model, rows: model.decision_function(rows))
        losses = np.logaddexp(0.0, np.where(y, -t, t))
        assert choice.loss[k] == pytest.approx(log_loss(y, 1.0 / (1.0 + np.exp(-t))), rel=1e-3)
        assert choice.loss_error[k] == pytest.approx(losses.std(ddof=1) / np.sqrt(N), rel=1e-2)
        assert choice.accuracy[k] == pytest.approx(np.mean((t > 0.0) == y), abs=1.5 / N)
        slope = LogisticRegression(C=1e12, tol=1e-9).fit(t[:, None] / t.std(), y).coef_[0, 0] / t.std()
        assert choice.calibration_slope[k] == pytest.approx(slope, rel=1e-2)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_ridge_and_elastic_net(l1_ratio, data):
    X, y = data
    choice = trained_only(BoundedRegressor, l1_ratio=l1_ratio).fit(X, y).alpha_choice_
    folds = fold_numbers(None, N, N_FOLDS, 0)
    for k, alpha in enumerate(ALPHAS):

        def make(n, alpha=alpha):
            if l1_ratio:
                return ElasticNet(alpha=0.5 * alpha, l1_ratio=l1_ratio, tol=1e-9)
            return Ridge(alpha=0.5 * alpha * n)

        t = held_out(make, X, y, folds, lambda model, rows: model.predict(rows))
        assert choice.loss[k] == pytest.approx(np.mean((y - t) ** 2), rel=1e-4)
        assert choice.accuracy[k] == pytest.approx(r2_score(y, t), abs=1e-4)
        if np.ptp(t) > 1.0:
            assert choice.calibration_slope[k] == pytest.approx(
                LinearRegression().fit(t[:, None], y).coef_[0], rel=1e-3
            )


@pytest.mark.parametrize("has_own", [True, False])
def test_folds_step_to_the_same_models_with_a_shared_curvature(has_own, data, monkeypatch):
    X, score = data
    monkeypatch.setattr("ipub.training.cross_validation.OWN_WORK", np.inf if has_own else 0.0)
    found = trained_only(l1_ratio=0.3).fit(X, score > 0.0).alpha_choice_.loss
    monkeypatch.setattr("ipub.training.cross_validation.TOLERANCE", 1e-12)
    np.testing.assert_allclose(found, trained_only(l1_ratio=0.3).fit(X, score > 0.0).alpha_choice_.loss, rtol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smoothed_hinge"])
def test_hinges_are_trained_as_fit_does(loss, data):
    X, score = data
    y = score > 0.0
    choice = trained_only(loss=loss).fit(X, y).alpha_choice_
    folds = fold_numbers(y.astype(int), N, N_FOLDS, 0)
    for k in (1, 6, 12):
        make = lambda _, k=k: BoundedClassifier(loss, alpha=ALPHAS[k], certificate=None)  # noqa: E731
        t = held_out(make, X, y, folds, lambda model, rows: model.decision_function(rows))
        found = trained_only(loss=loss).fit(X, y).training_.loss.value(np.where(y, 1.0, -1.0), t).mean()
        assert choice.loss[k] == pytest.approx(found, rel=1e-2)
    assert np.isnan(choice.calibration_slope).all()
    assert f"({loss.replace('_', ' ')})" in choice.how


def test_more_columns_than_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50))
    y = X[:, 0] > 0.0
    found = trained_only().fit(X, y).alpha_choice_.loss
    monkeypatch.setattr(module, "_rotated", lambda table: table)
    np.testing.assert_allclose(found, trained_only().fit(X, y).alpha_choice_.loss, rtol=1e-6)


# --- what is picked --------------------------------------------------------------------------------


def test_the_rules(data):
    X, score = data
    y = score > 0.0
    strong, weak = trained_only().fit(X, y), trained_only(alpha="min").fit(X, y)
    loss, error, accuracy = (getattr(strong.alpha_choice_, name) for name in ("loss", "loss_error", "accuracy"))
    best = loss.argmin()
    allowed = (loss <= loss[best] + error[best]) & (accuracy >= accuracy[best] - LOST_ACCURACY)
    assert weak.alpha_ == ALPHAS[best]
    assert strong.alpha_ == max(np.array(ALPHAS)[allowed]) > weak.alpha_
    np.testing.assert_array_equal(loss, weak.alpha_choice_.loss)
    for model in (strong, weak):
        plain = BoundedClassifier(alpha=model.alpha_, certificate=None).fit(X, y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_the_path_is_a_frame(data):
    X, score = data
    path = trained_only().fit(X, score > 0.0).alpha_path_
    assert isinstance(path, pd.DataFrame)
    assert list(path) == ["alpha", "loss", "loss_error", "accuracy", "calibration_slope"]
    assert list(trained_only(BoundedRegressor).fit(X, score).alpha_path_)[3] == "r2"
    plain = BoundedClassifier(alpha=0.3, certificate=None).fit(X, score > 0.0)
    assert (plain.alpha_, plain.alpha_path_) == (0.3, None)
    with pytest.raises(NotFittedError):
        _ = BoundedClassifier(alpha="1se").alpha_path_


def test_the_path_without_pandas(data, monkeypatch):
    X, score = data
    model = trained_only().fit(X, score > 0.0)
    blocked = {"pandas"}

    def found(name):
        if name in blocked:
            raise ImportError(name)
        return pl

    monkeypatch.setattr(new_frames.importlib, "import_module", found)
    assert isinstance(model.alpha_path_, pl.DataFrame)
    blocked |= {"polars", "pyarrow"}
    assert next(iter(model.alpha_path_)) == "alpha"


def test_unscaled_columns_have_penalties_of_their_size(data):
    X, score = data
    for factor in (1e-3, 1e3):
        model = trained_only().fit(factor * X, score > 0.0)
        assert model.alpha_ == pytest.approx(factor**2 * trained_only().fit(X, score > 0.0).alpha_)
    scaled = trained_only(scale="standard")
    assert scaled.fit(1e3 * X, score > 0.0).alpha_ == scaled.fit(X, score > 0.0).alpha_


def test_twice_the_same(data):
    X, score = data
    first, second = (trained_only().fit(X[:90], score[:90] > 0.0).alpha_choice_ for _ in range(2))
    np.testing.assert_array_equal(first.loss, second.loss)


def test_folds_hold_all_classes_and_are_the_same_size():
    classes = np.repeat([0, 1, 2], [97, 12, 1])
    folds = fold_numbers(classes, 110, 10, 0)
    assert folds[109] == -1
    for number, size in ((0, 97), (1, 12)):
        counts = np.bincount(folds[classes == number], minlength=10)
        assert counts.sum() == size
        assert np.ptp(counts) <= 1
    assert np.ptp(np.bincount(fold_numbers(None, 110, 10, 0))) == 0


# --- tables ----------------------------------------------------------------------------------------


def test_rows_without_weight_count_nowhere(data):
    X, score = data
    y, weight = score > 0.0, np.arange(N) % 3.0
    ranges = np.tile([0.0, 1.0], (4, 1))
    found, expected = (
        trained_only(intervals=ranges).fit(X[rows], y[rows], sample_weight=weight[rows]).alpha_choice_
        for rows in (slice(None), weight > 0.0)
    )
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-9)
    assert "sample" not in found.how


def test_a_row_that_weighs_more_has_more_say(data):
    X, score = data
    y, weight = score > 0.0, np.where(np.arange(N) < N // 2, 1.0, 1e-9)
    choice = trained_only().fit(X, y, sample_weight=weight).alpha_choice_
    half = np.sqrt(2.0) * trained_only().fit(X, y).alpha_choice_.loss_error
    np.testing.assert_allclose(choice.loss_error[5:], half[5:], rtol=0.3)


def test_holes_categories_and_several_classes(data):
    X, score = data
    frame = pd.DataFrame(np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X), columns=list("abcd"))
    frame["e"] = np.where(score > 0.5, "high", np.where(np.arange(N) % 7 == 0, None, "low"))
    y = np.digitize(score, [-1.0, 1.0])
    model = trained_only(scale="standard").fit(frame, y)
    assert model.alpha_ in ALPHAS
    assert model.alpha_choice_.accuracy[10] == pytest.approx(model.score(frame, y), abs=0.05)


@pytest.mark.parametrize("uncertainty", [Budget(share=0.2), Draws(n_draws=3, random_state=0)])
def test_budgets_and_draws_have_the_penalty_of_the_filled_in_table(uncertainty, data):
    X, score = data
    holed = np.where(np.random.default_rng(1).random((60, 4)) < 0.05, np.nan, X[:60])
    models = [trained_only(uncertainty=each).fit(holed, score[:60] > 0.0) for each in ("worst", uncertainty)]
    assert models[0].alpha_ == models[1].alpha_


def test_nothing_is_certified_while_penalties_are_compared(data, monkeypatch):
    X, score = data
    calls = []
    original = module.with_chosen_alpha

    def certify(*_args, **_kwargs):
        raise AssertionError("certified")

    def chosen(*args):
        with monkeypatch.context() as patch:
            patch.setattr("ipub.certificates.recipe.Recipe.__call__", certify)
            calls.append(original(*args))
            return calls[-1]

    monkeypatch.setattr("ipub.training.fit.with_chosen_alpha", chosen)
    assert BoundedClassifier(alpha="1se").fit(X, score > 0.0).certificate_ is not None
    assert len(calls) == 1


def test_rows_of_unknown_class_are_left_out(data):
    X, score = data
    y = np.where(score > 0.0, 1.0, 0.0)
    y[:20] = np.nan
    ranges = np.tile([0.0, 1.0], (4, 1))
    found = trained_only(unknown_labels=True, intervals=ranges).fit(X, y).alpha_choice_
    known = trained_only(intervals=ranges).fit(X[20:], y[20:]).alpha_choice_
    np.testing.assert_allclose(found.loss, known.loss, rtol=0.05)
    assert trained_only(max_label_errors=2).fit(X, score > 0.0).alpha_ in ALPHAS


def test_targets_in_intervals(data):
    X, y = data
    model = trained_only(BoundedRegressor).fit(X, y, y_lower=y - 0.1, y_upper=y + 0.1)
    np.testing.assert_allclose(model.alpha_choice_.loss, trained_only(BoundedRegressor).fit(X, y).alpha_choice_.loss)


def test_a_long_table_is_sampled_and_says_so(data, monkeypatch):
    X, score = data
    monkeypatch.setattr(module, "MOST_ROWS", 60)
    assert trained_only().fit(X, score > 0.0).alpha_choice_.how.endswith("(log loss) on a sample of 60 of 320 rows")
    y = np.where(score > 0.0, 1.0, 0.0)
    y[0] = np.nan
    assert "a sample of 60 of" in trained_only(unknown_labels=True).fit(X, y).alpha_choice_.how


def test_a_table_in_a_file_is_read(data, tmp_path):
    X, score = data
    on_disk = np.memmap(tmp_path / "X", float, "w+", shape=X.shape)
    on_disk[:] = X
    assert trained_only().fit(on_disk, score > 0.0).alpha_ == trained_only().fit(X, score > 0.0).alpha_


def test_a_collection_of_dask_is_sampled(data):
    dask = pytest.importorskip("dask.dataframe")
    X, score = data
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=score > 0.0)
    found = trained_only().fit(dask.from_pandas(frame.drop(columns="y"), 3), dask.from_pandas(frame["y"], 3))
    assert found.alpha_ == trained_only().fit(X, score > 0.0).alpha_


def test_a_sparse_table_is_refused_with_a_remedy(data):
    wide = sparse.random_array((N, 20_000), density=0.01, format="csr", rng=0)
    with pytest.raises(IpubError, match="give alpha as a number"):
        trained_only().fit(wide, data[1] > 0.0)


# --- where nothing can be picked -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "labels", "why"),
    [
        (12, lambda y: y > 0.0, "there are 12, and it takes at least 20"),
        (25, lambda y: np.maximum(np.arange(len(y)) - 14, 0), "fewer than two classes have more than one row"),
        (25, lambda y: np.arange(len(y)) == 3, "fewer than two classes have more than one row"),
    ],
)
def test_without_enough_rows_the_default_is_kept_and_a_warning_says_why(rows, labels, why, data):
    X, y = data
    with pytest.warns(IpubWarning, match=why):
        model = trained_only().fit(X[:rows], labels(y[:rows]))
    assert (model.alpha_, model.alpha_path_) == (0.1, None)


@pytest.mark.parametrize("n_rare", [2, 3])
def test_a_rare_class_does_not_stop_it(n_rare, data):
    assert trained_only().fit(data[0], np.arange(N) < n_rare).alpha_ in ALPHAS


@pytest.mark.parametrize("alpha", ["2se", "0.1", -1.0, 0.0, None])
def test_other_values_of_alpha_are_refused(alpha, data):
    with pytest.raises(ValueError, match="'alpha' parameter"):
        trained_only(alpha=alpha).fit(data[0], data[1] > 0.0)


# --- habits of scikit-learn ------------------------------------------------------------------------


def test_clone_grid_search_and_changes(data):
    X, score = data
    y = score > 0.0
    model = trained_only().fit(X, y)
    assert clone(model).get_params()["alpha"] == "1se"
    model.set_params(alpha="min")
    with pytest.raises(NotFittedError, match="alpha was '1se'"):
        model.predict(X)
    search = GridSearchCV(trained_only(), {"alpha": ["1se", "min", 0.1]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pickles_and_files_keep_the_path(data, tmp_path):
    X, score = data
    model = BoundedClassifier(alpha="1se").fit(X, score > 0.0)
    save(model, tmp_path / "m.ipub")
    for other in (pickle.loads(pickle.dumps(model)), load(tmp_path / "m.ipub")):
        assert (other.alpha, other.alpha_) == ("1se", model.alpha_)
        pd.testing.assert_frame_equal(other.alpha_path_, model.alpha_path_)
        assert other.decision_bounds(X[:3]).shape == (3, 2)


def test_paths_and_reports_take_it(data):
    X, score = data
    y, holed = score > 0.0, X.copy()
    holed[:5, 0] = np.nan
    path = penalty_path(BoundedClassifier(alpha="1se"), holed[:200], y[:200], X[200:], y[200:], alphas=[1.0, 0.1])
    assert [model.alpha_ for model in path.estimators] == [1.0, 0.1]
    one, same = (
        imputation_report(
            BoundedClassifier(alpha=alpha), holed, y, X[:9], draws=Draws(n_draws=3, random_state=0), shares=()
        )
        for alpha in ("1se", trained_only().fit(holed, y).alpha_)
    )
    assert one.columns() == same.columns()


def test_a_failed_fit_changes_nothing(data):
    X, score = data
    model = trained_only().fit(X, score > 0.0)
    before = model.alpha_path_
    with pytest.raises(IpubError):
        model.fit(sparse.random_array((N, 20_000), density=0.01, format="csr", rng=0), score > 0.0)
    pd.testing.assert_frame_equal(model.alpha_path_, before)


def test_progress_is_shown_on_request(data, capsys):
    trained_only(verbose=1).fit(data[0], data[1] > 0.0)
    captured = capsys.readouterr()
    assert "Comparing penalties" in captured.out + captured.err
