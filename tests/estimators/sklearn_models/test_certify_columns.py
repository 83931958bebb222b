"""Bounds for pipelines with a ColumnTransformer: columns go different ways, a missing category is any level."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from ipub import BoundedClassifier, IntervalMatrix, IntervalWarning, certify
from ipub.app.files.modelfile import load, save
from ipub.estimators.sklearn_models.steps import STEPS

N = 150
SITES = ["east", "north", "west"]


def frame_with_holes(seed=0):
    """Return a frame with a column that is no feature, holes in numbers and categories, labels and targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, N),
            "number": np.arange(N),
            "site": rng.choice(SITES, N),
            "dose": rng.normal(3.0, 1.0, N),
            "sex": rng.choice(["f", "m"], N),
            "grade": rng.choice([1, 2, 3], N),
        }
    )
    score = (frame.age - 40.0) / 10.0 + (frame.site == "north") - 0.5 * frame.dose + rng.normal(size=N) + 1.0
    frame.loc[[3, 50], "age"] = np.nan
    frame.loc[[7], "dose"] = np.nan
    frame.loc[[11, 90], "site"] = np.nan
    return frame, np.where(score > 0.0, "yes", "no"), score.to_numpy()


FRAME, LABELS, SCORES = frame_with_holes()


def most_frequent():
    return make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())


def columns(**options):
    """Return a ColumnTransformer whose order of columns is not that of the frame."""
    return make_column_transformer(
        (most_frequent(), ["sex", "site"]),
        (make_pipeline(SimpleImputer(), MinMaxScaler((-1, 1), clip=True)), ["dose"]),
        (OneHotEncoder(), ["grade"]),
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age"]),
        **options,
    )


def score(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def score_bounds(bounded, X):
    return bounded.decision_bounds(X) if hasattr(bounded, "decision_bounds") else bounded.predict_bounds(X)


def completions(n_random=6):
    """Yield frames with every category and many numbers, those at the ends of the observed ranges among them."""
    rng = np.random.default_rng(1)
    for sites in itertools.product(SITES, repeat=2):
        for ends in [*itertools.product([0.0, 1.0], repeat=3), *rng.random((n_random, 3))]:
            full = FRAME.copy()
            full.loc[[11, 90], "site"] = sites
            for (row, column), share in zip([(3, "age"), (50, "age"), (7, "dose")], ends, strict=True):
                low, high = FRAME[column].min(), FRAME[column].max()
                full.loc[row, column] = low + share * (high - low)
            yield full


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("model", "y"),
    [(LogisticRegression(C=0.2, tol=1e-12, max_iter=10_000), LABELS), (Ridge(alpha=20.0), SCORES)],
    ids=["logistic", "ridge"],
)
def test_bounds_contain_the_models_of_all_fillings(model, y):
    pipe = make_pipeline(columns(), model).fit(FRAME, y)
    bounded = certify(pipe, FRAME, y, intervals="observed")
    complete = FRAME.dropna()
    bounds = score_bounds(bounded, complete)
    widest = np.zeros(len(complete))
    for full in completions():
        other = clone(model).fit(pipe[:-1].transform(full), y)
        scores = score(other, pipe[:-1].transform(complete))
        assert (bounds[:, 0] - 1e-7 <= scores).all()
        assert (scores <= bounds[:, 1] + 1e-7).all()
        widest = np.maximum(widest, np.abs(scores - bounds.mean(axis=1)))
    # Bounds that are far too wide would pass the test above.
    assert np.median(np.diff(bounds)[:, 0] / (2.0 * widest)) < 5.0


