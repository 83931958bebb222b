"""Certificates without training rows hold for all fillings, and nothing in them follows from few rows."""

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, load
from ipub.answers.attained.bounds import RETRAINING_ERROR
from ipub.certificates import DrawBounds
from ipub.estimators.fitted_state import as_saved
from ipub.model_sets.base import FEWEST_ROWS
from ipub.model_sets.supports import SupportBounds
from ipub.training import without_rows
from ipub.training.without_rows import generic_directions
from support.draws import fit_draws

N, D = 150, 4


def table(n_holed=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) + 0.5
    X[:, 1] = (X[:, 1] > 0.8).astype(float)
    t = X @ np.array([1.0, -1.0, 0.5, 0.3]) + 0.5 * rng.normal(size=N)
    X[rng.choice(N, n_holed, replace=False), rng.integers(0, D, n_holed)] = np.nan
    return X, t


def bounds_of(model, X):
    return (model.predict_bounds if isinstance(model, BoundedRegressor) else model.decision_bounds)(X)


MODELS = {
    "log_loss": BoundedClassifier(alpha=0.02),
    "no intercept": BoundedClassifier(alpha=0.02, fit_intercept=False),
    "hinge": BoundedClassifier("hinge", alpha=0.1),
    "squared_hinge": BoundedClassifier("squared_hinge", alpha=0.05),
    "elastic net": BoundedClassifier(alpha=0.05, l1_ratio=0.3),
    "wrong labels": BoundedClassifier(alpha=0.1, max_label_errors=1),
    "budget": BoundedClassifier(alpha=0.02, uncertainty=Budget(cells=3)),
    "squared_error": BoundedRegressor(alpha=0.02),
    "huber": BoundedRegressor("huber", alpha=0.05),
    "slope": BoundedRegressor(alpha=0.02, certificate="slope"),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_fillings_attain_is_within_the_bounds_of_a_file_without_rows(name, tmp_path):
    X, t = table()
    model = MODELS[name].fit(X, t if isinstance(MODELS[name], BoundedRegressor) else t > 1.0)
    model.save(tmp_path / "m.ipub", rows=False)
    again = load(tmp_path / "m.ipub")
    assert not again.certificate_.keeps_training_rows
    rows = np.vstack([X[~np.isnan(X).any(axis=1)][:6], 3.0 * np.eye(D)])
    low, high = bounds_of(again, rows).T
    at_least, at_most = model.attained_bounds(rows).T
    slack = RETRAINING_ERROR * (1.0 + np.abs(at_most))
    assert (low <= at_least + slack).all()
    assert (at_most <= high + slack).all()
    # A row with holes of its own.
    outer, inner = bounds_of(again, np.where(np.arange(D) == 0, np.nan, rows)), bounds_of(again, rows)
    inside = (rows[:, 0] >= again.hole_ranges_[0, 0]) & (rows[:, 0] <= again.hole_ranges_[0, 1])
    assert (outer[inside, 0] <= inner[inside, 0] + 1e-9).all()
    assert (inner[inside, 1] <= outer[inside, 1] + 1e-9).all()


def test_supports_are_used_where_they_are_narrower():
    X, t = table()
    model = BoundedClassifier(alpha=0.02).fit(X, t > 1.0)
    free = as_saved(model, rows=False)
    assert isinstance(free.certificate_.parts[0], SupportBounds)
    rows = X[~np.isnan(X).any(axis=1)]
    widths = [np.ptp(each.decision_bounds(rows), axis=1) for each in (free, model)]
    assert np.median(widths[0] / widths[1]) < 1.15
    former = model.certificate_.without_training_rows().score_bounds(np.column_stack([rows, np.ones(len(rows))]))
    assert np.median(widths[0] / np.ptp(former, axis=1)) < 0.9
    np.testing.assert_array_equal(free.coef_bounds_[:, 0] <= model.coef_bounds_[:, 0], True)


def test_several_classes_have_supports_of_their_own():
    X, t = table()
    model = BoundedClassifier(alpha=0.02).fit(X, np.digitize(t, [0.5, 1.5]))
    free = as_saved(model, rows=False)
    assert all(isinstance(each.parts[0], SupportBounds) for each in free.certificate_)
    low, high = np.moveaxis(free.decision_bounds(X), 2, 0)
    scores = model.decision_function(X)
    assert (low <= scores).all()
    assert (scores <= high).all()


def test_draws_are_one_set_in_a_file_without_rows(tmp_path):
    X, t = table()
    model = fit_draws(BoundedClassifier(alpha=0.02), X, t > 1.0, Draws(n_draws=9, random_state=0))
    rows = X[~np.isnan(X).any(axis=1)]
    with_rows = model.decision_bounds(rows)
    assert (with_rows[:, 1] > with_rows[:, 0]).all()
    for use in (True, False):
        model.save(tmp_path / f"{use}.ipub", rows=use)
    again = load(tmp_path / "False.ipub")
    draws = again.certificate_.part(DrawBounds)
    assert len(draws.members) == 1
    assert again.certificate_.promise == model.certificate_.promise
    assert not again.certificate_.keeps_training_rows
    plain = draws.plain(np.column_stack([rows, np.ones(len(rows))]))
    low, high = again.decision_bounds(rows).T
    assert (low <= plain[:, 0] + 1e-9).all()
    assert (plain[:, 1] <= high + 1e-9).all()
    assert np.median((high - low) / np.ptp(with_rows, axis=1)) < 1.2


def test_wide_tables_and_models_without_their_table_have_none(monkeypatch, tmp_path):
    X, t = table()
    model = BoundedRegressor(alpha=0.02).fit(X, t)
    model.save(tmp_path / "m.ipub")
    monkeypatch.setattr(without_rows, "MOST_COLUMNS", D)
    for each in (model, load(tmp_path / "m.ipub")):
        free = as_saved(each, rows=False).certificate_
        assert free.part(SupportBounds) is None
        assert not free.keeps_training_rows


def directions_of(X, t, **parameters):
    return generic_directions(BoundedRegressor(alpha=0.02, **parameters).fit(X, t).training_.models[0])


def test_no_direction_is_a_training_row_or_a_mean_of_few():
    X, t = table()
    directions = directions_of(X, t)
    rows = np.column_stack([np.nan_to_num(X), np.ones(N)])
    rng = np.random.default_rng(0)
    few = [rows] + [rows[rng.integers(0, N, (2000, k))].mean(axis=1) for k in range(2, FEWEST_ROWS)]
    for group in few:
        cosines = np.abs(directions @ group.T) / np.outer(
            np.linalg.norm(directions, axis=1), np.linalg.norm(group, axis=1)
        )
        assert cosines.max() < 1.0 - 1e-8
    # Nor has any the value of a row in two columns of numbers.
    numbers = [0, 2, 3]
    same = (directions[:, None, numbers] == rows[None, :, numbers]).sum(axis=2)
    assert same.max() <= 1


def test_tables_of_fewer_than_five_rows_give_no_directions():
    X, t = table(0)
    assert directions_of(X[: FEWEST_ROWS - 1], t[: FEWEST_ROWS - 1]).shape == (0, D + 1)
    assert len(directions_of(X[:FEWEST_ROWS], t[:FEWEST_ROWS]))
    # Rows that do not count are not looked at.
    weight = (np.arange(N) < FEWEST_ROWS - 1).astype(float)
    (model,) = BoundedRegressor(alpha=0.02).fit(X, t, sample_weight=weight).training_.models
    assert len(generic_directions(model)) == 0


def test_another_complete_row_moves_directions_and_supports_little():
    X, t = table(0)
    X[5, 2] = np.nan
    others = X.copy()
    others[0] = [6.0, 1.0, -6.0, 0.0]  # far from all rows
    first, second = directions_of(X, t), directions_of(others, t)
    deviation = np.append(np.nanstd(X, axis=0), 1.0)
    moved = np.abs(second - first)[D + 1 :] / deviation
    assert np.median(moved) < 0.1
    # A value that one row alone has is seen through the mean of the five most extreme ones only.
    assert np.abs(second[D + 1 :, 0]).max() < 0.5 * 6.0 + np.abs(first[D + 1 :, 0]).max()
