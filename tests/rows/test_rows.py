"""The one primitive: sums over blocks of rows."""

import math
import pickle
import weakref
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.promises import AnyFilling, LargestValues
from ipub.rows import (
    MemoryRows,
    Reads,
    engine_of,
    one_class_against_rest,
    reads,
    with_intercept_column,
    with_label_uncertainty,
    with_labels,
    with_wrong_labels,
    without_intercept_column,
)
from ipub.rows import rows as rows_module
from ipub.rows import slices as blocks
from ipub.rows.block import Block, with_norms
from ipub.rows.views import per_block
from ipub.tables.label_uncertainty import LabelUncertainty

RANGES = np.array([[-1.0, 1.0], [0.1, 0.7], [-2.0, 5.0]])


@pytest.fixture
def matrix():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(41, 3))
    table[rng.random((41, 3)) < 0.3] = np.nan
    table[20:24] = 1.0
    table.flags.writeable = False
    return IntervalMatrix.from_table(table, RANGES)


@pytest.fixture(params=[1, 12, 30, 1 << 17], ids=lambda cells: f"{cells} cells")
def rows(request, matrix, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CELLS", request.param)
    rng = np.random.default_rng(1)
    return MemoryRows(matrix, rng.normal(size=41), rng.random(41))


def sums(block, w):
    """Return a number, a vector, a matrix and a count: all that kernels return."""
    return (
        block.weight @ block.y,
        block.center.T @ (block.weight * AnyFilling().score_change(block, w)),
        block.center.T @ block.center,
        len(block.y),
        AnyFilling().column_change(block, block.y),
    )


def test_reduce_equals_the_sums_over_all_rows_at_once(rows, matrix):
    w = np.array([0.5, -2.0, 1.0])
    center, radius = matrix.center_rows(slice(0, 41)), matrix.radius.toarray()
    number, vector, square, count, spread = rows.reduce(sums, w)
    assert count == 41
    np.testing.assert_allclose(number, rows.weight @ rows.y, rtol=1e-13)
    np.testing.assert_allclose(vector, center.T @ (rows.weight * (radius @ np.abs(w))), rtol=1e-12)
    np.testing.assert_allclose(square, center.T @ center, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(spread, radius.T @ np.abs(rows.y), rtol=1e-13)


def test_blocks_are_consecutive_and_hold_every_row_once(rows):
    seen = list(rows.blocks())
    np.testing.assert_array_equal(np.concatenate([block.y for block in seen]), rows.y)
    np.testing.assert_array_equal(np.concatenate([block.weight for block in seen]), rows.weight)
    center = rows.matrix.center_rows(slice(0, 41))
    np.testing.assert_array_equal(np.concatenate([block.center for block in seen]), center)
    assert sum(len(block.cell_radii) for block in seen) == rows.matrix.n_uncertain
    assert len(seen) == {1: 41, 12: 11, 30: 6, 1 << 17: 1}[blocks.BLOCK_CELLS]


def test_depth_bounds_the_height_of_the_summation_tree(rows):
    lengths = []
    rows.reduce(lambda block: lengths.append(len(block.y)) or (0,))
    assert rows.depth >= max(lengths) + len(lengths) - 1


def test_the_same_input_gives_the_same_bits(rows):
    w = np.array([0.1, 0.2, 0.3])
    for first, second in zip(rows.reduce(sums, w), rows.reduce(sums, w), strict=True):
        np.testing.assert_array_equal(first, second)


def test_spreads_of_a_block_equal_dense_products(rows, matrix):
    block = rows.read(slice(5, 12), Reads.ROWS)
    radius = matrix.radius.toarray()[5:12]
    w, a = np.array([0.5, -2.0, 1.0]), np.linspace(-1.0, 1.0, 7)
    np.testing.assert_allclose(AnyFilling().score_change(block, w), radius @ np.abs(w), rtol=1e-14)
    np.testing.assert_allclose(AnyFilling().column_change(block, a), radius.T @ np.abs(a), rtol=1e-14)


def test_spreads_of_a_block_without_holes_are_zeros_of_the_right_shape(rows):
    block = rows.read(slice(20, 24), Reads.ROWS)
    np.testing.assert_array_equal(AnyFilling().score_change(block, np.ones(3)), np.zeros(4))
    np.testing.assert_array_equal(AnyFilling().column_change(block, np.ones(4)), np.zeros(3))


def test_a_block_without_holes_is_a_view_of_the_table(rows, matrix):
    assert np.shares_memory(rows.read(slice(20, 24), Reads.ROWS).center, matrix.table)


def test_weights_left_out_are_ones(matrix):
    rows = MemoryRows(matrix, np.zeros(41))
    np.testing.assert_array_equal(rows.weight, 1.0)
    assert rows.total_weight == 41.0


@pytest.mark.parametrize("factor", [1.0, 5e-324, 1e-310, 2.0**-40, 1e150])
def test_only_the_ratios_of_weights_matter_and_the_total_is_correctly_rounded(factor, matrix):
    given = np.tile([1.0, 3.0, 8.0], 14)[:41] * factor
    rows = MemoryRows(matrix, np.zeros(41), given)
    assert 0.5 <= rows.weight.max() <= 1.0
    # A power of two apart, so the ratio to the given weights is exact and the same in every row.
    scale = Fraction(float(rows.weight[0])) / Fraction(float(given[0]))
    assert all(Fraction(a) == scale * Fraction(b) for a, b in zip(rows.weight.tolist(), given.tolist(), strict=True))
    assert rows.total_weight == math.fsum(rows.weight)


def test_an_intercept_is_one_more_column_of_certain_ones(rows):
    extended = with_intercept_column(rows)
    assert (extended.n_rows, extended.n_features, extended.depth) == (41, 4, rows.depth)
    for plain, block in zip(rows.blocks(), extended.blocks(), strict=True):
        np.testing.assert_array_equal(block.center, np.column_stack([plain.center, np.ones(plain.n_rows)]))
        for name in ("cell_rows", "cell_columns", "cell_radii", "y", "weight"):
            np.testing.assert_array_equal(getattr(block, name), getattr(plain, name))
    w = np.array([0.5, -2.0, 1.0, 9.0])
    number, vector, square, count, spread = extended.reduce(sums, w)
    expected = rows.reduce(sums, w[:3])
    assert (number, count, square[3, 3], spread[3]) == (expected[0], 41, 41.0, 0.0)
    np.testing.assert_allclose(vector[:3], expected[1], rtol=1e-13)
    np.testing.assert_allclose(spread[:3], expected[4], rtol=1e-13)
    (collected,) = extended.gather(last_column)
    np.testing.assert_array_equal(collected, np.ones(41))


def last_column(block):
    return (block.center[:, -1],)


class Scores(NamedTuple):
    y: np.ndarray
    scores: np.ndarray


def scores_of_holed_rows(block, w):
    holed = np.unique(block.cell_rows)
    return Scores(block.y[holed], block.center[holed] @ w)


def both(block, w):
    return sums(block, w), scores_of_holed_rows(block, w)


def test_sums_and_gathered_rows_of_one_pass_are_those_of_two(rows, matrix):
    w = np.array([0.5, -2.0, 1.0])
    for engine, v in ((rows, w), (with_intercept_column(rows), np.append(w, 9.0))):
        added, gathered = engine.reduce_and_gather(both, v)
        for one, other in zip(added, engine.reduce(sums, v), strict=True):
            np.testing.assert_array_equal(one, other)
        again = engine.gather(scores_of_holed_rows, v)
        assert type(gathered) is type(again) is Scores
        np.testing.assert_array_equal(gathered.scores, again.scores)
        assert len(gathered.y) == np.count_nonzero(np.diff(matrix.row_starts))


def test_more_than_the_cap_is_not_gathered_and_the_sums_are_whole(rows):
    w = np.array([0.5, -2.0, 1.0])
    assert rows.gather(scores_of_holed_rows, w, most=5) is None
    added, gathered = rows.reduce_and_gather(both, w, most=5)
    assert gathered is None
    for one, other in zip(added, rows.reduce(sums, w), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_was_gathered_is_let_go_once_it_is_too_much():
    gathered, part = rows_module._Gathered(10), Scores(np.zeros(4), np.zeros(4))
    first = weakref.ref(part.scores)
    gathered.add(part)
    del part
    assert first() is not None
    gathered.add(Scores(np.zeros(4), np.zeros(4)))
    assert first() is None
    assert gathered.joined() is None


class Inner(NamedTuple):
    total: float
    largest: LargestValues


class Outer(NamedTuple):
    inner: Inner
    count: int


def nested(block):
    return Outer(Inner(block.y.sum(), LargestValues.of(np.abs(block.y), 3)), block.n_rows)


def test_named_sums_keep_their_names_at_every_depth(rows):
    found = rows.reduce(nested)
    assert isinstance(found, Outer)
    assert isinstance(found.inner, Inner)
    assert found.count == 41
    assert found.inner.total == pytest.approx(rows.y.sum())
    np.testing.assert_array_equal(np.sort(found.inner.largest.values), np.sort(np.abs(rows.y))[-3:])


def test_a_kernel_receives_its_own_part_of_what_is_given_per_block(rows):
    numbers = np.arange(41.0)
    (parts,) = per_block(rows, numbers)
    (products,) = rows.reduce(product_with, parts)
    assert products == pytest.approx(rows.y @ numbers)
    assert [len(part) for part in parts.parts] == [block.n_rows for block in rows.blocks()]
    assert rows.map(label_sum).parts == tuple(block.y.sum() for block in rows.blocks())


def product_with(block, numbers):
    return (block.y @ numbers,)


@reads(Reads.LABELS)
def label_sum(block):
    assert block.center.shape == (0, 3)
    return block.y.sum()


@reads(Reads.CELLS)
def counts(block):
    assert len(block.center) == 0
    return (len(block.cell_radii),)


def test_a_kernel_that_reads_no_rows_is_given_none(rows, matrix):
    assert rows.reduce(counts) == (matrix.n_uncertain,)
    assert with_intercept_column(rows).reduce(counts) == (matrix.n_uncertain,)


def norm_bounds(block):
    return (block.score_error(np.ones(block.center.shape[1])),)


def test_norms_of_columns_are_for_kernels_that_declare_them(rows):
    with pytest.raises(ValueError, match=r"Reads\.NORMS"):
        rows.reduce(norm_bounds)
    declared = reads(Reads.NORMS)(lambda block: norm_bounds(block))
    assert rows.reduce(declared)[0] >= 0.0
    assert with_intercept_column(rows).reduce(declared)[0] >= 0.0


VIEWS = {
    "other labels": lambda rows: with_labels(rows, np.arange(41.0), np.ones(41) * (rows.total_weight / 41.0)),
    "uncertain labels": lambda rows: with_label_uncertainty(rows, LabelUncertainty(np.ones(41), np.zeros(41))),
    "wrong labels": lambda rows: with_wrong_labels(rows, 2),
    "one class": lambda rows: one_class_against_rest(rows, 1.0),
}


def label_parts(block):
    labels = block.label_uncertainty
    return block.y, block.weight, *((np.zeros(0),) if labels is None else (labels.radius + labels.max_wrong_labels,))


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_labels_hold_with_an_intercept_in_either_order(rows, name):
    view = VIEWS[name]
    first, second = view(with_intercept_column(rows)), with_intercept_column(view(rows))
    for rows_seen in (first, second):
        assert rows_seen.n_features == 4
        assert rows_seen.uncertain_labels == view(rows).uncertain_labels
        assert rows_seen.max_wrong_labels == view(rows).max_wrong_labels
        for one, other in zip(rows_seen.gather(label_parts), view(rows).gather(label_parts), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(rows_seen.gather(last_column)[0], np.ones(41))


def test_a_view_copies_nothing_and_leaves_the_rows_as_they_are():
    rows = MemoryRows(IntervalMatrix.from_bounds(np.eye(3), np.eye(3)), np.zeros(3), np.array([1.0, 2.0, 4.0]))
    other = one_class_against_rest(rows, 0.0)
    assert next(other.blocks()).y.tolist() == [1.0, 1.0, 1.0]
    assert next(rows.blocks()).y.tolist() == [0.0, 0.0, 0.0]
    assert next(other.blocks()).center is next(rows.blocks()).center
    assert engine_of(with_intercept_column(other)) is rows
    assert without_intercept_column(with_intercept_column(rows)) is rows


def test_a_sample_of_a_view_is_a_view_of_the_sample(rows):
    drawn = with_intercept_column(one_class_against_rest(rows, rows.y[0])).sample(10)
    assert drawn.n_features == 4
    assert set(drawn.labels().y) <= {-1.0, 1.0}
    assert with_wrong_labels(rows, 1).sample(10) is None


def test_a_cleared_cache_reads_the_table_anew():
    table = np.ones((4, 2))
    rows = with_intercept_column(MemoryRows(IntervalMatrix.from_bounds(table, table), np.zeros(4)))
    before = rows.reduce(center_sum)[0]
    rows.rows.matrix.table[0, 0] = 5.0
    rows.clear_cache()
    assert rows.reduce(center_sum)[0] == before + 4.0


def center_sum(block):
    return (block.center.sum(),)


def test_no_kernel_of_the_package_is_local_and_every_view_can_be_sent_elsewhere(rows):
    view = with_intercept_column(with_wrong_labels(rows, 1))
    again = pickle.loads(pickle.dumps(view))
    np.testing.assert_array_equal(again.reduce(center_sum)[0], view.reduce(center_sum)[0])


def test_scores_of_a_block_are_off_by_no_more_than_its_bound():
    center, w = np.array([[1e16, 1.0, -1e16], [0.1, 0.2, 0.3], [1.0, 1e-17, -1.0]]), np.array([1.0, 1.0, 1.0])
    nowhere = np.zeros(0, dtype=np.intp)
    block = with_norms(Block.of(center, (nowhere, nowhere), np.zeros(0), np.zeros(3), np.ones(3)))
    exact = [sum(map(Fraction, row)) for row in center.tolist()]
    off = [abs(Fraction(score) - true) for score, true in zip((center @ w).tolist(), exact, strict=True)]
    assert 0 < max(off) <= Fraction(block.score_error(w)) < 100


@pytest.mark.parametrize("n", [1, 63, 64, 71, 1003])
@pytest.mark.parametrize("worst_row", [0, -1])
def test_norms_and_maxima_of_columns_hold_for_any_number_of_rows(n, worst_row):
    center = np.random.default_rng(n).normal(size=(n, 3))
    center[worst_row] = [-9.0, 8.0, 7.0]
    weight = np.ones(n)
    nowhere = np.zeros(0, dtype=np.intp)
    for counted in (slice(None), slice(0, n if n == 1 else n - n // 3)):
        weight[:] = 0.0
        weight[counted] = 1.0
        block = with_norms(Block.of(center, (nowhere, nowhere), np.zeros(0), np.zeros(n), weight))
        np.testing.assert_array_equal(block.column_maxima, np.abs(center[counted]).max(axis=0))
        for norm, column in zip(block.column_norms.tolist(), center[counted].T.tolist(), strict=True):
            exact = sum(Fraction(value) ** 2 for value in column)
            assert exact <= Fraction(norm) ** 2 <= exact * (1 + Fraction(1, 10**9))
