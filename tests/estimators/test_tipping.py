"""`explain` and `tipping_points`: brackets by enumeration, fillings retrained, parts of the width, bad input."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedPipeline, BoundedRegressor, Budget, Draws, Intervals, IpubError, certify
from ipub.answers.tipping.of_tables import ColumnAlone

LOW, HIGH = -2.0, 2.0
RANGES = {0: (LOW, HIGH), 1: (LOW, HIGH)}


def tiny(seed, n=14, holes=4, m=6):
    """Return a tiny table, targets, and rows of which some are near the boundary."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 2))
    t = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n + m)
    X[rng.permutation(n)[:holes], rng.integers(0, 2, holes)] = np.nan
    return X[:n], t[:n], 0.6 * X[n:]


def fillings(X, base, which=None, values=(LOW, 0.6 * LOW, HIGH)):
    """Yield how many missing values differ from `base`, and the table, for all combinations of some values."""
    rows, columns = np.nonzero(np.isnan(X))
    which = np.arange(len(rows)) if which is None else which
    for chosen in itertools.product((None, *values), repeat=len(which)):
        table = base.copy()
        for k, value in zip(which, chosen, strict=True):
            table[rows[k], columns[k]] = table[rows[k], columns[k]] if value is None else value
        yield int((table != base).sum()), table


def least_to_change(X, base, predict_with, rows, before, values=(LOW, 0.6 * LOW, HIGH)):
    """Return for each row the least number of missing values that were seen to change it, by enumeration."""
    least = np.full(len(rows), np.inf)
    for count, table in fillings(X, base, values=values):
        changed = predict_with(table) != before
        least[changed] = np.minimum(least[changed], count)
    return least


@pytest.mark.parametrize("seed", range(3))
def test_brackets_of_two_classes_hold_the_truth_of_a_tiny_table(seed):
    X, t, rows = tiny(seed)
    y = (t > 0.0).astype(int)
    clf = BoundedClassifier(alpha=0.2, intervals=RANGES).fit(X, y)

    def predict_with(table):
        return LogisticRegression(C=1.0 / (0.2 * len(X)), tol=1e-10).fit(table, y).predict(rows)

    points = clf.tipping_points(rows)
    truth = least_to_change(X, np.nan_to_num(X), predict_with, rows, clf.predict(rows))
    at_least, at_most = points.rows["at_least"].to_numpy(), points.rows["at_most"].to_numpy()
    assert (at_least <= truth).all()
    assert (at_least <= at_most).all()
    assert points.n_missing == 4
    first = truth.min()
    assert points.share.proved <= (min(first, 5.0) - 1.0) / 4.0
    assert points.share.found <= 1.0
    expected = np.where(np.isinf(at_least), "certain", np.where(np.isinf(at_most), "unproved", "open"))
    assert points.rows["status"].tolist() == expected.tolist()
    for number, row in enumerate(rows):
        why = clf.explain(row)
        assert why.tipping.at_least <= truth[number]
        assert why.tipping.at_most == at_most[number]
        if np.isfinite(at_most[number]):
            assert len(why.changes) == at_most[number] == (why.filling != np.nan_to_num(X)).sum()
            assert predict_with(why.filling)[number] != why.prediction
            for row_of_table, column, filled_in, value in why.changes.itertuples(index=False):
                assert why.filling[row_of_table, column] == value
                assert filled_in == 0.0
            assert (why.filling[np.isnan(X)] >= LOW).all()
            observed = ~np.isnan(X)
            assert (why.filling[observed] == X[observed]).all()
        else:
            assert why.filling is None
            assert len(why.changes) == 0


def test_the_search_finds_the_least_changes_of_most_rows():
    found, least = [], []
    for seed in range(2):
        X, t, rows = tiny(seed, m=12)
        reg = BoundedRegressor(alpha=0.3, intervals=RANGES).fit(X, t)

        def predict_with(table, X=X, t=t, rows=rows):
            return Ridge(alpha=0.15 * len(X), tol=1e-12).fit(table, t).predict(rows) > 0.1

        points = reg.tipping_points(rows, threshold=0.1)
        found.append(points.rows["at_most"])
        least.append(least_to_change(X, np.nan_to_num(X), predict_with, rows, reg.predict(rows) > 0.1))
        assert (points.rows["at_least"] <= least[-1]).all()
    found, least = np.concatenate(found), np.concatenate(least)
    assert np.isfinite(least).sum() >= 5
    assert (found <= least).mean() >= 0.9


