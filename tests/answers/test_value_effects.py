"""Effects of single missing values to first order: what retraining gives where they move little."""

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.answers.column_effects import first_order_widths
from ipub.answers.missing_values import MissingValues
from ipub.answers.value_effects import ValueEffects


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    X["site"] = rng.choice(["north", "south", "west"], size=200)
    y = X["a"] - X["b"] + 0.5 * rng.normal(size=200)
    X.loc[[3, 7], "b"] = np.nan
    X.loc[7, "c"] = np.nan
    X.loc[[1, 7], "site"] = None
    return X, y.to_numpy()


def rows_of(model, X):
    return model.training_.extended(model._uncertain_rows(model.training_, X)).center


@pytest.mark.parametrize(
    "fits",
    [
        lambda X, y: BoundedRegressor(alpha=0.1, tol=1e-13, intervals={"b": (-0.02, 0.02), "c": (0.1, 0.12)}).fit(X, y),
        lambda X, y: BoundedClassifier(alpha=0.1, tol=1e-13, fit_intercept=False).fit(X, y > 0.0),
        lambda X, y: BoundedClassifier(alpha=0.1, tol=1e-13).fit(X, np.digitize(y, [-0.5, 0.5])),
        lambda X, y: BoundedClassifier(alpha=0.1, tol=1e-13, unknown_labels=True).fit(
            X, pd.Series(y > 0.0, dtype=object).where(X.index != 7, None)
        ),
    ],
)
@pytest.mark.parametrize("around", [False, True])
def test_each_option_moves_scores_nearly_as_retraining_does(fits, around, table):
    model = fits(*table)
    training = model.training_
    missing = MissingValues.of(training)
    rows = rows_of(model, table[0].iloc[100:110])
    filling = missing.filled_in if around else None
    for k in range(len(training.models)):
        effects = ValueEffects.of(training, missing, k, filling)
        found = effects.of_rows(rows)
        assert found.shape == (10, len(effects.value)) == (10, 2 * 3 + 2 * 3)
        low, high = effects.lowest_and_highest(rows)
        for o, (value, position) in enumerate(zip(effects.value, effects.position, strict=True)):
            assert (low[:, value] <= found[:, o]).all()
            assert (found[:, o] <= high[:, value]).all()
            positions, which = missing.filled_in.copy(), np.arange(len(missing)) == value
            positions[value] = position
            (*_, other) = missing.known(training, which | around, positions)[: k + 1]
            truth = rows @ (other.solution.w - effects.model.solution.w)
            assert np.linalg.norm(found[:, o] - truth) <= 0.12 * np.linalg.norm(truth) + 1e-6


def test_widths_add_up_to_those_of_columns_where_nothing_bends(table):
    X, y = table
    model = BoundedRegressor(alpha=0.1, intervals={"b": (-0.02, 0.02), "c": (0.1, 0.12)}).fit(X, y)
    missing, rows = MissingValues.of(model.training_), rows_of(model, X.iloc[100:110])
    low, high = ValueEffects.of(model.training_, missing).lowest_and_highest(rows)
    by_column = np.bincount(missing.columns, (high - low).sum(axis=0), minlength=4)
    np.testing.assert_allclose(by_column, first_order_widths(model.training_, rows[:, :-1]), rtol=1e-6)


def test_around_a_budget_the_others_are_as_filled_in(table):
    X, y = table
    model = BoundedClassifier(uncertainty=Budget(cells=1)).fit(X, y > 0.0)
    missing, rows = MissingValues.of(model.training_), rows_of(model, X.iloc[100:110])
    effects = ValueEffects.of(model.training_, missing)
    stays = effects.position == missing.filled_in[effects.value]
    np.testing.assert_allclose(effects.of_rows(rows)[:, stays & (effects.value >= 3)], 0.0, atol=1e-15)
