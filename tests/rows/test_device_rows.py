"""Tables in arrays of another library: the bounds of the same table in memory, where nothing as long comes back to."""

import array_api_strict
import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Intervals
from ipub.certificates import CERTIFICATES, Region
from ipub.certificates.slopes import attempt
from ipub.errors import IpubError
from ipub.losses import LOSSES
from ipub.rows import array as engine
from ipub.rows.array import ArrayRows
from ipub.rows.device import DeviceArray, Library, is_foreign
from ipub.rows.views import engine_of
from ipub.training.reading import in_memory, on_device

N, D = 6000, 4
AGREEMENT = 1e-9


def as_strict(values):
    return array_api_strict.asarray(np.asarray(values))


def as_torch(values):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.array(values))


def draw(task="classification", holes=0.005, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=N) + 0.3
    X[rng.random(X.shape) < holes] = np.nan
    return X, (y > 0.0).astype(float) if task == "classification" else y


def draw_test_rows():
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(60, D))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


@pytest.fixture(autouse=True)
def _small_tables_stay(monkeypatch):
    """Let small tables stay on the device, in several blocks."""
    monkeypatch.setattr(on_device, "KEPT_CELLS", 0)
    monkeypatch.setattr(engine, "BLOCK_CELLS", 10_000)


def bounds_of(model, X):
    return model.predict_bounds(X) if isinstance(model, BoundedRegressor) else model.decision_bounds(X)


def assert_alike(model, other, array, test_rows=None):
    """Compare bounds of the scores of rows with holes of their own."""
    rows = draw_test_rows() if test_rows is None else test_rows
    expected, found = bounds_of(model, rows), bounds_of(other, array(rows))
    assert type(found) is type(array(rows))
    difference = np.abs(in_memory(found) - expected) / np.maximum(np.abs(expected), 1.0)
    assert difference.max() <= AGREEMENT
    np.testing.assert_allclose(other.coef_bounds_, model.coef_bounds_, rtol=0.0, atol=1e-9)
    assert isinstance(engine_of(other.training_.models[0].problem.rows), ArrayRows)


NAMES = [name for name in CERTIFICATES if name != "pointwise"]
EACH = [
    (loss, NAMES[(2 * number + ratio) % len(NAMES)], l1_ratio, bool((number + ratio) % 2))
    for number, loss in enumerate(LOSSES)
    for ratio, l1_ratio in enumerate((0.0, 0.3))
]
EACH += [("log_loss", name, 0.0, True) for name in NAMES]


@pytest.mark.no_cover
@pytest.mark.parametrize(("loss", "certificate", "l1_ratio", "fit_intercept"), EACH)
def test_bounds_are_those_of_the_memory_engine(loss, certificate, l1_ratio, fit_intercept):
    kind = BoundedClassifier if LOSSES[loss].task == "classification" else BoundedRegressor
    model = kind(loss, alpha=0.1, l1_ratio=l1_ratio, fit_intercept=fit_intercept, certificate=certificate)
    X, y = draw(LOSSES[loss].task)
    other = kind(**model.get_params()).fit(as_strict(X), as_strict(y))
    assert_alike(model.fit(X, y), other, as_strict)


@pytest.mark.parametrize("array", [as_strict, as_torch])
@pytest.mark.parametrize("intervals", ["quantile", "observed", np.tile([-1.0, 1.0], (D, 1)), {0: (-2.0, 2.0)}])
def test_cells_that_are_summed(array, intervals, monkeypatch):
    monkeypatch.setattr(attempt, "MOST_CELLS", 10)
    monkeypatch.setattr(engine, "BLOCK_CELLS", N * D)  # prices are chosen block by block: the same blocks
    X, y = draw()
    model = BoundedClassifier(intervals=intervals).fit(X, y)
    assert "bounded together" in model.certificate_.note
    assert_alike(model, BoundedClassifier(intervals=intervals).fit(array(X), array(y)), array)


@pytest.mark.parametrize("array", [as_strict, as_torch])
def test_float32_is_read_as_it_is(array):
    X, y = draw()
    X = X.astype(np.float32)
    table = array(X)
    other = BoundedClassifier().fit(table, array(y))
    rows = engine_of(other.training_.models[0].problem.rows)
    assert rows.table.data is table
    assert not any(cache.keeps_rows for cache in rows._caches)
    assert np.array_equal(in_memory(table), X, equal_nan=True)
    assert_alike(BoundedClassifier().fit(X, y), other, array)
    assert_alike(BoundedClassifier().fit(X, y), other, array, draw_test_rows().astype(np.float32))


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_and_classes(classes):
    X, y = draw()
    y = np.where((X[:, 2] > 1.0) & (classes == 3), 2.0, y)
    weight = np.random.default_rng(1).integers(0, 3, N).astype(float)
    other = BoundedClassifier(class_weight="balanced").fit(as_strict(X), as_strict(y), as_strict(weight))
    model = BoundedClassifier(class_weight="balanced").fit(X, y, weight)
    assert_alike(model, other, as_strict)
    rows = draw_test_rows()
    for method in ("predict", "predict_proba", "predict_proba_bounds", "predict_set", "decision_function"):
        found = getattr(other, method)(as_strict(rows))
        assert is_foreign(found)
        np.testing.assert_allclose(in_memory(found), getattr(model, method)(rows), rtol=0.0, atol=1e-9)


