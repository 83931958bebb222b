"""Certificates without training rows hold for all fillings, and nothing in them follows from few rows."""

import numpy as np
import pandas as pd
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


WIDE, MANY = 12, 120
"""So many columns that no direction is near a row by chance."""


def rare_table(rare):
    """Return a table whose first column is 3 in few rows, and else 0."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(MANY, WIDE)) + 0.2
    t = X[:, 1:] @ rng.normal(size=WIDE - 1) + rng.normal(size=MANY)
    X[:, 0] = np.where(np.arange(MANY) < rare, 3.0, 0.0)
    X[60:70, 2] = np.nan
    return X, t


def nearest_to_a_row(estimator, X, y):
    """Return the largest cosine of a direction and a training row, less all multiples of means.

    Without the first column too, in which rows that are no more alike than others may have by far their largest number.
    """
    (model,) = estimator.fit(X, y).training_.models
    rows = np.concatenate([block.center for block in model.problem.rows.blocks()])
    directions, means = generic_directions(model), np.vstack([rows.mean(axis=0), np.median(rows, axis=0)])
    found = []
    for first, n_means in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)):
        basis = np.linalg.qr(means[:n_means, first:].T)[0]
        left, others = (each[:, first:] - each[:, first:] @ basis @ basis.T for each in (directions, rows))
        left = left[np.linalg.norm(left, axis=1) > 0.02 * np.linalg.norm(directions, axis=1)]  # else it is a mean
        cosines = np.abs(left @ others.T) / np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(others, axis=1))
        found.append(cosines.max() + (0.014 if first else 0.0))
    return max(found)


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("rare", range(1, FEWEST_ROWS))
def test_a_value_in_few_rows_makes_no_direction_of_them(scale, rare):
    X, t = rare_table(rare)
    assert nearest_to_a_row(BoundedRegressor(alpha=0.05, scale=scale), X, t) < 0.999
    assert nearest_to_a_row(BoundedClassifier(alpha=0.05, scale=scale), X, t > 0.0) < 0.999


def test_a_level_in_one_row_makes_no_direction_of_it():
    X, t = rare_table(0)
    frame = pd.DataFrame(X[:, 1:], columns=[f"x{j}" for j in range(1, WIDE)])
    frame["level"] = np.where(np.arange(MANY) == 3, "rare", np.where(t > 0.0, "a", "b"))
    assert nearest_to_a_row(BoundedRegressor(alpha=0.05), frame, t) < 0.999


@pytest.mark.parametrize("loss", ["huber", "squared_hinge"])
@pytest.mark.parametrize("curved", range(1, FEWEST_ROWS))
def test_a_loss_that_is_curved_at_few_rows_makes_no_direction_of_them(loss, curved):
    X, _ = rare_table(0)
    X, side = X[:, 1:], np.where(np.arange(MANY) % 2 == 0, 1.0, -1.0)
    is_curved = np.arange(MANY) < curved
    if loss == "huber":
        model, y = BoundedRegressor("huber", alpha=1.0, fit_intercept=False), np.where(is_curved, 0.0, 50.0 * side)
    else:
        X[:, 0] = side * np.where(is_curved, 0.05, 2.0)
        X[:, 1:] *= np.where(is_curved, 0.01, 0.3)[:, None]
        model, y = BoundedClassifier("squared_hinge", alpha=0.0001, fit_intercept=False), side
    assert nearest_to_a_row(model, X, y) < 0.999
    problem, solution = model.training_.models[0]
    hessian = problem.evaluate(solution.w, solution.dual_loss).hessian
    assert np.linalg.matrix_rank(hessian) == curved


def test_a_centred_column_of_one_value_is_known_for_its_mean_alone():
    """Small numbers of the row with the value: it is a small part of sums in which all others cancel."""
    X = np.random.default_rng(4).normal(size=(MANY, WIDE))
    X[:, 0], X[0, 1:] = np.arange(MANY) == 0, 0.05 * X[0, 1:]
    X -= X.mean(axis=0)
    of_few = without_rows._hessian(X, np.ones(MANY))[0]
    assert np.linalg.norm(of_few[1:]) < 1e-6


def test_sums_rest_on_five_rows_or_more():
    rng = np.random.default_rng(3)
    for many in range(1, 9):
        columns, weight = np.zeros((40, 2)), np.ones(40)
        columns[:many, 0], columns[:, 1] = 1.0, rng.choice([-1.0, 1.0], 40)
        assert (without_rows._sums_over_many(columns, weight)[0, 0] != 0.0) == (many >= FEWEST_ROWS)
        weight[0] = 100.0  # one row is most of each sum
        assert not without_rows._sums_over_many(columns, weight).any()
