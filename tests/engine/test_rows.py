"""The one primitive: sums over blocks of rows."""

import math
from fractions import Fraction

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.engine import rows as blocks
from ipub.engine.rows import InterceptRows, MemoryRows

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
        block.center.T @ (block.weight * block.row_spread(w)),
        block.center.T @ block.center,
        len(block.y),
        block.column_spread(block.y),
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
    seen = list(map(rows.block, rows._slices))
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
    block = rows.block(slice(5, 12))
    radius = matrix.radius.toarray()[5:12]
    w, a = np.array([0.5, -2.0, 1.0]), np.linspace(-1.0, 1.0, 7)
    np.testing.assert_allclose(block.row_spread(w), radius @ np.abs(w), rtol=1e-14)
    np.testing.assert_allclose(block.column_spread(a), radius.T @ np.abs(a), rtol=1e-14)


def test_spreads_of_a_block_without_holes_are_zeros_of_the_right_shape(rows):
    block = rows.block(slice(20, 24))
    np.testing.assert_array_equal(block.row_spread(np.ones(3)), np.zeros(4))
    np.testing.assert_array_equal(block.column_spread(np.ones(4)), np.zeros(3))


def test_a_block_without_holes_is_a_view_of_the_table(rows, matrix):
    assert np.shares_memory(rows.block(slice(20, 24)).center, matrix.table)


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
    extended = InterceptRows(rows)
    assert (extended.n_rows, extended.n_features, extended.depth) == (41, 4, rows.depth)
    plain, block = rows.block(slice(5, 30)), extended.block(slice(5, 30))
    np.testing.assert_array_equal(block.center, np.column_stack([plain.center, np.ones(25)]))
    for name in ("cell_rows", "cell_columns", "cell_radii", "y", "weight"):
        np.testing.assert_array_equal(getattr(block, name), getattr(plain, name))
    w = np.array([0.5, -2.0, 1.0, 9.0])
    number, vector, square, count, spread = extended.reduce(sums, w)
    expected = rows.reduce(sums, w[:3])
    assert (number, count, square[3, 3], spread[3]) == (expected[0], 41, 41.0, 0.0)
    np.testing.assert_allclose(vector[:3], expected[1], rtol=1e-13)
    np.testing.assert_allclose(spread[:3], expected[4], rtol=1e-13)
    (collected,) = extended.collect(lambda block: (block.center[:, 3],))
    np.testing.assert_array_equal(collected, np.ones(41))


def test_sums_and_parts_of_one_pass_are_those_of_two(rows):
    def both(block, w):
        holed = np.unique(block.cell_rows)
        return sums(block, w), (block.y[holed], block.center[holed] @ w)

    for engine, w in ((rows, np.array([0.5, -2.0, 1.0])), (InterceptRows(rows), np.array([0.5, -2.0, 1.0, 9.0]))):
        added, kept = engine.reduce_and_collect(both, w)
        for one, other in zip(added, engine.reduce(sums, w), strict=True):
            np.testing.assert_array_equal(one, other)
        for one, other in zip(kept, engine.collect(lambda block, w: both(block, w)[1], w), strict=True):
            np.testing.assert_array_equal(one, other)
        assert len(kept[0]) == len(np.unique(rows.block(slice(0, 41)).cell_rows))


def test_rows_with_other_targets_share_everything_else():
    rows = MemoryRows(IntervalMatrix.from_bounds(np.eye(3), np.eye(3)), np.zeros(3), np.array([1.0, 2.0, 4.0]))
    before = rows.block(slice(0, 2))
    other = rows.with_targets(np.ones(3))
    assert rows.y.tolist() == [0.0, 0.0, 0.0]
    assert other.block(slice(0, 2)).y.tolist() == [1.0, 1.0]
    assert rows.block(slice(0, 2)).y.tolist() == [0.0, 0.0]
    assert other.block(slice(0, 2)).center is before.center
    assert other.matrix is rows.matrix
    assert other.weight is rows.weight
