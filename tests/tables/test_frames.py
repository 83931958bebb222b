"""DataFrames of every known library give the same table."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ipub.tables.frames import array_to_table, frame_to_table, is_frame

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
each_library = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


@each_library
def test_a_frame_is_known_as_one(make):
    assert is_frame(make({"a": [1.0, 2.0]}))


@pytest.mark.parametrize("X", [np.zeros((2, 2)), [[1.0]], pd.Series([1.0]), pl.Series([1.0]), {"a": [1.0]}, None])
def test_anything_else_is_no_frame(X):
    assert not is_frame(X)


@each_library
def test_numbers_of_every_kind_become_floats(make):
    table = frame_to_table(
        make({"a": [1.5, -2.0], "b": [1, 2**40], "c": [True, False], "d": np.array([1, 255], dtype=np.uint8)})
    )
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table, [[1.5, 1.0, 1.0, 1.0], [-2.0, 2.0**40, 0.0, 255.0]])


@each_library
def test_float32_keeps_its_values(make):
    values = np.array([0.1, 3.0], dtype=np.float32)
    np.testing.assert_array_equal(frame_to_table(make({"a": values}))[:, 0], values.astype(float))


@each_library
def test_a_frame_of_floats_with_nan_is_taken_as_it_is(make):
    values = np.array([0.5, np.nan, 2.0])
    np.testing.assert_array_equal(frame_to_table(make({"a": values, "b": values})), np.column_stack([values, values]))


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_nulls_of_every_type_become_holes(make):
    table = frame_to_table(make({"a": [1, None], "b": [None, 1.5], "c": [True, None], "d": [None, None]}))
    np.testing.assert_array_equal(table, [[1.0, np.nan, 1.0, np.nan], [np.nan, 1.5, np.nan, np.nan]])


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_nulls_in_a_frame_of_floats_only_become_holes(make):
    table = frame_to_table(make({"a": [1.5, None], "b": [None, 2.5]}))
    np.testing.assert_array_equal(table, [[1.5, np.nan], [np.nan, 2.5]])


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "Int8", "float64[pyarrow]", "int64[pyarrow]"])
@pytest.mark.parametrize("columns", [1, 2])
def test_nullable_pandas_columns_have_holes_where_they_have_na(dtype, columns):
    frame = pd.DataFrame({f"c{j}": pd.array([1, None, 0], dtype=dtype) for j in range(columns)})
    table = frame_to_table(frame)
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table, np.repeat([[1.0], [np.nan], [0.0]], columns, axis=1))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0], "b": [None, None]}),
        pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([None, None], dtype="Int64")}),
        pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([None, None], dtype="string")}),
        pl.DataFrame({"a": [1.0, 2.0], "b": [None, None]}),
        pl.DataFrame({"a": [1.0, 2.0], "b": pl.Series([None, None], dtype=pl.String)}),
        pa.table({"a": [1.0, 2.0], "b": pa.nulls(2)}),
        pa.table({"a": [1.0, 2.0], "b": pa.nulls(2, pa.string())}),
    ],
    ids=["object", "Int64", "string", "polars null", "polars string", "pyarrow null", "pyarrow string"],
)
def test_a_column_without_any_value_is_all_holes_whatever_its_type(frame):
    np.testing.assert_array_equal(frame_to_table(frame), [[1.0, np.nan], [2.0, np.nan]])


TEXT = ["x", "y"]
DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0], "kind": TEXT}),
        pd.DataFrame({"a": [1.0, 2.0], "kind": pd.Series(TEXT, dtype=object)}),
        pd.DataFrame({"a": [1.0, 2.0], "kind": pd.Categorical(TEXT)}),
        pd.DataFrame({"a": [1.0, 2.0], "kind": pd.Categorical([1, 2])}),
        pl.DataFrame({"a": [1.0, 2.0], "kind": TEXT}),
        pl.DataFrame({"a": [1.0, 2.0], "kind": pl.Series(TEXT, dtype=pl.Categorical)}),
        pl.DataFrame({"a": [1.0, 2.0], "kind": ["x", None]}),
        pa.table({"a": [1.0, 2.0], "kind": TEXT}),
    ],
    ids=lambda frame: type(frame).__module__.split(".")[0],
)
def test_a_column_that_is_not_numeric_is_refused_by_name_with_the_remedy(frame):
    with pytest.raises(ValueError, match=r"Column\(s\) 'kind' \(.*\) are not numeric.*Encode them"):
        frame_to_table(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"kind": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        pd.DataFrame({"kind": pd.Series(DAYS, dtype=object)}),
        pd.DataFrame({"kind": pd.to_timedelta([1, 2])}),
        pl.DataFrame({"kind": DAYS}),
        pa.table({"kind": DAYS}),
    ],
)
def test_dates_are_refused_with_the_remedy(frame):
    with pytest.raises(ValueError, match=r"Column\(s\) 'kind' \(.*\) hold dates or times: turn them into numbers"):
        frame_to_table(frame)


def test_a_column_of_mixed_things_is_refused_by_its_cells():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "kind": pd.Series([None, "high", 3], dtype=object)})
    with pytest.raises(ValueError, match=r"'kind' \('high' in row 1, 3 in row 2\) mix text, numbers.*NaN or None"):
        frame_to_table(frame)
    with pytest.raises(ValueError, match=r"'kind' \(Object\) hold neither numbers nor text"):
        frame_to_table(pd.DataFrame({"kind": [(1, 2), (3, 4)]}))


def test_sparse_columns_of_pandas_are_refused_with_the_remedy():
    frame = pd.DataFrame({"a": [1.0, 2.0], "kind": pd.arrays.SparseArray([0.0, 1.0])})
    with pytest.raises(
        ValueError, match=r"'kind' \(Sparse\[.*\]\) are sparse columns.*X\.sparse\.to_coo\(\)\.tocsr\(\)"
    ):
        frame_to_table(frame)


def test_a_lazy_frame_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"lazy frame: call its collect\(\) first"):
        array_to_table(pl.LazyFrame({"a": [1.0]}))


def test_objects_that_are_numbers_are_taken():
    frame = pd.DataFrame({"a": pd.Series([1, None, True, Decimal("2.5")], dtype=object)})
    np.testing.assert_array_equal(frame_to_table(frame)[:, 0], [1.0, np.nan, 1.0, 2.5])


def test_all_columns_that_are_not_numeric_are_named_at_once():
    with pytest.raises(ValueError, match=r"'b' \(String\), 'd' \(String\)"):
        frame_to_table(pl.DataFrame({"a": [1], "b": ["x"], "c": [1.0], "d": ["y"]}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "a"]),
        pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "a"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_two_columns_of_one_name_are_refused_by_name(frame):
    with pytest.raises(ValueError, match=r"columns have the same name: a\. Rename them"):
        frame_to_table(frame)


@each_library
def test_two_columns_of_the_same_values_are_not_taken_for_one_name(make):
    np.testing.assert_array_equal(frame_to_table(make({"a": [1.0, 2.0], "b": [1.0, 2.0]})), [[1.0, 1.0], [2.0, 2.0]])


def test_a_pandas_frame_of_floats_is_not_copied_and_not_written():
    values = np.random.default_rng(0).normal(size=(5, 3))
    values.flags.writeable = False
    frame = pd.DataFrame(values, columns=list("abc"), copy=False)
    assert np.shares_memory(frame_to_table(frame), values)


@each_library
def test_the_frame_keeps_its_types(make):
    frame = make({"a": [1, 2], "b": [0.5, 1.5]})
    before = str(getattr(frame, "schema", getattr(frame, "dtypes", None)))
    frame_to_table(frame)
    assert str(getattr(frame, "schema", getattr(frame, "dtypes", None))) == before