def test_columns_by_themselves_are_as_enumeration_says():
    X, t, rows = tiny(4, m=14)
    y = (t > 0.0).astype(int)
    clf = BoundedClassifier(alpha=0.2, intervals=RANGES).fit(X, y)
    points = clf.tipping_points(rows)
    columns, before = np.nonzero(np.isnan(X))[1], clf.predict(rows)
    for _, line in points.benchmarks.iterrows():
        which = np.flatnonzero(columns == line["column"])
        changed = np.zeros(len(rows), dtype=bool)
        for _, table in fillings(X, np.nan_to_num(X), which):
            changed |= LogisticRegression(C=1.0 / (0.2 * len(X)), tol=1e-10).fit(table, y).predict(rows) != before
        assert line["missing"] == len(which)
        assert line["certain"] <= (~changed).sum()
        assert line["open"] <= len(rows) - line["certain"]
    assert points.benchmarks["open"].sum() > 0
    assert "missing values of column 1: " in str(points)


def test_a_column_is_not_blamed_for_rows_that_their_own_missing_values_change():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0.0).astype(int)
    X[:2, 1] = np.nan
    rows = np.array([[2.0, 0.0], [-2.0, 0.0], [np.nan, 0.0], [np.nan, 1.0]])
    points = BoundedClassifier(alpha=0.1).fit(X, y).tipping_points(rows)
    assert points.n_own == 2
    assert points.benchmarks["certain"].tolist() == [2]
    assert points.benchmarks["open"].tolist() == [0]
    assert "2 rows are left out: missing values of their own change them." in points.sentences()
    assert points.columns[0].sentence(2) == "All 2 missing values of column 1: no change (proved)."


def test_a_sentence_of_a_column_says_what_happens_to_every_row():
    alone = ColumnAlone("age", 2, 5, 1)
    assert alone.sentence(8) == (
        "All 2 missing values of age: 5 of 8 rows stay (proved), 1 is known to change, 2 are unproved."
    )
    assert "5 of the 8 other rows stay (proved)" in alone.sentence(8, 3)


def test_of_three_classes_the_first_rival_that_wins_counts():
    X, t, rows = tiny(1, n=18, m=10, holes=3)
    y = np.digitize(t, [-0.4, 0.4])
    clf = BoundedClassifier(alpha=0.05, intervals=RANGES).fit(X, y)

    def predict_with(table):
        return BoundedClassifier(alpha=0.05, certificate=None, tol=1e-12).fit(table, y).predict(rows)

    points = clf.tipping_points(rows)
    truth = least_to_change(X, np.nan_to_num(X), predict_with, rows, clf.predict(rows), (LOW, HIGH))
    at_least, at_most = points.rows["at_least"], points.rows["at_most"]
    assert (at_least <= truth).all()
    assert np.isfinite(at_most).any()
    for number in np.flatnonzero(np.isfinite(at_most)):
        why = clf.explain(rows[number])
        assert why.status == "open"
        assert predict_with(why.filling)[number] != why.prediction
        assert why.bounds.shape == (3, 2)
    assert "probability of" in why.quantity


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 2)), columns=["age", "size"])
    table["site"] = rng.choice(["north", "south", "west"], size=90)
    y = table["age"] + (table["site"] == "north") + 0.5 * rng.normal(size=90) > 0.4
    table.loc[[3, 7, 20, 30], "age"] = np.nan
    table.loc[[7, 9], "size"] = np.nan
    table.loc[[1, 7, 12], "site"] = None
    table.index = [f"p{i}" for i in range(90)]
    rows = pd.DataFrame({"age": rng.normal(0.2, 0.3, 12), "size": 0.0, "site": ["north", "south", "west"] * 4})
    return table, y.to_numpy(), rows


