"""The parameter `uncertainty`: budgets and draws in everything that a fitted estimator does."""

import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ipub import (
    BoundedClassifier,
    BoundedRegressor,
    Budget,
    Draws,
    IntervalMatrix,
    Intervals,
    IntervalWarning,
    IpubError,
    certify,
    imputation_report,
    penalty_path,
)
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.budget_bounds import BudgetBounds
from ipub.answers.tipping.filled_in import FilledIn
from ipub.app.files.modelfile import load, save

RNG = np.random.default_rng(5)
N, D = 80, 3


def table(holes=0.08, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    y = (X[:, 0] - 0.5 * X[:, 1] > 0.3 * rng.normal(size=N)).astype(int)
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def frame(seed=0):
    X, y = table(seed=seed)
    rng = np.random.default_rng(seed + 1)
    site = pd.Series(rng.choice(["a", "b", "c"], size=N))
    site[rng.random(N) < 0.05] = None
    return pd.DataFrame({"size": X[:, 0], "age": X[:, 1], "site": site}), y


T = np.random.default_rng(9).normal(size=(12, D))
KINDS = {
    "budget": Budget(cells=2),
    "share": Budget(share=0.4, filling="mean"),
    "wrong cells": Budget(cells=1, wrong_cells=1, precision=0.3),
    "draws": Draws(n_draws=5, random_state=0),
}
each_kind = pytest.mark.parametrize("uncertainty", KINDS.values(), ids=list(KINDS))


def scores_of(X, y, alpha, rows, kind=BoundedClassifier, **options):
    model = kind(alpha=alpha, tol=1e-12, certificate=None, **options).fit(X, y)
    return model.decision_function(rows) if kind is BoundedClassifier else model.predict(rows)


@pytest.mark.parametrize("kind", [BoundedClassifier, BoundedRegressor])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_every_table_within_a_budget_is_within_its_bounds(kind, scale):
    X, y = table()
    model = kind(alpha=0.1, scale=scale, uncertainty=Budget(cells=2, wrong_cells=1, precision=0.4)).fit(X, y)
    method = model.decision_bounds if kind is BoundedClassifier else model.predict_bounds
    bounds, holes, observed = method(T), np.argwhere(np.isnan(X)), np.argwhere(~np.isnan(X))
    ranges, filled = model.hole_ranges_, np.where(np.isnan(X), model.hole_ranges_.mean(axis=1), X)
    rng = np.random.default_rng(3)
    scaled = (lambda Z: Z) if model.scaling_ is None else model.scaling_.rows
    for _ in range(60):
        other = filled.copy()
        for i, j in rng.permutation(holes)[:2]:
            other[i, j] = rng.choice([*ranges[j], rng.uniform(*ranges[j])])
        i, j = rng.permutation(observed)[0]
        other[i, j] += rng.choice([-0.4, 0.4])
        found = scores_of(scaled(other), y, 0.1, scaled(T), kind)
        assert (bounds[:, 0] <= found + 1e-9).all()
        assert (found <= bounds[:, 1] + 1e-9).all()


def test_every_level_of_few_missing_categories_is_within_the_bounds():
    X, y = frame()
    model = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=1)).fit(X, y)
    rows = X.dropna().head(10)
    bounds, ranges = model.decision_bounds(rows), model.hole_ranges_
    filled = X.fillna({"size": ranges[0].mean(), "age": ranges[1].mean(), "site": X["site"].mode()[0]})
    assert np.allclose(model.decision_function(rows), scores_of(filled, y, 0.1, rows), atol=1e-7)
    tables = [filled]
    for i in np.flatnonzero(X["site"].isna()):
        tables += [filled.assign(site=filled["site"].where(filled.index != i, level)) for level in "abc"]
    for column, j in (("size", 0), ("age", 1)):
        for i in np.flatnonzero(X[column].isna()):
            tables += [filled.assign(**{column: filled[column].where(filled.index != i, end)}) for end in ranges[j]]
    for other in tables:
        found = scores_of(other, y, 0.1, rows)
        assert (bounds[:, 0] <= found + 1e-9).all()
        assert (found <= bounds[:, 1] + 1e-9).all()


def test_one_wrong_category_or_number_of_a_frame_is_within_the_bounds():
    X, y = frame()
    model = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=0, wrong_cells=1, precision={"age": 0.4})).fit(X, y)
    rows = X.dropna().head(10)
    bounds, ranges = model.decision_bounds(rows), model.hole_ranges_
    filled = X.fillna({"size": ranges[0].mean(), "age": ranges[1].mean(), "site": X["site"].mode()[0]})
    for i in range(0, N, 3):
        tables = [filled.assign(age=filled["age"] + off * (filled.index == i)) for off in (-0.4, 0.4)]
        if X["site"].notna()[i]:
            tables += [filled.assign(site=filled["site"].where(filled.index != i, level)) for level in "abc"]
        for other in tables if X["age"].notna()[i] else tables[2:]:
            found = scores_of(other, y, 0.1, rows)
            assert (bounds[:, 0] <= found + 1e-9).all()
            assert (found <= bounds[:, 1] + 1e-9).all()


# Row sums, which a weak penalty needs, choose multipliers in steps: rounding sways their bounds a little.
@pytest.mark.parametrize(("alpha", "slack"), [(1.0, 1e-9), (0.2, 1e-3)], ids=["slopes", "row sums"])
def test_a_larger_budget_is_wider_and_all_holes_are_at_most_any_filling(alpha, slack):
    X, y = table()
    worst = BoundedClassifier(alpha=alpha).fit(X, y).decision_bounds(T)
    widths = [
        np.ptp(BoundedClassifier(alpha=alpha, uncertainty=Budget(cells=k)).fit(X, y).decision_bounds(T), axis=1)
        for k in (0, 1, 3, 10**6)
    ]
    for narrow, wide in itertools.pairwise(widths):
        assert (narrow <= wide + 1e-9).all()
    assert widths[0].max() < 1e-5
    assert (widths[-1] <= np.ptp(worst, axis=1) * (1 + slack)).all()


