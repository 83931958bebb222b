"""`top`: the places of rows over all fillings, by retraining and by enumeration; bad input gets one sentence."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IpubError, certify, load, save

TIE = 1e-9


def table(seed, n=40, d=3, holes=5, m=14):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, d))
    t = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n + m)
    X[rng.choice(n, holes, replace=False), rng.integers(0, d, holes)] = np.nan
    return X[:n], t[:n], X[n:]


def ways(X, ranges, steps):
    """Yield the table with its holes at some places of their intervals, in all combinations."""
    rows, columns = np.nonzero(np.isnan(X))
    for places in itertools.product(np.linspace(0.0, 1.0, steps), repeat=len(rows)):
        filled = X.copy()
        filled[rows, columns] = ranges[columns, 0] + np.array(places) * np.ptp(ranges[columns], axis=1)
        yield filled


def places(scores):
    """Return the first and the last place of each row; equal scores may be in either order."""
    difference = scores[:, None] - scores[None, :]
    return 1 + (difference < -TIE).sum(axis=1), len(scores) - (difference > TIE).sum(axis=1)


def assert_hold(top, all_scores):
    frame = top.rows.sort_values("row")
    best, worst, state = (frame[name].to_numpy() for name in ("best_rank", "worst_rank", "state"))
    assert len(all_scores)
    for scores in all_scores:
        first, last = places(scores)
        assert (best <= last).all()
        assert (first <= worst).all()
        assert (first[state == "in"] <= top.k).all()
        assert (last[state == "out"] > top.k).all()
        assert (scores[:, None] - scores[None, :] > -TIE)[top.above].all()


@pytest.mark.parametrize("seed", range(4))
def test_places_under_every_filling_of_a_tiny_table_are_within_their_bounds(seed):
    X, y, rows = table(seed, n=20, holes=5)
    reg = BoundedRegressor(alpha=0.3).fit(X, y)
    models = [Ridge(alpha=0.15 * len(X)).fit(filled, y) for filled in ways(X, reg.hole_ranges_, 3)]
    top = reg.top(rows, 5)
    assert_hold(top, [model.predict(rows) for model in models])
    bounds = reg.predict_bounds(rows)
    alone = bounds[:, None, 0] > bounds[None, :, 1]
    assert (top.above >= alone).all()
    assert top.above.sum() > alone.sum()


@pytest.mark.parametrize("seed", range(4))
def test_rows_with_missing_values_of_their_own_take_any_of_them(seed):
    rng = np.random.default_rng(seed)
    X, t, rows = table(seed, n=20, holes=2, m=7)
    letters = np.array(["a", "b", "c"], dtype=object)
    frame = pd.DataFrame(X, columns=["p", "q", "r"]).assign(kind=rng.choice(letters, len(X)))
    frame["z"] = t + 2.0 * (frame["kind"] == "c")
    new = pd.DataFrame(rows, columns=["p", "q", "r"]).assign(kind=rng.choice(letters, len(rows)))
    new.loc[[0, 1], "kind"] = None
    new.loc[[1, 2], "p"] = np.nan
    target, frame = frame["z"], frame.drop(columns="z")
    reg = BoundedRegressor(alpha=0.1).fit(frame, target)
    top = reg.top(new, 3)
    at = ["p", "q", "r"]
    scores = []
    for filled in ways(frame[at].to_numpy(), reg.hole_ranges_, 2):
        other = BoundedRegressor(alpha=0.1, certificate=None).fit(
            frame.assign(**dict(zip(at, filled.T, strict=True))), target
        )
        for kinds in itertools.product(letters, repeat=2):
            for p in itertools.product(reg.hole_ranges_[0], repeat=2):
                one = new.copy()
                one.loc[[0, 1], "kind"] = kinds
                one.loc[[1, 2], "p"] = p
                scores.append(other.predict(one))
    assert_hold(top, scores)
    assert top.above.any()


@pytest.mark.parametrize("label", [None, False])
def test_retrained_classifiers_select_what_is_certain(label):
    X, t, rows = table(7, holes=7)
    clf = BoundedClassifier(alpha=0.02).fit(X, t > 0.0)
    top = clf.top(rows, 4, label=label)
    sign = 1.0 if label is None else -1.0
    models = [
        LogisticRegression(C=1.0 / (0.02 * len(X)), tol=1e-10, max_iter=1000).fit(filled, t > 0.0)
        for filled in ways(X, clf.hole_ranges_, 2)
    ]
    assert_hold(top, [sign * model.decision_function(rows) for model in models])
    other = clf.top(rows, 10, label=label is not None)  # the same cut, from the other side
    assert np.array_equal(other.above, top.above.T)
    shown = top.rows.sort_values("row")["probability"]
    assert np.allclose(shown, clf.predict_proba(rows)[:, 1 if label is None else 0])
    assert set(top.rows["state"]) == {"in", "out", "open"}


def test_of_three_classes_the_one_is_named():
    X, t, rows = table(3)
    y = np.digitize(t, [-0.5, 0.5])
    clf = BoundedClassifier(alpha=0.1).fit(X, y)
    with pytest.raises(IpubError, match="label=None is no class of the model: use one of 0, 1, 2"):
        clf.top(rows, 2)
    top = clf.top(rows, 2, label=2)
    assert np.allclose(top.rows.sort_values("row")["score"], clf.decision_function(rows)[:, 2])
    again = [
        BoundedClassifier(alpha=0.1, certificate=None).fit(filled, y).decision_function(rows)[:, 2]
        for filled in ways(X, clf.hole_ranges_, 2)
    ]
    assert_hold(top, again)


def test_equal_rows_at_the_cut_are_open_and_all_rows_are_in_if_more_are_asked_for():
    X, y, rows = table(0)
    reg = BoundedRegressor(alpha=0.2).fit(np.nan_to_num(X), y)
    twice = np.repeat(rows, 2, axis=0)
    top = reg.top(twice, 3)
    assert (top.states == "in").sum() == 2
    assert (top.states == "open").sum() == 2
    assert (reg.top(rows, 14).states == "in").all()
    assert (reg.top(rows, 100).states == "in").all()


def test_promises_are_those_of_the_model(tmp_path):
    X, t, rows = table(2, holes=12)
    y = t > 0.0
    worst = BoundedClassifier(alpha=0.05).fit(X, y)
    budget = BoundedClassifier(alpha=0.05, uncertainty=Budget(cells=1)).fit(X, y)
    draws = BoundedClassifier(alpha=0.05, uncertainty=Draws(n_draws=19), random_state=0).fit(X, y)
    n_open = [(each.top(rows, 5).states == "open").sum() for each in (worst, budget, draws)]
    assert max(n_open[1:]) <= n_open[0]
    assert "at most 1 of the 12 missing values" in budget.top(rows, 5).promise
    found = draws.top(rows, 5)
    assert found.promise.startswith("With probability 90 %")
    (certificate,) = draws.training_.certificates
    of_draws = np.column_stack([rows, np.ones(len(rows))]) @ certificate.parts[0].weights.T
    assert_hold(found, list(of_draws.T))
    save(worst, tmp_path / "model.ipub", rows=False)
    assert (load(tmp_path / "model.ipub").top(rows, 5).states != "open").any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = certify(LogisticRegression().fit(np.nan_to_num(X), y), X, y)
    assert len(model.top(rows, 5).rows) == len(rows)


def test_frames_are_of_the_library_of_the_rows():
    X, y, rows = table(0)
    reg = BoundedRegressor(alpha=0.2).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"], index=[f"row {k}" for k in range(len(rows))])
    top = reg.top(frame, 3)
    assert top.rows["row"].iloc[0] == f"row {np.argmax(reg.predict(frame))}"
    assert list(reg.top(pl.from_pandas(frame), 3).rows.columns) == list(top.rows.columns)
    assert repr(top).startswith("The first 3 of 14 rows: ")


@pytest.mark.parametrize(
    ("k", "label", "sentence"),
    [
        (0, None, "k is 0: give a whole number of rows, at least 1"),
        (2.5, None, "k is 2.5"),
        (True, None, "k is True"),
        (2, "x", "label='x' names a class, and this is a regression"),
    ],
)
def test_bad_input_gets_one_sentence(k, label, sentence):
    X, y, rows = table(0)
    with pytest.raises(IpubError, match=sentence):
        BoundedRegressor().fit(X, y).top(rows, k, label=label)


def test_a_model_that_was_only_trained_has_no_certain_places():
    X, y, rows = table(0)
    with pytest.raises(IpubError, match="certificate=None"):
        BoundedRegressor(certificate=None).fit(X, y).top(rows, 2)
