"""CSV files as people have them: one table is read alike however it is written."""

import gzip
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ipub.app.files import long_tables
from ipub.app.files.csv_files import TableWarning
from ipub.app.files.long_tables import as_parquet
from ipub.app.files.reading import Reading, ReadingError, reading_as
from ipub.app.files.tables import TableError, features_of, read_table

NAMES = ["größe", "preis", "ort"]
EXPECTED = {"größe": [1.5, None, 2500.25], "preis": [1200, 7, 1234567], "ort": ["Zürich", "Köln", "Åre; b"]}
PLAIN = "größe,preis,ort\n1.5,1200,Zürich\n,7,Köln\n2500.25,1234567,Åre; b\n"
WRITTEN = {
    "plain": (PLAIN, "utf-8", {}),
    "marked": (PLAIN, "utf-8-sig", {}),
    "Latin-1": (PLAIN, "latin-1", {}),
    "Latin-1, said": (PLAIN, "latin-1", {"encoding": "latin-1"}),
    "UTF-16": (PLAIN, "utf-16", {}),
    "UTF-16, said": (PLAIN, "utf-16-le", {"encoding": "utf-16-le"}),
    "lines of Windows": (PLAIN.replace("\n", "\r\n"), "utf-8", {}),
    "semicolons, decimal comma": (
        'größe;preis;ort\n1,5;1200;Zürich\n;7;Köln\n2500,25;1234567;"Åre; b"\n',
        "utf-8",
        {},
    ),
    "tabs": ("größe\tpreis\tort\n1.5\t1200\tZürich\n?\t7\tKöln\n2500.25\t1234567\tÅre; b\n", "utf-8", {}),
    "bars": ("größe|preis|ort\n1.5|1200|Zürich\nNA|7|Köln\n2500.25|1234567|Åre; b\n", "utf-8", {}),
    "spaces": ("größe , preis, ort\n 1.5, 1200 , Zürich\n NA ,7, Köln\n2500.25 ,1234567, Åre; b\n", "utf-8", {}),
    "thousands": (
        'größe,preis,ort\n1.5,"1,200",Zürich\n,7,Köln\n"2,500.25","1,234,567",Åre; b\n',
        "utf-8",
        {"thousands": ","},
    ),
    "thousands with points": (
        'größe;preis;ort\n1,5;1.200;Zürich\n;7;Köln\n2.500,25;1.234.567;"Åre; b"\n',
        "utf-8",
        {"thousands": ".", "decimal": ","},
    ),
    "own mark": (PLAIN.replace("\n,7", "\n-999,7"), "utf-8", {"missing": ("-999",)}),
    "own delimiter": (PLAIN.replace(",", "#"), "utf-8", {"delimiter": "#"}),
}


@pytest.mark.parametrize("streams", [False, True], ids=["in memory", "streamed"])
@pytest.mark.parametrize("how", WRITTEN)
def test_a_table_is_the_same_however_it_is_written(how, streams, tmp_path, monkeypatch):
    text, encoding, said = WRITTEN[how]
    monkeypatch.setattr(long_tables, "BLOCK_BYTES", 40)
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    with reading_as(Reading(**said)), warnings.catch_warnings():
        if how == "Latin-1":
            warnings.simplefilter("ignore", TableWarning)
        if streams:
            with as_parquet(tmp_path / "t.csv") as converted:
                found = pq.read_table(converted)
        else:
            found = read_table(tmp_path / "t.csv")
    assert found.column_names == NAMES
    expected, features = (features_of(table, NAMES, "t.csv", "") for table in (pa.table(EXPECTED), found))
    for name in NAMES:
        values, wanted = features.column(name).to_pylist(), expected.column(name).to_pylist()
        np.testing.assert_array_equal(values, wanted)


