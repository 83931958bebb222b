import gzip
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ipub.app.files.atomic import FileError
from ipub.app.files.tables import (
    NULLS,
    TableError,
    TableWarning,
    check_names,
    features_of,
    floats_of,
    holes_of,
    numbers_of,
    read_ranges,
    read_table,
    values_of,
    write_pieces,
)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("null", NULLS)
def test_every_spelling_of_a_missing_cell_is_a_hole(tmp_path, null):
    table = read_table(write(tmp_path / "t.csv", f"a,b\n1,2\n{null},3\n"))
    assert np.isnan(floats_of(features_of(table, ["a", "b"], "t.csv", ""))[1, 0])


def test_spaces_around_names_and_values_do_not_count(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "a, b ,c\n1, 2, x\n3, ?, y \n"))
    assert table.column_names == ["a", "b", "c"]
    np.testing.assert_array_equal(floats_of(features_of(table, ["a", "b"], "t", "")), [[1, 2], [3, np.nan]])
    assert values_of(table, "c", "t").tolist() == ["x", "y"]


@pytest.mark.parametrize(("name", "mark"), [("t.tsv", "\t"), ("t.csv", ";"), ("t.csv", "\t"), ("t.CSV", ",")])
def test_separators_follow_the_suffix_or_the_header(tmp_path, name, mark):
    table = read_table(write(tmp_path / name, f"a{mark}b\n1{mark}2.5\n"))
    assert table.to_pydict() == {"a": [1], "b": [2.5]}


def test_compressed_csv_is_read(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_table(tmp_path / "t.csv.gz").to_pydict() == {"a": [1], "b": [2]}


def test_a_column_that_turns_out_not_to_be_whole_after_a_megabyte_is_read(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "a\n" + "1234567\n" * 300_000 + "0.5\n"))
    assert table.column("a")[-1].as_py() == 0.5


def test_parquet_nulls_nan_booleans_and_categories(tmp_path):
    frame = pd.DataFrame({"x": [1.0, np.nan], "b": [True, False], "c": pd.Categorical(["u", "v"])})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    features = features_of(table, ["b", "x", "c"], "t", "")
    assert features.column_names == ["b", "x", "c"]
    assert numbers_of(features).column_names == ["b", "x"]
    assert holes_of(features).tolist() == [[False, False, False], [False, True, False]]
    assert values_of(table, "c", "t").tolist() == ["u", "v"]
    assert values_of(table, "b", "t").dtype == bool


def test_an_empty_column_is_all_holes(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "a,b\n1,\n2,\n"))
    assert np.isnan(floats_of(features_of(table, ["b"], "t", ""))).all()


def test_row_numbers_of_pandas_are_left_out_with_a_warning(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_csv(tmp_path / "t.csv")
    with pytest.warns(TableWarning, match="row numbers"):
        assert read_table(tmp_path / "t.csv").column_names == ["a"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "is empty: it needs a line with the names of the columns"),
        ("t.csv", "a,b\n", "no rows"),
        ("t.csv", "a,b\n1,2\n3\n", r"has 1 cells in row 1 \('3'\), and 2 columns"),
        ("t.csv", "a,a\n1,2\n", "more than one column named 'a'"),
        ("t.parquet", "a,b\n1,2\n", "cannot be read as a Parquet file"),
        ("t.xlsx", "a", "suffix '.xlsx'"),
        ("t", "a", "no suffix"),
        ("t.gz", "a", "suffix '.gz'"),
    ],
)
def test_bad_files_are_named_with_the_reason(tmp_path, name, text, message):
    path = write(tmp_path / name, text)
    with pytest.raises(TableError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_folders_and_missing_files_are_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "folder.csv")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


def test_all_columns_that_hold_neither_numbers_nor_text_are_named(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "a,b,c,d\n1,1,x,2020-01-01\n2,12o,y,2020-01-02\n"))
    with pytest.raises(TableError, match=r"'d' \(type date32\[day\]\) of t.csv holds neither .* Drop them"):
        features_of(table, ["a", "b", "c", "d"], "t.csv", "Drop them.")
    assert features_of(table, ["a", "b"], "t.csv", "").column("b").to_pylist() == ["1", "12o"]


