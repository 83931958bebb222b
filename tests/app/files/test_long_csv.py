"""CSV files larger than memory: the types and values of `read_table`, and nothing left behind."""

import errno
import gzip
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ipub.app.files import long_tables
from ipub.app.files.long_tables import as_parquet, open_table
from ipub.app.files.tables import TableError, TableWarning, features_of, read_table
from ipub.rows.parquet import ParquetTable


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Return a folder for temporary files, in which each test must leave nothing."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(long_tables, "BLOCK_BYTES", 200)
    yield folder
    assert not list(folder.iterdir())


def wrote(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(late, n=300):
    """Return many lines of which the last alone shows what a column is."""
    return ["a, b ,c", *(f"{i}, {i % 3} , x{i % 2}" for i in range(n)), late]


LATE = {
    "a float": "0.5,1,x1",
    "a text": "7,red,x1",
    "missing": "?,NA,",
    "spaces": " 9 , ? , x0 ",
    "large": "12345678901234567890,1,x1",
    "quoted": '4,2,"x, and\nmore"',
}


@pytest.mark.parametrize("kind", LATE)
def test_types_and_values_are_those_of_the_whole_file(kind, tmp_path):
    path = wrote(tmp_path / "t.csv", rows(LATE[kind]))
    expected = read_table(path)
    with as_parquet(path) as converted:
        found = pq.read_table(converted)
    assert found.schema.names == ["a", "b", "c"]
    names = expected.column_names
    first, second = (features_of(table, names, "t", "") for table in (expected, found))
    assert first.schema.types == second.schema.types
    for name in names:
        np.testing.assert_array_equal(first[name].to_numpy(), second[name].to_numpy())


@pytest.mark.parametrize("late", ["true,2020-01-03", "0,2020-01-03", "?,?", "2,2020-01-03 10:00:00", "0.5,x"])
@pytest.mark.parametrize("first", ["true,2020-01-01", "1,2020-01-02", "?,?"])
def test_types_of_truth_values_and_dates_are_those_of_the_whole_file(first, late, tmp_path):
    path = wrote(tmp_path / "t.csv", ["a,b", *[first] * 99, late, first])
    with as_parquet(path) as converted:
        found = pq.read_schema(converted)
    expected = read_table(path).schema
    same = {"null": "double", "timestamp[s]": "timestamp[ms]"}  # what Parquet files have instead
    assert [str(kind) for kind in found.types] == [same.get(str(kind), str(kind)) for kind in expected.types]


def test_whole_numbers_stay_whole_and_a_column_without_values_is_one_of_numbers(tmp_path):
    path = wrote(tmp_path / "t.csv", ["y,n,t", *(f"{i % 2},,true" for i in range(99))])
    with as_parquet(path, text=("t",)) as converted:
        types = pq.read_schema(converted).types
    assert types == [pa.int64(), pa.float64(), pa.string()]


def test_compressed_files_and_row_numbers(tmp_path):
    frame = pd.DataFrame({"a": np.arange(200.0), "b": "x"})
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(frame.to_csv().encode()))
    with pytest.warns(TableWarning, match="row numbers") as caught, as_parquet(path) as converted:
        assert pq.read_table(converted).to_pandas()["a"].tolist() == frame["a"].tolist()
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,b", *["1,2"] * 90, "1,2,3"], r"t.csv(, line 92, is| has) a row of 3 cells where the header has 2"),
        (["a,a", *["1,2"] * 90], "more than one column named 'a'"),
        (["a,b"], "no rows"),
        ([""], "is empty"),
    ],
    ids=["ragged", "names", "no rows", "empty"],
)
def test_files_that_are_no_tables(lines, message, tmp_path):
    with pytest.raises(TableError, match=message), as_parquet(wrote(tmp_path / "t.csv", lines)):
        pass


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    path = wrote(tmp_path / "t.csv", rows("1,2,x1"))
    with pytest.raises(TableError, match=r"no space to convert it in .*temporary: .*TMPDIR"), as_parquet(path):
        pass


def test_an_interrupt_leaves_nothing(tmp_path, own_folder):
    path = wrote(tmp_path / "t.csv", rows("1,2,x1"))

    def interrupt(converted):
        assert converted.parent.parent == own_folder
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), as_parquet(path) as converted:
        interrupt(converted)


def test_small_files_are_read_into_memory_and_large_ones_streamed(tmp_path, monkeypatch):
    path = wrote(tmp_path / "t.csv", rows("1,2,x1"))
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(read_table(path), folder / "a.parquet")
    for source in (path, folder, folder / "a.parquet"):
        with open_table(source) as table:
            assert isinstance(table, pa.Table)
            assert table.num_rows == 301
    monkeypatch.setattr(long_tables, "available_memory", lambda: 1000)
    for source in (path, folder, folder / "a.parquet"):
        with open_table(source) as table:
            assert isinstance(table, ParquetTable)
            assert table.n_rows == 301


def test_memory_is_what_the_machine_and_the_container_have(tmp_path, monkeypatch):
    assert long_tables.available_memory() > 1 << 20
    limit, usage = tmp_path / "limit", tmp_path / "usage"
    monkeypatch.setattr(long_tables, "LIMITS", ((limit, usage),))
    usage.write_text("600\n")
    limit.write_text("max\n")
    assert long_tables.available_memory() > 1 << 20
    limit.write_text("1000\n")
    assert long_tables.available_memory() == 400
    assert not long_tables.cells_fit(1000)