# Products with three rows at once may round differently from those with one. Row sums, which a weak penalty needs,
# choose multipliers in steps besides: rounding sways their bounds a little.
@pytest.mark.parametrize(("C", "slack"), [(0.003, 1e-15), (0.2, 1e-9)], ids=["slopes", "row sums"])
def test_the_model_is_the_pipelines_own(C, slack):
    pipe = make_pipeline(columns(), LogisticRegression(C=C, tol=1e-10)).fit(FRAME, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounded = certify(pipe, FRAME, LABELS, intervals="observed")
    complete = FRAME.dropna()
    np.testing.assert_allclose(bounded.decision_function(complete), pipe.decision_function(complete), atol=1e-12)
    names = bounded.get_feature_names_out()
    assert list(names[:4]) == ["age", "site_east", "site_north", "site_west"]
    assert "number" not in names
    weights = dict(
        zip([name.split("__")[1] for name in pipe[0].get_feature_names_out()], pipe[-1].coef_[0], strict=True)
    )
    assert [weights[name] for name in names] == list(bounded.coef_[0])
    # The bounds of a row with a missing category contain those of each of its levels.
    row = complete[:1].copy()
    levels = [bounded.decision_bounds(row.assign(site=site))[0] for site in SITES]
    low, high = bounded.decision_bounds(row.assign(site=None))[0]
    assert low <= np.min(levels) + slack
    assert high >= np.max(levels) - slack


def test_a_scaler_inside_gives_the_bounds_of_scaling_here():
    simple = make_column_transformer((StandardScaler(), ["age", "dose"]), (most_frequent(), ["site"]))
    imputed = make_pipeline(simple, SimpleImputer(), LogisticRegression(C=0.1, fit_intercept=False, tol=1e-12))
    bounded = certify(imputed.fit(FRAME, LABELS), FRAME, LABELS, intervals="observed")
    used = FRAME[["age", "site", "dose"]]
    ours = BoundedClassifier(alpha=10.0 / N, scale="standard", intervals="observed").fit(used, LABELS)
    # They start from different models: that of the filling by means, and that of the middles.
    ratio = np.diff(bounded.decision_bounds(FRAME)) / np.diff(ours.decision_bounds(used))
    assert 0.8 < np.median(ratio) < 1.25
    np.testing.assert_array_equal(bounded.hole_ranges_, ours.hole_ranges_)


@pytest.mark.parametrize(
    "chosen",
    [
        ["age", "dose"],
        [0, 3],
        slice(0, 4, 3),
        [True, False, False, True, False, False],
        make_column_selector("age|dose"),
    ],
)
def test_columns_are_chosen_in_every_way(chosen):
    pipe = make_pipeline(
        ColumnTransformer([("one", RobustScaler(), chosen)], remainder="drop"), SimpleImputer(), Ridge()
    ).fit(FRAME, SCORES)
    bounded = certify(pipe, FRAME, SCORES)
    assert list(bounded.get_feature_names_out()) == ["age", "dose"]
    complete = FRAME.dropna()
    np.testing.assert_allclose(bounded.predict(complete), pipe.predict(complete))
    with pytest.raises(ValueError, match="'number', which the model does not use"):
        certify(pipe, FRAME, SCORES, intervals={"number": (0, 1)})


@pytest.mark.parametrize("remainder", ["passthrough", FunctionTransformer(), StandardScaler()], ids=repr)
def test_the_remainder_is_used_as_it_was(remainder):
    numbers = FRAME[["grade", "dose", "age"]].dropna()
    y = SCORES[numbers.index]
    scaled = ColumnTransformer([("age", MinMaxScaler(), ["age"])], remainder=remainder)
    pipe = make_pipeline(scaled, Ridge()).fit(numbers, y)
    bounded = certify(pipe, numbers, y)
    np.testing.assert_allclose(bounded.predict(numbers), pipe.predict(numbers))
    np.testing.assert_allclose(bounded.predict_bounds(numbers), pipe.predict(numbers)[:, None] * [1, 1], atol=1e-6)


def test_the_result_is_kept_in_a_file(tmp_path):
    pipe = make_pipeline(columns(), LogisticRegression(C=0.2)).fit(FRAME, LABELS)
    bounded = certify(pipe, FRAME, LABELS)
    save(bounded, tmp_path / "model.ipub")
    again = load(tmp_path / "model.ipub")
    assert np.array_equal(again.decision_bounds(FRAME), bounded.decision_bounds(FRAME))


def test_a_number_filled_outside_its_interval_is_told():
    pipe = make_pipeline(columns(), LogisticRegression(C=0.2)).fit(FRAME, LABELS)
    with pytest.warns(IntervalWarning, match=r"row 3, column 'age'"):
        certify(pipe, FRAME, LABELS, intervals={"age": (60.0, 70.0)})


def frame_with_none():
    return FRAME.astype(object).where(FRAME.notna(), None)[["site"]]


REFUSED = [
    (make_column_transformer((OneHotEncoder(), ["site"])), FRAME, "missing 'site' a level of its own"),
    (make_column_transformer((OneHotEncoder(), ["site"])), frame_with_none(), "missing 'site' a level of its own"),
    (make_column_transformer((OneHotEncoder(drop="first"), ["sex"])), FRAME, "it drops levels"),
    (make_column_transformer((OneHotEncoder(max_categories=2), ["grade"])), FRAME, "it joins rare levels"),
    (make_column_transformer((OrdinalEncoder(), ["sex"])), FRAME, "OrdinalEncoder cannot be certified"),
    (
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder()), ["site"])
        ),
        FRAME,
        "a level of their own",
    ),
    (
        make_column_transformer((make_pipeline(StandardScaler(), OneHotEncoder()), ["grade"])),
        FRAME,
        "changes categories",
    ),
    (
        make_column_transformer((StandardScaler(), ["grade"]), (MinMaxScaler(), ["grade"])),
        FRAME,
        "uses the column 'grade' twice",
    ),
    (make_column_transformer((StandardScaler(), slice("grade", "grade"))), FRAME, "slice of names"),
    (
        ColumnTransformer([("one", StandardScaler(), ["grade"])], transformer_weights={"one": 0.2}),
        FRAME,
        "whole transformers",
    ),
    (make_column_transformer((FunctionTransformer(np.exp), ["grade"])), FRAME, "FunctionTransformer cannot"),
    (
        make_pipeline(StandardScaler(), make_column_transformer((MinMaxScaler(), [0]))),
        FRAME[["grade"]],
        "the first step",
    ),
    (OneHotEncoder(), FRAME[["sex"]], "outside of a ColumnTransformer"),
    (make_column_transformer((MinMaxScaler(), [0])), FRAME[["grade"]].to_numpy(), "trained on an array"),
]


