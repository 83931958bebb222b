"""Intervals from the other values of a row: what they contain, and how they are learnt and checked."""

import numpy as np
import pytest

from ipub.errors import IpubError
from ipub.tables import quantile_regression
from ipub.tables.conditional_intervals import ConditionalColumn
from ipub.tables.holes import IntervalWarning, conditional_columns
from ipub.tables.quantile_regression import fewest_observed, held_out_coverage, learn_conditional

LEVEL = 0.9


def related(n, seed=0, whole=False):
    """A table whose last column follows from the first two, with noise; the others have holes."""
    rng = np.random.default_rng(seed)
    others = rng.normal(size=(n, 4))
    last = others[:, 0] + 0.5 * others[:, 1] + 0.3 * rng.standard_t(3, size=n)
    others[rng.random(others.shape) < 0.1] = np.nan
    return np.column_stack([others, np.round(4.0 * last) if whole else last])


def learnt(table, j=4, level=LEVEL, seed=0):
    """Learn the intervals of one column."""
    ranges = np.tile(np.nanquantile(table[:, j], [0.05, 0.95]), (table.shape[1], 1))
    return learn_conditional(table, [j], ranges, level, [f"x{j}"], seed=seed)


def column_of(**changes):
    """A column whose interval is from x - 1 to x + 2, x the column before, within 0 to 10."""
    fields = {
        "column": 1,
        "features": np.array([0]),
        "fill": np.array([5.0]),
        "coef": np.array([[1.0], [1.0]]),
        "intercept": np.array([-0.5, 1.5]),
        "correction": 0.5,
        "observed": np.array([0.0, 10.0]),
        "otherwise": np.array([1.0, 9.0]),
        "is_whole": False,
    }
    return ConditionalColumn(**{**fields, **changes})


def ends(column, value):
    low, high = column.intervals(np.array([[value, np.nan]]))
    return float(low[0]), float(high[0])


# --- intervals of rows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [(4.0, (3.0, 6.0)), (np.nan, (4.0, 7.0)), (0.5, (0.0, 2.5)), (9.5, (8.5, 10.0))],
    ids=["inside", "missing", "cut below", "cut above"],
)
def test_an_interval_follows_the_row_within_the_observed_range(value, expected):
    low, high = ends(column_of(), value)
    assert low <= expected[0]
    assert high >= expected[1]
    np.testing.assert_allclose((low, high), expected, rtol=1e-12)


@pytest.mark.parametrize("value", [-1e6, 1e6, 1e308])
def test_a_row_far_from_all_others_has_the_interval_of_its_column(value):
    assert ends(column_of(), value) == (1.0, 9.0)


def test_an_interval_is_never_one_point():
    assert ends(column_of(intercept=np.zeros(2), correction=0.0), 4.0) == (1.0, 9.0)
    assert ends(column_of(intercept=np.zeros(2), correction=0.0), 10.0) == (1.0, 10.0)
    # Quantiles that are closer than the correction is negative leave nothing.
    assert ends(column_of(intercept=np.zeros(2), correction=-0.5), 4.0) == (1.0, 9.0)


def test_quantiles_that_cross_change_places():
    low, high = ends(column_of(intercept=np.array([1.5, -0.5])), 4.0)
    np.testing.assert_allclose((low, high), (3.0, 6.0), rtol=1e-12)


@pytest.mark.parametrize(
    ("value", "width", "expected"),
    [
        (4.2, 2.0, (3.0, 6.0)),
        (4.0, 0.3, (3.0, 5.0)),
        (4.4, 0.2, (4.0, 5.0)),
        (0.0, 0.4, (0.0, 1.0)),
        (10.0, 0.4, (9.0, 10.0)),
    ],
    ids=["inside", "one number", "no number", "least", "greatest"],
)
def test_whole_numbers_inside_an_interval_stay_inside(value, width, expected):
    column = column_of(intercept=np.zeros(2), correction=width, is_whole=True)
    assert ends(column, value) == expected


