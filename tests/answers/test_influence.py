"""What knowing a value takes away: compared with the models of every filling of tiny tables."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, Intervals
from ipub.answers.known_values import KnownValues
from ipub.answers.missing_values import MissingValues
from ipub.errors import IpubError

PLACES = (-1.0, -0.2, 0.5, 1.0)
FITS = {
    "logistic": lambda X, y, **more: BoundedClassifier(alpha=0.3, tol=1e-13, **more).fit(X, y > 0.0),
    "squared hinge": lambda X, y, **more: BoundedClassifier("squared_hinge", alpha=1.0, tol=1e-13, **more).fit(
        X, y > 0.0
    ),
    "weak": lambda X, y, **more: BoundedClassifier(alpha=0.1, tol=1e-13, **more).fit(X, y > 0.0),
    "huber": lambda X, y, **more: BoundedRegressor("huber", alpha=0.3, tol=1e-13, **more).fit(X, y),
    "squared": lambda X, y, **more: BoundedRegressor(alpha=1.0, tol=1e-13, fit_intercept=False, **more).fit(X, y),
    "three classes": lambda X, y, **more: BoundedClassifier(alpha=0.3, tol=1e-13, **more).fit(
        X, np.digitize(y, [-0.5, 0.5])
    ),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    X["site"] = rng.choice(["north", "south", "west"], size=60)
    y = (X["a"] - X["b"] + 0.5 * rng.normal(size=60)).to_numpy()
    X.loc[[3, 7], "b"] = np.nan
    X.loc[7, "c"] = np.nan
    X.loc[7, "site"] = None
    X.index = [f"patient {i}" for i in range(60)]
    return X, y


def rows_of(model, X):
    return model.training_.extended(model._uncertain_rows(model.training_, X)).center


def scores_of_fillings(model, rows, k):
    """Return the scores of all fillings on a grid, one axis for each missing value, then the rows."""
    training = model.training_
    missing = MissingValues.of(training)
    counts = [len(missing.levels_of(number)) for number in range(len(missing))]
    axes = [np.arange(count) if count else np.array(PLACES) for count in counts]
    everything = np.ones(len(missing), dtype=bool)
    fillings = itertools.product(*axes)
    scores = [rows @ missing.known(training, everything, np.array(each))[k].solution.w for each in fillings]
    return np.reshape(scores, [*map(len, axes), len(rows)])


@pytest.mark.parametrize("name", FITS)
def test_what_is_lost_and_how_far_scores_move_is_as_proved(table, name):
    X, y = table
    model = FITS[name](X, y, intervals={"b": (-2.0, 2.0), "c": (-1.0, 0.5)})
    training, rows = model.training_, rows_of(model, X.iloc[20:26])
    missing, n_certain = MissingValues.of(training), 0
    for k, (trained, certificate) in enumerate(zip(training.models, training.certificates, strict=True)):
        known = KnownValues.of(missing, trained, certificate)
        assert known is not None
        scores = scores_of_fillings(model, rows, k)
        others = tuple(range(len(missing)))
        whole = np.ptp(scores, axis=others)
        (part,) = known.in_parts(rows)
        for value in others:
            rest = tuple(axis for axis in others if axis != value)
            lost = whole - np.ptp(scores, axis=rest)
            assert (lost >= part.lower[:, value] - 1e-9).all()
            assert (lost <= part.upper[:, value] + 1e-9).all()
            moved = np.ptp(scores, axis=value).reshape(-1, len(rows))
            assert (moved <= part.range_upper[:, value] + 1e-9).all()
            if value < missing.n_numbers:
                assert (moved >= part.lower[:, value] - 1e-9).all()
            n_certain += np.count_nonzero(part.lower[:, value])
        for _, levels in known.at_levels(rows):
            (value,) = levels.which
            lost = (whole - np.ptp(scores, axis=others[:-1])).T
            assert (lost >= levels.lower[:, 0] - 1e-9).all()
            assert (lost <= levels.upper[:, 0] + 1e-9).all()
            assert value == len(missing) - 1
    assert n_certain > 0 or name in ("weak", "squared hinge", "huber")


@pytest.mark.parametrize("name", ["logistic", "huber"])
def test_moves_between_places_are_as_proved_whatever_the_others_are(table, name):
    X, y = table
    model = FITS[name](X, y)
    training, rows = model.training_, rows_of(model, X.iloc[20:26])
    missing = MissingValues.of(training)
    known = KnownValues.of(missing, training.models[0], training.certificates[0])
    scores = scores_of_fillings(model, rows, 0)
    low, high = known.trends.of_cells(rows)
    # The last axis of a number is that of its places; the score falls by at least `low` for each unit.
    for value in range(missing.n_numbers):
        cell = known._cell[value]
        unit = known._scale[value]
        for (a, first), (b, second) in itertools.combinations(enumerate(PLACES), 2):
            fall = np.take(scores, a, axis=value) - np.take(scores, b, axis=value)
            assert (fall >= unit * (second - first) * low[:, cell] - 1e-9).all()
            assert (fall <= unit * (second - first) * high[:, cell] + 1e-9).all()
    (moves,) = known.trends.of_levels(rows)
    for a, b in itertools.product(range(3), repeat=2):
        rise = np.take(scores, b, axis=-2) - np.take(scores, a, axis=-2)
        assert (rise >= moves.lowest[:, 0, a, b] - 1e-9).all()
        assert (rise <= moves.highest[:, 0, a, b] + 1e-9).all()


def test_values_are_found_among_uncertain_ones_of_all_kinds(table):
    X, y = table
    weight = np.ones(60)
    weight[[5, 3]] = 0.0, 2.0
    X = X.copy()
    X.iloc[5, 1] = np.nan
    model = BoundedClassifier(scale="standard", intervals=Intervals(precision={"a": 0.01})).fit(X, y > 0.0, weight)
    missing, (trained,) = MissingValues.of(model.training_), model.training_.models
    known = KnownValues.of(missing, trained, model.training_.certificates[0])
    incomplete = known.trends.incomplete
    np.testing.assert_array_equal(incomplete.cell_columns[known._cell], missing.encoded_columns[: missing.n_numbers])
    rows = missing.rows[: missing.n_numbers]
    np.testing.assert_allclose(incomplete.weight[incomplete.cell_rows[known._cell]], weight[rows] / weight.sum())
    center = missing.matrix.center_rows(slice(0, 60))[rows]
    np.testing.assert_array_equal(incomplete.center[incomplete.cell_rows[known._cell], :-1], center)
    assert len(incomplete.cell_columns) > missing.n_numbers


def test_rows_and_columns_add_up_values_and_share_their_order(table):
    X, y = table
    model = FITS["logistic"](X, y)
    cells = model.influence(X)
    assert list(cells.columns) == ["row", "column", "lower", "upper", "estimate"]
    assert (np.diff(cells["estimate"]) <= 0.0).all()
    for by in ("row", "column"):
        grouped = model.influence(X, by=by)
        assert list(grouped.columns) == [by, "lower", "upper", "estimate"]
        sums = cells.groupby(by)[["lower", "estimate"]].sum().loc[grouped[by]]
        np.testing.assert_allclose(grouped[["lower", "estimate"]], sums, rtol=1e-9)
        assert (np.diff(grouped["estimate"]) <= 0.0).all()
        width = np.diff(model.decision_bounds(X.fillna({"b": 0.0, "c": 0.0}).iloc[20:]), axis=1).mean()
        assert (grouped["upper"] <= 3.0 * width).all()
    levels = model.influence(X, by="level")
    assert set(levels["level"]) == {"north", "south", "west"}
    assert set(levels["row"]) == {"patient 7"}
    assert (levels["lower"] >= cells.loc[cells["column"] == "site", "lower"].item() - 1e-12).all()


def test_frames_are_of_the_library_of_the_table_and_without_rows_it_is_the_whole_model(table):
    X, y = table
    found = FITS["squared"](pl.from_pandas(X), y).influence()
    assert isinstance(found, pl.DataFrame)
    assert set(zip(found["row"], found["column"], strict=True)) == {(3, "b"), (7, "b"), (7, "c"), (7, "site")}
    of_array = FITS["squared"](X[["a", "b", "c"]].to_numpy(), y).influence(by="column")
    assert set(of_array["column"]) == {1, 2}


def test_of_more_classes_it_is_the_mean_of_their_scores(table):
    X, y = table
    model = FITS["three classes"](X, y)
    found = model.influence(X.iloc[20:30])
    missing, rows = MissingValues.of(model.training_), rows_of(model, X.iloc[20:30])
    expected = np.zeros(len(missing))
    for trained, certificate in zip(model.training_.models, model.training_.certificates, strict=True):
        known = KnownValues.of(missing, trained, certificate)
        expected += sum(part.lower.sum(axis=0) for part in known.in_parts(rows)) / 30.0
    np.testing.assert_allclose(np.sort(found["lower"]), np.sort(expected), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    "model",
    [
        BoundedClassifier("hinge", alpha=0.3),
        BoundedClassifier(alpha=0.3, l1_ratio=0.5),
        BoundedClassifier(alpha=0.3, max_label_errors=1),
    ],
)
def test_where_nothing_more_is_proved_it_is_between_0_and_the_width_of_the_bounds(table, model):
    X, y = table
    found = model.fit(X, y > 0.0).influence(X.iloc[20:30])
    assert (found["lower"] == 0.0).all()
    width = np.diff(model.decision_bounds(X.iloc[20:30]), axis=1).mean()
    assert (found["upper"] >= width - 1e-12).all()
    assert np.isfinite(found["upper"]).all()


def test_a_value_of_a_budget_takes_away_what_no_other_can_replace(table):
    X, y = table
    all_of_them = FITS["logistic"](X, y, uncertainty=Budget(cells=4))
    assert (all_of_them.influence(X)["estimate"] > 0.0).all()
    one = FITS["logistic"](X, y, uncertainty=Budget(cells=1)).influence(X.iloc[20:21])
    # In one row, each side of the range is due to one value.
    assert 1 <= (one["estimate"] > 1e-12).sum() <= 2
    assert (one["lower"] == 0.0).all()


def test_without_missing_values_nothing_has_influence(table):
    X, y = table
    found = BoundedRegressor().fit(X[["a"]], y).influence(X[["a"]])
    assert list(found.columns) == ["row", "column", "lower", "upper", "estimate"]
    assert len(found) == 0


def test_errors_say_what_to_do(table):
    X, y = table
    model = FITS["logistic"](X, y)
    with pytest.raises(IpubError, match="'cell', 'row', 'column', 'level'"):
        model.influence(X, by="value")
    with pytest.raises(IpubError, match="certificate='tight'"):
        BoundedClassifier(certificate=None).fit(X, y > 0.0).influence(X)
    with pytest.raises(IpubError, match="Draws promise"):
        BoundedClassifier(uncertainty=Draws(n_draws=3)).fit(X, y > 0.0).influence(X)
    with pytest.raises(IpubError, match="worst"):
        BoundedClassifier(uncertainty=Budget(cells=1)).fit(X, y > 0.0).influence(X, by="level")


def test_where_nothing_is_proved_influence_has_no_upper_end():
    X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0], [1.0, 1.0], [0.5, 2.0]])
    model = BoundedClassifier("hinge", alpha=0.01, uncertainty=Budget(rows=1)).fit(X, [0, 1, 1, 0, 1])
    assert np.isinf(model.decision_bounds(X[:1])).all()
    for by in ("cell", "row", "column"):
        found = model.influence(X[:1], by=by)
        assert (found["lower"] == 0.0).all()
        assert np.isinf(found["upper"]).all()
