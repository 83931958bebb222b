"""Dask collections: the bounds of the same table in memory, the same bits again, few runs, little to this process."""

import copy
import operator
import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dask
from ipub import BoundedClassifier, BoundedRegressor, Intervals, IpubError
from ipub.estimators.linear_model import parameters_of
from ipub.rows import MemoryRows, Reads, engine_of, reads, slices
from ipub.rows.dask import DaskTable, dask_table
from ipub.rows.dask_runs import FAN_IN, DaskRuns, folded, height
from ipub.rows.pieces import FoldedRows
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.training.reading.long_table import read_long_table

N = 180
NUMBERS = ["age", "dose", "size"]


@pytest.fixture(autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 90, n) / 10.0, "dose": rng.normal(size=n), "size": rng.normal(size=n)}
    )
    score = frame["dose"] - frame["size"] + 0.5 * rng.normal(size=n)
    frame["site"] = rng.choice(["north", "east", "west"], n)
    frame = frame.mask(rng.random(frame.shape) < 0.03)
    frame["weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    frame["answer"] = np.where(score > 0.0, "yes", "no")
    frame["kind"] = np.digitize(score, [-0.7, 0.7])
    frame["target"] = score
    return frame


CASES = {
    "tight": (BoundedClassifier(), "answer", None, NUMBERS),
    "categories": (BoundedClassifier(certificate="slope", alpha=1.0), "answer", None, [*NUMBERS, "site"]),
    "hinge": (BoundedClassifier("hinge", alpha=1.0), "answer", None, NUMBERS),
    "squared hinge, l1": (
        BoundedClassifier("squared_hinge", l1_ratio=0.5, certificate="ball"),
        "answer",
        None,
        NUMBERS,
    ),
    "weights": (
        BoundedClassifier(scale="standard", certificate="ball"),
        "answer",
        "weight",
        [*NUMBERS, "site"],
    ),
    "balanced": (BoundedClassifier(class_weight="balanced", certificate="sphere"), "answer", "weight", NUMBERS),
    "three classes": (BoundedClassifier(certificate="ball"), "kind", None, NUMBERS),
    "wrong labels": (BoundedClassifier(max_label_errors=2, certificate="ball"), "answer", None, NUMBERS),
    "regression": (
        BoundedRegressor(scale="minmax", intervals="observed"),
        "target",
        "weight",
        NUMBERS,
    ),
    "huber": (
        BoundedRegressor("huber", certificate="sphere", intervals=Intervals(precision=0.01)),
        "target",
        None,
        NUMBERS,
    ),
}


def bounds_of(model, X):
    return model.predict_bounds(X) if isinstance(model, BoundedRegressor) else model.decision_bounds(X)


def reloaded(model):
    """Return a model without its training rows."""
    return pickle.loads(pickle.dumps(model))


def runs_of(model):
    rows = engine_of(model.training_.models[0].problem.rows)
    assert isinstance(rows, FoldedRows)
    return rows.table.runs


def assert_close(found, expected, tolerance=1e-9):
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    error = np.abs(found - expected)[np.isfinite(expected)]
    assert (error <= tolerance * np.maximum(np.abs(expected[np.isfinite(expected)]), 1.0)).all(), error.max()


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
def test_bounds_are_those_of_the_table_in_memory(case):
    model, label, weight, features = CASES[case]
    frame = table()
    memory = copy.copy(model).fit(frame[features], frame[label], None if weight is None else frame[weight])
    parts = dd.from_pandas(frame, npartitions=5)
    lazy = copy.copy(model).fit(parts[features], parts[label], None if weight is None else parts[weight])
    rows = frame[features][:20]
    # Of the hinge, models that differ by rounding may have rows on other sides of their jump, and other multipliers.
    tolerance = 0.05 if case == "hinge" else 1e-9
    assert_close(bounds_of(lazy, rows), bounds_of(memory, rows), tolerance)
    assert_close(lazy.coef_, memory.coef_)
    assert list(lazy.feature_names_in_) == features
    if label != "target":
        np.testing.assert_array_equal(lazy.classes_, memory.classes_)
    assert_close(bounds_of(lazy, parts[features]).compute(), bounds_of(reloaded(memory), frame[features]), tolerance)


@pytest.fixture
def numbers():
    frame = table()
    return frame[NUMBERS].to_numpy(), frame["target"].to_numpy(), frame["weight"].to_numpy()


def ball(**options):
    return BoundedRegressor(certificate="ball", **options)


def test_arrays_in_chunks_of_rows_and_columns(numbers):
    X, y, weight = numbers
    memory = ball(intervals={0: (0.0, 10.0)}).fit(X, y, weight)
    lazy = ball(intervals={0: (0.0, 10.0)})
    parts = da.from_array(X, chunks=(70, 2))
    lazy.fit(parts, da.from_array(y, chunks=50), da.from_array(weight, chunks=N))
    assert not hasattr(lazy, "feature_names_in_")
    assert_close(lazy.predict_bounds(X), memory.predict_bounds(X))
    predicted, bounds = lazy.predict(parts), lazy.predict_bounds(parts)
    assert (predicted.shape, bounds.shape) == ((N,), (N, 2))
    assert_close(predicted.compute(), memory.predict(X))
    assert_close(bounds.compute(), memory.predict_bounds(X))


def test_unknown_chunks_single_precision_and_partitions_without_rows(numbers):
    X, y, weight = (part.astype(np.float32) for part in numbers)
    keep = np.arange(N) % 60 < 40
    keep[60:120] = False
    chosen = da.from_array(keep, chunks=60)
    arrays = (da.from_array(part, chunks=(60, *part.shape[1:]))[chosen] for part in (X, y, weight))
    lazy = ball().fit(*arrays)
    assert_close(lazy.coef_, ball().fit(X[keep].astype(float), y[keep].astype(float), weight[keep]).coef_)
    assert runs_of(lazy).count < 40
    result = lazy.predict_bounds(da.from_array(X, chunks=(60, 3))[chosen])
    assert result.compute().shape == (keep.sum(), 2)


def test_partitions_of_one_class_and_a_column_as_target():
    frame = table().sort_values("answer")[[*NUMBERS, "answer"]]
    memory = BoundedClassifier(certificate="ball").fit(frame[NUMBERS], frame["answer"])
    lazy = BoundedClassifier(certificate="ball").fit(dd.from_pandas(frame, npartitions=6, sort=False), "answer")
    assert_close(lazy.decision_bounds(frame[NUMBERS]), memory.decision_bounds(frame[NUMBERS]))


def test_the_same_partitions_give_the_same_bits(numbers):
    X, y, _ = numbers
    args = da.from_array(X, chunks=(20, 3)), da.from_array(y, chunks=20)
    first, second = ball().fit(*args), ball().fit(*args)
    np.testing.assert_array_equal(first.predict_bounds(X), second.predict_bounds(X))
    assert runs_of(first).count == runs_of(second).count


def test_methods_for_rows_are_lazy():
    frame = table()
    memory = reloaded(BoundedClassifier().fit(frame[NUMBERS], frame["kind"]))
    parts = dd.from_pandas(frame, npartitions=3)
    lazy = BoundedClassifier().fit(parts[NUMBERS], parts["kind"])
    with dask.config.set(scheduler=lambda *args, **options: pytest.fail("computed at once")):
        found = {
            name: getattr(lazy, name)(parts)
            for name in ("predict", "decision_function", "predict_proba", "predict_set", "predict_proba_bounds")
        }
    for name, values in found.items():
        expected = getattr(memory, name)(frame[NUMBERS])
        assert isinstance(values, da.Array)
        assert (values.dtype, values.shape[1:]) == (expected.dtype, expected.shape[1:])
        np.testing.assert_allclose(values.compute(), expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(IpubError, match=r"X\.compute\(\)"):
        lazy.predict_status(parts)
    with pytest.raises(IpubError, match=r"X\.compute\(\)"):
        lazy.attained_bounds(parts)


@pytest.mark.parametrize(("loss", "most"), [("log_loss", 30), ("squared_hinge", 30), ("hinge", 100)])
def test_a_fit_makes_few_runs(loss, most):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = (X.sum(axis=1) + rng.normal(size=len(X)) > 0.0).astype(int)
    X[rng.random(X.shape) < 0.01] = np.nan
    lazy = BoundedClassifier(loss).fit(da.from_array(X, chunks=(5000, 4)), da.from_array(y, chunks=5000))
    assert runs_of(lazy).count <= most


# --- the tree ---------------------------------------------------------------------------------------------------------


class Height:
    """Counts the longest chain of additions."""

    def __init__(self, height=0):
        self.height = height

    def __add__(self, other):
        return Height(1 + max(self.height, other.height))


@reads(Reads.LABELS)
def addition_height(block):
    return (Height(),)


@reads(Reads.LABELS)
def everything(block, parts):
    assert len(parts) == block.n_rows
    assert (parts == block.y).all()
    return (block.y, parts)


@reads(Reads.LABELS)
def own_labels(block):
    return block.y


def rows_of(n_chunks, length=3):
    X = da.ones((n_chunks * length, 2), chunks=(length, 2)) * da.arange(n_chunks * length, chunks=length)[:, None]
    y = da.arange(n_chunks * length, chunks=length) % 7 % 2
    parsed, label, weight = dask_table(X, y)
    return read_long_table(parameters_of(BoundedClassifier()), parsed, label, weight).rows[0]


def in_memory(n):
    return MemoryRows(IntervalMatrix.from_bounds(np.ones((n, 2)), np.ones((n, 2))), np.ones(n))


@pytest.mark.parametrize("n_chunks", [1, 2, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
def test_the_depth_covers_the_tree_of_additions_and_is_not_less_than_in_memory(n_chunks, monkeypatch):
    monkeypatch.setattr(slices, "BLOCK_ROWS", 3)
    rows = rows_of(n_chunks)
    (found,) = rows.reduce(addition_height)
    longest_block = 3
    # fp-sums: the height is at most the depth less two.
    assert longest_block - 1 + found.height <= rows.depth - 2
    assert rows.depth == max(longest_block + 1 + height(n_chunks), in_memory(3 * n_chunks).depth)


@pytest.mark.parametrize("n_parts", [1, 7, 8, 9, 65])
def test_a_tree_joins_everything_once_in_order(n_parts):
    graph, root = folded([("part", k) for k in range(n_parts)], operator.add)
    parts = {("part", k): (list, [k]) for k in range(n_parts)}
    assert DaskRuns().compute({**parts, **graph}, root) == list(range(n_parts))
    heights = {("part", k): (Height,) for k in range(n_parts)}
    assert DaskRuns().compute({**heights, **graph}, root).height <= height(n_parts)


def test_what_is_too_much_is_not_gathered():
    rows = rows_of(10)
    received = rows.table.runs.bytes_received
    per_block = rows.map(own_labels)
    y, _ = rows.gather(everything, per_block)
    assert len(y) == 30
    assert rows.gather(everything, per_block, most=59) is None
    assert len(rows.gather(everything, per_block, most=60)[0]) == 30
    assert rows.table.runs.bytes_received < received + 5000


# --- what cannot be used ----------------------------------------------------------------------------------------------


def wrong_rows(frame, parts):
    lengths = pd.Series(np.zeros(N)).drop(index=[70])
    return parts[NUMBERS], dd.from_pandas(lengths, npartitions=4)


WRONG = {
    "y in memory": (lambda f, p: (p[NUMBERS], f["answer"]), "y must be one too"),
    "other partitions": (lambda f, p: (p[NUMBERS], p["answer"].repartition(npartitions=2)), "X has 4 partitions and y"),
    "other rows": (wrong_rows, r"Partition \d: X has \d+ rows"),
    "a frame as y": (lambda f, p: (p[NUMBERS], p[["answer"]]), "one of its columns"),
    "a label is missing": (lambda f, p: (p[NUMBERS], p["answer"].mask(p["dose"] > 2.0)), r"Partition \d: .*no label"),
    "an infinity": (lambda f, p: (p[NUMBERS].assign(dose=np.inf), p["answer"]), "Partition \\d: .*'dose'"),
    "three dimensions": (lambda f, p: (da.zeros((2, 2, 2)), da.zeros(2)), "3 dimensions"),
    "text in an array": (lambda f, p: (da.from_array(np.array([["a"]])), da.zeros(1)), "Dask DataFrame"),
    "no such column": (lambda f, p: (p, "nothing"), "y names the column 'nothing'"),
    "no rows": (lambda f, p: (p[NUMBERS].loc[:-1], p["answer"].loc[:-1]), "no rows"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_collections_that_cannot_be_used_are_named(kind):
    frame = table()
    X, y = WRONG[kind][0](frame, dd.from_pandas(frame, npartitions=4))
    with pytest.raises(IpubError, match=WRONG[kind][1]):
        BoundedClassifier(certificate="sphere").fit(X, y)


def test_bounds_of_cells_are_refused(numbers):
    X, y, _ = (da.from_array(part) for part in numbers)
    with pytest.raises(IpubError, match="on a cluster"):
        ball().fit(X, y, X_lower=X, X_upper=X)


def test_a_name_that_is_taken_is_not_used_for_the_labels():
    frame = table()[NUMBERS].rename(columns={"age": "y"})
    parts = dd.from_pandas(frame, npartitions=2)
    found, label, weight = dask_table(parts, parts["y"], parts["y"])
    assert isinstance(found, DaskTable)
    assert (label, weight) == ("y_", "y__")
    assert found.names == ("y", "dose", "size", "y_", "y__")
