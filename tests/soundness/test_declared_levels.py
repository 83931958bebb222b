"""Levels that a column declares but does not hold: a missing category may be one, proven against exact minimisers."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ipub import BoundedClassifier, BoundedRegressor, certify
from ipub.app.files.modelfile import load, save
from ipub.losses import LOSSES
from support.oracles.exact import exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import holds, rational

LEVELS = ["a", "b", "unseen"]
SITES = ["a", "b", None, "a", None, "b", "a"]
X = np.array([0.5, -1.0, 0.25, 1.5, -0.75, 0.0, -1.25])
TARGETS = np.array([1.0, -0.5, 2.0, 0.75, -1.5, 0.25, -1.0])
CERTIFICATES = ("sphere", "ball", "slope", "tight", "pointwise")


def frame(sites, levels=LEVELS, kind="pandas") -> pd.DataFrame | pl.DataFrame:
    """A number and a category with declared levels."""
    x = X[: len(sites)]
    if kind == "polars":
        return pl.DataFrame({"x": x, "site": sites}, schema_overrides={"site": pl.Enum(levels)})
    return pd.DataFrame({"x": x, "site": pd.Categorical(sites, categories=levels, ordered=kind == "ordered")})


def fitted(loss_name, table, penalty="l2", **options):
    """A model of the table, and its labels."""
    is_regression = LOSSES[loss_name].task == "regression"
    labels = TARGETS if is_regression else np.where(TARGETS > 0.0, 1, -1)
    kind = BoundedRegressor if is_regression else BoundedClassifier
    ratio = 0.0 if penalty == "l2" else 0.1
    return kind(loss_name, alpha=0.2, l1_ratio=ratio, **options).fit(table, labels), np.asarray(labels, dtype=float)


def score_bounds(model, rows):
    return model.predict_bounds(rows) if hasattr(model, "predict_bounds") else model.decision_bounds(rows)


def fillings():
    """Yield the sites with every level in place of every missing one."""
    missing = [i for i, site in enumerate(SITES) if site is None]
    for levels in itertools.product(LEVELS, repeat=len(missing)):
        filled = list(SITES)
        for i, level in zip(missing, levels, strict=True):
            filled[i] = level
        yield filled


def exact_minimiser(model, y, sites):
    """Train on a filling, exactly."""
    table = model.encoder_.encode(frame(sites))
    loss, alpha, ratio = LOSSES[model.loss], model.alpha, model.l1_ratio
    if not model.fit_intercept:
        return exact_model(table, y, None, loss, alpha * (1.0 - ratio), alpha * ratio)
    return exact_intercept_model(table, y, None, loss, alpha * (1.0 - ratio), alpha * ratio)


def violations(model, y, bounds, rows):
    """Return the fillings and rows whose exact score is not proven to be inside the bounds."""
    encoded = model.encoder_.encode(rows)
    if model.fit_intercept:
        encoded = np.column_stack([encoded, np.ones(len(encoded))])
    wrong = []
    for sites in fillings():
        exact = exact_minimiser(model, y, sites)
        wrong += [(sites, i) for i, x in enumerate(encoded) if not holds(bounds[i], exact.score(x))]
    return wrong


@pytest.mark.share(2)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_bounds_hold_for_fillings_with_a_level_that_no_row_has(loss_name, penalty, intercept, report_proofs):
    rows = frame(["a", "b", "unseen"])
    for certificate in CERTIFICATES:
        model, y = fitted(loss_name, frame(SITES), penalty, fit_intercept=intercept, certificate=certificate)
        assert model.get_feature_names_out().tolist() == ["x", "site_a", "site_b", "site_unseen"]
        assert violations(model, y, score_bounds(model, rows), rows) == []
        report_proofs(len(rows) * len(list(fillings())))


@pytest.mark.parametrize("loss_name", ["squared_error", "log_loss"])
def test_without_the_level_a_filling_leaves_the_bounds(loss_name):
    """Why declared levels must count: where they are left out of the table, the filling with one is outside."""
    rng = np.random.default_rng(2)
    x, sites = 0.2 * rng.normal(size=12), list(rng.choice(["a", "b"], 12))
    x[0], sites[0], labels = 1.0, "unseen", np.array([1, *[1, -1] * 5, 1])
    filled = pd.DataFrame({"x": x, "site": pd.Categorical(sites, categories=LEVELS)})
    holed = filled.assign(site=filled["site"].where(np.arange(12) > 0))
    narrowed = holed.assign(site=holed["site"].cat.remove_unused_categories())
    row = pd.DataFrame({"x": [1.0], "site": ["a"]})
    kind = BoundedRegressor if LOSSES[loss_name].task == "regression" else BoundedClassifier
    model, dropped = (kind(loss_name, alpha=0.05, fit_intercept=False).fit(X, labels) for X in (holed, narrowed))
    table = model.encoder_.encode(filled)
    exact = exact_model(table, labels.astype(float), None, LOSSES[loss_name], 0.05, 0.0)
    score = exact.score(model.encoder_.encode(row)[0])
    assert holds(score_bounds(model, row)[0], score)
    low, high = score_bounds(dropped, row)[0]
    assert score[1] < rational(low) or rational(high) < score[0]


@pytest.mark.parametrize("kind", ["ordered", "polars"])
def test_every_way_to_declare_gives_the_same_bits(kind):
    expected, _ = fitted("log_loss", frame(SITES))
    model, _ = fitted("log_loss", frame(SITES, kind=kind))
    assert model.encoder_ == expected.encoder_
    np.testing.assert_array_equal(model.coef_bounds_, expected.coef_bounds_)
    rows = ["unseen", None, "b"]
    np.testing.assert_array_equal(model.decision_bounds(frame(rows, kind=kind)), expected.decision_bounds(frame(rows)))


def test_a_row_to_predict_may_miss_the_category_or_have_the_level():
    model, _ = fitted("squared_error", frame(SITES))
    each = score_bounds(model, pd.concat([frame(["a"]), frame(["b"]), frame(["unseen"])]))
    low, high = score_bounds(model, frame([None]))[0]
    assert low <= each[:, 0].min()
    assert high >= each[:, 1].max()
    assert each[2, 0] < each[2, 1]


def test_a_level_that_no_filling_can_have_has_the_weight_zero():
    complete = ["a" if site is None else site for site in SITES]
    model, y = fitted("squared_error", frame(complete), fit_intercept=False)
    exact = exact_minimiser(model, y, complete)
    column = model.get_feature_names_out().tolist().index("site_unseen")
    assert exact.weight(column) == (0, 0)
    low, high = model.coef_bounds_[column]
    assert low <= 0.0 <= high
    assert high - low < 1e-3
    assert model.coef_[column] == pytest.approx(0.0, abs=1e-9)
    rows = frame(["unseen"])
    assert holds(model.predict_bounds(rows)[0], exact.score(model.encoder_.encode(rows)[0]))


def test_fillings_that_attain_the_ends_use_the_level():
    model, _ = fitted("squared_error", frame(SITES), fit_intercept=False)
    rows = frame(["unseen"])
    bounds = score_bounds(model, rows)
    attained, completions = model.attained_bounds(rows, return_completions=True)
    assert (bounds[:, 0] <= attained[:, 0]).all()
    assert (attained[:, 1] <= bounds[:, 1]).all()
    column = model.get_feature_names_out().tolist().index("site_unseen")
    assert any((completion.table()[:, column] == 1.0).any() for completion in completions[0])


def test_files_keep_declared_levels(tmp_path):
    model, _ = fitted("log_loss", frame(SITES))
    save(model, tmp_path / "m.ipub")
    again = load(tmp_path / "m.ipub")
    assert again.encoder_.levels == (None, tuple(LEVELS))
    rows = frame(["a", "unseen", None])
    np.testing.assert_array_equal(again.decision_bounds(rows), model.decision_bounds(rows))


def test_a_column_of_nothing_but_missing_categories_is_bounded():
    sites = [None, None, None]
    table, y = frame(sites), TARGETS[:3]
    model = BoundedRegressor(alpha=0.2, fit_intercept=False).fit(table, y)
    rows = frame(LEVELS)
    bounds = model.predict_bounds(rows)
    for filled in itertools.product(LEVELS, repeat=3):
        exact = exact_minimiser(model, y, list(filled))
        assert all(holds(ends, exact.score(x)) for ends, x in zip(bounds, model.encoder_.encode(rows), strict=True))
    low, high = model.predict_bounds(frame([None]))[0]
    assert low <= model.predict(frame([None]))[0] <= high


def test_levels_that_a_one_hot_encoder_knows_are_levels_for_certify():
    table = frame(SITES).astype({"site": object})
    known = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(categories=[LEVELS]))
    alpha = 0.2 * len(SITES) / 2.0
    pipe = make_pipeline(
        make_column_transformer(("passthrough", ["x"]), (known, ["site"])), Ridge(alpha=alpha, fit_intercept=False)
    ).fit(table, TARGETS)
    model = certify(pipe, table, TARGETS)
    assert model.encoder_.levels == (None, tuple(LEVELS))
    rows = frame(LEVELS)
    assert violations(model, TARGETS, model.predict_bounds(rows), rows) == []
