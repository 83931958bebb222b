"""Frames as they are: numbers, truth values and categories, with holes in all of them."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.real_data import DATA
from ipub import BoundedClassifier, BoundedRegressor, CategoryWarning, Intervals, IntervalWarning
from ipub.app.files.modelfile import load, save

NAMES = ["age", "site_east", "site_north", "site_west", "smoker", "grade_1", "grade_2"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 150
    return pd.DataFrame(
        {
            "age": rng.normal(50.0, 10.0, n).round(1),
            "site": rng.choice(["north", "east", "west"], n),
            "smoker": rng.random(n) < 0.4,
            "grade": pd.Categorical(rng.choice([1, 2], n)),
        }
    )


@pytest.fixture
def y(frame):
    noise = np.random.default_rng(1).normal(size=len(frame))
    return frame["age"] / 10.0 + 2.0 * (frame["site"] == "east") - frame["smoker"] + noise


@pytest.fixture
def holed(frame):
    frame = frame.astype({"smoker": object})
    frame.loc[:3, "age"], frame.loc[3:6, "site"], frame.loc[7:8, "smoker"], frame.loc[9, "grade"] = (
        np.nan,
        None,
        None,
        None,
    )
    return frame


def test_complete_frames_give_what_an_encoder_before_the_estimator_gives(frame, y):
    reg = BoundedRegressor().fit(frame, y)
    before = make_column_transformer((OneHotEncoder(), ["site", "grade"]), remainder="passthrough")
    pipe = make_pipeline(before, BoundedRegressor()).fit(frame, y)
    np.testing.assert_allclose(reg.predict(frame), pipe.predict(frame), atol=1e-7)
    assert reg.get_feature_names_out().tolist() == NAMES
    assert reg.coef_.shape == (7,)
    assert reg.coef_bounds_.shape == (7, 2)
    assert reg.n_features_in_ == 4
    assert reg.feature_names_in_.tolist() == ["age", "site", "smoker", "grade"]


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
def test_every_choice_of_the_missing_categories_is_inside(scale, holed, y):
    holed = holed.drop(columns="grade").assign(grade=pd.Categorical([1, 2] * 75))
    holed.loc[4:6, "site"], holed.loc[8, "smoker"], holed.loc[1:3, "age"] = "west", True, 50.0
    rows = holed[100:104].copy()
    rows.loc[100, "site"] = rows.loc[101, "grade"] = None
    reg = BoundedRegressor(scale=scale).fit(holed, y)
    bounds = reg.predict_bounds(rows)
    low, high = reg.hole_ranges_[0]
    choices = itertools.product([low, high], ["north", "east", "west"], [True, False])
    for age, site, smoker in choices:
        filled = holed.copy()
        filled.loc[0, "age"], filled.loc[3, "site"], filled.loc[7, "smoker"] = age, site, smoker
        again = BoundedRegressor().fit(_scaled(reg, filled), y)
        for test_site, grade in itertools.product(["north", "east", "west"], [1, 2]):
            complete = rows.copy()
            complete.loc[100, "site"], complete.loc[101, "grade"] = test_site, grade
            predictions = again.predict(_scaled(reg, complete))
            assert (bounds[:, 0] <= predictions + 1e-7).all()
            assert (predictions <= bounds[:, 1] + 1e-7).all()
    inside = reg.predict(rows)
    assert ((bounds[:, 0] <= inside) & (inside <= bounds[:, 1])).all()


def _scaled(reg, frame):
    table = reg.encoder_.encode(frame)
    return table if reg.scaling_ is None else reg.scaling_.rows(table)


def test_columns_of_categories_are_not_scaled_and_have_the_box_of_their_levels(holed, y):
    reg = BoundedRegressor(scale="standard").fit(holed, y)
    is_number = np.isin(NAMES, ["age", "smoker"])
    for (_, operand), nothing in zip(reg.scaling_.operations, (0.0, 1.0), strict=True):
        assert (operand[~is_number] == nothing).all()
        assert (operand[is_number] != nothing).all()
    np.testing.assert_array_equal(reg.hole_ranges_[1:4], [[0.0, 1.0]] * 3)
    np.testing.assert_allclose(reg.fill_values_[1:4].sum(), 1.0)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_other_frames_give_the_same_bits(kind, holed, y):
    holed = holed.astype({"smoker": float, "grade": str}).replace({"nan": None})
    holed["grade"] = holed["grade"].where(holed["grade"].notna(), None)
    other = pl.from_pandas(holed) if kind == "polars" else pl.from_pandas(holed).to_arrow()
    expected, reg = BoundedRegressor().fit(holed, y), BoundedRegressor().fit(other, y)
    np.testing.assert_array_equal(reg.coef_bounds_, expected.coef_bounds_)
    np.testing.assert_array_equal(reg.predict_bounds(other[:20]), expected.predict_bounds(holed[:20]))


def test_intervals_and_precision_are_given_by_the_columns_of_the_frame(holed, y):
    plain = BoundedRegressor(certificate="sphere")
    reg = clone(plain).set_params(intervals=Intervals({"age": (18, 96)}, precision={"age": 0.05})).fit(holed, y)
    assert reg.hole_ranges_[0].tolist() == [18.0, 96.0]
    assert reg.precision_.tolist() == [0.05, 0, 0, 0, 0, 0, 0]
    by_number = clone(plain).set_params(intervals=Intervals({0: (18, 96)}, precision={0: 0.05})).fit(holed, y)
    np.testing.assert_array_equal(by_number.coef_bounds_, reg.coef_bounds_)
    with pytest.raises(ValueError, match=r"intervals names the column 'site', which holds categories"):
        BoundedRegressor(intervals={"site": (0, 1)}).fit(holed, y)
    with pytest.raises(ValueError, match=r"precision names the column 'weight', which X does not have"):
        BoundedRegressor(intervals=Intervals(precision={"weight": 1.0})).fit(holed, y)


@pytest.mark.parametrize("kind", ["pandas", "polars", "parquet"])
def test_a_new_category_is_any_of_the_known_ones_with_one_warning_a_call_or_an_error(holed, y, kind, tmp_path):
    rows = holed[20:23].copy()
    rows.loc[20:21, "site"], rows["grade"] = "south", pd.Categorical([1, 2, 3])
    missing = rows.copy()
    missing.loc[20:21, "site"], missing.loc[22, "grade"] = None, None
    reg = BoundedRegressor(intervals=Intervals()).fit(holed, y)
    expected = reg.predict_bounds(missing), reg.predict(missing)
    if kind == "polars":
        given = pl.from_pandas(rows)
    elif kind == "parquet":
        given = tmp_path / "rows.parquet"
        pq.write_table(pa.Table.from_pandas(rows.astype({"grade": int})), given, row_group_size=1)
    else:
        given = rows
    for method, bounds in zip((reg.predict_bounds, reg.predict), expected, strict=True):
        with pytest.warns(CategoryWarning) as caught:
            np.testing.assert_array_equal(method(given), bounds)
        assert len(caught) == 1
        assert "did not see 'south' in column 'site' (2 rows), 3 in column 'grade' (1 row): " in str(caught[0].message)
        assert (caught[0].message.column, caught[0].message.value) == ("site", "south")
        assert caught[0].filename == __file__
    reg.set_params(intervals=Intervals(handle_unknown="error"))
    with pytest.raises(ValueError, match=r"'site' has the category 'south' in row 0"):
        reg.predict_bounds(given)


def test_numbers_among_levels_of_text_are_no_new_category(holed, y):
    clf = BoundedClassifier(certificate=None).fit(holed, y > y.median())
    with pytest.raises(ValueError, match=r"'site' has the category 7 in row 1"):
        clf.predict(holed[20:22].assign(site=["south", 7]))


def test_folds_whose_test_rows_have_new_categories_have_a_score(holed, y):
    rare = holed.assign(town=["rare", *["usual", "other"] * 74, "usual"])
    with pytest.warns(CategoryWarning, match="did not see 'rare' in column 'town'"):
        scores = cross_val_score(BoundedClassifier(certificate=None), rare, y > y.median(), cv=3)
    assert np.isfinite(scores).all()
    grid = GridSearchCV(BoundedRegressor(certificate=None), {"alpha": [0.1, 1.0]}, cv=3, error_score="raise")
    with pytest.warns(CategoryWarning, match="did not see 'rare' in column 'town'"):
        grid.fit(rare, y)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()


def test_other_columns_another_order_and_arrays_are_refused(holed, y):
    reg = BoundedRegressor().fit(holed, y)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
        reg.predict(holed[["site", "age", "smoker", "grade"]])
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*town"):
        reg.predict(holed.rename(columns={"site": "town"}))
    with pytest.raises(ValueError, match=r"(?s)feature names should match|3 features"):
        reg.predict(holed.drop(columns="site"))
    with pytest.raises(ValueError, match=r"fitted on a DataFrame with categories \('site', 'grade'\)"):
        reg.predict(np.zeros((1, 4)))
    with pytest.raises(
        ValueError, match=r"X_lower and X_upper bound numbers, and X has categories \('site', 'grade'\)"
    ):
        BoundedRegressor().fit(holed, y, X_lower=holed, X_upper=holed)


def test_warnings_point_at_the_call_of_fit(holed, y):
    many = holed.assign(name=[f"v{i % 100}" for i in range(len(holed))], constant=[1.0] * 149 + [np.nan])
    with pytest.warns((CategoryWarning, IntervalWarning)) as caught:
        BoundedRegressor(certificate="sphere").fit(many, y)
    assert {warning.category for warning in caught} == {CategoryWarning, IntervalWarning}
    assert {warning.filename for warning in caught} == {__file__}


def test_fitting_again_forgets_the_categories(holed, y):
    reg = BoundedRegressor().fit(holed, y)
    reg.fit(holed[["age"]], y)
    assert reg.encoder_ is None
    assert reg.get_feature_names_out().tolist() == ["age"]
    reg.fit(np.arange(10.0)[:, None], np.arange(10.0))
    assert reg.get_feature_names_out().tolist() == ["x0"]


@pytest.mark.parametrize("through", ["file", "pickle"])
def test_files_and_pickles_keep_the_categories(through, holed, y, tmp_path):
    clf = BoundedClassifier(scale="standard").fit(holed, y > y.median())
    if through == "file":
        save(clf, tmp_path / "m.ipub")
        again = load(tmp_path / "m.ipub")
    else:
        again = pickle.loads(pickle.dumps(clf))
    assert again.encoder_ == clf.encoder_
    np.testing.assert_array_equal(again.predict_proba_bounds(holed), clf.predict_proba_bounds(holed))


def test_a_grid_search_takes_frames_with_categories(holed, y):
    search = GridSearchCV(BoundedRegressor(), {"scale": [None, "standard"], "alpha": [0.01, 0.1]}, cv=2).fit(holed, y)
    assert search.best_estimator_.predict_bounds(holed[:3]).shape == (3, 2)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_bounds_are_frames_for_those_who_ask(kind, classes, holed, y):
    labels = np.array(["low", "middle", "high"])[pd.qcut(y, classes, labels=False)]
    plain, rows = BoundedClassifier(scale="standard", certificate="sphere").fit(holed, labels), holed[5:7]
    clf = clone(plain).set_output(transform=kind).fit(holed, labels)
    ends = ["lower", "upper"] if classes == 2 else [f"{c}_{e}" for c in clf.classes_ for e in ("lower", "upper")]
    for method in ("decision_bounds", "predict_proba_bounds", "attained_bounds"):
        bounds = getattr(clf, method)(rows)
        assert list(bounds.columns) == ends
        np.testing.assert_array_equal(bounds.to_numpy().ravel(), getattr(plain, method)(rows).ravel())
    possible = clf.predict_set(rows)
    assert list(possible.columns) == list(clf.classes_)
    if kind == "pandas":
        assert bounds.index.tolist() == possible.index.tolist() == [5, 6]
        assert clone(clf).fit(holed, labels).predict_set(rows).equals(possible)
    assert isinstance(clf.set_output(transform="default").predict_set(rows), np.ndarray)
    with pytest.raises(ValueError, match="transform='arrow' is not known: use 'default', 'pandas', 'polars'"):
        clf.set_output(transform="arrow")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("name", "target", "drop"),
    [
        ("credit_approval", "class", []),
        ("chronic_kidney_disease", "class", []),
        ("penguins", "species", []),
        ("credit_scoring", "Status", []),
        ("horse_colic", "surgical_lesion", ["hospital_number", "lesion_site_1"]),
    ],
)
def test_real_tables_are_fitted_as_they_are(name, target, drop):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"the real data are not at {DATA}")
    frame = pd.read_parquet(path).dropna(subset=[target])[:300:2]
    X, labels = frame.drop(columns=[target, *(c for c in drop if c in frame)]), frame[target]
    clf = BoundedClassifier(scale="standard", alpha=0.3).fit(X, labels)
    rows = X[:10]
    bounds, scores = clf.decision_bounds(rows), clf.decision_function(rows)
    assert ((bounds[..., 0] <= scores) & (scores <= bounds[..., 1])).all()
    assert len(clf.get_feature_names_out()) == clf.coef_.shape[1]
