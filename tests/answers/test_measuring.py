"""Plans of what to measure, and sets that are enough: what they prove, compared with the models of fillings."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, Intervals
from ipub.answers.certain_counts import CertainCounts
from ipub.answers.measuring import greedy_order
from ipub.answers.open_rows import Lacks
from ipub.errors import IpubError


def table(seed=0, n=80, n_missing=6):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["site"] = rng.choice(["north", "south", "west"], size=n)
    y = (X["a"] - X["b"] + 0.5 * rng.normal(size=n)).to_numpy()
    # Many rows near the boundary, of which few can be open at once.
    T = pd.DataFrame(0.02 * rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    T["a"] += rng.uniform(-1.0, 1.0, size=60)
    T["site"] = "north"
    for column in ("a", "b", "c"):
        X.loc[rng.choice(n, n_missing, replace=False), column] = np.nan
    X.loc[rng.choice(n, 2, replace=False), "site"] = None
    return X, y, T


FITS = {
    "logistic": lambda X, y: BoundedClassifier(alpha=1.0, tol=1e-12).fit(X, y > 0.0),
    "strong": lambda X, y: BoundedClassifier(alpha=10.0, tol=1e-12).fit(X, y > 0.0),
    "squared hinge": lambda X, y: BoundedClassifier("squared_hinge", alpha=1.0, tol=1e-12).fit(X, y > 0.0),
    "three classes": lambda X, y: BoundedClassifier(alpha=0.3, tol=1e-12).fit(X, np.digitize(y, [-0.5, 0.5])),
}


def sides_of_fillings(predictions, known, rng, n_known=4, n_others=12):
    """Yield for drawn known values which rows have one class for some drawn fillings of the others."""
    missing, training = predictions.missing, predictions.training
    everything = np.ones(len(missing), dtype=bool)
    counts = [len(missing.levels_of(k)) for k in range(len(missing))]

    def drawn():
        ends = np.where(rng.random(len(missing)) < 0.7, rng.choice([-1.0, 1.0], len(missing)), 0.0)
        return np.array([rng.integers(count) if count else end for count, end in zip(counts, ends, strict=True)])

    for _ in range(n_known):
        fixed, classes = drawn(), []
        for _ in range(n_others):
            filling = np.where(known, fixed, drawn())
            models = missing.known(training, everything, filling)
            scores = predictions.centers @ np.stack([model.solution.w for model in models]).T
            classes.append(scores[:, 0] > predictions.threshold if len(models) == 1 else scores.argmax(axis=1))
        yield np.ptp(np.array(classes, dtype=int), axis=0) == 0


@pytest.mark.parametrize("name", FITS)
def test_so_many_predictions_are_certain_whatever_the_values_are(name):
    X, y, T = table()
    model = FITS[name](X, y)
    predictions, rng = model._predictions(T, None), np.random.default_rng(1)
    counts, n = CertainCounts.of(predictions), len(predictions.missing)
    assert counts.at_least(np.zeros(n, dtype=bool)) >= predictions.certain.sum()
    assert counts.at_least(np.ones(n, dtype=bool)) == len(T)
    order, before = rng.permutation(n), 0
    for end in (n // 2, n - 3, n - 1):
        known = np.isin(np.arange(n), order[:end])
        at_least = counts.at_least(known)
        assert before <= at_least
        before = at_least
        for is_one in sides_of_fillings(predictions, known, rng):
            assert is_one[predictions.certain].all()
            assert is_one.sum() >= at_least
    assert before > predictions.certain.sum() or name not in ("logistic", "strong")


def test_values_as_filled_in_prove_what_all_fillings_of_the_others_show():
    X, y, T = table(1)
    predictions, rng = FITS["logistic"](X, y)._predictions(T, None), np.random.default_rng(2)
    known = rng.random(len(predictions.missing)) < 0.6
    certain = predictions.certain_if_as_filled(known)
    assert certain > predictions.certain.sum()
    filled = predictions.missing.filled_in
    everything, classes = np.ones(len(known), dtype=bool), []
    for _ in range(30):
        levels = rng.integers(3, size=len(known) - predictions.missing.n_numbers)
        drawn = np.concatenate([rng.choice([-1.0, 1.0], predictions.missing.n_numbers), levels])
        (model,) = predictions.missing.known(predictions.training, everything, np.where(known, filled, drawn))
        classes.append(predictions.centers @ model.solution.w > 0.0)
    assert (np.ptp(np.array(classes, dtype=int), axis=0) == 0).sum() >= certain


def test_a_plan_lists_what_to_find_for_its_cost_in_the_library_of_the_table():
    X, y, T = table()
    model = FITS["logistic"](pl.from_pandas(X), y)
    plan = model.measurement_plan(pl.from_pandas(T), budget=5)
    assert isinstance(plan.cells, pl.DataFrame)
    assert plan.cells.columns == ["row", "column", "cost", "total_cost"]
    assert plan.cells["total_cost"].to_list() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert plan.curve["n_cells"].to_list() == [0, 1, 2, 3, 4, 5]
    assert "of 60 predictions are certain. With 5 of 20 missing values known" in repr(plan)
    whole = model.measurement_plan(pl.from_pandas(T))
    assert len(whole.cells) == 20
    assert whole.curve["certain_at_least"].to_list()[-1] == whole.curve["certain_if_as_filled"].to_list()[-1] == 60
    assert (whole.curve["certain_at_least"] <= whole.curve["certain_if_as_filled"]).all()
    by_cost = model.measurement_plan(pl.from_pandas(T), budget=4.5, cost={"a": 2.0, "b": 0.5})
    costs = {"a": 2.0, "b": 0.5, "c": 1.0, "site": 1.0}
    assert by_cost.cells["cost"].to_list() == [costs[column] for column in by_cost.cells["column"]]
    assert by_cost.cells["total_cost"].to_list()[-1] <= 4.5


@pytest.mark.parametrize("by", ["row", "column"])
def test_rows_and_columns_are_found_whole(by):
    X, y, T = table()
    plan = FITS["logistic"](X, y).measurement_plan(T, by=by)
    assert list(plan.cells.columns) == [by, "values", "cost", "total_cost"]
    counts = X.isna().sum(axis=1 if by == "row" else 0)
    assert plan.cells["values"].tolist() == [counts[name] for name in plan.cells[by]]
    assert plan.curve["n_cells"].iloc[-1] == 20
    costs = FITS["logistic"](X, y).measurement_plan(T, by=by, cost={"a": 3.0}).cells
    assert costs["cost"].sum() == 20 + 2 * 6


def test_rows_that_lack_little_come_first():
    lacks = Lacks(np.array([0.1, 10.0]), np.array([[0.2, 0.0, 0.0], [0.0, 5.0, 6.0]]))
    assert greedy_order(lacks, np.arange(3), np.ones(3)).tolist() == [0, 2, 1]
    assert greedy_order(lacks, np.arange(3), np.array([1.0, 1.0, 100.0])).tolist() == [0, 1, 2]
    assert greedy_order(lacks, np.array([0, 1, 1]), np.array([1.0, 0.1])).tolist() == [1, 0]


def test_known_values_of_a_budget_are_left_out_of_it():
    X, y, T = table()
    model = BoundedClassifier(alpha=0.3, uncertainty=Budget(cells=3)).fit(X, y > 0.0)
    curve = model.measurement_plan(T).curve
    assert curve["certain_if_as_filled"].iloc[-1] == 60
    assert curve["certain_if_as_filled"].is_monotonic_increasing
    # Values that turn out to be others are among those that may differ: the budget is what it was.
    assert set(curve["certain_at_least"]) == {curve["certain_if_as_filled"].iloc[0]} != {60}
    predictions = model._predictions(T, None)
    known = np.arange(20) < 15
    units = predictions.missing.units(model.training_)
    movable = model.training_.around.movable.without(units[known])
    assert movable.n_units == 5
    assert set(movable.rows) == set(predictions.missing.rows[~known])
    assert len(model.sufficient_cells(T)) <= 20


@pytest.mark.parametrize("loss", ["smoothed_hinge", "squared_hinge", "huber"])
def test_nothing_is_certain_where_one_filling_has_several_models(loss):
    """Two classes of equal size and a strong penalty: any intercept of an interval is best."""
    rng = np.random.default_rng(0)
    X, y, T = rng.normal(size=(8, 2)), np.repeat([10.0, -10.0], 4), rng.normal(size=(3, 2))
    kind = BoundedRegressor if loss == "huber" else BoundedClassifier
    filled = kind(loss, alpha=10.0).fit(X, y)
    low, high = (filled.predict_bounds(T) if loss == "huber" else filled.decision_bounds(T)).T
    is_open = (low < 0.0) & (high > 0.0)
    assert is_open.all() == (loss != "squared_hinge")
    X[0, 1] = np.nan
    given = {"threshold": 0.0} if loss == "huber" else {}
    plan = kind(loss, alpha=10.0).fit(X, y).measurement_plan(T, **given)
    assert plan.curve["certain_at_least"].iloc[-1] <= (~is_open).sum()
    assert (plan.curve["certain_if_as_filled"] >= plan.curve["certain_at_least"]).all()
    if is_open.any():
        with pytest.raises(IpubError, match="Even with all missing values"):
            kind(loss, alpha=10.0).fit(X, y).sufficient_cells(T, **given)


def test_a_regression_is_certain_on_one_side_of_a_threshold():
    X, y, T = table()
    model = BoundedRegressor(alpha=1.0).fit(X, y)
    plan = model.measurement_plan(T, budget=8, threshold=0.1)
    low, high = model.predict_bounds(T).T
    assert plan.curve["certain_at_least"].iloc[0] == ((low > 0.1) | (high < 0.1)).sum()
    with pytest.raises(IpubError, match="give a threshold"):
        model.measurement_plan(T)
    with pytest.raises(IpubError, match="for regressions"):
        FITS["logistic"](X, y).measurement_plan(T, threshold=0.5)


def test_sets_are_enough_and_smaller_where_less_is_asked():
    X, y, T = table()
    model = FITS["strong"](X, y)
    predictions = model._predictions(T, None)
    counts = CertainCounts.of(predictions)
    sizes = []
    for share in (1.0, 0.9, 0.8):
        found = model.sufficient_cells(T, share)
        assert list(found.columns) == ["row", "column"]
        places = set(zip(found["row"], found["column"], strict=True))
        labels = zip(predictions.missing.row_labels(), predictions.missing.column_labels(), strict=True)
        known = np.array([place in places for place in labels])
        assert known.sum() == len(found)
        assert counts.at_least(known) >= share * 60
        sizes.append(len(found))
        filled = model.sufficient_cells(T, share, values="filled_in")
        assert len(filled) <= len(found)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]
    certain = T[predictions.certain]
    assert len(model.sufficient_cells(certain)) == 0


def test_rows_with_missing_values_of_their_own_and_other_uncertainty_stay_open():
    X, y, T = table()
    T.loc[0, ["a", "b"]] = np.nan
    model = FITS["logistic"](X, y)
    n = len(model._predictions(T, None).missing)
    everything = np.ones(n, dtype=bool)
    is_open = not model._predictions(T, None).certain[0]
    assert is_open
    assert CertainCounts.of(model._predictions(T, None)).at_least(everything) == 59
    plan = model.measurement_plan(T)
    assert plan.n_own == 1
    assert plan.why_not_all == (
        f"With all {n} missing values known, 1 of 60 predictions may still change: "
        "1 row has missing values of its own, which the plan does not look up."
    )
    assert plan.why_not_all in repr(plan)
    assert not model.measurement_plan(T, 2).why_not_all
    assert not model.measurement_plan(T[1:]).why_not_all
    with pytest.raises(IpubError, match=r"only 59 of 60 .* share=0\.98"):
        model.sufficient_cells(T)
    for other in ({"max_label_errors": 1}, {"intervals": Intervals(precision={"a": 0.1})}):
        predictions = BoundedClassifier(alpha=1.0, **other).fit(X, y > 0.0)._predictions(T, None)
        assert CertainCounts.of(predictions).at_least(everything) == predictions.certain.sum()


def test_errors_say_what_to_do():
    X, y, T = table()
    model = FITS["logistic"](X, y)
    for arguments, message in (
        ({"by": "level"}, "'cell', 'row', 'column'"),
        ({"budget": 0}, "a positive number"),
        ({"cost": {"z": 1.0}}, "the column 'z'"),
        ({"cost": {"a": -1.0}}, "The cost of column 'a'"),
        ({"cost": 3.0}, "a mapping"),
    ):
        with pytest.raises(IpubError, match=message):
            model.measurement_plan(T, **arguments)
    with pytest.raises(IpubError, match="share is 2"):
        model.sufficient_cells(T, 2)
    with pytest.raises(IpubError, match="'any' or 'filled_in'"):
        model.sufficient_cells(T, values="all")
    with pytest.raises(IpubError, match="Draws promise"):
        BoundedClassifier(uncertainty=Draws(n_draws=3)).fit(X, y > 0.0).measurement_plan(T)
    with pytest.raises(IpubError, match="certificate='tight'"):
        BoundedClassifier(certificate=None).fit(X, y > 0.0).sufficient_cells(T)


def test_without_missing_values_everything_is_certain():
    X, y, T = table()
    model = BoundedClassifier().fit(X[["c"]].fillna(0.0), y > 0.0)
    plan = model.measurement_plan(T[["c"]])
    assert len(plan.cells) == 0
    assert plan.curve["certain_at_least"].tolist() == [60]