@pytest.mark.parametrize(
    "fit", [{}, {"uncertainty": Budget(share=0.3, filling="mean")}, {"scale": "standard"}], ids=str
)
def test_fillings_are_tables_of_the_user_that_change_the_class(frame, fit):
    X, y, rows = frame
    clf = BoundedClassifier(alpha=0.03, **fit).fit(X, y)
    n_open = 0
    for _, row in rows.iterrows():
        why = clf.explain(row)
        if why.filling is None:
            continue
        n_open += 1
        options = {} if "scale" not in fit else {"scale": "standard"}
        again = BoundedClassifier(alpha=0.03, certificate=None, tol=1e-12, **options).fit(why.filling, y)
        if not options:  # a scaler is learnt from observed values alone
            assert again.predict(row.to_frame().T.infer_objects())[0] != why.prediction
        assert list(why.filling.columns) == list(X.columns)
        pd.testing.assert_frame_equal(why.filling[X.notna()], X[X.notna()], check_dtype=False)
        assert not why.filling.isna().any().any()
        assert set(why.changes["row"]) <= set(X.index)
        assert len(why.changes) == why.tipping.at_most
        for _, change in why.changes.iterrows():
            assert why.filling.loc[change["row"], change["column"]] == change["value"] != change["filled_in"]
        if "uncertainty" in fit:
            filled = X["age"].fillna(X["age"].mean())
            kept = ~X.index.isin(why.changes.loc[why.changes["column"] == "age", "row"])
            np.testing.assert_allclose(why.filling["age"][kept], filled[kept], rtol=1e-12)
    assert n_open >= 2


def test_a_row_that_its_own_missing_values_change_says_with_which(frame):
    X, y, rows = frame
    clf = BoundedClassifier(alpha=0.03).fit(X, y)
    row = pd.DataFrame({"age": [np.nan], "size": [0.0], "site": [None]}, index=["new"])
    why = clf.explain(row)
    assert why.row == "new"
    assert why.tipping == (0.0, 0.0)
    assert len(why.changes) == 0
    assert list(why.own_values["column"]) == ["age", "site"]
    filled = row.copy()
    for _, own in why.own_values.iterrows():
        filled.loc["new", own["column"]] = own["value"]
    base = BoundedClassifier(alpha=0.03, certificate=None, tol=1e-12).fit(why.filling, y)
    assert base.predict(filled)[0] != why.prediction
    number = pd.DataFrame({"age": [np.nan], "size": [0.0], "site": ["south"]})
    only = clf.explain(number)
    assert only.tipping == (0.0, 0.0)
    assert list(only.own_values["column"]) == ["age"]
    assert base.predict(number.assign(age=only.own_values["value"].to_numpy()))[0] != only.prediction
    table, own, both = why.parts
    assert (table.source, own.source, both.source) == ("training table", "row", "both")
    assert both.lower <= min(table.lower, own.lower)
    assert max(table.upper, own.upper) <= both.upper
    assert 0.0 < table.width < both.width
    assert 0.0 < own.width < both.width
    assert "missing values itself" in str(why)
    complete = clf.explain(rows.iloc[[0]])
    assert [part.width > 0.0 for part in complete.parts] == [True, False, True]


def test_bounds_and_status_are_those_of_the_estimator(frame):
    X, y, rows = frame
    clf = BoundedClassifier(alpha=0.1).fit(X, y)
    for number in range(6):
        row = rows.iloc[[number]]
        why = clf.explain(row)
        np.testing.assert_array_equal(why.bounds, clf.predict_proba_bounds(row)[0])
        assert why.status == clf.predict_status(row)[0]
        assert why.value == clf.predict_proba(row)[0, 1]
        assert why.prediction == clf.predict(row)[0]
        assert why.threshold == 0.5
        assert str(why).startswith(f"The probability of True is {round(why.value, 4):g}")
        assert (why.top_cells["lowest"] <= why.value).all()
        assert (why.value <= why.top_cells["highest"]).all()
    assert BoundedClassifier("squared_hinge", alpha=0.1).fit(X, y).explain(rows[:1]).quantity == "score of True"


def test_top_cells_are_those_that_move_a_prediction_most(frame):
    X, y, rows = frame
    reg = BoundedRegressor(alpha=0.1).fit(X, y.astype(float))
    row = rows[:1]
    top = reg.explain(row).top_cells
    assert len(top) == 9
    widths = (top["highest"] - top["lowest"]).to_numpy()
    assert (np.diff(widths) <= 0.0).all()
    base = X.fillna({"age": reg.hole_ranges_[0].mean(), "size": reg.hole_ranges_[1].mean(), "site": "south"})
    retrained = []
    for _, cell in top.iterrows():
        column = list(X.columns).index(cell["column"])
        values = ["north", "south", "west"] if column == 2 else reg.hole_ranges_[column]
        found = []
        for value in values:
            table = base.copy()
            table.loc[cell["row"], cell["column"]] = value
            found.append(BoundedRegressor(alpha=0.1, certificate=None).fit(table, y.astype(float)).predict(row)[0])
        retrained.append(np.ptp(found))
    assert np.corrcoef(widths, retrained)[0, 1] > 0.9


