"""Rows of a long table: the blocks of the same table in memory, and no more columns than a kernel reads."""

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, Intervals, IpubError
from ipub.estimators.linear_model import parameters_of
from ipub.rows import MemoryRows, Reads, engine_of, reads
from ipub.rows import slices as slices_module
from ipub.rows.pieces import PieceRows
from ipub.training.reading import read_training_data
from ipub.training.reading.long_table import read_long_table
from support.long_tables import FrameTable, cut

N = 230
CHOICES = [
    {},
    {"scale": "standard"},
    {"scale": "minmax", "intervals": "observed"},
    {"intervals": Intervals(precision={"size": 0.1}), "scale": "standard"},
    {"intervals": Intervals({"age": (0.0, 9.0)}, precision=0.01)},
    {"class_weight": "balanced"},
    {"class_weight": {"no": 3.0}},
]


def frame(n=N, kinds=("sick", "well"), seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n).astype(float),
            "size": rng.normal(size=n) * 100.0 + 5.0,
            "site": rng.choice(["north", "east", "west"], n),
            "dose": rng.normal(size=n),
            "only": "same",
        }
    )
    answer = np.where(table["dose"] + rng.normal(size=n) > 0.0, "yes", "no")
    table = table.mask(rng.random(table.shape) < 0.1)
    table["weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    table["answer"] = answer
    return table


def both(parameters, table, n_pieces, weight):
    """Return the rows of a table in memory and in pieces, with what was learnt of it."""
    model = parameters_of(BoundedClassifier(**parameters))
    used = table if weight else table.drop(columns="weight")
    X = used.drop(columns=["answer", *(["weight"] if weight else [])])
    memory = read_training_data(model, X, used["answer"].to_numpy(), used["weight"] if weight else None)
    pieces = [*cut(used, n_pieces), used.iloc[:0], used.iloc[:0].astype({"answer": object})]
    return memory, read_long_table(model, FrameTable(pieces), "answer", "weight" if weight else None)


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("parameters", CHOICES, ids=str)
def test_blocks_are_those_of_the_table_in_memory(parameters, weight, monkeypatch):
    monkeypatch.setattr(slices_module, "BLOCK_ROWS", 23)  # ten blocks, as many as pieces
    memory, pieces = both(parameters, frame(), 10, weight)
    np.testing.assert_array_equal(memory.table.hole_ranges, pieces.table.hole_ranges)
    np.testing.assert_array_equal(memory.table.fill_values, pieces.table.fill_values)
    np.testing.assert_array_equal(memory.classes, pieces.classes)
    assert list(memory.table.names) == list(pieces.table.names)
    first, second = memory.rows[0], pieces.rows[0]
    assert isinstance(engine_of(first), MemoryRows)
    assert isinstance(engine_of(second), PieceRows)
    for name in ("n_rows", "n_features", "total_weight", "depth", "uncertain_labels"):
        assert getattr(first, name) == getattr(second, name)
    assert first.count_uncertain() == second.count_uncertain() == super(PieceRows, second).count_uncertain()
    for a, b in zip(first.blocks(), second.blocks(), strict=True):
        for name in ("cell_rows", "cell_columns", "y"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        for name in ("center", "cell_radii", "weight"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(a.missing_categories.rows, b.missing_categories.rows)
        np.testing.assert_array_equal(a.missing_categories.categories, b.missing_categories.categories)


@pytest.mark.parametrize("n_pieces", [1, 3, 40])
def test_a_sample_is_that_of_the_table_in_memory(n_pieces):
    memory, pieces = both({"scale": "standard"}, frame(), n_pieces, weight=True)
    for size in (20, 57):
        first, second = (data.rows[0].sample(size) for data in (memory, pieces))
        np.testing.assert_allclose(next(first.blocks()).center, next(second.blocks()).center, rtol=1e-12)
        np.testing.assert_array_equal(first.labels().y, second.labels().y)
        np.testing.assert_array_equal(first.labels().weight, second.labels().weight)


@reads(Reads.LABELS)
def first_label(block):
    return block.y[0], block.n_rows


@reads(Reads.LABELS)
def compare_first_label(block, before):
    assert (block.y[0], block.n_rows) == before
    return (block.n_rows,)


def test_values_of_blocks_come_back_to_their_blocks(monkeypatch):
    monkeypatch.setattr(slices_module, "BLOCK_ROWS", 7)
    rows = both({}, frame(), 6, weight=False)[1].rows[0]
    assert rows.reduce(compare_first_label, rows.map(first_label)) == (N,)


@reads(Reads.LABELS)
def labels_only(block):
    assert block.center.shape == (0, 7)
    return (block.weight @ block.y,)


@reads(Reads.CELLS)
def cells_only(block):
    assert len(block.center) == 0
    return (len(block.cell_radii) + len(block.missing_categories),)


def test_a_pass_reads_the_columns_that_its_kernel_reads():
    table = frame()
    table["dose"] = table["dose"].fillna(0.0)
    used = FrameTable(cut(table, 3))
    rows = read_long_table(parameters_of(BoundedClassifier()), used, "answer", "weight").rows[0]
    used.read.clear()
    rows.reduce(labels_only)
    rows.reduce(cells_only)
    assert used.read == [("answer", "weight"), ("age", "size", "site", "only", "answer", "weight")]


def test_reading_takes_a_pass_and_one_for_quantiles():
    table = FrameTable(cut(frame(3000), 4))
    read_long_table(parameters_of(BoundedClassifier()), table, "answer", "weight")
    assert len(table.read) == 2
    table.read.clear()
    read_long_table(parameters_of(BoundedClassifier(intervals="observed")), table, "answer", "weight")
    assert len(table.read) == 1


def test_more_than_two_classes_and_targets():
    table = frame().drop(columns="weight")
    table["answer"] = np.random.default_rng(1).choice([3, 1, 7], N)
    memory, pieces = both({}, table.assign(weight=1.0), 4, weight=False)
    np.testing.assert_array_equal(memory.classes, pieces.classes)
    assert memory.classes.dtype == pieces.classes.dtype
    for a, b in zip(memory.rows, pieces.rows, strict=True):
        np.testing.assert_array_equal(a.labels().y, b.labels().y)


WRONG = {
    "a label is missing": (lambda t: t.assign(answer=t["answer"].where(t.index != 120)), "has no label"),
    "one class": (lambda t: t.assign(answer="yes"), "all rows that count are of one class, yes"),
    "a class without weight": (lambda t: t.assign(weight=(t["answer"] == "yes") * 1.0), "of one class, yes"),
    "no weight": (lambda t: t.assign(weight=0.0), "Every sample_weight is zero"),
    "a negative weight": (lambda t: t.assign(weight=t["weight"].where(t.index != 7, -1.0)), "sample_weight is -1.0"),
    "weights of text": (lambda t: t.assign(weight="a"), "holds text"),
    "continuous": (lambda t: t.assign(answer=t["dose"].fillna(0.5)), "continuous"),
    "nothing observed": (lambda t: t.assign(dose=np.nan), "'dose' has no observed value"),
    "dates": (lambda t: t.assign(dose=pd.Timestamp("2020-01-01")), "dates"),
    "infinity": (lambda t: t.assign(dose=t["dose"].where(t.index != 3, np.inf)), "infinity"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_tables_that_cannot_be_used_are_named(kind):
    change, message = WRONG[kind]
    table = FrameTable(cut(change(frame()), 5))
    with pytest.raises(ValueError, match=message):
        read_long_table(parameters_of(BoundedClassifier()), table, "answer", "weight")


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (np.zeros(N), None, "y must be the name of one of its columns, not a ndarray"),
        ("nothing", None, "y names the column 'nothing'"),
        ("answer", np.ones(N), "sample_weight must be the name"),
        ("answer", "nothing", "sample_weight names the column 'nothing'"),
    ],
)
def test_target_and_weights_are_columns(y, weight, message):
    with pytest.raises(IpubError, match=message):
        read_long_table(parameters_of(BoundedClassifier()), FrameTable(cut(frame(), 2)), y, weight)


def test_a_table_that_changes_between_passes_is_noticed():
    table = FrameTable(cut(frame(), 2))
    rows = read_long_table(parameters_of(BoundedClassifier()), table, "answer", "weight").rows[0]
    table.pieces[1] = table.pieces[1].assign(site="south")
    with pytest.raises(IpubError, match="the table has changed") as error:
        rows.reduce(cells_only)
    assert error.value.column == "site"
    table.pieces[1] = table.pieces[1].assign(answer="perhaps")
    with pytest.raises(IpubError, match="the table has changed"):
        rows.reduce(labels_only)