def test_labels_may_be_elsewhere_and_of_any_kind():
    X, y = draw()
    expected = bounds_of(BoundedClassifier().fit(as_strict(X), as_strict(y)), as_strict(draw_test_rows()))
    for labels in (y, y.astype(int), as_strict(y.astype(np.int64)), np.where(y > 0.0, "yes", "no")):
        found = bounds_of(BoundedClassifier().fit(as_strict(X), labels), as_strict(draw_test_rows()))
        assert np.array_equal(in_memory(found), in_memory(expected))


@pytest.mark.parametrize("certificate", ["sphere", "tight"])
def test_the_same_bits_again(certificate):
    X, y = draw()
    fits = [BoundedClassifier(certificate=certificate).fit(as_strict(X), as_strict(y)) for _ in range(2)]
    first, second = (in_memory(fit.decision_bounds(as_strict(draw_test_rows()))) for fit in fits)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("certificate", ["sphere", "ball", "tight"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nothing_as_long_as_the_table_leaves_the_device(certificate, fit_intercept, monkeypatch):
    torch = pytest.importorskip("torch")  # array-api-strict cannot write to places by itself
    monkeypatch.setattr(attempt, "MOST_CELLS", 10)
    moved = []
    to_memory, from_memory = Library.numpy, Library.array
    monkeypatch.setattr(Library, "numpy", lambda self, data: (moved.append(data.numel()), to_memory(self, data))[1])
    monkeypatch.setattr(
        Library, "array", lambda self, *args: (moved.append(np.size(args[0])), from_memory(self, *args))[1]
    )
    X, y = (torch.from_numpy(part) for part in draw())
    model = BoundedClassifier(certificate=certificate, fit_intercept=fit_intercept, intervals=[[-1.0, 1.0]] * D)
    model.fit(X, y)
    model.decision_bounds(X)
    assert max(moved) < N / 2  # a sample of the rows is drawn


def test_what_a_device_does_not_do_is_done_in_memory():
    X, y = draw()
    X, y = X[:300], y[:300]
    for parameters in ({"intervals": Intervals(precision=0.01)}, {"scale": "standard"}, {"max_label_errors": 1}):
        model = BoundedClassifier(**parameters).fit(X, y)
        other = BoundedClassifier(**parameters).fit(as_strict(X), as_strict(y))
        rows = draw_test_rows()[:5]
        assert np.array_equal(in_memory(other.decision_bounds(as_strict(rows))), model.decision_bounds(rows))


def test_small_tables_are_read_into_memory(monkeypatch):
    monkeypatch.undo()
    X, y = draw()
    model, other = BoundedClassifier().fit(X, y), BoundedClassifier().fit(as_strict(X), as_strict(y))
    rows = draw_test_rows()[:5]
    assert np.array_equal(in_memory(other.decision_bounds(as_strict(rows))), model.decision_bounds(rows))
    assert np.array_equal(in_memory(other.attained_bounds(as_strict(rows[:1]))), model.attained_bounds(rows[:1]))


@pytest.mark.parametrize("intervals", ["quantile", [[-1.0, 1.0]] * D])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_infinite_cell_is_named(intervals, dtype):
    X, y = draw()
    X[4321, 2] = np.inf
    with pytest.raises(IpubError, match="row 4321, column 2"):
        BoundedClassifier(intervals=intervals).fit(as_strict(X.astype(dtype)), as_strict(y))


def test_rows_with_other_columns_are_refused():
    X, y = draw()
    model = BoundedClassifier(certificate="sphere").fit(as_strict(X), as_strict(y))
    with pytest.raises(IpubError, match="expecting 4 features"):
        model.decision_bounds(as_strict(X[:5, :3]))


def test_a_device_without_memory_leaves_the_estimator_as_it_was(monkeypatch):
    X, y = draw()
    model = BoundedClassifier(certificate="sphere").fit(as_strict(X), as_strict(y))
    before = dict(vars(model))
    monkeypatch.setattr(engine, "is_out_of_memory", lambda error: isinstance(error, MemoryError))
    monkeypatch.setattr(DeviceArray, "__matmul__", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(IpubError, match="not enough memory"):
        model.fit(as_strict(X), as_strict(y))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_an_inner_region_would_be_noticed(monkeypatch):
    X, y = draw()
    model = BoundedClassifier(certificate="sphere").fit(X, y)
    other = BoundedClassifier(certificate="sphere").fit(as_strict(X), as_strict(y))
    (region,) = other.certificate_.parts_of(Region)
    object.__setattr__(region, "radius", region.radius * (1.0 + 1e-8))
    with pytest.raises(AssertionError):
        assert_alike(model, other, as_strict)


def test_labels_that_are_no_two_numbers_are_read_in_memory():
    X, y = draw()
    with pytest.raises(ValueError, match="infinity"):
        BoundedClassifier().fit(as_strict(X), as_strict(np.where(np.arange(N) == 7, np.inf, y)))
    model = BoundedClassifier(certificate=None).fit(as_strict(X), as_strict(y > 0.5))
    assert model.classes_.tolist() == [False, True]
