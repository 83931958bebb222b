"""Bounds for many numbers of units from few proofs: what a search attains with so many is within them, and near."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget, IntervalMatrix
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.brackets import brackets_of
from ipub.answers.tipping.budget_bounds import BudgetBounds, NumberSearch, least_numbers
from ipub.answers.tipping.filled_in import FilledIn
from ipub.answers.tipping.flipping import FlipSearch


def filled_and_rows(loss="log_loss", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    t = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=80)
    X[rng.random(X.shape) < 0.15] = np.nan
    kind = BoundedRegressor if loss in ("squared_error", "huber") else BoundedClassifier
    model = kind(loss, alpha=10.0).fit(X, t if kind is BoundedRegressor else t > 0.0)
    filled = FilledIn.of(model.training_)
    rows = rng.normal(size=(5, 3))
    return filled, AskedRows.of(model.training_, IntervalMatrix.from_bounds(rows, rows))


def ends_of(budgets, k, asked):
    return budgets.bounds(k, asked, np.tile([-np.inf, np.inf], (len(asked), 1)))


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("order", [(4, 16), (16, 4), (16,), (1, 2, 4, 8, 16)])
def test_bounds_of_every_number_hold_what_is_attained_with_it(loss, order):
    filled, asked = filled_and_rows(loss)
    assert filled.count > 16
    budgets = BudgetBounds(filled.models, filled.movable, filled.moves, filled.count)
    for k in order:
        assert np.isfinite(ends_of(budgets, k, asked)).all()
        assert np.isfinite(ends_of(filled.budgets, k, asked)).all()
    (search,) = filled.searches
    for k, each in itertools.product((0, 1, 3, 4, 5, 10, 16), (budgets, filled.budgets)):
        # By themselves, and within what the model's certificate says.
        bounds = ends_of(each, k, asked)
        attained = np.array(
            [[search.best(x, 0.0 * x, side, filled.moves(k)).score for side in (-1.0, 1.0)] for x in asked.center]
        )
        slack = 1e-8 * (1.0 + np.abs(attained))
        assert (bounds[:, 0] <= attained[:, 0] + slack[:, 0]).all()
        assert (attained[:, 1] - slack[:, 1] <= bounds[:, 1]).all()
        if k:
            assert np.median(np.ptp(bounds, axis=1) / np.ptp(attained, axis=1)) < 1.5
        again = BudgetBounds(filled.models, filled.movable, filled.moves, filled.count)
        if each is budgets:
            np.testing.assert_array_equal(bounds, ends_of(again, k, asked))


def test_bounds_of_more_units_than_the_model_is_certified_for_hold_what_is_attained_with_them():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=80) > 0.0
    X[rng.random(X.shape) < 0.15] = np.nan
    model = BoundedClassifier(alpha=10.0, uncertainty=Budget(cells=2)).fit(X, y)
    filled, rows = FilledIn.of(model.training_), rng.normal(size=(5, 3))
    asked = AskedRows.of(model.training_, IntervalMatrix.from_bounds(rows, rows))
    assert filled.covered == 2
    for k in (1, 2, 3, 8):
        low, high = ends_of(filled.budgets, k, asked).T
        for row, x in enumerate(asked.center):
            ends = [filled.searches[0].best(x, 0.0 * x, side, filled.moves(k)).score for side in (-1.0, 1.0)]
            assert low[row] <= ends[0] + 1e-8
            assert ends[1] - 1e-8 <= high[row]


def test_rows_with_missing_values_have_bounds_that_hold_all_of_them():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]).assign(site=rng.choice(["n", "s", "w"], 80))
    y = X["a"] + (X["site"] == "n") > 0.5
    X.loc[:12, "b"] = np.nan
    clf = BoundedClassifier(alpha=0.5).fit(X, y)
    filled = FilledIn.of(clf.training_)

    def asked(rows):
        return AskedRows.of(clf.training_, clf.training_.table.uncertain_rows(rows))

    one = pd.DataFrame({"a": [np.nan], "b": [0.3], "site": [None]})
    low, high = clf.hole_ranges_[0]
    ways = pd.DataFrame({"a": np.repeat([low, 0.0, high], 3), "b": 0.3, "site": ["n", "s", "w"] * 3})
    for k in (0, 1, 2):
        (bounds,) = ends_of(filled.budgets, k, asked(one))
        each = ends_of(filled.budgets, k, asked(ways))
        assert bounds[0] <= each[:, 0].min() + 1e-9
        assert each[:, 1].max() <= bounds[1] + 1e-9
        assert np.ptp(bounds) <= 1.2 * (each[:, 1].max() - each[:, 0].min())


@pytest.mark.parametrize("seed", range(5))
def test_the_least_numbers_are_one_more_than_what_is_certain(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 19))
    truth = rng.integers(-1, count + 1, size=12)  # certain up to so many
    found = np.where((truth < count) & (rng.random(12) < 0.5), truth + 1.0, np.inf)
    asked = []

    def is_certain_at(k, rows):
        asked.append(k)
        return truth[rows] >= k

    least = least_numbers(is_certain_at, count, truth >= count, found)
    np.testing.assert_array_equal(least, np.where(truth >= count, np.inf, truth + 1.0))
    assert len(asked) <= count + 1
    few = least_numbers(is_certain_at, count, truth >= count, found, most=1)
    assert (few <= least).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_search_for_numbers_finds_what_is_proved_of_each_row_by_itself(seed):
    rng = np.random.default_rng([7, seed])
    count = int(rng.integers(0, 90))
    truth = rng.integers(-1, count + 1, size=15)  # certain up to so many, with ranges of their own
    found = np.where((truth < count) & (rng.random(15) < 0.5), truth + 1.0 + rng.integers(0, 9, size=15), np.inf)
    certain = np.where(rng.random(15) < 0.3, np.minimum(truth, rng.integers(-1, 20, size=15)), -1)
    guess = rng.integers(0, count + 1, size=15)
    used = []

    def search(rows):
        def is_certain_at(k, ranges_of, which):
            assert k <= ranges_of <= count
            used.append(ranges_of)
            # Ranges of a much larger number prove less.
            own = truth[rows][which]
            return own - 0.3 * np.maximum(0, ranges_of - 2 * np.maximum(own, 1)) >= k

        search = NumberSearch(is_certain_at, count)
        return search.largest(certain[rows], found[rows], guess[rows])

    together = search(np.arange(15))
    assert (together <= truth).all()
    assert (together >= certain).all()
    assert (together >= np.floor(0.93 * truth)).all()
    np.testing.assert_array_equal(together[truth <= 20], truth[truth <= 20])
    used.clear()
    for row in range(15):
        assert search(np.array([row])).tolist() == [together[row]]
    near = np.abs(guess - truth) <= 1
    for row in np.flatnonzero(near):
        used.clear()
        search(np.array([row]))
        assert len(set(used)) <= 3


def test_thresholds_of_a_regression_are_those_of_the_target(monkeypatch):
    # Without what the search finds, nothing but what is proved says where a row crosses.
    monkeypatch.setattr(FlipSearch, "smallest", lambda *_: None)
    monkeypatch.setattr(FlipSearch, "from_any_filling", lambda *_: None)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    t = 10.0 + X[:, 0] + 0.2 * rng.normal(size=60)
    X[rng.random(X.shape) < 0.2] = np.nan
    reg = BoundedRegressor(alpha=0.5).fit(X, t)
    rows = rng.normal(size=(8, 2))
    center = reg.predict(rows)
    threshold = float(np.sort(center)[3]) + 1e-3
    found = brackets_of(reg.training_, reg.training_.table.uncertain_rows(rows), threshold)
    at_least = found.at_least
    order = np.argsort(np.abs(center - threshold))
    assert at_least[order[0]] <= 2.0
    assert at_least[order[-1]] > at_least[order[0]]
    for k in (1, 2, 4):
        bounds = BoundedRegressor(alpha=0.5, uncertainty=Budget(cells=k)).fit(X, t).attained_bounds(rows)
        crosses = (bounds[:, 0] < threshold) & (threshold < bounds[:, 1])
        assert (at_least[crosses] <= k).all()
        assert crosses.any()