def test_intervals_may_grow_by_what_is_proved(frame):
    X, y, rows = frame
    ranges = {"age": (-1.0, 1.0), "size": (-1.0, 1.0)}
    clf = BoundedClassifier(alpha=0.2, intervals=ranges).fit(X, y)
    certain = [why for why in (clf.explain(rows.iloc[[k]]) for k in range(12)) if why.status == "certain"]
    grown = [why.growth for why in certain]
    assert all(1.0 <= each.proved <= each.found for each in grown)
    assert max(each.proved for each in grown) > 1.0
    for why, each in zip(certain, grown, strict=True):
        wider = dict.fromkeys(ranges, (-each.proved, each.proved))
        status = BoundedClassifier(alpha=0.2, intervals=wider).fit(X, y).predict_set(rows.iloc[[why.row]])
        assert status.sum() == 1
        assert "wide" in str(why)
    is_open = next(why for why in (clf.explain(rows.iloc[[k]]) for k in range(12)) if why.status != "certain")
    assert is_open.growth is None
    budget = BoundedClassifier(alpha=0.2, intervals=ranges, uncertainty=Budget(cells=1)).fit(X, y)
    assert budget.explain(rows.iloc[[certain[0].row]]).growth.proved >= 1.0


def test_models_of_scikit_learn_start_from_what_their_imputer_fills_in():
    X, t, rows = tiny(2, n=40, holes=8)
    y = (t > 0.0).astype(int)
    pipe = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.2, tol=1e-10)).fit(X, y)
    certified = certify(pipe, X, y, uncertainty=Budget(share=1.0))
    n_open = 0
    for row in rows:
        why = certified.explain(row)
        if why.filling is not None:
            n_open += 1
            scaler = pipe[1].transform(why.filling)
            again = LogisticRegression(C=0.2, tol=1e-10).fit(scaler, y)
            assert again.predict(pipe[1].transform(row[None]))[0] != why.prediction
            unchanged = np.isnan(X) & ~np.isin(np.arange(40), why.changes["row"])[:, None]
            np.testing.assert_allclose(why.filling[unchanged], pipe[0].transform(X)[unchanged])
    assert n_open
    assert certify(pipe, X, y).tipping_points(rows).n_missing == 8


def test_frames_are_of_the_library_of_the_training_table(frame):
    X, y, rows = frame
    clf = BoundedClassifier(alpha=0.03).fit(pl.from_pandas(X), y)
    asked = pl.from_pandas(rows)
    why = next(each for each in (clf.explain(asked[k]) for k in range(12)) if each.filling is not None)
    for found in (why.changes, why.filling, why.top_cells, why.own_values):
        assert isinstance(found, pl.DataFrame)
    assert why.filling.null_count().sum_horizontal()[0] == 0
    points = clf.tipping_points(asked)
    assert isinstance(points.rows, pl.DataFrame)
    assert isinstance(points.benchmarks, pl.DataFrame)
    assert "missing values" in str(points)


def test_hostile_names_are_text():
    X, t, _ = tiny(0)
    X = pd.DataFrame(X, columns=["<script>alert(1)</script>", "b&b"])
    clf = BoundedClassifier(alpha=0.2).fit(X, np.where(t > 0.0, "<b>yes</b>", "no"))
    why = clf.explain(X.iloc[0] * 0.0)
    for html in (why._repr_html_(), clf.tipping_points(X)._repr_html_()):
        assert "<script>" not in html
        assert "<b>yes" not in html
        assert "&lt;" in html


def test_without_missing_values_nothing_can_change():
    X, t, rows = tiny(0, holes=0)
    clf = BoundedClassifier(alpha=0.2).fit(X, t > 0.0)
    points = clf.tipping_points(rows)
    assert points.share == (1.0, 1.0)
    assert points.n_missing == 0
    assert np.isinf(points.rows["at_least"]).all()
    assert "No value is missing" in str(points)
    why = clf.explain(rows[0])
    assert why.status == "certain"
    assert why.growth is None
    assert len(why.top_cells) == 0