def test_a_guess_of_the_encoding_is_said(tmp_path):
    (tmp_path / "t.csv").write_bytes(PLAIN.encode("latin-1"))
    with pytest.warns(TableWarning, match=r"t\.csv is not in UTF-8: read as Windows-1252"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "b"),
    [
        # A comma that might stand between thousands is not taken for a decimal mark, nor a comma between cells.
        ("a;b\n1;1,234\n2;5,678\n", ["1,234", "5,678"]),
        ('a,b\n1,"1,5"\n2,"2,5"\n', ["1,5", "2,5"]),
        ("a;b\n1.5;1,5\n2;2,5\n", ["1,5", "2,5"]),
    ],
)
def test_what_is_ambiguous_stays_text(text, b, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    assert read_table(tmp_path / "t.csv").column("b").to_pylist() == b


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"decimal": "x"}, "--decimal takes a point or a comma, got 'x'"),
        ({"delimiter": ";;"}, "--delimiter takes one character, got ';;'"),
        ({"thousands": "."}, "--thousands . is the decimal mark as well"),
        ({"encoding": "nope"}, "--encoding nope is not known"),
    ],
)
def test_a_dialect_that_cannot_be_is_refused(said, words):
    with pytest.raises(ReadingError, match=words):
        Reading(**said)


def test_types_are_as_they_are_asked_for(tmp_path):
    (tmp_path / "t.csv").write_text("zip,n\n01234,1\n99999,x\n")
    pq.write_table(pa.table({"zip": [1234, 99999], "n": ["1", "x"]}), tmp_path / "t.parquet")
    with reading_as(Reading(types={"zip": "text"})):
        assert read_table(tmp_path / "t.csv").column("zip").to_pylist() == ["01234", "99999"]
        assert read_table(tmp_path / "t.parquet").column("zip").to_pylist() == ["1234", "99999"]
    for name in ("t.csv", "t.parquet"):
        with (
            reading_as(Reading(types={"n": "number"})),
            pytest.raises(ReadingError, match=r"'n' of .* is to hold numbers, and has 'x' in row 1"),
        ):
            read_table(tmp_path / name)


def test_marks_of_missing_values_are_so_in_every_format(tmp_path):
    table = pa.table({"a": [1, -999, 3], "b": [0.0, -999.0, 2.0], "c": ["x", "none given", "-999"]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,b,c\n1,0,x\n-999,-999.0,none given\n3,2,-999\n")
    for name in ("t.csv", "t.parquet"):
        with reading_as(Reading(missing=("-999",), missing_in={"c": ("none given",), "b": (0,)})):
            found = read_table(tmp_path / name).to_pydict()
        assert found == {"a": [1, None, 3], "b": [None, None, 2.0], "c": ["x", None, None]}, name


def test_text_of_a_parquet_file_that_csv_takes_for_missing_is_named(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["?", "x"]}), tmp_path / "t.parquet")
    with pytest.warns(TableWarning, match=r"Column 'b' of .*t\.parquet holds '\?' \(1 times\)"):
        assert read_table(tmp_path / "t.parquet").column("b").to_pylist() == ["?", "x"]
    with reading_as(Reading(missing=("?",))):
        assert read_table(tmp_path / "t.parquet").column("b").to_pylist() == [None, "x"]


HOSTILE = {
    "empty": ("", "is empty"),
    "a mark alone": ("\ufeff", "is empty"),
    "header alone": ("a,b\n", "no rows below its header"),
    "two columns of one name": ("a,a\n1,2\n", "more than one column named 'a'"),
    "a row too short": ("a,b\n1,2\n3\n", "1 cells in row 1"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_table_is_named(case, tmp_path):
    text, words = HOSTILE[case]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / "t.csv.gz")


def test_quotes_and_new_lines_inside_cells_are_kept(tmp_path):
    (tmp_path / "t.csv").write_text('a,"b\nc",d\n1,"x ""y"" z","1\n2"\n2,,"k,l"\n')
    found = read_table(tmp_path / "t.csv").to_pydict()
    assert found == {"a": [1, 2], "b\nc": ['x "y" z', None], "d": ["1\n2", "k,l"]}