@pytest.mark.parametrize(("step", "X", "message"), REFUSED, ids=[case[2] for case in REFUSED])
def test_what_is_not_exact_is_refused_with_a_reason(step, X, message):
    pipe = make_pipeline(step, Ridge()).fit(X, SCORES)
    with pytest.raises(ValueError, match=message):
        certify(pipe, X, SCORES)


def test_scaling_levels_is_refused_where_one_is_missing():
    pipe = make_pipeline(columns(sparse_threshold=0), StandardScaler(), Ridge()).fit(FRAME, SCORES)
    with pytest.raises(ValueError, match="is a level of a category that is missing in some rows"):
        certify(pipe, FRAME, SCORES)


def test_steps_that_do_something_else_to_observed_cells_are_refused(monkeypatch):
    """Whatever was not thought of: what the pipeline makes of the table is compared with what was read of it."""
    monkeypatch.setitem(STEPS, "PowerTransformer", lambda step: [("add", np.zeros(step.n_features_in_))])
    pipe = make_pipeline(make_column_transformer((PowerTransformer(), ["age", "dose"])), SimpleImputer(), Ridge())
    with pytest.raises(ValueError, match=r"or a step after it, makes -?[\d.]+ of row 0, column 'age'"):
        certify(pipe.fit(FRAME, SCORES), FRAME, SCORES)


def test_tables_without_names_are_refused():
    pipe = make_pipeline(make_column_transformer((MinMaxScaler(), ["grade"])), Ridge()).fit(FRAME, SCORES)
    table = FRAME[["grade"]].to_numpy(dtype=float)
    for X in (table, IntervalMatrix.from_bounds(table, table)):
        with pytest.raises(ValueError, match="give X as a DataFrame"):
            certify(pipe, X, SCORES)
    with pytest.raises(ValueError, match=r"intervals=\{column: \(low, high\)\}"):
        certify(pipe, FRAME, SCORES, X_lower=table, X_upper=table)
    with pytest.raises(ValueError, match="give a DataFrame with the same columns"):
        certify(pipe, FRAME, SCORES).predict_bounds(table)