def test_no_budget_of_many_missing_values_is_wider_than_any_filling():
    """Of three classes, each with a model of its own, and few rows: budgets alone would be wider."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 3
    X[np.arange(60), y] += 1.5
    X.ravel()[rng.permutation(X.size)[:12]] = np.nan
    rows = rng.normal(size=(20, 6))
    worst = np.ptp(BoundedClassifier(alpha=0.03).fit(X, y).decision_bounds(rows), axis=2)
    for k in (1, 2, 3, 5, 8, 12):
        bounds = BoundedClassifier(alpha=0.03, uncertainty=Budget(cells=k)).fit(X, y).decision_bounds(rows)
        assert (np.ptp(bounds, axis=2) <= worst * (1.0 + 1e-9)).all(), k


@pytest.mark.parametrize("seed", range(6))
def test_bounds_that_any_filling_narrows_hold_for_every_table_of_the_budget(seed):
    """Half of four missing values differ: all pairs of them at their ends, and inside."""
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(9, 2)), rng.normal(size=(5, 2))
    y = (X.sum(axis=1) + rng.normal(size=9) > 0.0).astype(int)
    y[:2] = 0, 1
    holes = [divmod(int(k), 2) for k in rng.permutation(18)[:4]]
    for i, j in holes:
        X[i, j] = np.nan
    ranges = np.array([(-1.5, 2.0), (-2.0, 1.0)])
    model = BoundedClassifier(alpha=0.1, intervals=ranges, uncertainty=Budget(cells=2)).fit(X, y)
    low, high = model.decision_bounds(rows).T
    filled = np.where(np.isnan(X), ranges.mean(axis=1), X)
    for chosen in itertools.combinations(holes, 2):
        for values in itertools.product(*(np.linspace(*ranges[j], 5) for _, j in chosen)):
            other = filled.copy()
            for (i, j), value in zip(chosen, values, strict=True):
                other[i, j] = value
            found = scores_of(other, y, 0.1, rows)
            assert (low <= found + 1e-9).all()
            assert (found <= high + 1e-9).all()


@pytest.mark.parametrize("filling", ["middle", "mean", "median", SimpleImputer(), "table"])
def test_the_model_is_that_of_the_filled_in_table(filling):
    X, y = table()
    given = filling
    means = np.nanmean(X, axis=0)
    if filling == "table":
        given = np.where(np.isnan(X), means, X)
    model = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=1, filling=given)).fit(X, y)
    expected = {"middle": model.hole_ranges_.mean(axis=1), "median": np.nanmedian(X, axis=0)}
    values = expected.get(filling, means) if isinstance(filling, str) else means
    assert np.allclose(model.decision_function(T), scores_of(np.where(np.isnan(X), values, X), y, 0.1, T), atol=1e-7)


@each_kind
def test_a_fitted_model_does_everything(uncertainty, tmp_path):
    X, y = table()
    model = BoundedClassifier(alpha=0.1, uncertainty=uncertainty).fit(X, y)
    bounds, scores = model.decision_bounds(T), model.decision_function(T)
    assert ((bounds[:, 0] <= scores) & (scores <= bounds[:, 1])).all()
    assert model.predict_set(T).shape == (12, 2)
    assert model.predict_proba_bounds(T).shape == (12, 2)
    coef = model.coef_[0]
    assert ((model.coef_bounds_[:, 0] <= coef) & (coef <= model.coef_bounds_[:, 1])).all()
    holed, filled = T.copy(), T.copy()
    holed[:, 1], filled[:, 1] = np.nan, 0.3 * model.hole_ranges_[1, 0] + 0.7 * model.hole_ranges_[1, 1]
    outer, inner = model.decision_bounds(holed), model.decision_bounds(filled)
    assert ((outer[:, 0] <= inner[:, 0] + 1e-9) & (inner[:, 1] <= outer[:, 1] + 1e-9)).all()
    save(model, tmp_path / "model.ipub", rows=False)
    for copied in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.ipub")):
        again = copied.decision_bounds(T)
        assert ((again[:, 0] <= scores) & (scores <= again[:, 1])).all()
        assert copied.certificate_.promise == model.certificate_.promise
        assert type(copied.uncertainty) is type(uncertainty)
    save(model, tmp_path / "rows.ipub")
    assert np.array_equal(load(tmp_path / "rows.ipub").decision_bounds(T), bounds)
    assert np.array_equal(clone(model).fit(X, y).decision_bounds(T), bounds)


def test_the_sentence_says_always_or_with_which_probability():
    X, y = table()
    promises = {
        name: BoundedClassifier(alpha=1.0, uncertainty=kind).fit(X, y).certificate_.promise
        for name, kind in {"worst": "worst", **KINDS}.items()
    }
    assert len(set(promises.values())) == len(promises)
    for name in ("worst", "budget", "share", "wrong cells"):
        assert promises[name].startswith("Always: the bounds hold for every")
    assert promises["draws"].startswith("With probability 93.2 %")
    assert "score is within its bounds with probability 66.6666 %" in promises["draws"]
    assert "at most 2 of the" in promises["budget"]
    assert "at most 1 of the observed cells" in promises["wrong cells"]


def test_a_probability_in_a_sentence_is_never_more_than_is_proved():
    assert Draws(n_draws=10**8).promise.startswith("With probability 99.9999 %")


def test_the_sentence_of_a_path_holds_for_every_alpha():
    X, y = table()
    path = penalty_path(BoundedClassifier(uncertainty=Budget(cells=3)), X, y, T, alphas=[1e-6, 1.0])
    promises = [estimator.certificate_.promise for estimator in path.estimators]
    assert len(set(promises)) == 2
    assert "at most 3 of the" in path.promise


def test_what_cannot_be_certified_falls_back_to_any_filling_and_says_so():
    X, y = table()
    model = BoundedClassifier("hinge", alpha=0.5, uncertainty=Budget(cells=1)).fit(X, y)
    worst = BoundedClassifier("hinge", alpha=0.5).fit(X, y)
    assert np.allclose(model.decision_bounds(T), worst.decision_bounds(T), rtol=1e-3, atol=1e-4)
    assert (
        "'hinge' has a kink; take one without, as 'smoothed_hinge'. The bounds are those of any filling"
        in model.certificate_.note
    )
    assert "every filling" in model.certificate_.promise
    wrong = BoundedClassifier("hinge", alpha=0.5, uncertainty=Budget(cells=1, wrong_cells=1, precision=0.1)).fit(X, y)
    assert (np.ptp(wrong.decision_bounds(T), axis=1) > np.ptp(worst.decision_bounds(T), axis=1)).all()
    assert "all cells" in wrong.certificate_.note


def test_a_note_says_why_no_budget_was_proved_and_what_to_do(monkeypatch):
    X, y = table()
    weak = BoundedClassifier(alpha=1e-9, uncertainty=Budget(share=0.9)).fit(X, y)
    assert "a smaller budget or a larger alpha may help. The bounds are" in weak.certificate_.note
    assert "any filling" in weak.certificate_.note
    monkeypatch.setattr("ipub.certificates.row_sums.table.MOST_ROWS", len(X) - 1)
    long = BoundedClassifier(alpha=0.5, uncertainty=Budget(cells=1)).fit(X, y)
    assert re.search(rf"{N} rows and {D + 1} columns are too many; take at most .* rows", long.certificate_.note)
    monkeypatch.setattr("ipub.certificates.row_sums.bounds.kernel_type", lambda: None)
    plain = BoundedClassifier(alpha=0.5, uncertainty=Budget(cells=1)).fit(X, y)
    assert "without its compiled loops" in plain.certificate_.note


def test_no_filling_and_no_imputer_is_in_a_file_or_a_pickle(tmp_path):
    X, y = table()
    filled = np.where(np.isnan(X), 0.25, X)
    model = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=1, filling=filled)).fit(X, y)
    save(model, tmp_path / "model.ipub", rows=False)
    for copied in (load(tmp_path / "model.ipub"), pickle.loads(pickle.dumps(model))):
        assert copied.uncertainty.filling == "given"
        copied.decision_bounds(T)
        with pytest.raises(IpubError, match="filling is 'given'"):
            copied.fit(X, y)
    imputer = IterativeImputer(sample_posterior=True, min_value=-2.0, max_value=2.0, max_iter=2)
    options = {"alpha": 0.1, "intervals": "observed"}
    model = BoundedClassifier(**options, uncertainty=Draws(imputer, n_draws=2, clip=True)).fit(X, y)
    save(model, tmp_path / "model.ipub", rows=False)
    loaded = load(tmp_path / "model.ipub")
    assert loaded.uncertainty.imputer == "IterativeImputer"
    with pytest.raises(IpubError, match="imputer='IterativeImputer' is not known"):
        loaded.fit(X, y)


def test_a_changed_object_is_noticed_and_an_equal_one_is_not():
    X, y = table()
    model = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=1)).fit(X, y)
    model.uncertainty = Budget(cells=1)
    model.decision_bounds(T)
    model.uncertainty = Budget(cells=2)
    with pytest.raises(ValueError, match="uncertainty was Budget"):
        model.decision_bounds(T)


@pytest.mark.parametrize(
    ("uncertainty", "message"),
    [
        (Budget(), "limits nothing"),
        (Budget(cells=1, share=0.1), "both cells and share"),
        (Budget(cells=-1), "cells is -1"),
        (Budget("0.05"), "cells is '0.05'.*did you mean share=0.05"),
        (Budget(0.05), "did you mean share=0.05"),
        (Budget(share=5), "did you mean cells=5"),
        (Budget(cells=True), "cells is True"),
        (Budget(share=5), "share is 5"),
        (Budget(wrong_cells=-1), "wrong_cells is -1"),
        (Budget(cells=1, precision=1.0), "give wrong_cells as well"),
        (Budget(wrong_cells=1, precision=-1.0), "precision has -1.0"),
        (Budget(wrong_cells=1, precision={7: 1.0}), "precision names column 7|7"),
        (Budget(cells=1, filling="zero"), "filling is 'zero'"),
        (Budget(cells=1, filling=SimpleImputer), "is the class SimpleImputer"),
        (Budget(cells=1, filling=np.zeros((3, 3))), "shape"),
        (Budget(cells=1, filling=np.zeros((N, D))), "changes column 0 in row 0"),
        (Budget(cells=1, filling=np.where(np.isnan(table()[0]), 99.0, table()[0])), "99 for column . in row"),
        (Budget(cells=1, filling=table()[0]), "leaves nan"),
        (Budget(cells=1, filling=5), "The filling gives a int"),
        (Budget(cells=1, filling=lambda X: X), "filling is a function"),
        (Draws(random_state="a"), "random_state is 'a'"),
        ("best", "uncertainty"),
        (3, "uncertainty"),
    ],
)
def test_a_wrong_object_is_refused_and_leaves_the_model_as_it_was(uncertainty, message):
    X, y = table()
    model = BoundedClassifier(alpha=0.3).fit(X, y)
    before = model.decision_bounds(T)
    model.uncertainty = uncertainty
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    model.uncertainty = "worst"
    assert np.array_equal(model.decision_bounds(T), before)


@pytest.mark.parametrize("options", [{"intervals": Intervals(precision=0.1)}, {"max_label_errors": 1}])
def test_what_a_budget_does_not_speak_of_is_refused(options):
    X, y = table()
    with pytest.raises(IpubError, match=r"[Bb]udget"):
        BoundedClassifier(uncertainty=Budget(cells=1), **options).fit(X, y)


def test_uncertain_targets_are_refused():
    X, y = table()
    with pytest.raises(IpubError, match="y_lower"):
        BoundedRegressor(uncertainty=Budget(cells=1)).fit(X, y, y_lower=y - 0.1, y_upper=y + 0.1)


def test_bounds_of_cells_may_be_given():
    X, y = table()
    lower, upper = np.where(np.isnan(X), -1.0, X), np.where(np.isnan(X), 1.5, X)
    for uncertainty in (Budget(cells=2), Draws(n_draws=3, random_state=0)):
        model = BoundedClassifier(alpha=0.1, uncertainty=uncertainty)
        first = clone(model).fit(X, y, X_lower=lower, X_upper=upper).decision_bounds(T)
        second = clone(model).fit(IntervalMatrix.from_bounds(lower, upper), y).decision_bounds(T)
        assert first.shape == second.shape == (12, 2)
    budget = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=2))
    assert np.allclose(
        clone(budget).fit(X, y, X_lower=lower, X_upper=upper).decision_bounds(T),
        clone(budget).fit(IntervalMatrix.from_bounds(lower, upper), y).decision_bounds(T),
    )


def test_more_than_two_classes():
    X, _ = table()
    y = np.digitize(np.nan_to_num(X[:, 0]), [-0.4, 0.4])
    model = BoundedClassifier(alpha=0.2, uncertainty=Budget(cells=1)).fit(X, y)
    assert model.decision_bounds(T).shape == (12, 3, 2)
    assert (model.predict_set(T).sum(axis=1) >= 1).all()
    assert all("at most 1 of the" in each.promise for each in model.certificate_)
    model = BoundedClassifier(alpha=0.2, uncertainty=Draws(n_draws=5, random_state=0)).fit(X, y)
    assert "with at least 1 - m 6/6 for the 3 scores of each of m rows together, chosen before" in (
        model.certificate_[0].promise
    )


# --- paths, scikit-learn models, attained bounds ---------------------------------------------------


@each_kind
def test_penalty_paths_and_certified_pipelines_speak_it(uncertainty):
    X, y = table()
    path = penalty_path(BoundedClassifier(uncertainty=uncertainty), X, y, T, alphas=[1.0, 0.3])
    fresh = BoundedClassifier(alpha=0.3, uncertainty=uncertainty).fit(X, y)
    assert np.allclose(path.bounds[1], fresh.decision_bounds(T), rtol=1e-6, atol=1e-8)
    assert " ".join(path.promise.split()) in " ".join(repr(path).split())
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1, tol=1e-10)).fit(X, y)
    model = certify(pipeline, X, y, uncertainty=uncertainty)
    bounds, scores = model.decision_bounds(T), pipeline.decision_function(T)
    assert np.allclose(model.decision_function(T), scores)
    if not isinstance(uncertainty, Draws):  # whose draws need not be near the means
        assert ((bounds[:, 0] <= scores) & (scores <= bounds[:, 1])).all()
    assert model.certificate_.promise


def test_a_pipeline_that_fills_in_values_outside_the_intervals_is_within_the_bounds_of_its_budget():
    X, y = table()
    pipeline = make_pipeline(SimpleImputer(strategy="constant", fill_value=5.0), LogisticRegression(C=0.1, tol=1e-12))
    pipeline.fit(X, y)
    intervals, scores = dict.fromkeys(range(D), (-0.1, 0.1)), pipeline.decision_function(T)
    for uncertainty in (Budget(cells=0), Budget(cells=2), Budget(cells=1, wrong_cells=1, precision=0.1)):
        with pytest.warns(UserWarning, match="outside their interval"):
            bounds = certify(pipeline, X, y, intervals=intervals, uncertainty=uncertainty).decision_bounds(T)
        assert (bounds[:, 0] <= scores + 1e-3).all()
        assert (scores - 1e-3 <= bounds[:, 1]).all()


def test_attained_bounds_are_inside_and_within_the_budget():
    X, y = table()
    for uncertainty in (Budget(cells=2), Budget(cells=1, wrong_cells=1, precision=0.3), Draws(n_draws=4)):
        model = BoundedClassifier(alpha=0.1, uncertainty=uncertainty).fit(X, y)
        attained, bounds = model.attained_bounds(T), model.decision_bounds(T)
        assert (bounds[:, 0] <= attained[:, 0]).all()
        assert (attained[:, 1] <= bounds[:, 1]).all()
        assert (np.ptp(attained, axis=1) > 0.05 * np.ptp(bounds, axis=1)).all()
        with pytest.raises(IpubError, match="return_completions"):
            model.attained_bounds(T, return_completions=True)


def test_one_cell_moves_a_score_as_far_as_the_best_of_all_single_cells():
    X, y = table()
    model = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=1)).fit(X, y)
    filled = np.where(np.isnan(X), model.hole_ranges_.mean(axis=1), X)
    found = []
    for i, j in np.argwhere(np.isnan(X)):
        for end in model.hole_ranges_[j]:
            other = filled.copy()
            other[i, j] = end
            found.append(scores_of(other, y, 0.1, T))
    attained, bounds = model.attained_bounds(T), model.decision_bounds(T)
    best = np.column_stack([np.min(found, axis=0), np.max(found, axis=0)])
    assert (best[:, 0] - 1e-6 <= attained[:, 0]).all()
    assert (attained[:, 1] <= best[:, 1] + 1e-6).all()
    assert (np.ptp(attained, axis=1) >= 0.9 * np.ptp(best, axis=1)).all()
    assert (bounds[:, 0] <= best[:, 0] + 1e-9).all()
    assert (best[:, 1] <= bounds[:, 1] + 1e-9).all()
    assert (np.ptp(bounds, axis=1) <= 6.0 * np.ptp(best, axis=1)).all()


@pytest.mark.parametrize("filling", ["middle", "mean"])
def test_the_bounds_of_one_cell_are_nearly_attained_by_both_of_its_ends(filling):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, D)) + 0.3 * rng.exponential(size=(400, D))
    y = (X[:, 0] - 0.5 * X[:, 1] > 0.3 * rng.normal(size=400)).astype(int)
    X[rng.permutation(400)[:6], rng.integers(0, D, 6)] = np.nan
    model = BoundedClassifier(alpha=1.0, uncertainty=Budget(cells=1, filling=filling)).fit(X, y)
    values = model.hole_ranges_.mean(axis=1) if filling == "middle" else np.nanmean(X, axis=0)
    filled, found = np.where(np.isnan(X), values, X), []
    for i, j in np.argwhere(np.isnan(X)):
        for end in model.hole_ranges_[j]:
            other = filled.copy()
            other[i, j] = end
            found.append(scores_of(other, y, 1.0, T))
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    bounds = model.decision_bounds(T)
    assert (bounds[:, 0] <= low + 1e-9).all()
    assert (high <= bounds[:, 1] + 1e-9).all()
    assert (np.ptp(bounds, axis=1) <= 1.25 * (high - low)).all()


def test_the_bounds_of_one_missing_category_are_nearly_attained_by_its_levels():
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"size": rng.normal(size=300), "site": rng.choice(["a", "b", "c"], size=300)})
    y = (X["size"] + (X["site"] == "a") > 0.5 + 0.3 * rng.normal(size=300)).astype(int)
    X.loc[[5, 50, 120], "site"] = None
    model = BoundedClassifier(alpha=1.0, uncertainty=Budget(cells=1)).fit(X, y)
    rows, filled = X.dropna().head(8), X.fillna({"site": X["site"].mode()[0]})
    tables = [filled.assign(site=filled["site"].where(filled.index != i, k)) for i in (5, 50, 120) for k in "abc"]
    found = [scores_of(other, y, 1.0, rows) for other in tables]
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    bounds = model.decision_bounds(rows)
    assert (bounds[:, 0] <= low + 1e-9).all()
    assert (high <= bounds[:, 1] + 1e-9).all()
    assert (np.ptp(bounds, axis=1) <= 1.4 * (high - low)).all()


def test_the_bounds_of_one_wrong_cell_are_nearly_attained():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0.3 * rng.normal(size=120)).astype(int)
    budget = Budget(cells=0, wrong_cells=1, precision=0.5)
    model, rows = BoundedClassifier(alpha=1.0, uncertainty=budget).fit(X, y), T[:4, :2]
    found = []
    for i, j, off in itertools.product(range(120), range(2), (-0.5, 0.5)):
        other = X.copy()
        other[i, j] += off
        found.append(scores_of(other, y, 1.0, rows))
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    bounds = model.decision_bounds(rows)
    assert (bounds[:, 0] <= low + 1e-9).all()
    assert (high <= bounds[:, 1] + 1e-9).all()
    assert (np.ptp(bounds, axis=1) <= 1.25 * (high - low)).all()


# --- flip distances --------------------------------------------------------------------------------


def test_fewer_cells_than_the_certified_distance_change_no_class_and_the_found_number_does():
    X, y = table(holes=0.1)
    model = BoundedClassifier(alpha=0.1).fit(X, y)
    rows = T[np.abs(model.decision_function(T)) < 1.0]
    certified, found = model.flip_distance(rows).T
    assert (certified <= found).all()
    assert (certified[np.isfinite(certified)] >= 1).all()
    filled = np.where(np.isnan(X), model.hole_ranges_.mean(axis=1), X)
    labels, holes, rng = model.predict(rows), np.argwhere(np.isnan(X)), np.random.default_rng(0)
    for k in np.unique(certified[np.isfinite(certified)]).astype(int):
        for _ in range(20):
            other = filled.copy()
            for i, j in rng.permutation(holes)[: k - 1]:
                other[i, j] = rng.choice(model.hole_ranges_[j])
            same = (scores_of(other, y, 0.1, rows) > 0) == (labels == 1)
            assert same[certified >= k].all()
    frame = clone(model).set_output(transform="pandas").fit(X, y).flip_distance(rows[:1])
    assert list(frame) == ["certified", "found"]


def test_the_bracket_is_narrow_where_the_penalty_is_strong():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0.3 * rng.normal(size=400)).astype(int)
    X[rng.permutation(400)[:40], 0] = np.nan
    model = BoundedClassifier(alpha=1.0).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    scores = np.linspace(0.01, 0.05, 6)
    rows = np.column_stack([(scores - b - w[1]) / w[0], np.ones(6)])
    certified, found = model.flip_distance(rows).T
    assert (certified <= found).all()
    assert (certified[np.isfinite(found)] >= 2).any()
    assert (found[np.isfinite(found)] <= 1.5 * certified[np.isfinite(found)] + 1).any()
    # One fewer than certified, chosen for the row, leaves the class as it is.
    for count in np.unique(certified[np.isfinite(certified)]).astype(int):
        fewer = BoundedClassifier(alpha=1.0, uncertainty=Budget(cells=count - 1)).fit(X, y)
        assert (fewer.attained_bounds(rows[certified == count])[:, 0] > 0.0).all()


@pytest.mark.parametrize("alpha", [pytest.param(0.05, marks=pytest.mark.long), 0.2])
def test_which_budgets_were_certified_before_does_not_matter(alpha):
    X, y = table(holes=0.15)
    model = BoundedClassifier(alpha=alpha, uncertainty=Budget(cells=1)).fit(X, y)
    rows = np.random.default_rng(3).normal(size=(60, D))
    rows = rows[np.argsort(np.abs(model.decision_function(rows)))[:40:6]]
    certified, found = model.flip_distance(rows).T
    assert (certified <= found).all()
    assert len(np.unique(certified)) > 1
    assert (model.flip_distance(rows[::-1])[::-1, 0] == certified).all()
    assert [model.flip_distance(row[None])[0, 0] for row in rows] == certified.tolist()
    # The bounds of budgets are in order, and the same whichever were proved before.
    numbers, before = [0, 1, 2, 3, 5, 8], {}
    for order in (numbers, numbers[::-1], [3, 8, 0, 5, 1, 2]):
        asked = AskedRows.of(model.training_, IntervalMatrix.from_bounds(rows, rows))
        filled, nothing, widths = FilledIn.of(model.training_), np.tile([-np.inf, np.inf], (len(rows), 1)), {}
        budgets = BudgetBounds(filled.models, filled.movable, filled.moves, filled.count)
        for k in order:
            widths[k] = np.ptp(budgets.bounds(k, asked, nothing), axis=1)
            np.testing.assert_array_equal(widths[k], before.setdefault(k, widths[k]))
        for less, more in itertools.pairwise(numbers):
            assert (widths[less] <= 1.02 * widths[more]).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_certified_distance_of_a_tiny_table_is_at_most_the_true_one(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2))
    y = (X[:, 0] > 0).astype(int)
    y[:2] = 0, 1
    holes = [(int(i), int(rng.integers(2))) for i in rng.permutation(14)[:5]]
    X[tuple(zip(*holes, strict=True))] = np.nan
    model = BoundedClassifier(alpha=0.3, intervals={0: (-2.0, 2.0), 1: (-2.0, 2.0)}).fit(X, y)
    rows = rng.normal(size=(40, 2))
    rows = rows[np.argsort(np.abs(model.decision_function(rows)))[:6]]
    filled = np.where(np.isnan(X), 0.0, X)
    truth, labels = np.full(len(rows), np.inf), model.predict(rows)
    for k in range(len(holes), 0, -1):
        for chosen in itertools.combinations(holes, k):
            for ends in itertools.product((-2.0, 2.0), repeat=k):
                other = filled.copy()
                for (i, j), end in zip(chosen, ends, strict=True):
                    other[i, j] = end
                flipped = (scores_of(other, y, 0.3, rows) > 0) != (labels == 1)
                truth[flipped] = k
    certified, found = model.flip_distance(rows).T
    assert np.isfinite(truth).any()
    assert (certified <= truth).all()
    # Fewer than with values at ends of their intervals alone are found inside them.
    for row, number in zip(rows[found < truth], found[found < truth], strict=True):
        explained = model.explain(row)
        assert len(explained.changes) == number
        assert (scores_of(explained.filling, y, 0.3, row[None]) > 0) != (explained.prediction == 1)


def test_wrong_labels_and_wrong_cells_have_distances_too():
    X, y = table()
    model = BoundedClassifier(alpha=0.3, uncertainty=Budget(cells=1, wrong_cells=1, precision=0.5)).fit(X, y)
    rows = T[:4]
    for of in ("labels", "wrong_cells"):
        certified, found = model.flip_distance(rows, of=of).T
        assert (certified >= 1).all()
        assert (certified <= found).all()
    flipped = int(model.flip_distance(rows[:1], of="labels")[0, 1])
    assert 1 <= flipped < N


@pytest.mark.parametrize(
    ("fit", "arguments", "message"),
    [
        ({}, {"of": "rows"}, "of is 'rows'"),
        ({}, {"of": "wrong_cells"}, "Budget\\(wrong_cells=1"),
        ({"uncertainty": Draws(n_draws=2)}, {}, "filled-in table"),
        ({"max_label_errors": 1}, {}, "labels that are certain"),
    ],
)
def test_distances_that_are_not_there_say_what_to_do(fit, arguments, message):
    X, y = table()
    model = BoundedClassifier(**fit).fit(X, y)
    with pytest.raises(IpubError, match=message):
        model.flip_distance(T, **arguments)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [BoundedClassifier, BoundedRegressor])
def test_rows_with_missing_values_and_predictions_at_a_threshold_have_true_distances(kind, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(14, 2))
    site = np.where(rng.random(14) < 0.5, "a", "b").astype(object)
    site[:2] = "a", "b"
    target = numbers[:, 0] + 0.5 * (site == "a")
    y = (target > 0).astype(int) if kind is BoundedClassifier else target
    if kind is BoundedClassifier:
        y[:2] = 0, 1
    holes = [(int(i), int(rng.integers(2))) for i in rng.permutation(14)[:4]]
    filled = pd.DataFrame({"u": numbers[:, 0], "v": numbers[:, 1], "site": site})
    ranges = {"u": (-2.0, 2.0), "v": (-2.0, 2.0)}
    for i, j in holes:
        filled.iloc[i, j] = 0.0
    X = filled.copy()
    for i, j in holes:
        X.iloc[i, j] = np.nan
    model = kind(alpha=0.3, intervals=ranges).fit(X, y)
    scores = "decision_function" if kind is BoundedClassifier else "predict"
    threshold = 0.0 if kind is BoundedClassifier else float(np.median(target))
    rows = pd.DataFrame({"u": rng.normal(size=8), "v": rng.normal(size=8), "site": ["a", "b"] * 4})
    rows.loc[0:1, "v"], rows.loc[2:3, "site"], rows.loc[4, ["v", "site"]] = np.nan, None, (np.nan, None)

    def ways(row):
        """Return the row with its missing values at the ends of their ranges, and at every level."""
        values = [[-2.0, 2.0] if pd.isna(row[name]) else [row[name]] for name in ("u", "v")]
        levels = ["a", "b"] if pd.isna(row["site"]) else [row["site"]]
        return pd.DataFrame(list(itertools.product(*values, levels)), columns=["u", "v", "site"])

    asked = [ways(row) for _, row in rows.iterrows()]
    truth, above = np.full(len(rows), np.inf), getattr(model, scores)(rows) > threshold
    for k in range(len(holes), -1, -1):
        for chosen in itertools.combinations(holes, k):
            for ends in itertools.product((-2.0, 2.0), repeat=k):
                other = filled.copy()
                for (i, j), end in zip(chosen, ends, strict=True):
                    other.iloc[i, j] = end
                trained = kind(alpha=0.3, tol=1e-12, certificate=None).fit(other, y)
                for number, table in enumerate(asked):
                    if ((getattr(trained, scores)(table) > threshold) != above[number]).any():
                        truth[number] = k
    arguments = {} if kind is BoundedClassifier else {"threshold": threshold}
    certified, found = model.flip_distance(rows, **arguments).T
    assert (certified <= truth).all()
    # Fewer than with values at ends of their intervals alone are found inside them.
    for number in np.flatnonzero(found < truth):
        explained = model.explain(rows.iloc[[number]], **arguments)
        assert len(explained.changes) == found[number]
        trained = kind(alpha=0.3, tol=1e-12, certificate=None).fit(explained.filling, y)
        changed = (getattr(trained, scores)(asked[number]) > threshold) != above[number]
        assert changed.any()
    assert (truth <= found).sum() >= 7
    assert np.isfinite(truth).any()
    assert ((certified == 0) == (found == 0)).all()
    complete = ~rows.isna().any(axis=1).to_numpy()
    np.testing.assert_array_equal(model.flip_distance(rows[complete], **arguments)[:, 0], certified[complete])


def test_distances_of_labels_hold_whatever_missing_values_of_a_row_are():
    X, y = table(holes=0.0)
    model = BoundedClassifier(alpha=0.3).fit(X, y)
    rows = T[:6].copy()
    rows[:3, 2] = np.nan
    certified, found = model.flip_distance(rows, of="labels").T
    assert (certified <= found).all()
    for k in (0, 1, 2):
        ends = np.repeat(rows, 9, axis=0)
        ends[:, 2] = np.where(np.isnan(ends[:, 2]), np.tile(np.linspace(*model.hole_ranges_[2], 9), 6), ends[:, 2])
        attained = BoundedClassifier(alpha=0.3, max_label_errors=k).fit(X, y).attained_bounds(ends)
        is_both = ((attained[:, 0] < 0) & (attained[:, 1] > 0)).reshape(6, 9).any(axis=1)
        assert not is_both[certified > k].any()


def test_a_regression_has_distances_to_a_finite_threshold_alone():
    X, y = table()
    reg = BoundedRegressor().fit(X, y.astype(float))
    frame = clone(reg).set_output(transform="pandas").fit(X, y.astype(float)).flip_distance(T[:1], threshold=0.4)
    assert list(frame) == ["certified", "found"]
    with pytest.raises(IpubError, match="threshold is nan: give a finite number"):
        reg.flip_distance(T, threshold=np.nan)
    with pytest.raises(IpubError, match="of='labels' is for classes"):
        reg.flip_distance(T, threshold=0.0, of="labels")
    with pytest.raises(IpubError, match="for two classes, or for a regression"):
        BoundedClassifier().fit(X, np.arange(N) % 3).flip_distance(T)


# --- the imputation report -------------------------------------------------------------------------


def test_the_report_goes_from_any_filling_to_draws():
    X, y = table()
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1, tol=1e-10)).fit(X, y)
    report = imputation_report(pipeline, X, y, T, draws=Draws(n_draws=5, random_state=0))
    assert report.columns()["promise"] == ["any filling", "20 % differ", "1 hole differs", "5 draws"]
    certain = report.columns()["certain"]
    assert certain[0] <= certain[1] <= certain[2]
    assert len(report.unsafe_rows("any filling")) == round(12 * (1 - certain[0]))
    assert "SimpleImputer" in repr(report)
    with pytest.raises(IpubError, match="no promise 'all'"):
        report.unsafe_rows("all")


def test_the_report_of_an_estimator_a_frame_and_a_regression():
    X, y = frame()
    report = imputation_report(BoundedClassifier(alpha=0.3), X, y, imputer="median", draws=Draws(n_draws=3))
    assert len(report.rows) == len(X.dropna())
    assert "the median" in report.verdict
    X, y = table()
    report = imputation_report(BoundedRegressor(), X, y.astype(float), draws=Draws(n_draws=3))
    assert list(report.columns()) == ["promise", "width"]
    with pytest.raises(IpubError, match="regression"):
        report.unsafe_rows("any filling")
    with pytest.raises(IpubError, match="draws is 199"):
        imputation_report(BoundedRegressor(), X, y, draws=199)
    with pytest.raises(IpubError, match=r"shares is 0\.05"):
        imputation_report(BoundedRegressor(), X, y, shares=0.05)
    with pytest.raises(IpubError, match="give X_test"):
        imputation_report(BoundedRegressor(), IntervalMatrix.from_bounds(T, T), np.arange(12))
    with pytest.raises(IpubError, match="give X_test"):
        imputation_report(BoundedClassifier(), np.full((4, 1), np.nan), [0, 1, 0, 1])


# --- what bounds around a filled-in table must not miss --------------------------------------------


@pytest.mark.parametrize(("cells", "precision"), [(1, 0.5), (0, 0.0)])
def test_wrong_categories_and_wrong_numbers_of_a_frame_are_within_the_bounds(cells, precision):
    X, y = frame()
    X, y = X.iloc[:30].fillna({"size": 0.0, "age": 0.0, "site": "a"}), y[:30]
    X.loc[3, "size"] = np.nan
    budget = Budget(cells=cells, wrong_cells=1, precision={"size": precision})
    model = BoundedClassifier(alpha=0.5, uncertainty=budget).fit(X, y)
    assert [part.name for part in model.certificate_.parts] == ["box", "row sums"]
    # Numbers that must be right are no units.
    assert model.training_.around.movable.n_units == 1 + 30 + (29 if precision else 0)
    rows, ranges = X.iloc[4:10], model.hole_ranges_[0]
    bounds, base = model.decision_bounds(rows), X.fillna({"size": ranges.mean()})
    wrong = [("site", level) for level in "abc"] + [("size", -precision), ("size", precision)]
    for i, (column, value), filled in itertools.product(range(1, 30, 3), wrong, ranges):
        other = base.copy()
        other.loc[i, column] = value if column == "site" else other.loc[i, column] + value
        if cells:
            other.loc[3, "size"] = filled
        scores = scores_of(other, y, 0.5, rows)
        assert (bounds[:, 0] <= scores + 1e-8).all()
        assert (scores <= bounds[:, 1] + 1e-8).all()


@pytest.mark.parametrize("intervals", ["observed", {1: (3.5, 4.5)}, {1: (4.0, 4.0)}])
@pytest.mark.filterwarnings("ignore::ipub.errors.IpubWarning")
def test_a_pipeline_that_fills_outside_the_intervals_is_certified_around_what_it_filled_in(intervals):
    rng = np.random.default_rng(0)
    X = rng.normal([0.0, 4.0], size=(50, 2))
    y = X[:, 0] + 0.5 * (X[:, 1] - 4.0) > 0.3 * rng.normal(size=50)
    holes = np.flatnonzero(rng.random(50) < 0.12)
    X[holes, 1] = np.nan
    plain = LogisticRegression(C=1.0, tol=1e-12)
    pipeline = make_pipeline(SimpleImputer(strategy="constant", fill_value=0.0), plain).fit(X, y)
    model = certify(pipeline, X, y, intervals=intervals, uncertainty=Budget(cells=1))
    rows = rng.normal([0.0, 4.0], size=(6, 2))
    bounds = model.decision_bounds(rows)
    for i, end in itertools.product(holes, model.hole_ranges_[1]):
        other = pipeline[0].transform(X)
        other[i, 1] = end
        scores = clone(plain).fit(other, y).decision_function(rows)
        assert (bounds[:, 0] <= scores + 1e-6).all()
        assert (scores <= bounds[:, 1] + 1e-6).all()


def test_a_pipeline_that_fills_in_no_level_of_a_category_is_refused():
    X, y = frame()
    zeros = OneHotEncoder(categories=[["a", "b", "c"]], handle_unknown="ignore")
    encoded = make_column_transformer((SimpleImputer(), ["size", "age"]), (zeros, ["site"]))
    pipeline = make_pipeline(encoded, LogisticRegression()).fit(X, y)
    with pytest.raises(IpubError, match="not one of its levels"):
        certify(pipeline, X, y, uncertainty=Budget(cells=1))


def test_a_prediction_is_safe_only_if_it_is_the_one_that_is_certain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 1))
    y = (X[:, 0] > 0.0).astype(int)
    X[: N // 2, 0] = np.where(y[: N // 2] == 1, np.nan, X[: N // 2, 0])
    imputer = SimpleImputer(strategy="constant", fill_value=-9.0)  # it turns the trend around
    pipeline = make_pipeline(imputer, LogisticRegression(C=0.1)).fit(X, y)
    rows = np.array([[-2.0], [2.0]])
    with pytest.warns(UserWarning, match="outside their interval"):
        report = imputation_report(
            pipeline, X, y, rows, intervals={0: (0.5, 1.5)}, draws=Draws(n_draws=3, random_state=0)
        )
    for promise in report.promises:
        if promise.name in ("any filling", "3 draws"):
            labels = (promise.bounds > 0.0).all(axis=1)
            wrong = labels != (pipeline.predict(rows) == 1)
            assert wrong.any()
            assert not promise.certain[wrong].any()


def test_a_share_of_less_than_one_hole_is_one_hole():
    X, y = table(holes=0.03)
    report = imputation_report(BoundedClassifier(alpha=0.3), X, y, T, draws=Draws(n_draws=3, random_state=0))
    assert report.columns()["promise"] == ["any filling", "20 % differ", "1 hole differs", "3 draws"]
    assert all("at most 0" not in promise.sentence for promise in report.promises)
    complete = imputation_report(BoundedClassifier(alpha=0.3), np.nan_to_num(X), y, T, draws=Draws(n_draws=3))
    assert "all 12 predictions are safe under the promise 'any filling'" in complete.verdict


def test_shares_are_of_all_missing_values_also_of_those_with_one_possible_value():
    X, y = table(holes=0.0)
    X[:, 2], X[:4, 1] = 5.0, np.nan
    X[:20, 2] = np.nan
    options = {"shares": [0.1], "draws": Draws(n_draws=2)}
    with pytest.warns(IntervalWarning):
        report = imputation_report(BoundedClassifier(alpha=1.0), X, y, T, **options)
    assert report.columns()["promise"] == ["any filling", "10 % differ", "2 draws"]
    assert "at most 2 of the 24 missing values" in report.promises[1].sentence


def test_the_report_names_the_imputers_inside_a_column_transformer():
    X, y = frame()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = ColumnTransformer([("numbers", numbers, ["size", "age"]), ("words", words, ["site"])])
    X["site"] = X["site"].astype(object).where(X["site"].notna(), np.nan)
    pipeline = make_pipeline(columns, LogisticRegression(C=0.01, tol=1e-10)).fit(X, y)
    report = imputation_report(pipeline, X, y, X.dropna().head(5), shares=[0.2], draws=Draws(n_draws=2))
    assert "Filled in by SimpleImputer" in report.verdict
