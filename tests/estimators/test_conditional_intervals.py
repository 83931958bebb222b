"""`intervals="conditional"` in the estimators: fitted once, used for every row, kept in pickles and files."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, Budget, Intervals, IpubError, certify
from ipub.app.files.modelfile import load, save


@pytest.fixture(scope="module")
def table():
    """Three numbers, the third close to the first, and a category that the second depends on."""
    rng = np.random.default_rng(0)
    site = rng.integers(2, size=240)
    frame = pd.DataFrame({"a": rng.normal(size=240), "b": 3.0 * site + rng.normal(size=240)})
    frame["c"] = frame["a"] + 0.2 * rng.normal(size=240)
    frame["site"] = np.where(site == 1, "north", "south")
    y = np.where(frame["a"] + 0.3 * frame["b"] + rng.normal(size=240) > 0.5, "yes", "no")
    frame.loc[:14, "b"] = np.nan
    frame.loc[10:29, "c"] = np.nan
    frame.loc[25:34, "site"] = None
    return frame, y


@pytest.fixture(scope="module")
def model(table):
    return BoundedClassifier(alpha=1.0, intervals="conditional", scale="standard").fit(*table)


def cells_of(model, X):
    """The intervals of the missing numbers of rows, in units of X: (row, column, lower, upper)."""
    learnt = model.training_.table
    matrix = learnt.intervals(np.asarray(learnt.columns.values(X), dtype=float))
    in_row, columns, centers, radii = matrix.cells(slice(0, len(X)))
    return in_row, columns, centers - radii, centers + radii


def test_each_hole_has_an_interval_of_its_own_that_is_shorter(model, table):
    in_row, columns, low, high = cells_of(model, table[0])
    assert len(np.unique(low[columns == 2])) > 10
    report = model.interval_report_
    assert report.columns == ("a", "b", "c")
    assert report.holes.tolist() == [0, 15, 20]
    assert (report.coverage[1:] > 0.85).all()
    assert report.width[2] < 0.5 * report.quantile_width[2]
    # The interval of c is around a.
    a = table[0]["a"].to_numpy()[in_row[columns == 2]]
    assert np.corrcoef(low[columns == 2] + high[columns == 2], a)[0, 1] > 0.95


def test_labels_are_not_used(model, table):
    X, y = table
    other = clone(model).fit(X, y[::-1])
    np.testing.assert_array_equal(cells_of(model, X), cells_of(other, X))


def test_bounds_are_narrower_and_predictions_inside(model, table):
    X, y = table
    plain = BoundedClassifier(alpha=1.0, scale="standard").fit(X, y)
    assert plain.interval_report_ is None
    bounds, before = model.decision_bounds(X), plain.decision_bounds(X)
    assert np.median(np.ptp(bounds, axis=1)) < 0.8 * np.median(np.ptp(before, axis=1))
    scores = model.decision_function(X)
    assert ((bounds[:, 0] <= scores) & (scores <= bounds[:, 1])).all()


def test_test_rows_have_intervals_by_the_same_lines(model):
    row = pd.DataFrame({"a": [0.5, -0.5], "b": [1.0, 1.0], "c": [np.nan, np.nan], "site": ["north", "north"]})
    _, _, low, high = cells_of(model, row)
    assert low[0] < 0.5 < high[0] < low[0] + 1.5
    assert low[1] < -0.5 < high[1]
    filled = row.assign(c=0.5 * low + 0.5 * high)
    np.testing.assert_allclose(model.decision_function(row), model.decision_function(filled), rtol=1e-12)
    corners = [model.decision_bounds(row.assign(c=end)) for end in (low, high)]
    bounds = model.decision_bounds(row)
    assert (bounds[:, 0] <= np.minimum(corners[0], corners[1])[:, 0] + 1e-12).all()
    assert (bounds[:, 1] >= np.maximum(corners[0], corners[1])[:, 1] - 1e-12).all()


def test_models_trained_on_fillings_inside_are_within_the_bounds(model, table):
    X, y = table
    in_row, columns, low, high = cells_of(model, X)
    rng, names = np.random.default_rng(1), ["a", "b", "c"]
    bounds = model.decision_bounds(X[40:60])
    for side in (0.0, 1.0, rng.random(len(low))):
        filled = X.copy()
        for i, j, value in zip(in_row, columns, low + side * (high - low), strict=True):
            filled.loc[i, names[j]] = value
        filled["site"] = filled["site"].fillna("north")
        learnt = model.training_.table
        again = BoundedClassifier(alpha=1.0, certificate=None)
        scaled = pd.DataFrame(learnt.filled_rows(filled))
        scores = again.fit(scaled, y).decision_function(pd.DataFrame(learnt.filled_rows(X[40:60])))
        assert ((bounds[:, 0] <= scores + 1e-6) & (scores - 1e-6 <= bounds[:, 1])).all()


def test_files_pickles_and_copies_keep_the_intervals(model, table, tmp_path):
    X, _ = table
    save(model, tmp_path / "m.ipub")
    loaded = load(tmp_path / "m.ipub")
    np.testing.assert_array_equal(loaded.decision_bounds(X), model.decision_bounds(X))
    assert str(loaded.interval_report_) == str(model.interval_report_)
    for other in (pickle.loads(pickle.dumps(model)), loaded):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(cells_of(other, X), cells_of(model, X))


def test_the_same_table_gives_the_same_intervals_and_another_seed_others(model, table):
    X, y = table
    np.testing.assert_array_equal(cells_of(clone(model).fit(X, y), X), cells_of(model, X))
    other = clone(model).set_params(random_state=1, certificate=None).fit(X, y)
    assert not np.array_equal(cells_of(other, X), cells_of(model, X))


def test_a_mapping_mixes_conditional_and_given_intervals(table):
    X, y = table
    model = BoundedClassifier(intervals={"c": "conditional", "b": (-3, 6)}, certificate="sphere").fit(X, y)
    _, columns, low, high = cells_of(model, X)
    assert model.interval_report_.columns == ("c",)
    np.testing.assert_allclose((low[columns == 1], high[columns == 1]), np.tile([[-3.0], [6.0]], 15), rtol=1e-12)
    assert len(np.unique(low[columns == 2])) > 10


def test_pipelines_grid_search_budgets_and_certify_work(table):
    X, y = table[0][["a", "b", "c"]].to_numpy(), table[1]
    kind = BoundedClassifier(intervals="conditional", certificate=None)
    search = GridSearchCV(make_pipeline(StandardScaler(), kind), {"boundedclassifier__alpha": [0.1, 1.0]}, cv=2)
    assert search.fit(X, y).best_estimator_[-1].interval_report_.holes.tolist() == [0, 15, 20]
    budget = clone(kind).set_params(certificate="ball", uncertainty=Budget(cells=2)).fit(X, y)
    assert np.isfinite(budget.decision_bounds(X[:3])).all()
    filled = np.where(np.isnan(X), budget.training_.table.filled_rows(X), X)
    trained = LogisticRegression(C=1.0 / (0.1 * len(X))).fit(filled, y)
    certified = certify(trained, X, y, intervals="conditional", certificate="ball")
    assert certified.interval_report_.rules == ("conditional",) * 3
    assert np.isfinite(certified.decision_bounds(X[:3])).all()


def test_a_regression_with_precision_has_them_too(table):
    X, _ = table
    reg = BoundedRegressor(intervals=Intervals("conditional", precision=0.1), certificate="ball")
    reg.fit(X[["a", "b", "c"]], X["a"].to_numpy())
    assert np.isfinite(reg.predict_bounds(X[["a", "b", "c"]])).all()


def test_tables_that_are_not_in_memory_are_refused_with_a_remedy(table, tmp_path, monkeypatch):
    X, y = table
    path = tmp_path / "x.npy"
    np.save(path, X[["a", "b", "c"]].to_numpy())
    kind = BoundedClassifier(intervals="conditional")
    with pytest.raises(IpubError, match=r"a memory-mapped file: give np.array\(X\)"):
        kind.fit(np.load(path, mmap_mode="r"), y)
    X.assign(y=y).to_parquet(tmp_path / "x.parquet")
    monkeypatch.setattr("ipub.training.reading.sources.KEPT_CELLS", 0)
    with pytest.raises(IpubError, match="read piece by piece: read it into a DataFrame"):
        kind.fit(tmp_path / "x.parquet", "y")
    monkeypatch.setattr("ipub.training.reading.on_device.KEPT_CELLS", 0)
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(IpubError, match="on a device: give a NumPy array"):
        kind.fit(strict.asarray(X[["a", "b", "c"]].to_numpy()), y)


def test_another_word_is_refused_with_those_that_are_known(table):
    X, y = table
    with pytest.raises(IpubError, match="'conditional'"):
        BoundedClassifier(intervals="conditonal").fit(X, y)


def test_predictions_of_files_and_device_arrays_use_them(model, table, tmp_path):
    X, y = table
    X.to_parquet(tmp_path / "x.parquet")
    np.testing.assert_array_equal(model.decision_bounds(tmp_path / "x.parquet"), model.decision_bounds(X))
    strict = pytest.importorskip("array_api_strict")
    values = X[["a", "b", "c"]].to_numpy()
    plain = BoundedClassifier(intervals="conditional", certificate="ball").fit(values, y)
    for method in ("decision_function", "decision_bounds"):
        found = np.asarray(getattr(plain, method)(strict.asarray(values)))
        np.testing.assert_allclose(found, getattr(plain, method)(values), rtol=1e-12)


def test_rows_of_weight_zero_are_not_learnt_from(table):
    X, y = table
    weight = (np.arange(240) < 200).astype(float)
    kind = BoundedClassifier(intervals="conditional", certificate=None)
    changed = X.copy()
    changed.loc[200:, ["a", "b", "c"]] *= 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [clone(kind).fit(each, y, sample_weight=weight) for each in (X, changed)]
    np.testing.assert_array_equal(*(cells_of(each, X[:200]) for each in models))
