"""Tables of intervals: nothing is lost, nothing is copied, nothing is written."""

from fractions import Fraction

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import midpoint_and_radius
from ipub.tables import interval_matrix as intervals
from ipub.tables.validation import check_values

RANGES = np.array([[-1.0, 1.0], [0.1, 0.7], [5.0, 5.0], [-1e3, 1e-3]])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[rng.random((30, 4)) < 0.2] = np.nan
    X[7] = np.nan
    X[8] = 1.0
    X.flags.writeable = False
    return X


def bounds_of(table):
    """Return a lower and an upper table: the ranges of the columns at the holes, the values elsewhere."""
    holes = np.isnan(table)
    return np.where(holes, RANGES[:, 0], table), np.where(holes, RANGES[:, 1], table)


def dense_radius(matrix):
    """Return the radii as a full table."""
    radius = np.zeros(matrix.shape)
    for i in range(matrix.shape[0]):
        for k in range(matrix.row_starts[i], matrix.row_starts[i + 1]):
            radius[i, matrix.columns[k]] = matrix.radii[k]
    return radius


def build(how, table):
    lower, upper = bounds_of(table)
    if how == "from_bounds":
        return IntervalMatrix.from_bounds(lower, upper)
    if how == "from_table":
        return IntervalMatrix.from_table(table, RANGES)
    return IntervalMatrix.from_table_and_bounds(table, lower, upper)


each_way = pytest.mark.parametrize("how", ["from_bounds", "from_table", "from_table_and_bounds"])


def test_midpoint_and_radius_enclose_every_interval_in_exact_arithmetic():
    rng = np.random.default_rng(1)
    lower = rng.normal(size=400) * 10.0 ** rng.uniform(-300, 149, 400)
    length = np.abs(lower) * 10.0 ** rng.uniform(-17, 3, 400)
    upper = lower + length
    extra = np.array([[-1e150, 1e150], [0.0, 5e-324], [-5e-324, 5e-324], [1.0, np.nextafter(1.0, 2.0)], [0.1, 0.3]])
    lower, upper = np.append(lower, extra[:, 0]), np.append(upper, extra[:, 1])
    middle, radius = midpoint_and_radius(lower, upper)
    for low, high, c, r in zip(lower.tolist(), upper.tolist(), middle.tolist(), radius.tolist(), strict=True):
        assert Fraction(c) - Fraction(r) <= Fraction(low)
        assert Fraction(high) <= Fraction(c) + Fraction(r)
        assert low <= c <= high
        assert r <= (high - low) * (0.5 + 1e-15) + 2.0 * np.spacing(max(abs(low), abs(high)))


def test_a_point_has_radius_zero_exactly():
    _, radius = midpoint_and_radius(np.array([0.1, -3.0, 0.0]), np.array([0.1, -3.0, 0.0]))
    np.testing.assert_array_equal(radius, 0.0)


@each_way
def test_center_and_radius_enclose_the_bounds_of_every_cell_exactly(how, table):
    matrix, (lower, upper) = build(how, table), bounds_of(table)
    center, radius = matrix.center_rows(slice(0, 30)), dense_radius(matrix)
    assert matrix.shape == (30, 4)
    for c, r, low, high in zip(*(part.ravel().tolist() for part in (center, radius, lower, upper)), strict=True):
        assert Fraction(c) - Fraction(r) <= Fraction(low)
        assert Fraction(high) <= Fraction(c) + Fraction(r)
    observed = ~np.isnan(table)
    np.testing.assert_array_equal(center[observed], table[observed])
    np.testing.assert_array_equal(radius[observed], 0.0)


def test_only_cells_that_are_intervals_are_stored(table):
    lower, upper = bounds_of(table)
    matrix = IntervalMatrix.from_bounds(lower, upper)
    assert matrix.n_uncertain == (lower != upper).sum()
    assert IntervalMatrix.from_table(table, RANGES).n_uncertain == np.isnan(table).sum()


@each_way
def test_the_radius_is_that_of_every_cell(how, table):
    matrix = build(how, table)
    np.testing.assert_array_equal(matrix.radius.toarray(), dense_radius(matrix))


def test_the_table_is_neither_copied_nor_written(table):
    before = table.tobytes()
    matrix = IntervalMatrix.from_table(table, RANGES)
    assert matrix.table is table
    matrix.center_rows(slice(0, 30))
    matrix.completion(np.ones(matrix.n_uncertain))
    assert table.tobytes() == before


@pytest.mark.parametrize("how", ["from_bounds", "from_table_and_bounds"])
def test_bounds_are_neither_copied_nor_written(how, table):
    lower, upper = bounds_of(table)
    before = lower.tobytes(), upper.tobytes()
    for part in (lower, upper):
        part.flags.writeable = False
    given = (table, lower, upper) if how == "from_table_and_bounds" else (lower, upper)
    matrix = getattr(IntervalMatrix, how)(*given)
    assert any(np.shares_memory(matrix.table, part) for part in given)
    matrix.completion(np.zeros(matrix.n_uncertain))
    assert (lower.tobytes(), upper.tobytes()) == before


