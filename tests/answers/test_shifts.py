"""Shift grids: every point retrained, cells attacked from inside, categories, groups of rows, bad input."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IpubError
from ipub.answers.missing_values import MissingValues
from ipub.answers.tipping.shifts import Shift, ShiftedTables


def table(seed, n=60, m=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 2))
    t = X[:, 0] - 0.7 * X[:, 1] + 0.4 * rng.normal(size=n + m)
    X[rng.choice(n, 9, replace=False), 0] = np.nan
    X[rng.choice(n, 7, replace=False), 1] = np.nan
    return X[:n], t[:n], 0.5 * X[n:]


def shifted(X, filled, shifts):
    """Return the filled-in table with so much added to the missing values of each column."""
    return filled + np.where(np.isnan(X), shifts, 0.0)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_every_point_is_what_scikit_learn_trains_there(seed, alpha):
    X, t, rows = table(seed)
    y = (t > 0.0).astype(int)
    ranges = {0: (-1.0, 1.0), 1: (-1.0, 1.0)}
    clf = BoundedClassifier(alpha=alpha, intervals=ranges).fit(X, y)
    deltas = [np.linspace(-3.0, 3.0, 5), np.linspace(-2.0, 2.0, 3)]
    grid = clf.shift_grid(rows, [0, 1], deltas)
    assert grid.row_states.shape == (len(rows), 5, 3)
    before, filled = clf.predict(rows), np.where(np.isnan(X), 0.0, X)

    def changed(shifts):
        other = shifted(X, filled, shifts)
        return LogisticRegression(C=1.0 / (alpha * len(X)), tol=1e-10).fit(other, y).predict(rows) != before

    for point in itertools.product(range(5), range(3)):
        is_changed = changed([deltas[0][point[0]], deltas[1][point[1]]])
        states = grid.row_states[(slice(None), *point)]
        assert (states == np.where(is_changed, "tips", "safe")).all()
        assert grid.states[point] == ("tips" if is_changed.any() else "safe")
        if grid.whole_cell[point]:
            ends = [shift.around(number) for shift, number in zip(grid.shifts, point, strict=True)]
            for shifts in itertools.product(*ends):
                assert not changed(list(shifts)).any()
    assert (grid.states[grid.whole_cell] == "safe").all()
    lines = grid.table
    assert lines["state"].tolist() == grid.states.ravel().tolist()
    assert (lines[["safe", "tips", "unproved"]].sum(axis=1) == len(rows)).all()
    assert lines[["0", "1"]].to_numpy().tolist() == [list(each) for each in itertools.product(*deltas)]


def test_whole_cells_hold_where_every_value_has_a_shift_of_its_own():
    X, t, rows = table(3)
    reg = BoundedRegressor(alpha=0.1, intervals={0: (-1.0, 1.0), 1: (-1.0, 1.0)}).fit(X, t)
    threshold, deltas = 0.05, [[-2.0, -1.0, 0.0, 1.0, 2.0]] * 2
    rng, filled = np.random.default_rng(0), np.where(np.isnan(X), 0.0, X)
    n_whole = 0
    for row in rows:
        grid = reg.shift_grid(row[None], [0, 1], deltas, threshold=threshold)
        is_above = reg.predict(row[None])[0] > threshold
        for point in np.argwhere(grid.whole_cell):
            n_whole += 1
            (low, high) = np.array([s.around(k) for s, k in zip(grid.shifts, point, strict=True)]).T
            worst = [
                np.where(rng.random(X.shape) < 0.5, low, high),
                np.where((X > 0.0) ^ (rng.random() < 0.5), low, high),
                rng.uniform(low, high, X.shape),
                np.where((t > t.mean())[:, None] ^ np.array([False, True]), low, high),
                np.where((t > t.mean())[:, None] ^ np.array([True, False]), low, high),
            ]
            for shifts in worst:
                other = Ridge(alpha=0.05 * len(X), tol=1e-12).fit(shifted(X, filled, shifts), t)
                assert (other.predict(row[None])[0] > threshold) == is_above
    assert n_whole > 20


def test_two_values_of_a_column_at_different_ends_of_a_whole_cell_change_no_class():
    n_whole = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 1))
        y = X[:, 0] + 0.5 * rng.normal(size=8) > 0.0
        X[:2, 0] = np.nan
        clf = BoundedClassifier(alpha=0.05, intervals=[(-1.0, 1.0)]).fit(X, y)
        boundary = -clf.intercept_[0] / clf.coef_[0, 0]
        models = {}
        for ends in itertools.product((-1.0, 0.0, 1.0), repeat=2):
            filled = np.concatenate([np.array(ends)[:, None], X[2:]])
            models[ends] = LogisticRegression(C=2.5, tol=1e-12, max_iter=10_000).fit(filled, y)
        for row in boundary + np.array([[[-0.1]], [[-0.05]], [[0.05]], [[0.1]], [[0.3]], [[-0.3]]]):
            grid = clf.shift_grid(row, 0, [-1.0, 1.0])
            for is_whole, cell in zip(grid.whole_cell, ((-1.0, 0.0), (0.0, 1.0)), strict=True):
                n_whole += is_whole
                for ends in itertools.product(cell, repeat=2) if is_whole else ():
                    assert models[ends].predict(row)[0] == clf.predict(row)[0]
    assert n_whole > 20


def test_a_cell_holds_what_its_shifts_make_of_every_value_in_floats():
    rng = np.random.default_rng(0)
    X, t, _ = table(1)
    X[:, 1] = 1e3 * X[:, 1]
    for how, deltas in (("add", [-0.1, 0.3, 0.7]), ("multiply", [-0.3, 0.9, 1.1])):
        for scale in (None, "standard", "minmax"):
            clf = BoundedClassifier(scale=scale).fit(X, t > 0.0)
            from ipub.answers.tipping.filled_in import FilledIn

            filled = FilledIn.of(clf.training_)
            shift = Shift.of(filled.missing, 1, deltas, how, None)
            tables = ShiftedTables(filled, (shift,))
            for number in range(3):
                low, high = shift.around(number)
                box = tables.within(((low, high),))
                where = np.isnan(X[:, 1])
                in_row, columns, centers, radii = box.cells(slice(0, len(X)))
                assert set(in_row) == set(np.flatnonzero(where))
                assert (columns == 1).all()
                for delta in [deltas[number], low, high, *rng.uniform(low, high, 5)]:
                    values = np.array([filled.missing.in_units(int(k), 0.0) for k in shift.which])
                    other = X.copy()
                    other[where, 1] = values + delta if how == "add" else values * delta
                    seen = clf.training_.table.filled_rows(other)[where, 1]
                    assert (centers - radii <= seen).all()
                    assert (seen <= centers + radii).all()
                at = tables.at((number,))
                assert (np.abs(at[where, 1] - centers) <= radii).all()
            ends = [shift.around(number) for number in range(3)]
            assert ends[0][1] == ends[1][0]
            assert ends[1][1] == ends[2][0]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"age": rng.normal(50.0, 10.0, 80), "site": rng.choice(["north", "south", "west"], 80)})
    y = (X["age"] > 50.0) ^ (rng.random(80) < 0.2)
    arm = rng.random(80) < 0.5
    X.loc[:9, "age"], X.loc[[3, 12, 15, 20], "site"] = np.nan, None
    rows = pd.DataFrame({"age": [46.0, 49.0, 52.0, np.nan], "site": ["north", "south", None, "west"]})
    return X, y.to_numpy(), arm, rows


def test_missing_categories_take_the_levels_that_are_asked_for(frame):
    X, y, _, rows = frame
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    levels = ["south", None, "west"]
    grid = clf.shift_grid(rows[:2], ["site", "age"], [levels, [0.5, 1.0, 2.0]], how=["add", "multiply"])
    missing = MissingValues.of(clf.training_)
    base, commonest = missing.table(missing.filled_in), X["site"].mode()[0]
    before = clf.predict(rows[:2])
    before = BoundedClassifier(alpha=0.05, certificate=None, tol=1e-12).fit(base, y).predict(rows[:2])
    for i, level in enumerate(levels):
        for j, factor in enumerate((0.5, 1.0, 2.0)):
            other = base.copy()
            other.loc[X["site"].isna(), "site"] = level or commonest
            other.loc[X["age"].isna(), "age"] *= factor
            found = BoundedClassifier(alpha=0.05, certificate=None, tol=1e-12).fit(other, y).predict(rows[:2])
            assert (grid.row_states[:, i, j] == np.where(found == before, "safe", "tips")).all()
    assert set(grid.row_states.ravel()) == {"safe", "tips"}
    assert grid.shifts[0].neutral == grid.shifts[1].neutral == 1
    assert list(grid.table.columns[:2]) == ["site", "age"]


def test_groups_of_training_rows_are_shifted_by_themselves(frame):
    X, y, arm, rows = frame
    clf = BoundedClassifier(alpha=0.05, uncertainty=Budget(share=0.5, filling="mean")).fit(X, y)
    deltas = [[-30.0, 0.0, 30.0]] * 2
    grid = clf.shift_grid(rows[:2], ["age", "age"], deltas, training_rows=[arm, np.flatnonzero(~arm)])
    assert list(grid.table.columns[:2]) == ["age (1)", "age (2)"]
    base = X.copy()
    base["age"], base["site"] = X["age"].fillna(X["age"].mean()), X["site"].fillna(X["site"].mode()[0])
    before = clf.predict(rows[:2])
    for i, j in itertools.product(range(3), range(3)):
        other = base.copy()
        other.loc[X["age"].isna() & arm, "age"] += deltas[0][i]
        other.loc[X["age"].isna() & ~arm, "age"] += deltas[1][j]
        found = BoundedClassifier(alpha=0.05, certificate=None, tol=1e-12).fit(other, y).predict(rows[:2])
        assert (grid.row_states[:, i, j] == np.where(found == before, "safe", "tips")).all()
    assert len(set(grid.states.ravel())) == 2


def test_missing_values_of_a_row_may_be_anything(frame):
    X, y, _, rows = frame
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    grid = clf.shift_grid(rows, "age", [-5.0, 0.0, 5.0])
    assert (grid.row_states[3] == "tips").all()
    assert grid.n_own == (grid.row_states[:, 1] == "tips").sum() >= 1
    assert "left out" in str(grid)
    alone = clf.shift_grid(rows[3:], "age", [-5.0, 0.0, 5.0])
    assert (alone.states == "tips").all()
    assert not alone.whole_cell.any()
    assert grid.table["safe"].max() == len(rows) - grid.n_own


def test_three_classes_and_losses_with_kinks_have_grids_too():
    X, t, rows = table(5)
    y = np.digitize(t, [-0.4, 0.4])
    filled = np.where(np.isnan(X), 0.0, X)
    for loss, labels in (("log_loss", y), ("hinge", y > 0)):
        options = {"alpha": 0.1, "intervals": {0: (-1.0, 1.0), 1: (-1.0, 1.0)}}
        clf = BoundedClassifier(loss, **options).fit(X, labels)
        grid = clf.shift_grid(rows, 0, [-4.0, 0.0, 4.0])
        for k, delta in enumerate((-4.0, 0.0, 4.0)):
            other = shifted(X, filled, [delta, 0.0])
            again = BoundedClassifier(loss, **options | {"certificate": None, "tol": 1e-9}).fit(other, labels)
            is_changed = again.predict(rows) != clf.predict(rows)
            assert not (is_changed & (grid.row_states[:, k] == "safe")).any()
            assert is_changed[grid.row_states[:, k] == "tips"].all()
        assert (grid.row_states[:, 1] == "safe").all()
        assert (grid.row_states == "unproved").sum() <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "size"}, r"Column 'size' has no missing value in the training table: choose of 'age', 'site'"),
        ({"deltas": [1.0, 0.0]}, "numbers that increase"),
        ({"deltas": ["a"]}, "numbers that increase"),
        ({"deltas": []}, r"are \[\]: give a list"),
        ({"deltas": [0.0, np.inf]}, "finite numbers"),
        ({"columns": "site", "deltas": ["east"]}, "is a category: its deltas are levels, 'north', 'south', 'west'"),
        ({"columns": ["age", "site", "age"]}, "give one or two"),
        ({"columns": ["age", "site"]}, "give a list of at least one for each column"),
        ({"columns": ["age", "site"], "deltas": [[0.0]]}, "as many deltas"),
        ({"columns": ["age", "age"], "deltas": [[0.0], [0.0]]}, "in common"),
        ({"how": "divide"}, "how is 'divide'"),
        ({"training_rows": [True]}, "80 booleans"),
        ({"training_rows": [70]}, "no missing value in the training rows"),
        ({"threshold": 1.0}, "is for a regression"),
    ],
)
def test_bad_input_gets_one_sentence(frame, arguments, message):
    X, y, _, rows = frame
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    given = {"columns": "age", "deltas": [0.0, 1.0]} | arguments
    with pytest.raises(IpubError, match=message):
        clf.shift_grid(rows, **given)


def test_what_no_grid_starts_from_is_named(frame):
    X, y, _, rows = frame
    draws = BoundedClassifier(alpha=0.05, uncertainty=Draws(n_draws=9), random_state=0).fit(X, y)
    with pytest.raises(IpubError, match="filled-in table"):
        draws.shift_grid(rows, "age", [0.0])
    complete = BoundedClassifier(alpha=0.05).fit(X.dropna(), y[X.notna().all(axis=1)])
    with pytest.raises(IpubError, match="there is nothing to shift"):
        complete.shift_grid(rows, "age", [0.0])
    with pytest.raises(IpubError, match="Say threshold="):
        BoundedRegressor(alpha=0.05).fit(X, y.astype(float)).shift_grid(rows, "age", [0.0])


def test_sentences_say_how_far_each_column_alone_may_be_shifted():
    X, t, rows = table(0)
    clf = BoundedClassifier(alpha=0.5).fit(X, t > 0.0)
    far = rows[np.argsort(-np.abs(clf.decision_function(rows)))[:2]]
    grid = clf.shift_grid(far, [0, 1], [[-0.2, 0.0, 0.2], [-0.2, 0.0, 0.2]])
    assert grid.whole_cell.all()
    text = str(grid)
    assert "Those of column 0 alone may be shifted by -0.2 to +0.2 (proved)." in text
    assert "everywhere halfway" in text
    assert grid._repr_html_().startswith("<p>Missing values shifted")