# --- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
def test_as_many_of_the_cells_that_did_not_fit_the_lines_are_inside_as_the_level_asks_for(whole):
    for seed in range(5):
        table = related(140, seed, whole)
        column = learnt(table, seed=seed).columns[0]
        order = np.random.default_rng([seed, 4]).permutation(140)
        others = table[order[70:]]
        low, high = column.intervals(others)
        n_inside = int(((low <= others[:, 4]) & (others[:, 4] <= high)).sum())
        assert n_inside >= np.ceil(71 * (LEVEL + 3.0 / 141))
        if not whole:
            assert n_inside == np.ceil(71 * (LEVEL + 3.0 / 141))


def test_lines_follow_from_the_first_half_alone():
    table = related(200)
    order = np.random.default_rng([0, 4]).permutation(200)
    changed = table.copy()
    changed[order[100:], :] = 3.0 * table[order[100:], :] + 1.0
    first, second = learnt(table).columns[0], learnt(changed).columns[0]
    for name in ("features", "fill", "coef", "intercept"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.correction < second.correction


def test_values_that_are_new_lie_inside_with_at_least_the_level():
    shares = []
    for seed in range(40):
        table = related(400, seed)
        column = learnt(np.vstack([table[:120]])).columns[0]
        low, high = column.intervals(table[120:])
        shares.append(np.mean((low <= table[120:, 4]) & (table[120:, 4] <= high)))
    assert np.mean(shares) >= LEVEL
    assert np.mean(shares) < 0.97


def test_intervals_are_shorter_than_quantile_intervals_where_columns_are_related_and_no_longer_than_what_was_observed():
    table = related(300)
    table[:30, 4] = np.nan
    found = learnt(table)
    low, high = found.columns[0].intervals(table)
    assert found.report.width[0] < 0.75 * found.report.quantile_width[0]
    assert low.min() >= np.nanmin(table[:, 4])
    assert high.max() <= np.nanmax(table[:, 4])
    assert (low < high).all()


def test_the_report_says_how_many_held_out_cells_were_inside():
    table = related(300)
    table[:30, 4] = np.nan
    report = learnt(table).report
    observed = table[30:][np.random.default_rng([0, 4]).permutation(270)]
    assert report.coverage[0] == held_out_coverage(observed, 4, LEVEL)
    assert (report.holes[0], report.observed[0], report.rules[0]) == (30, 270, "conditional")
    assert "x4      30     conditional  " in str(report)
    assert "of 270" in str(report)


def test_held_out_cells_are_not_learnt_from(monkeypatch):
    table, seen = related(100), []
    original = quantile_regression._conformal

    def conformal(rows, *arguments):
        seen.append(rows[:, 4])
        return original(rows, *arguments)

    monkeypatch.setattr(quantile_regression, "_conformal", conformal)
    held_out_coverage(table, 4, LEVEL)
    assert [len(values) for values in seen] == [80] * 5
    left_out = [np.setdiff1d(table[:, 4], values) for values in seen]
    np.testing.assert_array_equal(np.sort(np.concatenate(left_out)), np.sort(table[:, 4]))


def test_columns_with_few_observed_values_keep_quantile_intervals_and_a_warning_names_them():
    table = related(fewest_observed(LEVEL) + 9)
    table[:10, 4] = np.nan
    with pytest.warns(IntervalWarning, match=r"'x4' have fewer than 100 observed values"):
        found = learnt(table)
    assert found.columns == ()
    assert found.report.rules == ("quantile",)
    assert np.isnan(found.report.coverage[0])
    # Of three observed values, no interval between two of them holds as often as the level says.
    assert "Too few values were observed" in found.report.sentence()
    assert "probability" not in str(found.report)


def test_the_promise_is_of_columns_whose_intervals_are_conditional():
    table = related(300)
    table[:30, 4] = np.nan
    table[:3, 3], table[3:, 3] = (0.0, 1.0, 2.0), np.nan
    ranges = np.tile([0.0, 1.0], (5, 1))
    with pytest.warns(IntervalWarning, match=r"'x3' have fewer"):
        report = learn_conditional(table, [3, 4], ranges, LEVEL, ["x3", "x4"]).report
    assert report.rules == ("quantile", "conditional")
    assert report.sentence().startswith("In 'conditional' columns each missing value lies in its interval")
    assert "if rows are exchangeable and values are missing completely at random" in report.sentence()
    assert "of other columns nothing is promised" in report.sentence()


def test_nothing_is_promised_if_only_columns_without_holes_are_conditional():
    table = related(300)
    table[:, 3] = 1.0
    table[:10, 3] = np.nan
    table[:, 4] = np.arange(300.0)
    report = learn_conditional(table, [3, 4], np.tile([0.0, 1.0], (5, 1)), LEVEL, ["x3", "x4"]).report
    assert report.rules == ("one value", "conditional")
    assert "probability" not in report.sentence()


@pytest.mark.parametrize(("level", "expected"), [(0.9, 100), (0.5, 20), (0.95, 200)])
def test_how_many_values_are_few_depends_on_the_level(level, expected):
    assert fewest_observed(level) == expected


def test_columns_of_two_values_keep_both():
    table = related(200)
    table[:, 4] = table[:, 4] > 0.0
    table[:10, 4] = np.nan
    found = learnt(table)
    assert found.columns == ()
    assert found.report.rules == ("both values",)


def test_rows_that_do_not_count_are_not_learnt_from():
    table = related(300)
    counted = np.arange(300) < 150
    ranges = np.tile([-2.0, 2.0], (5, 1))
    first = learn_conditional(table, [4], ranges, LEVEL, ["x4"], counted)
    table[150:] *= 7.0
    second = learn_conditional(table, [4], ranges, LEVEL, ["x4"], counted)
    assert first.columns[0].correction == second.columns[0].correction
    np.testing.assert_array_equal(first.columns[0].observed, second.columns[0].observed)


@pytest.mark.parametrize("case", ["alone", "constant others", "empty other", "huge"])
def test_tables_without_anything_to_learn_from_have_constant_intervals(case):
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    others = {
        "alone": np.empty((200, 0)),
        "constant others": np.full((200, 2), 0.1),
        "empty other": np.full((200, 1), np.nan),
        "huge": 1e200 * rng.normal(size=(200, 1)),
    }[case]
    table = np.column_stack([values, others])
    column = learnt(table, 0).columns[0]
    low, high = column.intervals(table)
    assert (low == low[0]).all()
    assert (high == high[0]).all()
    assert np.mean((low <= values) & (values <= high)) >= LEVEL


def test_the_interval_of_a_row_does_not_depend_on_other_rows():
    table = related(300)
    column = learnt(table).columns[0]
    low, high = column.intervals(table)
    for i in range(20):
        assert column.intervals(table[i : i + 1]) == (low[i], high[i])


def test_of_many_columns_those_that_correlate_most_are_used():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 40))
    table[:, 0] = table[:, 33] + 0.1 * rng.normal(size=200)
    column = learnt(table, 0).columns[0]
    assert len(column.features) == quantile_regression.MOST_FEATURES
    assert 33 in column.features


def test_level_one_is_refused_with_a_remedy():
    with pytest.raises(IpubError, match="intervals='observed'"):
        learnt(related(200), level=1.0)


def test_a_mapping_names_the_columns():
    assert conditional_columns("conditional", 2) == [0, 1]
    assert conditional_columns({"b": "conditional", "a": (0, 1)}, 3, ["a", "b", "c"]) == [1]
    assert conditional_columns("quantile", 2) == []
    assert conditional_columns(np.zeros((2, 2)), 2) == []
