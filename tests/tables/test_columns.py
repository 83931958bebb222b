"""What a long table, read once, says of its columns: the same as a look at each whole column."""

import numpy as np
import pytest

from ipub.tables import columns
from ipub.tables.columns import Column, summarize_columns
from ipub.tables.holes import SentinelWarning, column_ranges

N = columns.LONG + 4321
SEEN = slice(None, None, columns.SAMPLED)
"""Rows of the sample, where all rows count."""


def _column(kind: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    x = rng.normal(size=N)
    match kind:
        case "skewed":
            return np.exp(3.0 * x)
        case "clipped":
            return np.clip(x, -1.0, 1.0)
        case "rounded":
            return np.round(x, 1)
        case "many zeros":
            return np.maximum(x, 0.0)
        case "a value in the middle":
            return np.where(np.abs(x) < 1.2, 0.125, x)
        case "whole":
            return np.round(10.0 * x)
        case "few whole numbers":
            return np.clip(np.round(2.0 * x), 0.0, 4.0)
        case "two whole numbers":
            return np.where(x > 1.0, 3.0, -2.0)
        case "one value where looked at":
            return np.where(np.arange(N) % columns.SAMPLED == 1, 7.0, 2.0)
        case "whole where looked at":
            x = np.round(10.0 * x)
            x[1] += 0.5
            return x
        case "two values":
            return np.where(x > 1.0, 0.25, 0.75)
        case "two values where looked at":
            return np.where(np.arange(N) == 1, 0.5, np.where(x > 1.0, 0.25, 0.75))
        case "one value":
            return np.full(N, 0.5)
        case "other values where looked at":
            x[SEEN] += 5.0
            return x
        case "sorted":
            return np.sort(x)
        case "hardly observed":
            return np.where(rng.random(N) < 0.999, np.nan, x)
        case "never observed":
            return np.full(N, np.nan)
        case "-999 now and then":
            return np.where(rng.random(N) < 0.01, -999.0, x)
        case "from 0 on":
            return x - x.min()
    return x


KINDS = (
    "normal",
    "skewed",
    "clipped",
    "rounded",
    "many zeros",
    "a value in the middle",
    "whole",
    "few whole numbers",
    "two whole numbers",
    "one value where looked at",
    "whole where looked at",
    "two values",
    "two values where looked at",
    "one value",
    "other values where looked at",
    "sorted",
    "hardly observed",
    "never observed",
    "-999 now and then",
    "from 0 on",
)


@pytest.fixture(scope="module")
def table():
    X = np.column_stack([_column(kind) for kind in KINDS])
    holes = np.random.default_rng(4).random(X.shape) < 0.01
    holes[:, 0] = False
    X[holes] = np.nan
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("level", [0.0001, 0.3, 0.5, 0.9, 0.9999, 1.0])
@pytest.mark.parametrize("half", [False, True], ids=["all rows", "half of the rows"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_long_table_has_the_same_columns_to_the_last_bit(level, half, dtype, table):
    table = table.astype(dtype)
    counted = np.random.default_rng(5).random(N) < 0.5 if half else None
    probabilities = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    found = summarize_columns(table, range(len(KINDS)), probabilities, counted)
    for kind, values, column in zip(KINDS, table.T, found, strict=True):
        expected = Column.of(values.astype(float), probabilities, counted)
        assert column.has_holes == expected.has_holes, kind
        assert column.n_observed == expected.n_observed, kind
        assert column.sentinel == expected.sentinel, kind
        ends = [(each.least, each.greatest, *each.quantiles) for each in (column, expected)]
        np.testing.assert_array_equal(*ends, err_msg=kind)


def test_ordinary_columns_of_a_long_table_are_not_looked_at_as_a_whole(table, monkeypatch):
    looked_at = []

    def whole(table, probabilities, counted, j):
        looked_at.append(KINDS[j])
        return Column(True, 0)

    monkeypatch.setattr(columns, "_whole_column", whole)
    list(summarize_columns(table, range(len(KINDS)), [0.05, 0.95]))
    ordinary = {"normal", "skewed", "clipped", "rounded", "many zeros", "never observed", "sorted", "two values"}
    ordinary |= {"whole", "few whole numbers", "two whole numbers", "a value in the middle"}
    assert ordinary.isdisjoint(looked_at)


def test_columns_may_be_any_and_in_any_order(table):
    columns = [3, 0, 8]
    found = list(summarize_columns(table, columns, [0.25, 0.75]))
    for j, column in zip(columns, found, strict=True):
        assert column == Column.of(table[:, j], [0.25, 0.75])


@pytest.mark.parametrize("order", ["C", "F"])
def test_long_ranges_are_the_quantiles_that_numpy_computes(order, table):
    kinds = ("normal", "skewed", "clipped", "rounded", "other values where looked at", "sorted")
    part = np.asarray(table[:, [KINDS.index(kind) for kind in kinds]], order=order)
    ranges = column_ranges(part, "quantile", 0.8)
    for values, pair in zip(part.T, ranges, strict=True):
        expected = np.quantile(values[~np.isnan(values)], [(1.0 - 0.8) / 2.0, (1.0 + 0.8) / 2.0])
        assert pair.tobytes() == expected.tobytes()


def test_a_sentinel_in_a_long_table_is_reported(table):
    with pytest.warns(SentinelWarning, match=r"column\(s\) 1 \(-999\)"):
        column_ranges(table[:, [0, KINDS.index("-999 now and then")]])