@pytest.mark.parametrize("values", [[1.0, None, 2.0], [1.0, np.nan, 2.0], ["a", None, "b"]])
def test_a_target_with_holes_is_refused_with_their_number(values):
    with pytest.raises(TableError, match="missing in 1 of 3 rows"):
        values_of(pa.table({"y": values}), "y", "t.csv")


def test_a_target_of_dates_is_refused():
    with pytest.raises(TableError, match="numbers, booleans or text"):
        values_of(pa.table({"y": pa.array([1, 2], pa.timestamp("s"))}), "y", "t.csv")


def test_unknown_names_suggest_the_closest():
    with pytest.raises(TableError, match=r"no column 'sevrity'\. Did you mean 'severity'\?"):
        check_names(["sevrity"], ["age", "severity"], "t.csv")
    with pytest.raises(TableError, match=r"no columns 'aeg', 'xyz'\. Did you mean 'age' for 'aeg'\?"):
        check_names(["aeg", "xyz"], ["age", "severity"], "t.csv")
    for wrong in ("xyz", "b", "outcome", "ag e s"):
        with pytest.raises(TableError, match=r"It has 'age', 'income', 'a'\."):
            check_names([wrong], ["age", "income", "a"], "t.csv")
    for near, name in [("AGE", "age"), ("gae", "age"), ("incme", "income"), ("imcone_2010", "income_2010")]:
        with pytest.raises(TableError, match=rf"Did you mean '{name}'\?"):
            check_names([near], ["age", "income", "a", "income_2010"], "t.csv")


def test_a_file_that_is_no_table_is_named_in_plain_letters(tmp_path):
    for name, content, message in [
        ("t.csv.gz", b"a,b\n1,2\n", r"t\.csv\.gz cannot be read: "),
        ("t.csv", b"a,b\n\0,2\n", r"t\.csv is no text in the encoding UTF-8: say with --encoding which it has"),
        ("u.csv", b"\x1b[31m\xff,a\n\x07,1,2\n", r"u\.csv (cannot be read|has)"),
    ]:
        (tmp_path / name).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            with pytest.raises(TableError, match=message) as caught:
                read_table(tmp_path / name)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["age = [0, 120]\n", "[ranges]\nage = [0, 120]\n"])
def test_ranges_stand_at_the_top_or_under_their_heading(tmp_path, text):
    assert read_ranges(write(tmp_path / "r.toml", text), ["age", "b"]) == {"age": (0.0, 120.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age = [0, 120", "no valid TOML"),
        ("agee = [0, 120]", "Did you mean 'age'"),
        ("age = 5", "two numbers for 'age'"),
        ("age = [0, 'x']", "two numbers for 'age'"),
        ("age = [0, 1, 2]", "two numbers for 'age'"),
    ],
)
def test_bad_ranges_are_refused_by_name(tmp_path, text, message):
    path = write(tmp_path / "r.toml", text)
    with pytest.raises(TableError, match=message) as caught:
        read_ranges(path, ["age"])
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
def test_a_written_table_is_read_back_bit_by_bit(tmp_path, name):
    numbers = np.array([0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308])
    columns = {
        "label": pa.array(["a", 'b,"c"', "d\te", "f"]),
        "lower": pa.array(numbers, mask=np.array([False, False, False, True])),
        "certain": pa.array([True, None, False, True]),
    }
    write_pieces(tmp_path / name, [columns])
    back = read_table(tmp_path / name)
    assert back.column("label").to_pylist() == ["a", 'b,"c"', "d\te", "f"]
    assert back.column("lower").to_pylist() == [*numbers[:3].tolist(), None]
    assert back.column("certain").to_pylist() == [True, None, False, True]


def test_a_link_stays_a_link(tmp_path):
    goal = write(tmp_path / "goal.csv", "old")
    (tmp_path / "link.csv").symlink_to(goal)
    write_pieces(tmp_path / "link.csv", [{"a": [1]}])
    assert (tmp_path / "link.csv").is_symlink()
    assert read_table(goal).to_pydict() == {"a": [1]}


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        write_pieces(tmp_path / "none" / "t.csv", [{"a": [1]}])


def test_parquet_output_is_plain_parquet(tmp_path):
    write_pieces(tmp_path / "t.parquet", [{"a": [1.5]}])
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {"a": [1.5]}