def test_center_rows_is_a_view_exactly_where_nothing_is_uncertain(table):
    matrix = IntervalMatrix.from_table(table, RANGES)
    assert np.shares_memory(matrix.center_rows(slice(8, 9)), table)
    filled = matrix.center_rows(slice(6, 9))
    assert not np.shares_memory(filled, table)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[1], 0.5 * RANGES[:, 0] + 0.5 * RANGES[:, 1])


@pytest.mark.parametrize("start", range(0, 30, 7))
def test_slices_of_the_center_are_the_rows_of_the_whole(start, table):
    matrix = IntervalMatrix.from_table(table, RANGES)
    rows = slice(start, min(start + 7, 30))
    np.testing.assert_array_equal(matrix.center_rows(rows), matrix.center_rows(slice(0, 30))[rows])
    in_row, columns, centers, radii = matrix.cells(rows)
    np.testing.assert_array_equal(dense_radius(matrix)[rows][in_row, columns], radii)
    np.testing.assert_array_equal(matrix.center_rows(rows)[in_row, columns], centers)


@each_way
@pytest.mark.parametrize("position", [-1.0, -0.3, 0.0, 1.0 / 3.0, 1.0])
def test_a_completion_stays_inside_the_exact_intervals(how, position, table):
    matrix = build(how, table)
    full = matrix.completion(np.full(matrix.n_uncertain, position))
    center, radius = matrix.center_rows(slice(0, 30)), dense_radius(matrix)
    for value, c, r in zip(*(part.ravel().tolist() for part in (full, center, radius)), strict=True):
        assert abs(Fraction(value) - Fraction(c)) <= Fraction(r)
    np.testing.assert_allclose(full, center + position * radius, rtol=1e-15, atol=1e-15)


def test_a_completion_of_intervals_one_float_long_stays_inside():
    rng = np.random.default_rng(3)
    lower = rng.normal(size=(50, 3)) * 10.0 ** rng.uniform(-20, 20, size=(50, 3))
    upper = np.nextafter(lower, np.inf)
    matrix = IntervalMatrix.from_bounds(lower, upper)
    for position in (-1.0, 0.0, 1.0):
        full = matrix.completion(np.full(150, position)).ravel()
        for value, c, r in zip(full.tolist(), matrix.centers.tolist(), matrix.radii.tolist(), strict=True):
            assert abs(Fraction(value) - Fraction(c)) <= Fraction(r)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_numeric_types_become_floats_when_rows_are_read(dtype):
    table = np.array([[1, 0], [0, 1]], dtype=dtype)
    matrix = IntervalMatrix.from_table(table, RANGES[:2])
    assert matrix.center_rows(slice(0, 2)).dtype == np.float64
    np.testing.assert_array_equal(matrix.center_rows(slice(0, 2)), [[1.0, 0.0], [0.0, 1.0]])
    assert IntervalMatrix.from_bounds(table, table).n_uncertain == 0


def test_a_table_with_columns_side_by_side_in_memory_gives_the_same_rows(table):
    other = np.asfortranarray(table)
    np.testing.assert_array_equal(
        IntervalMatrix.from_table(other, RANGES).center_rows(slice(3, 12)),
        IntervalMatrix.from_table(table, RANGES).center_rows(slice(3, 12)),
    )


@pytest.mark.parametrize(("n", "d", "cells"), [(10, 3, 6), (10, 3, 1), (1, 100, 7), (7, 1, 7), (5, 0, 4), (0, 3, 6)])
def test_row_slices_cover_every_row_once_in_order(n, d, cells):
    rows = [i for part in row_slices(n, d, cells) for i in range(part.start, part.stop)]
    assert rows == list(range(n))
    assert all((part.stop - part.start) * d <= max(cells, d) for part in row_slices(n, d, cells))


@pytest.mark.parametrize("cells", [1, 8, 1 << 20])
def test_how_much_is_scanned_at_once_changes_nothing(cells, table, monkeypatch):
    expected = {how: build(how, table) for how in ("from_bounds", "from_table", "from_table_and_bounds")}
    monkeypatch.setattr(intervals.row_slices, "__defaults__", (cells,))
    for how, matrix in expected.items():
        again = build(how, table)
        for name in ("row_starts", "columns", "centers", "radii"):
            np.testing.assert_array_equal(getattr(again, name), getattr(matrix, name))


NAMES = ["age", "dose", "size", "mass"]


@pytest.mark.parametrize(("names", "cell"), [(None, "row 5, column 2"), (NAMES, "row 5, column 'size'")])
@pytest.mark.parametrize(
    ("value", "problem", "remedy"),
    [(np.inf, "infinity", "finite"), (-np.inf, "infinity", "finite"), (1e151, r"1e\+151", "rescale the column")],
)
def test_values_that_no_bound_survives_are_refused_by_cell(value, problem, remedy, names, cell):
    table = np.zeros((10, 4))
    table[5, 2] = value
    with pytest.raises(ValueError, match=rf"X contains {problem} in {cell}.*{remedy}"):
        check_values(table, names)


