"""Files of other kinds, of several types, or with rows that are no rows: a result, or an error that says what to do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.app.files.csv_files import TableWarning
from ipub.app.files.long_tables import as_parquet
from ipub.app.files.tables import TableError
from ipub.errors import IpubError
from ipub.rows.parquet import ParquetTable


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for number, kind in enumerate((pa.int8(), pa.int64())):
        x = rng.normal(size=40)
        labels = pa.array((x > 0.0).astype(int) + 1, kind)
        pq.write_table(pa.table({"x": x, "y": labels, "weight": np.ones(40)}), tmp_path / f"{number}.parquet")
    return tmp_path


def test_integers_of_different_types_stay_integers(folder):
    assert ParquetTable(folder).types["y"] == pa.int64()
    model = BoundedClassifier().fit(folder, "y")
    assert model.classes_.dtype.kind == "i"
    assert list(model.classes_) == [1, 2]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((pa.uint8(), pa.uint32()), pa.uint64()),
        ((pa.uint32(), pa.int8()), pa.int64()),
        ((pa.uint64(), pa.int8()), pa.float64()),
        ((pa.int64(), pa.float32()), pa.float64()),
    ],
)
def test_types_that_hold_those_of_all_files(tmp_path, kinds, expected):
    for number, kind in enumerate(kinds):
        pq.write_table(pa.table({"x": pa.array([1, 2], kind)}), tmp_path / f"{number}.parquet")
    assert ParquetTable(tmp_path).types["x"] == expected


@pytest.mark.parametrize("as_text", [True, False])
def test_a_list_of_paths_is_the_table_of_these_files(folder, as_text):
    files = sorted(folder.glob("*.parquet"))
    whole = BoundedClassifier().fit(folder, "y")
    listed = BoundedClassifier().fit([str(file) for file in files] if as_text else files, "y")
    np.testing.assert_array_equal(listed.coef_, whole.coef_)


def test_labels_to_score_are_a_column_of_the_files(folder):
    model = BoundedClassifier().fit(folder, "y", sample_weight="weight")
    frame = ParquetTable(folder).whole(["x", "y"]).to_pandas()
    expected = model.score(frame[["x"]], frame["y"])
    assert model.score(folder, "y") == model.score(folder, "y", sample_weight="weight") == expected > 0.9
    assert BoundedRegressor().fit(folder, "y").score(folder, "y") > 0.3
    with pytest.raises(IpubError, match="no column 'z'"):
        model.score(folder, "z")


def test_a_csv_file_is_named_as_such(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    with pytest.raises(IpubError, match=r"is a CSV file.*pandas.read_csv.*ipub fit"):
        BoundedClassifier().fit(str(path), "y")


def test_labels_that_are_missing_in_files_say_what_works(tmp_path, monkeypatch):
    monkeypatch.setattr("ipub.training.reading.sources.KEPT_CELLS", 0)
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": [0, 1, None]}), tmp_path / "a.parquet")
    with pytest.raises(IpubError, match=r"Drop such rows.*unknown_labels.*DataFrame") as raised:
        BoundedClassifier(unknown_labels=True).fit(tmp_path, "y")
    assert raised.value.column == "y"


def test_rows_of_a_csv_file_that_are_too_long_are_described(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,0\n2,1,5\n")
    with pytest.raises(TableError, match=r"table.csv.*of 3 cells where the header has 2"), as_parquet(path):
        pass


def test_a_csv_file_in_another_encoding_is_converted_and_said(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("x,name\n1,Zoë\n2,Jürgen\n".encode("latin-1"))
    with pytest.warns(TableWarning, match=r"table.csv is not in UTF-8.*--encoding"), as_parquet(path) as converted:
        assert pq.read_table(converted)["name"].to_pylist() == ["Zoë", "Jürgen"]


def test_passes_over_a_dask_collection_are_shown(capsys):
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array")
    x = np.random.default_rng(0).normal(size=(60, 2))
    with dask.config.set(scheduler="sync"):
        parts = array.from_array(x, chunks=(30, 2)), array.from_array((x[:, 0] > 0.0).astype(int), chunks=30)
        BoundedClassifier(certificate="sphere", verbose=1).fit(*parts)
        shown = capsys.readouterr()
        assert "Pass 2 over the table" in shown.out + shown.err
        BoundedClassifier(certificate="sphere").fit(*parts)
        shown = capsys.readouterr()
        assert "Pass" not in shown.out + shown.err
