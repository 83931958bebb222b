"""Sparse and wide tables: what the estimators do with them, and what they say where they cannot."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import coo_array, coo_matrix, csc_array, csr_array, csr_matrix, random_array

from ipub import (
    BoundedClassifier,
    BoundedRegressor,
    Intervals,
    IntervalWarning,
    IpubError,
    imputation_report,
    penalty_path,
)
from ipub.app.files.modelfile import load, save
from ipub.promises import Budget, Draws
from ipub.rows import engine_of
from ipub.rows.sparse import SparseRows
from support.sparse_rows import keep_every_table_sparse

pytestmark = pytest.mark.filterwarnings("ignore::ipub.IntervalWarning")


def text_table(n=60, d=25, density=0.2, holes=0.05, seed=0):
    rng = np.random.default_rng(seed)
    table = random_array((n, d), density=density, random_state=rng).tocsr()
    table.data = np.ceil(3.0 * table.data)
    y = np.where(table @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.0, "yes", "no")
    table.data[rng.random(table.nnz) < holes] = np.nan
    return csr_array(table), y


@pytest.fixture
def sparse(monkeypatch):
    keep_every_table_sparse(monkeypatch)


def is_sparse_fit(model):
    return isinstance(engine_of(model.training_.models[0].problem.rows), SparseRows)


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("certificate", ["ball", "sphere"])
def test_a_sparse_table_gives_the_results_of_the_dense_one(certificate):
    X, y = text_table()
    model = BoundedClassifier(alpha=0.1, certificate=certificate).fit(X, y)
    dense = BoundedClassifier(alpha=0.1, certificate=certificate).fit(X.toarray(), y)
    assert is_sparse_fit(model)
    np.testing.assert_array_equal(model.hole_ranges_, dense.hole_ranges_)
    for name in ("coef_", "intercept_", "coef_bounds_", "intercept_bounds_", "fill_values_"):
        np.testing.assert_allclose(getattr(model, name), getattr(dense, name), rtol=0.0, atol=1e-9)
    for method in ("decision_function", "predict_proba", "decision_bounds", "predict_proba_bounds"):
        expected = getattr(dense, method)(X.toarray())
        for rows in (X, X.toarray(), csc_array(X), csr_matrix(X)):
            np.testing.assert_allclose(getattr(model, method)(rows), expected, rtol=0.0, atol=2e-9)
        np.testing.assert_allclose(getattr(dense, method)(X), expected, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), dense.predict(X.toarray()))
    np.testing.assert_array_equal(model.predict_set(X), dense.predict_set(X.toarray()))
    assert set(model.predict_status(X)) <= {"certain", "unproved"}


@pytest.mark.usefixtures("sparse")
def test_weights_classes_and_targets(tmp_path):
    X, _ = text_table()
    rng = np.random.default_rng(3)
    y, weight = rng.choice(["a", "b", "c"], X.shape[0]), rng.choice([0.0, 1.0, 2.0], X.shape[0])
    model, dense = (
        BoundedClassifier(certificate="ball", class_weight="balanced").fit(table, y, sample_weight=weight)
        for table in (X, X.toarray())
    )
    np.testing.assert_allclose(model.decision_bounds(X), dense.decision_bounds(X.toarray()), rtol=0.0, atol=1e-9)
    t = rng.normal(size=X.shape[0])
    models = [
        BoundedRegressor("huber", certificate="ball", l1_ratio=0.1).fit(table, t, y_lower=t - 0.1, y_upper=t + 0.1)
        for table in (X, X.toarray())
    ]
    first, second = (each.predict_bounds(X.toarray()) for each in models)
    np.testing.assert_allclose(first, second, rtol=0.0, atol=1e-9)
    save(models[0], tmp_path / "model.ipub")
    for loaded in (load(tmp_path / "model.ipub"), pickle.loads(pickle.dumps(models[0]))):
        bounds = loaded.predict_bounds(X)
        assert (bounds[:, 0] <= first[:, 0] + 1e-12).all()
        assert (bounds[:, 1] >= first[:, 1] - 1e-12).all()


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("kind", [csr_array, csr_matrix, csc_array, coo_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_formats_and_types(kind, dtype):
    X, y = text_table(holes=0.0)
    table = X.astype(dtype)
    model = BoundedClassifier(certificate="ball").fit(kind(table), y)
    usual = BoundedClassifier(certificate="ball").fit(csr_array(table, dtype=float), y)
    dense = BoundedClassifier(certificate="ball").fit(table.toarray(), y)
    np.testing.assert_array_equal(model.coef_bounds_, usual.coef_bounds_)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=0.0, atol=1e-9)


@pytest.mark.usefixtures("sparse")
def test_empty_rows_and_columns_stored_zeros_and_entries_given_twice():
    X, y = text_table()
    table = X.toarray()
    table[3], table[:, 5] = 0.0, 0.0
    i, j = np.nonzero(table)
    halves = np.concatenate([table[i, j], table[i, j], [0.0]]) / 2.0
    twice = coo_matrix((halves, (np.concatenate([i, i, [3]]), np.concatenate([j, j, [5]]))), shape=table.shape)
    shuffled = csr_array(table)
    shuffled.indices, shuffled.data = shuffled.indices.copy(), shuffled.data.copy()
    start, stop = shuffled.indptr[:2]
    order = np.arange(start, stop)[::-1]
    shuffled.indices[start:stop], shuffled.data[start:stop] = shuffled.indices[order], shuffled.data[order]
    shuffled.has_sorted_indices = False
    dense = BoundedClassifier(certificate="ball").fit(table, y)
    for each in (twice, shuffled):
        before = each.data.copy()
        model = BoundedClassifier(certificate="ball").fit(each, y)
        np.testing.assert_allclose(model.coef_bounds_, dense.coef_bounds_, rtol=0.0, atol=1e-9)
        np.testing.assert_array_equal(each.data, before)
    assert model.hole_ranges_[5].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("is_small", [True, False])
def test_bad_values_name_the_cell(is_small, monkeypatch):
    if not is_small:
        keep_every_table_sparse(monkeypatch)
    X, y = text_table(holes=0.0)
    table = X.toarray()
    table[3, 4] = np.inf
    X = csr_array(table)
    with pytest.raises(IpubError, match="infinity in row 3, column 4"):
        BoundedClassifier(certificate="ball").fit(X, y)
    model = BoundedClassifier(certificate="ball").fit(X[:3], ["a", "b", "a"])
    with pytest.raises(IpubError, match="infinity in row 3, column 4"):
        model.decision_bounds(X)
    with pytest.raises(ValueError, match="is expecting 25 features"):
        model.predict(X[:, :5])


@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_scale_that_moves_zeros_names_the_remedy(scale, is_small, monkeypatch):
    if not is_small:
        keep_every_table_sparse(monkeypatch)
    X, y = text_table()
    with pytest.raises(IpubError, match=r"set scale=None, and scale before with MaxAbsScaler"):
        BoundedClassifier(scale=scale).fit(X, y)


@pytest.mark.usefixtures("sparse")
def test_what_a_sparse_table_has_not_names_the_remedy():
    X, y = text_table()
    with pytest.raises(IpubError, match="precision is not available for a sparse table"):
        BoundedClassifier(certificate="ball", intervals=Intervals(precision=0.1)).fit(X, y)
    for name, value in {"max_label_errors": 1, "unknown_labels": True, "uncertainty": Budget(cells=1)}.items():
        with pytest.raises(IpubError, match=f"{name} is not available for a sparse table"):
            BoundedClassifier(certificate="ball", **{name: value}).fit(X, y)
    with pytest.raises(IpubError, match="X is sparse, so X_lower and X_upper cannot be given"):
        BoundedClassifier().fit(X, y, X_lower=X, X_upper=X)
    model = BoundedClassifier(certificate="ball").fit(X, y)
    for search in (model.attained_bounds, model.flip_distance):
        with pytest.raises(IpubError, match="need matrices of all pairs of columns"):
            search(X[:1])


def test_a_small_sparse_table_is_read_as_a_dense_one():
    X, y = text_table()
    model, dense = BoundedClassifier().fit(X, y), BoundedClassifier().fit(X.toarray(), y)
    assert not is_sparse_fit(model)
    np.testing.assert_array_equal(model.decision_bounds(X), dense.decision_bounds(X.toarray()))
    np.testing.assert_array_equal(model.attained_bounds(X[:1]), dense.attained_bounds(X[:1].toarray()))


@pytest.mark.parametrize("certificate", ["slope", "pointwise"])
def test_certificates_with_matrices_say_how_large_they_would_be(certificate):
    X, y = text_table(n=50, d=100_000, density=1e-4)
    with pytest.raises(IpubError, match=r"100,000 x 100,000 \(74\.5 GiB each\).*set certificate='ball'"):
        BoundedClassifier(certificate=certificate).fit(X, y)


@pytest.mark.parametrize("certificate", ["sphere", "tight"])
def test_a_hundred_thousand_columns(certificate):
    X, y = text_table(n=200, d=100_000, density=5e-4, holes=0.002)
    model = BoundedClassifier(certificate=certificate, alpha=0.1).fit(X, y)
    assert is_sparse_fit(model)
    assert model.coef_bounds_.shape == (100_000, 2)
    scores, bounds = model.decision_function(X), model.decision_bounds(X)
    assert np.isfinite(bounds).all()
    filled = ~np.isnan(np.asarray(X.sum(axis=1)).ravel())
    assert ((bounds[:, 0] <= scores) & (scores <= bounds[:, 1]))[filled].all()
    note = model.certificate_.note
    assert ("100,001 x 100,001 (74.5 GiB each)" in note) == (certificate == "tight")


def test_wide_dense_tables_have_no_matrix_either():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5_000))
    X[0, :3] = np.nan
    y = rng.normal(size=30)
    model = BoundedRegressor(certificate="ball", alpha=10.0).fit(X, y)
    bounds, prediction = model.predict_bounds(X), model.predict(X)
    assert ((bounds[:, 0] <= prediction) & (prediction <= bounds[:, 1])).all()
    with pytest.raises(IpubError, match=r"5,000 x 5,000 \(0\.2 GiB each\)"):
        BoundedRegressor(certificate="slope").fit(X, y)


def test_a_warning_of_many_columns_names_a_few():
    X, y = text_table(n=40, d=400, density=0.05, holes=0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BoundedClassifier(certificate="ball").fit(X, y)
    texts = [str(each.message) for each in caught if issubclass(each.category, IntervalWarning)]
    assert texts
    assert all(len(text) < 1000 for text in texts)


@pytest.mark.parametrize("certificate", ["ball", "tight"])
def test_sparse_rows_have_the_conditional_intervals_of_dense_ones(certificate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 3] = 5.0 * X[:, 0] + 0.1 * rng.normal(size=200)
    y = X[:, 1] + X[:, 3] > 0.0
    X[::3, 3] = np.nan
    model = BoundedClassifier(alpha=0.1, certificate=certificate, intervals="conditional").fit(X, y)
    assert model.conditional_intervals_.columns
    for method in ("decision_function", "decision_bounds"):
        np.testing.assert_allclose(getattr(model, method)(csr_array(X[:30])), getattr(model, method)(X[:30]), atol=1e-9)


@pytest.mark.usefixtures("sparse")
def test_conditional_intervals_of_a_sparse_table_are_refused():
    X, y = text_table()
    with pytest.raises(IpubError, match=r"intervals='conditional' needs .* dense"):
        BoundedClassifier(certificate="ball", intervals="conditional").fit(X, y)


@pytest.mark.parametrize("uncertainty", [Budget(share=0.05), Draws(n_draws=3)])
def test_promises_with_matrices_say_how_large_they_would_be(uncertainty):
    X = np.random.default_rng(0).normal(size=(30, 5_000))
    X[0, 0] = np.nan
    with pytest.raises(IpubError, match=r"5,000 x 5,000 .*GiB.*leave out columns"):
        BoundedClassifier(certificate="ball", uncertainty=uncertainty).fit(X, np.arange(30) % 2)


def test_reports_take_sparse_tables(monkeypatch):
    X, y = text_table()
    model = BoundedClassifier(alpha=1.0, certificate="ball").fit(X, y)
    report = imputation_report(model, X, y, draws=Draws(n_draws=3, random_state=0))
    assert len(str(report)) > 100
    expected = penalty_path(BoundedClassifier(certificate="ball"), X.toarray(), y, X.toarray()[:3], alphas=2).alphas
    keep_every_table_sparse(monkeypatch)
    path = penalty_path(BoundedClassifier(certificate="ball"), X, y, X[:3], alphas=2)
    np.testing.assert_allclose(path.alphas, expected, rtol=1e-9)


def test_sparse_tables_that_are_none():
    X, y = text_table()
    with pytest.raises(IpubError, match="one dimension"):
        BoundedClassifier().fit(coo_array(np.ones(60)), y)
    X.indices[0] = 1000
    with pytest.raises(IpubError, match="not a valid sparse table"):
        BoundedClassifier().fit(X, y)


def test_infinite_values_that_cancel_are_named():
    X = coo_matrix(([np.inf, -np.inf, 1.0, 2.0], ([0, 0, 1, 2], [0, 0, 0, 1])), shape=(4, 2))
    with pytest.raises(IpubError, match="infinity in row 0, column 0"):
        BoundedClassifier(certificate="ball").fit(X, ["a", "b", "a", "b"])
