"""The missing values of a training table, one by one: where they are, and tables and models with some of them known."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.answers.missing_values import MissingValues
from ipub.errors import IpubError
from ipub.tables.holes import IntervalWarning


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table["site"] = rng.choice(["north", "south", "west"], size=60)
    table.loc[[3, 7, 20], "b"] = np.nan
    table.loc[7, "c"] = np.nan
    table.loc[[1, 7], "site"] = None
    table.index = [f"patient {i}" for i in range(60)]
    return table, (table["a"] + 0.3 * rng.normal(size=60) > 0.0).to_numpy()


def drawn(missing, rng):
    levels = [rng.integers(len(missing.levels_of(k))) for k in range(missing.n_numbers, len(missing))]
    return np.concatenate([rng.uniform(-1.0, 1.0, missing.n_numbers), levels])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_places_are_those_of_the_frame_in_its_library(frame, library):
    X, y = frame
    given = X if library == "pandas" else pl.from_pandas(X)
    missing = MissingValues.of(BoundedClassifier().fit(given, y).training_)
    places = missing.frame(size=np.arange(len(missing)))
    assert type(places).__module__.startswith(library)
    labels = list(X.index) if library == "pandas" else list(range(60))
    found = set(zip(list(places["row"]), list(places["column"]), strict=True))
    assert found == {(labels[i], X.columns[j]) for i, j in np.argwhere(X.isna().to_numpy())}


@pytest.mark.parametrize("library", ["pandas", "polars", "array"])
def test_a_filled_table_gives_the_model_of_its_positions(frame, library):
    X, y = frame
    given = {"pandas": X, "polars": pl.from_pandas(X), "array": X[["a", "b", "c"]].to_numpy()}[library]
    model = BoundedClassifier(tol=1e-13).fit(given, y)
    missing, rng = MissingValues.of(model.training_), np.random.default_rng(1)
    for _ in range(3):
        positions = drawn(missing, rng)
        filled = missing.table(positions)
        assert not np.asarray(pd.isna(pd.DataFrame(np.asarray(filled)))).any()
        (known,) = missing.known(model.training_, np.ones(len(missing), dtype=bool), positions)
        again = BoundedClassifier(tol=1e-13).fit(filled, y)
        expected = np.append(np.ravel(again.coef_), again.intercept_)
        np.testing.assert_allclose(known.solution.w, expected, rtol=1e-6, atol=1e-8)
        assert known.problem.rows.count_uncertain() == 0


def test_some_known_values_leave_the_others_uncertain(frame):
    X, y = frame
    model = BoundedClassifier(scale="standard").fit(X, y)
    missing = MissingValues.of(model.training_)
    which = np.zeros(len(missing), dtype=bool)
    which[[0, missing.n_numbers]] = True
    (known,) = missing.known(model.training_, which, missing.filled_in)
    matrix = missing.with_known(which, missing.filled_in)
    assert (matrix.radii > 0.0).sum() == missing.n_numbers - 1
    assert len(matrix.missing_categories) == len(missing) - missing.n_numbers - 1
    # Columns of a category whose level is missing count as uncertain in the rows of a model.
    assert known.problem.rows.count_uncertain() == missing.n_numbers - 1 + 3


def test_values_are_in_the_units_of_the_user(frame):
    X, y = frame
    model = BoundedClassifier(scale="standard", intervals={"b": (10.0, 30.0), "c": (0.0, 1.0)}).fit(X, y)
    missing = MissingValues.of(model.training_)
    k = missing.column_labels().index("b")
    assert [missing.in_units(k, at) for at in (-1.0, 0.0, 0.5)] == [10.0, 20.0, 25.0]
    assert missing.in_units(missing.n_numbers, 2.0) == "west"


def test_what_a_budget_starts_from_is_what_is_filled_in(frame):
    X, y = frame
    model = BoundedClassifier(uncertainty=Budget(share=0.5, filling="mean")).fit(X, y)
    missing = MissingValues.of(model.training_)
    k = missing.column_labels().index("b")
    assert missing.in_units(k, missing.filled_in[k]) == pytest.approx(X["b"].mean(), abs=1e-6)
    units = missing.units(model.training_)
    assert sorted(units) == sorted(set(units))
    assert (units >= 0).all()


def test_a_model_without_its_table_says_what_to_do(frame):
    import pickle

    X, y = frame
    model = pickle.loads(pickle.dumps(BoundedRegressor(loss="huber").fit(X, y.astype(float))))
    with pytest.raises(IpubError, match="fit an array or a DataFrame"):
        MissingValues.of(model.training_)


def test_a_small_table_may_be_changed_after_fit(frame):
    X, y = frame
    model = BoundedClassifier().fit(X, y)
    X.loc[:, "a"] = 0.0
    missing = MissingValues.of(model.training_)
    assert missing.table(missing.filled_in)["a"].abs().sum() > 0.0


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_a_missing_number_with_one_possible_value_is_filled_in_with_it(kind):
    table = np.array([[0.0, 1.0], [np.nan, 2.0], [1.0, np.nan], [3.0, 0.5]])
    X = kind(table) if kind is np.asarray else kind(table, columns=["a", "b"])
    intervals = [(0.0, 2.0), (0.3, 0.3)] if kind is np.asarray else {"a": (0.0, 2.0), "b": (0.3, 0.3)}
    with pytest.warns(IntervalWarning, match="zero length"):
        reg = BoundedRegressor(alpha=1.0, intervals=intervals).fit(X, np.arange(4.0))
    missing = MissingValues.of(reg.training_)
    filled = np.asarray(missing.table(missing.filled_in))
    assert len(missing) == 1
    assert np.allclose(filled, [[0.0, 1.0], [1.0, 2.0], [1.0, 0.3], [3.0, 0.5]])
