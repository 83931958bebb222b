"""Samplers: what they draw, and errors for imputers that are none."""

import numpy as np
import pandas as pd
import pytest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (makes the next import work)
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix, Intervals, IpubError
from ipub.estimators.linear_model import parameters_of
from ipub.promises import Draws
from ipub.training.imputing.holes import Holes
from ipub.training.imputing.samplers import sampler_of
from ipub.training.reading import read_training_data
from support.draws import fit_draws


def holes_of(X, y=None, weight=None, **parameters):
    model = BoundedClassifier(**parameters)
    data = read_training_data(parameters_of(model), X, np.arange(X.shape[0]) % 2 if y is None else y, weight)
    return Holes.of(data.table, X, None, data.weight > 0.0)


def drawn(draws, holes, count):
    sampler = sampler_of(draws, holes)
    return [sampler.draw(np.random.default_rng(seed)) for seed in range(count)]


def frame_with_holes(n=200):
    rng = np.random.default_rng(0)
    age = rng.uniform(20.0, 80.0, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "size": 2.0 * age + rng.normal(size=n),
            "site": np.where(age > 50.0, "north", np.where(age > 40.0, "east", "west")),
        }
    )
    frame.loc[:19, "size"] = np.nan
    frame["site"] = frame["site"].astype(object)
    frame.loc[15:29, "site"] = None
    return frame


@pytest.mark.parametrize("imputer", ["hot_deck", "chained"])
def test_draws_are_observed_values_inside_the_intervals(imputer):
    frame = frame_with_holes()
    holes = holes_of(frame, intervals=Intervals(level=0.8))
    for numbers, levels in drawn(Draws(imputer), holes, 5):
        assert np.isin(numbers, frame["size"].to_numpy()).all()
        assert (numbers >= holes.lower).all()
        assert (numbers <= holes.upper).all()
        assert set(levels) <= {0, 1, 2}


def test_a_hot_deck_draws_as_often_as_observed():
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0, np.nan], [10, 30, 60, 100]), np.arange(200.0)])
    numbers = np.concatenate(
        [each.numbers for each in drawn(Draws(), holes_of(X, intervals=Intervals(level=1.0)), 100)]
    )
    assert np.abs(np.bincount(numbers.astype(int)) / len(numbers) - [0.1, 0.3, 0.6]).max() < 0.02
    frame = pd.DataFrame({"a": np.arange(200.0), "b": ["x"] * 20 + ["y"] * 80 + [None] * 100})
    levels = np.concatenate([each.levels for each in drawn(Draws(), holes_of(frame), 100)])
    assert np.abs(np.bincount(levels) / len(levels) - [0.2, 0.8]).max() < 0.02


def test_rows_without_weight_give_no_values():
    X = np.column_stack([[1.0, 2.0, 3.0, 9.0, np.nan, np.nan], np.arange(6.0)])
    holes = holes_of(X, weight=np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0]), intervals={0: (0.0, 10.0)})
    numbers = np.concatenate([each.numbers for each in drawn(Draws(), holes, 50)])
    assert set(numbers) == {1.0, 2.0, 3.0}


def test_an_interval_without_observed_values_is_drawn_from_evenly():
    X = np.column_stack([[1.0, 2.0, 3.0, np.nan], np.arange(4.0)])
    numbers = np.concatenate([each.numbers for each in drawn(Draws(), holes_of(X, intervals={0: (7.0, 9.0)}), 300)])
    assert (numbers >= 7.0).all()
    assert (numbers <= 9.0).all()
    assert np.abs(np.histogram(numbers, 4, (7.0, 9.0))[0] / 300 - 0.25).max() < 0.1


def test_chained_draws_depend_on_the_row():
    frame = frame_with_holes()
    holes = holes_of(frame, intervals=Intervals(level=1.0))
    fillings = drawn(Draws("chained"), holes, 10)
    sizes = np.array([each.numbers for each in fillings])
    expected = 2.0 * frame["age"].to_numpy()[:20]
    assert np.abs(sizes - expected).max() < 25.0
    assert (np.ptp(sizes, axis=0) > 0.0).any()
    alone = np.array([each.numbers for each in drawn(Draws("hot_deck"), holes, 10)])
    assert np.abs(alone - expected).mean() > 5.0 * np.abs(sizes - expected).mean()
    levels = np.array([each.levels for each in fillings])
    is_old = frame["age"].to_numpy()[15:30] > 60.0
    assert (levels[:, is_old] == 1).mean() > 0.8


@pytest.mark.parametrize("table", [np.array([[1.0], [2.0], [3.0], [np.nan]]), pd.DataFrame({"a": ["x", "y", None]})])
def test_chained_draws_of_a_table_with_one_column_are_those_of_a_hot_deck(table):
    holes = holes_of(table, intervals=Intervals(level=1.0))
    for one, other in zip(drawn(Draws("chained"), holes, 10), drawn(Draws(), holes, 10), strict=True):
        assert (one.numbers == other.numbers).all()
        assert (one.levels == other.levels).all()


def test_an_imputer_of_scikit_learn_is_cloned_with_a_seed_of_its_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:9, 1] = np.nan
    imputer = IterativeImputer(sample_posterior=True, max_iter=2, min_value=-1.0, max_value=1.0)
    holes = holes_of(X, intervals={1: (-1.0, 1.0)})
    first, second, again = (each.numbers for each in drawn(Draws(imputer), holes, 2) + drawn(Draws(imputer), holes, 1))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, again)
    assert not hasattr(imputer, "n_features_in_")


