"""Categories become columns of 0 and 1, and what is no category is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ipub import BoundedClassifier, CategoryWarning
from ipub.tables.categories import TableEncoder
from ipub.tables.levels import MOST_LEVELS, UnknownLevels

COLUMNS = {"age": [31.0, None, 40.0, 28.0], "site": ["north", None, "east", "north"], "old": [True, False, None, True]}
FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas object": lambda: pd.DataFrame(COLUMNS).astype({"site": object}),
    "pandas category": lambda: pd.DataFrame(COLUMNS).astype({"site": "category"}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars categorical": lambda: pl.DataFrame(COLUMNS, schema_overrides={"site": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame(COLUMNS, schema_overrides={"site": pl.Enum(["north", "east"])}),
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow dictionary": lambda: pa.table({**COLUMNS, "site": pa.array(COLUMNS["site"]).dictionary_encode()}),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_every_frame_is_encoded_in_the_same_way(make):
    encoder = TableEncoder.learn(make())
    assert encoder.levels == (None, ("east", "north"), None)
    assert encoder.names == ["age", "site_east", "site_north", "old"]
    assert encoder.numbers.tolist() == [0, 3]
    nan = np.nan
    expected = [[31.0, 0.0, 1.0, 1.0], [nan, nan, nan, 0.0], [40.0, 1.0, 0.0, nan], [28.0, 0.0, 1.0, 1.0]]
    np.testing.assert_array_equal(encoder.encode(make()), expected)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_missing_categories_are_choices_with_the_mean_of_all_levels_at_the_center(make):
    encoder = TableEncoder.learn(make())
    table, missing_categories = encoder.with_missing_categories(encoder.encode(make()))
    assert missing_categories.rows.tolist() == [1]
    assert [levels.columns.tolist() for levels in missing_categories.levels] == [[1, 2]]
    np.testing.assert_array_equal(table[:, 1:3], [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])


def test_the_only_level_of_a_category_is_certain():
    frame = pd.DataFrame({"site": ["a", None, "a"], "x": [1.0, 2.0, 3.0]})
    encoder = TableEncoder.learn(frame)
    table, missing_categories = encoder.with_missing_categories(encoder.encode(frame))
    assert len(missing_categories) == 0
    np.testing.assert_array_equal(table[:, 0], 1.0)


def test_a_frame_of_numbers_needs_no_encoder():
    assert TableEncoder.learn(pd.DataFrame({"a": [1.0, 2.0], "b": [True, False]})) is None


def test_levels_are_sorted_whatever_their_type():
    frame = pd.DataFrame({"grade": pd.Categorical([10, 2, 10]), "half": pd.Categorical([1.5, 0.5, None])})
    encoder = TableEncoder.learn(frame)
    assert encoder.levels == ((2, 10), (0.5, 1.5))
    np.testing.assert_array_equal(encoder.encode(frame)[2], [0.0, 1.0, np.nan, np.nan])


SITES, DECLARED = ["north", None, "east"], ["west", "north", "east"]
DECLARING: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame({"site": pd.Categorical(SITES, categories=DECLARED)}),
    "pandas ordered": lambda: pd.DataFrame({"site": pd.Categorical(SITES, categories=DECLARED, ordered=True)}),
    "polars enum": lambda: pl.DataFrame({"site": SITES}, schema={"site": pl.Enum(DECLARED)}),
    "pyarrow dictionary": lambda: pa.Table.from_pandas(DECLARING["pandas"]()),
    "pandas stored by pyarrow": lambda: DECLARING["pandas"]().astype(
        {"site": pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))}
    ),
}


@pytest.mark.parametrize("make", DECLARING.values(), ids=DECLARING)
def test_a_level_that_is_declared_but_does_not_occur_is_a_level_of_a_missing_category(make):
    encoder = TableEncoder.learn(make())
    assert encoder.levels == (("east", "north", "west"),)
    table = encoder.encode(make())
    np.testing.assert_array_equal(table, [[0.0, 1.0, 0.0], [np.nan] * 3, [1.0, 0.0, 0.0]])
    center, missing_categories = encoder.with_missing_categories(table)
    assert [levels.columns.tolist() for levels in missing_categories.levels] == [[0, 1, 2]]
    np.testing.assert_array_equal(center[1], [1.0 / 3.0] * 3)


def test_categories_that_polars_shares_between_columns_are_not_declared():
    pl.DataFrame({"other": ["foreign", "levels"]}, schema={"other": pl.Categorical})
    shared = pl.Series(["foreign", "north", "east"], dtype=pl.Categorical)
    frame = pl.DataFrame({"site": shared.filter(pl.Series([False, True, True]))})
    assert TableEncoder.learn(frame).levels == (("east", "north"),)


def test_chunks_of_a_dictionary_declare_together():
    chunks = [pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.array(words)) for words in (["b", "x"], ["a"])]
    assert TableEncoder.learn(pa.table({"site": pa.chunked_array(chunks)})).levels == (("a", "b", "x"),)


def test_a_column_that_declares_levels_and_has_none_is_one_of_missing_categories():
    frame = pd.DataFrame({"site": pd.Categorical([None, None], categories=["b", "a"]), "x": [1.0, 2.0]})
    encoder = TableEncoder.learn(frame)
    assert encoder.levels == (("a", "b"), None)
    table = encoder.encode(frame)
    assert len(encoder.with_missing_categories(table)[1]) == 2
    np.testing.assert_array_equal(encoder.column_means(table), [0.5, 0.5, 1.5])


def test_the_cap_counts_declared_levels_and_advice_on_names_those_that_occur():
    many = [f"v{i}" for i in range(MOST_LEVELS + 1)]
    with pytest.raises(ValueError, match=r"'name' has 1001 different categories .*at most 1000"):
        TableEncoder.learn(pd.DataFrame({"name": pd.Categorical(["v1", "v2"], categories=many)}))
    few = pd.Categorical(["v1", "v2"] * 30, categories=many[:60])
    assert len(TableEncoder.learn(pd.DataFrame({"name": few})).levels[0]) == 60


def test_declared_levels_of_mixed_or_strange_types_are_refused_even_if_they_do_not_occur():
    mixed = pd.DataFrame({"grade": pd.Categorical(["a", "b"], categories=["a", "b", 1])})
    with pytest.raises(ValueError, match=r"'grade' \(declared: 1, 'a', 'b'\) mix text, numbers"):
        TableEncoder.learn(mixed)
    strange = pd.DataFrame({"grade": pd.Categorical([1, 2], categories=[1, 2, (3, 4)])})
    with pytest.raises(ValueError, match="has categories of type tuple"):
        TableEncoder.learn(strange)


def test_a_test_frame_may_have_nothing_but_missing_categories():
    encoder = TableEncoder.learn(FRAMES["pandas"]())
    rows = pd.DataFrame({"age": [1.0], "site": [None], "old": [True]})
    np.testing.assert_array_equal(encoder.encode(rows), [[1.0, np.nan, np.nan, 1.0]])


def test_a_new_category_is_refused_by_column_row_and_remedy_or_may_be_any():
    encoder = TableEncoder.learn(FRAMES["pandas"]())
    rows = pd.DataFrame({"age": [1.0, 2.0], "site": ["east", "south"], "old": [True, True]})
    with pytest.raises(
        ValueError, match=r"Column 'site' has the category 'south' in row 1.*'east', 'north'.*handle_unknown='any'"
    ):
        encoder.encode(rows)
    unknown = UnknownLevels()
    np.testing.assert_array_equal(encoder.encode(rows, unknown)[1], [2.0, np.nan, np.nan, 1.0])
    assert unknown.counts == {("site", "south"): 1}


def test_text_where_there_were_numbers_is_refused():
    encoder = TableEncoder.learn(FRAMES["pandas"]())
    with pytest.raises(ValueError, match=r"Column\(s\) 'age' \('old' in row 0\) held numbers in training"):
        encoder.encode(pd.DataFrame({"age": ["old"], "site": ["east"], "old": [True]}))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"row{i}" for i in range(60)], r"a different category in each row \('row0', 'row1', 'row10', \.\.\.\).*drop"),
        ([str(i / 2) for i in range(60)], r"written as text \('0.0', '0.5', .*\): convert it to numbers; or make"),
        ([*(str(i / 2) for i in range(59)), "unknown"], r"'1.0', \.\.\., but 'unknown' in row 59\): where .* NaN"),
        (pd.Categorical([1, "a"] * 30), r"'column' \(1 in row 0, 'a' in row 1\) mix text, numbers"),
        (pd.cut(np.arange(60.0), 3), r"has categories of type Interval: turn them into text, with \.astype\(str\)"),
        (pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"] * 30)), r"has categories of type Timestamp"),
        ([b"a", b"b"] * 30, r"hold neither numbers nor text"),
        ([["a"], ["b"]] * 30, r"hold neither numbers nor text"),
        (pd.to_datetime(["2020-01-01"] * 60), r"hold dates or times: turn them into numbers"),
    ],
    ids=["names", "numbers as text", "a word among numbers", "mixed", "intervals", "dates", "bytes", "lists", "days"],
)  # fmt: skip
def test_what_is_no_category_is_refused_by_name_with_the_remedy(column, message):
    with pytest.raises(ValueError, match=message) as caught:
        TableEncoder.learn(pd.DataFrame({"a": np.arange(60.0), "column": column}))
    assert "'column'" in str(caught.value)


def test_a_word_among_few_numbers_is_pointed_out():
    with pytest.warns(CategoryWarning, match=r"'size' holds numbers written as text \('1', '3', but 'red' in row 1\)"):
        encoder = TableEncoder.learn(pd.DataFrame({"size": ["1", "red", "3"]}))
    assert encoder.levels == (("1", "3", "red"),)


def test_codes_that_are_declared_as_categories_are_taken():
    codes = pd.Categorical([str(10_000 + i % 30) for i in range(90)])
    assert len(TableEncoder.learn(pd.DataFrame({"code": codes})).levels[0]) == 30


def test_thousands_of_levels_are_refused_and_many_are_warned_of():
    many = [f"v{i % (MOST_LEVELS + 1)}" for i in range(3 * MOST_LEVELS)]
    with pytest.raises(ValueError, match=r"'name' has 1001 different categories .*at most 1000.*join rare"):
        TableEncoder.learn(pd.DataFrame({"name": many}))
    with pytest.warns(CategoryWarning, match=r"'name' has 40 different categories in 60 rows.*drop the column"):
        TableEncoder.learn(pd.DataFrame({"name": [f"v{i % 40}" for i in range(60)]}))


def test_what_is_given_by_number_is_meant_by_the_frames_own_columns():
    encoder = TableEncoder.learn(FRAMES["pandas"]())
    assert encoder.by_name({2: (0, 1), "age": (0, 99)}, "intervals") == {"old": (0, 1), "age": (0, 99)}
    assert encoder.by_name("observed", "intervals") == "observed"
    with pytest.raises(ValueError, match=r"intervals names the column 'site', which holds categories"):
        encoder.by_name({1: (0, 1)}, "intervals")


def test_names_of_encoded_columns_are_all_different():
    frame = pd.DataFrame({"k": ["x_1", "y"] * 3, "k_x": ["1", "2"] * 3, "k_x_1": [0.5] * 6, "k=x_1": [1.5] * 6})
    model = BoundedClassifier(certificate=None).fit(frame, [0, 1] * 3)
    names = ["k=x_1_", "k_y", "k_x=1", "k_x_2", "k_x_1", "k=x_1"]
    assert model.encoder_.names == model.get_feature_names_out().tolist() == names
    plain = TableEncoder.learn(FRAMES["pandas"]())
    assert all("=" not in name for name in plain.names)
