"""Rows streamed from a file: the same bits as rows in memory, and none of the memory."""

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix
from ipub.certificates import CERTIFICATES, TrainedModel, with_effort
from ipub.certificates.row_sums import table as table_module
from ipub.losses import LOSSES
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.promises import AnyFilling
from ipub.rows import MemoryRows, Reads
from ipub.rows import slices as blocks
from ipub.rows.memory import MemmapRows
from ipub.tables.holes import column_ranges
from support.small_problems import COMBINATIONS, penalty_of

N, D = 121, 5


def saved(kind, folder):
    """Return a file with holes, some blocks of it without any."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(N, D))
    table[rng.random((N, D)) < 0.1] = np.nan
    table[40:80] = rng.normal(size=(40, D))
    if kind == "fortran":
        table = np.asfortranarray(table)
    np.save(folder / "table.npy", table.astype(np.float32) if kind == "float32" else table)
    return folder / "table.npy"


@pytest.fixture(params=["float64", "float32", "fortran"])
def path(request, tmp_path):
    return saved(request.param, tmp_path)


BLOCKS = [("float64", 40), ("float64", 200), ("float64", 1 << 17), ("float32", 40), ("fortran", 200)]


@pytest.fixture(params=BLOCKS, ids=lambda pair: f"{pair[0]}, {pair[1]} cells")
def both(request, tmp_path, monkeypatch):
    """Return the rows of one file in memory and mapped, cut into blocks of some size."""
    kind, cells = request.param
    path = saved(kind, tmp_path)
    monkeypatch.setattr(blocks, "BLOCK_CELLS", cells)
    table, mapped = np.load(path), np.load(path, mmap_mode="r")
    ranges = column_ranges(mapped, "observed")
    np.testing.assert_array_equal(ranges, column_ranges(table, "observed"))
    rng = np.random.default_rng(1)
    signs, weight = np.where(rng.random(N) < 0.5, 1.0, -1.0), rng.choice([0.5, 1.0, 2.0], N)
    memory = MemoryRows(IntervalMatrix.from_table(table, ranges), signs, weight)
    return memory, MemmapRows(mapped, signs, ranges, weight)


def block_sums(block, w):
    return (
        block.center.T @ (block.weight * (block.center @ w)),
        AnyFilling().column_change(block, block.y),
        block.weight @ AnyFilling().score_change(block, w),
    )


def test_blocks_and_sums_are_the_same_bits(both):
    memory, mapped = both
    for first, second in zip(memory.blocks(), mapped.blocks(), strict=True):
        for name in ("center", "cell_rows", "cell_columns", "cell_radii", "y", "weight"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    w = np.random.default_rng(2).normal(size=D)
    for first, second in zip(memory.reduce(block_sums, w), mapped.reduce(block_sums, w), strict=True):
        np.testing.assert_array_equal(first, second)
    assert memory.depth == mapped.depth


@pytest.mark.no_cover
@pytest.mark.share(4)
@pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
def test_solutions_and_bounds_are_the_same_bits(both, loss, l1_ratio, monkeypatch):
    if loss != "log_loss":  # row sums gather the whole table, and take time: one loss is enough
        monkeypatch.setattr(table_module, "MOST_ROWS", 0)
    problems = [Problem(rows, LOSSES[loss], penalty_of(0.1, l1_ratio)) for rows in both]
    solutions = [solve(problem) for problem in problems]
    assert np.array_equal(solutions[0].w, solutions[1].w)
    assert solutions[0].gap == solutions[1].gap
    X_test = np.random.default_rng(3).normal(size=(20, D))
    for recipe in CERTIFICATES.values():
        certificates = [with_effort(recipe(*pair), 0.0) for pair in zip(problems, solutions, strict=True)]
        assert np.array_equal(*(certificate.score_bounds(X_test) for certificate in certificates))
        if recipe.retrains:  # for each row anew: two are enough
            models = [TrainedModel(*pair) for pair in zip(problems, solutions, strict=True)]
            pairs = zip(certificates, models, strict=True)
            assert np.array_equal(*(certificate.score_bounds(X_test[:2], model) for certificate, model in pairs))


def test_a_block_is_no_view_of_the_file_and_no_longer_than_its_rows(path):
    mapped = np.load(path, mmap_mode="r")
    rows = MemmapRows(mapped, np.zeros(N), np.tile([-1.0, 1.0], (D, 1)))
    for part in (slice(0, 7), slice(100, 107)):
        block = rows.read(part, Reads.ROWS)
        assert not np.shares_memory(block.center, mapped)
        owner = block.center if block.center.base is None else block.center.base
        assert owner.nbytes == 7 * D * 8
        assert type(block.center) is np.ndarray


def test_the_file_is_never_written(path):
    before = path.read_bytes()
    mapped = np.load(path, mmap_mode="r+")
    BoundedClassifier().fit(mapped, np.arange(N) % 2).predict(mapped)
    mapped.flush()
    assert path.read_bytes() == before


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "model",
    [BoundedClassifier(), BoundedClassifier("hinge", l1_ratio=0.3), BoundedRegressor(certificate="sphere")],
    ids=["log_loss", "hinge", "squared_error"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_an_estimator_gives_the_same_bits_from_a_file_and_from_memory(path, model, weighted, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 200)
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, N)
    weight = rng.choice([0.0, 1.0, 2.0], N) if weighted else None
    X_test = rng.normal(size=(20, D)).astype(np.float32)
    table, mapped = np.load(path), np.load(path, mmap_mode="r")
    bounds_of = "predict_bounds" if isinstance(model, BoundedRegressor) else "decision_bounds"
    results = []
    for X in (table, mapped):
        model.fit(X, y, sample_weight=weight)
        results.append((model.coef_, model.coef_bounds_, model.fill_values_, getattr(model, bounds_of)(X_test)))
    for first, second in zip(*results, strict=True):
        assert np.array_equal(first, second)


def test_a_mapped_table_is_streamed_and_not_taken_into_memory(path, monkeypatch):
    engines = []
    original = MemmapRows.__init__

    def remember(self, table, *args):
        engines.append(table)
        original(self, table, *args)

    monkeypatch.setattr(MemmapRows, "__init__", remember)
    mapped = np.load(path, mmap_mode="r")
    BoundedClassifier().fit(mapped, np.arange(N) % 2)
    assert len(engines) == 1
    assert np.shares_memory(engines[0], mapped)
