"""How a hole becomes an interval."""

import numpy as np
import pytest

from ipub.tables.holes import IntervalWarning, column_ranges

NAMES = ["age", "dose", "size"]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[rng.random((60, 3)) < 0.2] = np.nan
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 1.0])
def test_quantile_ranges_are_the_quantiles_of_the_observed_values(level, table):
    ranges = column_ranges(table, "quantile", level)
    for j in range(3):
        observed = table[~np.isnan(table[:, j]), j]
        expected = np.quantile(observed, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        np.testing.assert_array_equal(ranges[j], expected)


def test_quantile_at_level_nine_tenths_is_the_default(table):
    np.testing.assert_array_equal(column_ranges(table), column_ranges(table, "quantile", 0.9))


def test_observed_ranges_go_from_the_least_to_the_greatest_observed_value(table):
    expected = np.column_stack([np.nanmin(table, axis=0), np.nanmax(table, axis=0)])
    np.testing.assert_array_equal(column_ranges(table, "observed"), expected)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 1.0])
def test_quantile_ranges_of_whole_numbers_are_rounded_outward(level):
    column = np.append(np.round(np.random.default_rng(1).normal(0.0, 30.0, 99)), np.nan)
    low, high = np.quantile(column[:-1], [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    found = column_ranges(column[:, None], "quantile", level)
    np.testing.assert_array_equal(found, [[np.floor(low), np.ceil(high)]])


def test_a_higher_level_gives_wider_ranges_of_whole_numbers():
    column = np.append(np.arange(99.0) ** 2, np.nan)[:, None]
    widths = [np.ptp(column_ranges(column, "quantile", level)) for level in (0.3, 0.6, 0.9, 1.0)]
    assert (np.diff(widths) > 0.0).all()


@pytest.mark.parametrize(
    "column",
    [
        np.array([0.0] * 98 + [1.0, np.nan]),
        np.array([0.25] * 50 + [0.75] * 49 + [np.nan]),
        np.array([0.5] * 98 + [2.75, np.nan]),
    ],
    ids=["binary", "two values", "two values, one of them rare"],
)
def test_columns_of_two_values_keep_both(column):
    ranges = column_ranges(column[:, None], "quantile", 0.5)
    np.testing.assert_array_equal(ranges[0], [np.nanmin(column), np.nanmax(column)])


@pytest.mark.parametrize("others", [(0.5, 0.1, 0.75, 2.5), (-3.0, -4.0, 7.0, 1e6)], ids=["fractions", "whole"])
def test_a_collapsed_quantile_never_looks_certain_and_says_so(others):
    column = np.array([others[0]] * 96 + [*others[1:], np.nan])
    table = np.column_stack([np.linspace(0.01, 1.0, 100), column])
    with pytest.warns(IntervalWarning, match=r"level 0\.5 of column\(s\) 'dose' is a single value"):
        ranges = column_ranges(table, "quantile", 0.5, names=["age", "dose"])
    np.testing.assert_array_equal(ranges[1], [others[1], others[3]])


def test_a_collapsed_quantile_of_a_column_without_holes_is_silent():
    column = np.array([0.5] * 96 + [0.1, 0.75, 2.5, 0.5])
    np.testing.assert_array_equal(column_ranges(column[:, None], "quantile", 0.5), [[0.1, 2.5]])


@pytest.mark.parametrize("intervals", ["quantile", "observed", {1: (4.0, 4.0)}, np.array([[0.0, 1.0], [4.0, 4.0]])])
@pytest.mark.parametrize(("names", "name"), [(None, "1"), (["age", "dose"], "'dose'")])
def test_an_interval_of_zero_length_is_reported_by_column(intervals, names, name):
    table = np.array([[0.5, 4.0], [0.75, 4.0], [0.1, np.nan]])
    with pytest.warns(IntervalWarning, match=rf"column\(s\) {name} have an interval of zero length"):
        ranges = column_ranges(table, intervals, names=names)
    np.testing.assert_array_equal(ranges[1], [4.0, 4.0])


def test_a_constant_column_without_holes_is_silent():
    table = np.array([[0.5, 4.0], [0.75, 4.0], [np.nan, 4.0]])
    np.testing.assert_array_equal(column_ranges(table)[1], [4.0, 4.0])


@pytest.mark.parametrize("key", ["dose", 1, np.int64(1)])
def test_a_mapping_gives_ranges_by_name_or_number_and_leaves_the_others(key, table):
    ranges = column_ranges(table, {key: (-5, 5)}, names=NAMES)
    np.testing.assert_array_equal(ranges[1], [-5.0, 5.0])
    np.testing.assert_array_equal(ranges[[0, 2]], column_ranges(table)[[0, 2]])


def test_a_mapping_may_use_the_words(table):
    ranges = column_ranges(table, {"age": "observed", "size": "quantile", "dose": [0, 1]}, names=NAMES)
    np.testing.assert_array_equal(ranges[0], column_ranges(table, "observed")[0])
    np.testing.assert_array_equal(ranges[1], [0.0, 1.0])
    np.testing.assert_array_equal(ranges[2], column_ranges(table, "quantile")[2])


@pytest.mark.parametrize("kind", [np.array, lambda v: [tuple(row) for row in v]], ids=["array", "list"])
def test_an_array_gives_the_range_of_every_column(kind, table):
    given = [[-1.0, 1.0], [0.0, 0.5], [2.0, 3.0]]
    np.testing.assert_array_equal(column_ranges(table, kind(given)), given)


def test_a_given_range_serves_a_column_without_an_observed_value():
    table = np.array([[1.0, np.nan], [2.0, np.nan]])
    np.testing.assert_array_equal(column_ranges(table, {1: (0.0, 3.0)})[1], [0.0, 3.0])


@pytest.mark.parametrize("intervals", ["quantile", "observed", {0: (0.0, 1.0)}])
def test_a_column_without_an_observed_value_is_refused_with_the_remedy(intervals):
    table = np.array([[1.0, np.nan], [2.0, np.nan]])
    with pytest.raises(ValueError, match=r"Column 'dose' has no observed value.*intervals=\{'dose': \(low, high\)\}"):
        column_ranges(table, intervals, names=["age", "dose"])


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        ("median", r"intervals='median' is not known: use 'quantile', 'observed'"),
        ({"age": "median"}, r"'median' is not known"),
        ({"weight": (0, 1)}, r"names the column 'weight', which X does not have \(columns are 'age', 'dose', 'size'\)"),
        ({3: (0, 1)}, r"names the column 3, which X does not have"),
        ({-1: (0, 1)}, r"names the column -1, which X does not have"),
        ({True: (0, 1)}, r"names the column True, which X does not have"),
        ({"dose": (2.0, 1.0)}, r"range of column 'dose' has its lower end 2 above its upper end 1"),
        ({"dose": (0.0, np.inf)}, r"range of column 'dose' must be finite, got \(0, inf\)"),
        ({"dose": (np.nan, 1.0)}, r"range of column 'dose' must be finite, got \(nan, 1\)"),
        ({"dose": (0.0, 1e151)}, r"range of column 'dose' goes beyond 1e\+150: rescale the column"),
        ({"dose": (-1e151, 0.0)}, r"range of column 'dose' goes beyond 1e\+150: rescale the column"),
        ({"dose": (1.0, 2.0, 3.0)}, r"range of column 'dose' must be a pair \(low, high\)"),
        ({"dose": 1.0}, r"range of column 'dose' must be a pair \(low, high\), got 1\.0"),
        ({"dose": ("a", "b")}, r"range of column 'dose' must be a pair \(low, high\)"),
        ({"dose": None}, r"range of column 'dose' must be a pair \(low, high\), got None"),
        (np.zeros((2, 2)), r"shape \(2, 2\); an array of ranges must have shape \(3, 2\)"),
        (np.zeros((3, 3)), r"shape \(3, 3\); an array of ranges must have shape \(3, 2\)"),
        (np.array([[0, 1], [2, 1], [0, 1]]), r"range of column 'dose' has its lower end 2 above its upper end 1"),
        (np.array([[0, 1], [0, 1], [0, np.nan]]), r"range of column 'size' must be finite"),
        (np.array([[0, 1e160], [0, 1], [0, 1]]), r"range of column 'age' goes beyond 1e\+150"),
    ],
)
def test_ranges_that_make_no_sense_are_refused_by_name(intervals, message, table):
    with pytest.raises(ValueError, match=message):
        column_ranges(table, intervals, names=NAMES)


def test_without_names_a_column_goes_by_its_number(table):
    with pytest.raises(ValueError, match=r"names the column 'dose', which X does not have \(there are 3 columns\)"):
        column_ranges(table, {"dose": (0, 1)})
    with pytest.raises(ValueError, match=r"range of column 1 has its lower end"):
        column_ranges(table, {1: (1, 0)})


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_every_numeric_type_has_ranges(dtype):
    table = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    np.testing.assert_array_equal(column_ranges(table), [[0.0, 1.0], [0.0, 1.0]])


def test_ranges_do_not_depend_on_how_many_columns_are_read_at_once(table, monkeypatch):
    expected = column_ranges(table)
    monkeypatch.setattr("ipub.tables.columns.LONG", 1)
    for n_columns in (1, 2, 3):
        monkeypatch.setattr("ipub.tables.columns.BLOCK_COLUMNS", n_columns)
        np.testing.assert_array_equal(column_ranges(table), expected)


def test_given_ranges_are_taken_without_a_look_at_the_table(table, monkeypatch):
    monkeypatch.delattr("ipub.tables.columns.Column.of")
    given = np.array([[-1.0, 1.0], [0.0, 0.5], [2.0, 3.0]])
    np.testing.assert_array_equal(column_ranges(table, given), given)