def test_values_up_to_the_limit_and_holes_are_taken():
    check_values(np.array([[1e150, -1e150, np.nan]]), None)
    check_values(np.array([[2**62, -5]]), None)
    check_values(np.array([[True, False]]), None)


@pytest.mark.parametrize("names", [None, NAMES])
@pytest.mark.parametrize("what", ["lower", "upper"])
def test_a_bound_that_is_missing_is_refused_by_cell(what, names, table):
    lower, upper = bounds_of(table)
    (lower if what == "lower" else upper)[7, 1] = np.nan
    column = "'dose'" if names else "1"
    with pytest.raises(ValueError, match=rf"{what} bounds contains NaN in row 7, column {column}.*finite bound"):
        IntervalMatrix.from_bounds(lower, upper, names)


def test_a_lower_bound_above_the_upper_one_is_refused_by_cell(table):
    lower, upper = bounds_of(table)
    lower[7, 3] = upper[7, 3] + 1.0
    with pytest.raises(ValueError, match=r"above upper bound .* in row 7, column 'mass'. Swap them, or correct"):
        IntervalMatrix.from_bounds(lower, upper, NAMES)


def test_bounds_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"lower bounds have shape \(2, 2\), the upper bounds \(2, 3\)"):
        IntervalMatrix.from_bounds(np.zeros((2, 2)), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [([1.0, 2.0], "must be a table"), ([["a", "b"]], "must be numeric"), (3.0, "must be a table")],
)
def test_bounds_that_are_no_numeric_table_are_refused(bounds, message):
    with pytest.raises(ValueError, match=f"lower bounds {message}"):
        IntervalMatrix.from_bounds(bounds, bounds)


def test_bounds_without_a_row_are_refused_in_words():
    with pytest.raises(ValueError, match=r"\brow"):
        IntervalMatrix.from_bounds(np.zeros((0, 3)), np.zeros((0, 3)))


@pytest.mark.parametrize("bad", [(1.0, -1.0), (np.nan, 1.0), (0.0, np.nan)])
def test_ranges_that_are_no_intervals_are_refused(bad, table):
    ranges = RANGES.copy()
    ranges[3] = bad
    with pytest.raises(ValueError, match="column"):
        IntervalMatrix.from_table(table, ranges)


@pytest.mark.parametrize("what", ["X_lower", "X_upper"])
def test_bounds_that_differ_from_an_observed_cell_are_refused_with_the_reason(what, table):
    lower, upper = bounds_of(table)
    (lower if what == "X_lower" else upper)[8, 1] = 0.5
    with pytest.raises(ValueError, match=rf"{what} is .*0\.5.* in row 8, column 'dose'.*transform_input"):
        IntervalMatrix.from_table_and_bounds(table, lower, upper, NAMES)


@pytest.mark.parametrize("what", ["X_lower", "X_upper"])
def test_bounds_of_another_shape_than_the_table_are_refused(what, table):
    bounds = dict(zip(("X_lower", "X_upper"), bounds_of(table), strict=True))
    bounds[what] = bounds[what][:-1]
    with pytest.raises(ValueError, match=rf"{what} has shape \(29, 4\), but X has shape \(30, 4\)"):
        IntervalMatrix.from_table_and_bounds(table, bounds["X_lower"], bounds["X_upper"])


def test_a_blurred_matrix_has_its_holes_and_every_other_value_within_its_precision():
    table = np.array([[1.0, np.nan], [2.0, 5.0]])
    matrix = IntervalMatrix.from_table(table, np.array([[0.0, 9.0], [2.0, 4.0]])).blurred(np.array([0.5, 0.0]))
    in_row, columns, centers, radii = matrix.cells(slice(0, 2))
    assert in_row.tolist() == [0, 0, 1]
    assert columns.tolist() == [0, 1, 0]
    assert centers.tolist() == [1.0, 3.0, 2.0]
    assert radii[[0, 2]].tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(matrix.center_rows(slice(0, 2)), [[1.0, 3.0], [2.0, 5.0]])
    np.testing.assert_array_equal(matrix.observed(), table)


def test_imprecise_values_are_observed_and_holes_are_not():
    matrix = IntervalMatrix.from_bounds([[1.0, 2.0]], [[3.0, 2.0]])
    np.testing.assert_array_equal(matrix.observed(), [[2.0, 2.0]])


def test_the_hull_holds_every_cell_of_the_rows_that_count():
    matrix = IntervalMatrix.from_bounds([[1.0, 2.0], [0.5, 3.0], [-9.0, 9.0]], [[4.0, 2.0], [0.5, 3.0], [-9.0, 9.0]])
    hull = matrix.hull(np.array([True, True, False]))
    assert (hull[:, 0] <= [0.5, 2.0]).all()
    assert (hull[:, 1] >= [4.0, 3.0]).all()
    np.testing.assert_allclose(hull, [[0.5, 4.0], [2.0, 3.0]])
    np.testing.assert_allclose(matrix.hull(), [[-9.0, 4.0], [2.0, 9.0]])