def test_draws_and_uncertain_labels_have_bounds_and_no_count():
    X, t, rows = tiny(0)
    y = (t > 0.0).astype(object)
    draws = BoundedClassifier(alpha=0.2, uncertainty=Draws(n_draws=9), random_state=0).fit(X, t > 0.0)
    y[3] = None
    labels = BoundedClassifier(alpha=0.2, unknown_labels=True).fit(X, y)
    for clf, reason in (draws, "Under Draws nothing is counted"), (labels, "unknown_labels"):
        why = clf.explain(rows[0])
        np.testing.assert_array_equal(why.bounds, clf.predict_proba_bounds(rows[:1])[0])
        assert why.tipping is None
        assert reason in str(why)
        with pytest.raises(IpubError, match=reason):
            clf.tipping_points(rows)


def test_observed_values_with_a_precision_are_no_missing_values():
    X, t, rows = tiny(0)
    clf = BoundedClassifier(alpha=0.2, intervals=Intervals(RANGES, precision=0.05)).fit(X, t > 0.0)
    assert clf.tipping_points(rows).n_missing == 4
    changed = [len(clf.explain(row).changes) for row in rows]
    assert 0 < max(changed) <= 4


def test_an_answer_does_not_depend_on_what_was_asked_before():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=80) > 0.0
    X[rng.random(X.shape) < 0.15] = np.nan
    rows = 0.7 * rng.normal(size=(8, 3))
    model = BoundedClassifier(alpha=0.05)
    points = model.fit(X, y).tipping_points(rows).rows["at_least"].tolist()
    once = [model.fit(X, y).explain(row).tipping.at_least for row in rows]
    again = [[model.explain(row).tipping.at_least for row in rows[::-1]][::-1] for _ in range(2)]
    assert once == again[0] == again[1]
    # `explain` also proves a class as `predict_status` does.
    assert all(number in (point, np.inf) for number, point in zip(once, points, strict=True))
    assert len(set(once)) > 2
    assert 0.0 not in once


def test_pipelines_pass_questions_on():
    X, t, rows = tiny(0)
    pipe = BoundedPipeline([("scale", StandardScaler()), ("model", BoundedClassifier(alpha=0.2))]).fit(X, t > 0.0)
    assert pipe.explain(rows[:1]).status in ("certain", "open", "unproved")
    assert pipe.tipping_points(rows).n_missing == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0, 1.0], [1.0, 0.0]],), "explain takes one row, and this has 2"),
        ((3,), r"give a row, such as X\[\[3\]\] or X.iloc"),
        (([0.0, 1.0], 0.5), "threshold=0.5 is for a regression"),
    ],
)
def test_bad_input_of_explain_gets_one_sentence(arguments, message):
    X, t, _ = tiny(0)
    clf = BoundedClassifier(alpha=0.2).fit(X, t > 0.0)
    row, *threshold = arguments
    with pytest.raises(IpubError, match=message):
        clf.explain(row, threshold=threshold[0] if threshold else None)


def test_what_is_missing_for_an_answer_is_named():
    X, t, rows = tiny(0)
    clf = BoundedClassifier(alpha=0.2).fit(X, t > 0.0)
    loaded = pickle.loads(pickle.dumps(clf))
    with pytest.raises(IpubError, match="needs the training table in memory"):
        loaded.explain(rows[0])
    reg = BoundedRegressor(alpha=0.2).fit(X, t)
    with pytest.raises(IpubError, match="Say threshold="):
        reg.tipping_points(rows)
    with pytest.raises(IpubError, match="finite number"):
        reg.tipping_points(rows, threshold=np.nan)
    without = reg.explain(rows[0])
    assert without.status is None
    assert without.tipping is None
    assert str(without).startswith("The prediction is")
    with_threshold = reg.explain(rows[0], threshold=50.0)
    assert with_threshold.status == "certain"
    assert "Its side of 50 never changes" in str(with_threshold)
    none = BoundedClassifier(alpha=0.2, certificate=None).fit(X, t > 0.0)
    with pytest.raises(IpubError, match="certificate=None"):
        none.explain(rows[0])
