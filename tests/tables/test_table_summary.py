"""Summaries of pieces, joined: what a summary of the whole column says."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ipub import IpubError
from ipub.tables.decoded_rows import TextColumn, decode, decode_labels
from ipub.tables.levels import MOST_COUNTED, LevelCounts
from ipub.tables.scaling import Scaling
from ipub.tables.table_summary import ColumnSummary, ExactSum, Moments


def joined(pieces):
    total = pieces[0]
    for piece in pieces[1:]:
        total = total.joined(piece)
    return total


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_moments_of_pieces_are_those_of_the_column(shift):
    rng = np.random.default_rng(0)
    values = rng.normal(size=5000) + shift
    values[rng.random(5000) < 0.1] = np.nan
    found = joined([Moments.of(part) for part in np.array_split(values, 37)])
    observed = values[~np.isnan(values)]
    assert (found.n, found.least, found.greatest) == (len(observed), observed.min(), observed.max())
    np.testing.assert_allclose(found.mean, observed.mean(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.squares / found.n, observed.var(), rtol=1e-10)
    assert not found.is_whole
    assert not found.is_two


def test_two_values_in_different_pieces_are_two_and_three_are_not():
    assert joined([Moments.of(np.array([1.0])), Moments.of(np.array([2.0, 1.0]))]).is_two
    assert not joined([Moments.of(np.array([1.0, 3.0])), Moments.of(np.array([2.0]))]).is_two
    assert joined([Moments(), Moments.of(np.array([2.0])), Moments()]).n == 1


@pytest.mark.parametrize("how", ["standard", "minmax"])
def test_scalings_from_moments_are_those_of_the_table(how):
    rng = np.random.default_rng(1)
    table = rng.normal(size=(3000, 5)) * [1.0, 100.0, 1e-3, 1.0, 0.0] + [0.0, 5.0, 1.0, 0.0, 7.0]
    table[rng.random(table.shape) < 0.1] = np.nan
    table[:, 3] = np.nan
    ranges, unscaled = np.tile([-1.0, 2.0], (5, 1)), np.array([False, False, True, False, False])
    expected = Scaling.learn(how, table, ranges, unscaled)
    moments = [joined([Moments.of(part) for part in np.array_split(column, 11)]) for column in table.T]
    found = Scaling.from_moments(how, moments, ranges, unscaled)
    for (name, operand), (other, again) in zip(expected.operations, found.operations, strict=True):
        assert name == other
        np.testing.assert_allclose(again, operand, rtol=1e-12, atol=1e-15)


def test_exact_sums_do_not_depend_on_the_pieces():
    rng = np.random.default_rng(2)
    values = (rng.normal(size=1000) * 10.0 ** rng.integers(-30, 30, 1000)).tolist()
    found = joined([ExactSum.of(values[a : a + 77]) for a in range(0, 1000, 77)])
    assert found.rounded() == math.fsum(values)
    assert sum(map(Fraction, found.terms)) == sum(map(Fraction, values))


TEXT = ["north", None, "east", "north", "1"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "pandas category", "pyarrow dictionary"])
def test_text_becomes_codes_whatever_the_library(library):
    frame = {
        "pandas": lambda: pd.DataFrame({"a": TEXT}),
        "polars": lambda: pl.DataFrame({"a": TEXT}),
        "pyarrow": lambda: pa.table({"a": pa.chunked_array([TEXT[:2], TEXT[2:]])}),
        "pandas category": lambda: pd.DataFrame({"a": pd.Categorical(TEXT, categories=["east", "1", "north", "x"])}),
        "pyarrow dictionary": lambda: pa.table(
            {"a": pa.chunked_array([pa.array(TEXT[:2]).dictionary_encode(), pa.array(TEXT[2:]).dictionary_encode()])}
        ),
    }[library]()
    column = decode(frame, ["a"]).columns["a"]
    assert isinstance(column, TextColumn)
    assert [None if code < 0 else column.values[code] for code in column.codes] == TEXT
    assert column.codes_among(["east", "north"]).tolist() == [1, -1, 0, 1, -2]
    counts = LevelCounts.of("a", column)
    assert dict(counts.counts) == {"north": 2, "east": 1, "1": 1}
    assert counts.first_word == (0, "north")
    if library == "pandas category":
        assert counts.declared == {"east", "1", "north", "x"}


def test_levels_of_pieces_are_those_of_the_column():
    text = np.random.default_rng(3).choice(["a", "b", "c", "d"], 100)
    frame = pd.DataFrame({"site": text})
    pieces = [decode(frame.iloc[a : a + 9], ["site"]).columns["site"] for a in range(0, 100, 9)]
    found = joined([LevelCounts.of("site", piece) for piece in pieces])
    assert found.levels() == ("a", "b", "c", "d")
    assert dict(found.counts) == {level: int((text == level).sum()) for level in "abcd"}


def test_names_of_rows_do_not_fill_the_memory():
    def piece(first):
        values = tuple(f"name {i}" for i in range(first, first + MOST_COUNTED))
        return LevelCounts.of("id", TextColumn(np.arange(MOST_COUNTED), values))

    with pytest.raises(IpubError, match=r"'id' has more than 20000 different categories") as error:
        piece(0).joined(piece(MOST_COUNTED))
    assert error.value.column == "id"


def test_numbers_in_one_piece_and_text_in_another_are_named():
    number = ColumnSummary.of("a", 0, 1, np.array([1.0]), None)
    nothing = ColumnSummary.of("a", 1, 1, None, None)
    text = ColumnSummary.of("a", 2, 1, TextColumn(np.array([0]), ("x",)), None)
    assert number.joined(nothing).kind == "number"
    assert nothing.joined(text).kind == "category"
    with pytest.raises(IpubError, match="numbers in piece 0 and text in piece 2") as error:
        number.joined(nothing).joined(text)
    assert error.value.column == "a"


def test_infinite_values_of_a_piece_are_named():
    with pytest.raises(IpubError, match="infinity") as error:
        ColumnSummary.of("a", 0, 2, np.array([1.0, np.inf]), None)
    assert (error.value.row, error.value.column) == (1, "a")


def test_labels_keep_their_type_and_missing_ones_are_nan():
    frame = pa.table({"whole": [1, 2], "text": ["a", None], "holed": [1, None], "truth": [True, False]})
    assert decode_labels(frame, "whole").dtype == np.int64
    assert decode_labels(frame, "truth").dtype == bool
    assert np.isnan(decode_labels(frame, "holed")[1])
    assert decode_labels(frame, "text").codes.tolist() == [0, -1]