def test_a_callable_gets_a_copy_of_the_table_of_the_user():
    frame = frame_with_holes()
    before = frame.copy()

    def fill(X, rng):
        X["size"] = X["size"].fillna(X["size"].sample(1, random_state=int(rng.integers(1000))).iloc[0])
        X["site"] = X["site"].fillna(rng.choice(["east", "west"]))
        return X

    filling = drawn(Draws(fill), holes_of(frame, intervals=Intervals(level=1.0)), 1)[0]
    assert len(set(filling.numbers)) == len(set(filling.levels)) == 1
    pd.testing.assert_frame_equal(frame, before)


def test_clipped_values_are_at_the_nearer_end():
    X = np.column_stack([[1.0, 2.0, 3.0, np.nan, np.nan], np.arange(5.0)])
    holes = holes_of(X, intervals={0: (1.0, 3.0)})

    def far(X, rng):
        X[3:, 0] = -7.0, 8.0
        return X

    assert drawn(Draws(far, clip=True), holes, 1)[0].numbers == pytest.approx([1.0, 3.0])


def _table():
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[:3, 1] = np.nan
    return X


def _with(value, rng):
    X = np.nan_to_num(_table())
    X[:3, 1] = rng.random(3) if value is None else value
    return X


def _changed(X, rng):
    X = _with(None, rng)
    X[5, 0] += 1.0
    return X


@pytest.mark.parametrize(
    ("imputer", "words"),
    [
        (lambda X, rng: X, "leaves nan in column 1 in row 0"),
        (_changed, "changes column 0 in row 5, which is observed"),
        (lambda X, rng: _with(9.0, rng), r"has 9 for column 1 in row 0, outside its interval from .*clip=True"),
        (lambda X, rng: _with(None, rng)[:, :1], r"gives a table of shape \(20, 1\) for X of shape \(20, 2\)"),
        (lambda X, rng: [["a", "b"]] * 20, "no table of numbers"),
        (lambda X, rng: _with(0.1, rng), "draws the same filling 4 times"),
        (
            make_pipeline(IterativeImputer(sample_posterior=True), StandardScaler()),
            "Pipeline changes column 0",
        ),
        (SimpleImputer(), "SimpleImputer has no parameter random_state"),
        (IterativeImputer(), "IterativeImputer draws the same filling 4 times"),
    ],
)
def test_an_imputer_that_is_none_is_named(imputer, words):
    with pytest.raises(IpubError, match=words):
        fit_draws(BoundedClassifier(), _table(), np.arange(20) % 2, Draws(imputer, n_draws=4))


def test_columns_are_named_by_their_labels():
    frame = frame_with_holes()
    with pytest.raises(IpubError, match="leaves nan in column 'size' in row 0") as caught:
        fit_draws(BoundedClassifier(), frame, np.arange(200) % 2, Draws(lambda X, rng: X))
    assert (caught.value.column, caught.value.row) == ("size", 0)
    with pytest.raises(IpubError, match="has categories: it must be a DataFrame"):
        fit_draws(BoundedClassifier(), frame, np.arange(200) % 2, Draws(lambda X, rng: X.to_numpy()))
    with pytest.raises(IpubError, match="changes column 'site' in row 199"):
        fit_draws(BoundedClassifier(), frame, np.arange(200) % 2, Draws(_other_site))


def _other_site(X, rng):
    X = X.ffill().bfill()
    X.loc[199, "site"] = "west" if X.loc[199, "site"] != "west" else "east"
    return X


def test_a_single_hole_that_is_drawn_twice_alike_is_no_error():
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[0, 0] = np.nan

    def rarely(X, rng):
        X = X.copy()
        X[0, 0] = float(rng.random() < 0.2)
        return X

    model = BoundedClassifier(intervals={0: (-1.0, 1.0)})
    fit_draws(model, X, np.arange(20) % 2, Draws(rarely, n_draws=19, random_state=0))
    assert np.isfinite(model.decision_bounds(X[1:])).all()


def test_a_table_without_holes_needs_no_draws():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = fit_draws(BoundedRegressor(), X, X[:, 0], Draws(n_draws=2))
    assert np.ptp(model.predict_bounds(X), axis=1).max() < 1e-6


def test_intervals_of_an_interval_matrix_are_holes():
    lower = np.random.default_rng(0).normal(size=(20, 2))
    upper = lower.copy()
    upper[:4, 0] += 0.5
    matrix = IntervalMatrix.from_bounds(lower, upper)
    holes = holes_of(matrix)
    assert np.isnan(holes.X[:4, 0]).all()
    for numbers, _ in drawn(Draws(), holes, 5):
        assert (numbers >= lower[:4, 0]).all()
        assert (numbers <= upper[:4, 0]).all()


def test_an_imputer_that_takes_no_text_says_so_and_what_does():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=20), "t": rng.choice(["u", "v"], 20)})
    frame.loc[:3, "a"] = np.nan
    imputer = IterativeImputer(sample_posterior=True, max_iter=1)
    model = BoundedClassifier(uncertainty=Draws(imputer, n_draws=2, clip=True))
    with pytest.raises(IpubError, match=r"IterativeImputer cannot fill X in: .*'hot_deck' or 'chained'"):
        model.fit(frame, np.arange(20) % 2)
