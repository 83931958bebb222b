import gzip
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from experiments.sources import DEFAULT, DRIVE, HIGGS, SOURCES, load, load_local
from ipub.app.files.tables import TableError
from support.small_sources import counts, default_frame, default_source, drive_frame, higgs_frame, serving

SILENT = Console(file=io.StringIO())
CACHE = Path("cache")


def csv_of(frame, **options):
    return frame.to_csv(index=False, **options).encode()


def everything(found):
    return found.rows(np.arange(found.table.num_rows))


def zipped(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "short")
        archive.writestr(name, content)
    return file.getvalue()


# --- files of the user's


def test_the_features_of_default_are_the_papers_28():
    frame = default_frame()
    frame.to_parquet("default.parquet")
    found = load(default_source(frame), Path("."), SILENT)
    X, y = everything(found)
    assert X.shape == (80, 28)
    np.testing.assert_array_equal(y, np.where(frame["default"] == 1, 1.0, -1.0))
    np.testing.assert_array_equal(X[:, 1], frame["SEX"])
    education, marriage = X[:, 21:25], X[:, 25:]
    assert (education.sum(axis=1) == 1).all()
    assert (marriage.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(education[:, 3] == 1, frame["EDUCATION"].isin([0, 4, 5, 6]))
    np.testing.assert_array_equal(marriage[:, 2] == 1, frame["MARRIAGE"].isin([0, 3]))
    assert found.is_whole
    assert found.file == "default.parquet"


def test_the_original_text_files_are_read_as_well():
    default, drive, higgs = default_frame(), drive_frame(), higgs_frame()
    numbered = default.reset_index()
    numbered.columns = ["ID", *(f"X{k}" for k in range(1, 24)), "Y"]
    Path("data.csv").write_bytes(csv_of(numbered))
    drive.to_csv("Sensorless_drive_diagnosis.txt", sep=" ", header=False, index=False)
    Path("HIGGS.csv.gz").write_bytes(gzip.compress(csv_of(higgs, header=False, float_format="%.18e")))
    for source, frame, label in ((DEFAULT, default, "default"), (DRIVE, drive, "class"), (HIGGS, higgs, "label")):
        small = replace(source, classes=counts(frame[label]))
        columns = {name: frame[name].to_numpy().astype(float) for name in source.columns}
        for read, expected in zip(everything(load(small, Path("."), SILENT)), source.encode(columns), strict=True):
            np.testing.assert_allclose(read, expected, rtol=1e-15)


def test_two_header_lines_as_a_spreadsheet_saves_them_are_skipped():
    frame = default_frame()
    lines = csv_of(frame.reset_index(names="ID")).decode()
    Path("default.csv").write_text(",".join(["", *(f"X{k}" for k in range(1, 24)), "Y"]) + "\n" + lines)
    assert load(default_source(frame), Path("."), SILENT).table.num_rows == len(frame)


def test_part_of_a_set_is_known_as_such_and_the_whole_comes_first():
    frame = drive_frame()
    source = replace(
        DRIVE, classes=counts(frame["class"]), partial={"drive_partial.parquet": counts(frame["class"][:40])}
    )
    frame[:40].assign(uci_row=1).to_parquet("drive_partial.parquet")
    found = load(source, Path("."), SILENT)
    assert (found.table.num_rows, found.is_whole) == (40, False)
    assert (everything(found)[1] == 1).sum() == (frame["class"][:40] == 1).sum()
    frame.to_parquet("drive.parquet")
    assert load(source, Path("."), SILENT).is_whole


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda frame: frame[:-1], "rows of each default"),
        (lambda frame: frame.drop(columns="AGE"), "AGE"),
        (lambda frame: frame.astype(float).assign(AGE=np.nan), "missing cells"),
        (lambda frame: frame.assign(default=frame["default"] + 1), "instead of"),
    ],
)
def test_a_file_with_other_content_is_refused(spoil, words):
    frame = default_frame()
    spoil(frame).to_parquet("default.parquet")
    with pytest.raises(TableError, match=rf"default.parquet is not the data set default: .*{words}"):
        load(default_source(frame), Path("."), SILENT)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b\nc,d\n", b"1,2,3\n", b"1," * 23 + b"x\n"])
@pytest.mark.parametrize("name", ["default.parquet", "default.csv"])
def test_a_file_of_something_else_is_refused_in_a_sentence(name, content):
    Path(name).write_bytes(content)
    with pytest.raises(TableError, match="is not the data set default"):
        load(default_source(default_frame()), Path("."), SILENT)


def test_a_folder_that_does_not_exist_is_refused():
    with pytest.raises(TableError, match="folder none does not exist"):
        load(DEFAULT, Path("none"), SILENT)


# --- the network and the cache


def test_what_is_not_here_is_downloaded_once():
    frame = default_frame()
    with serving({"/data.csv": csv_of(frame.reset_index(names="ID"))}) as server:
        source = default_source(frame, f"{server.address}/data.csv")
        assert load_local(source, Path(".")) is None
        first, again = load(source, Path("."), SILENT), load(source, None, SILENT)
    assert server.asked == ["/data.csv"]
    assert first.file == "data.csv"
    for one, other in zip(everything(first), everything(again), strict=True):
        np.testing.assert_array_equal(one, other)
    assert os.listdir(CACHE) == ["default.parquet"]


@pytest.mark.parametrize("compressed", [False, True])
def test_archives_are_opened(compressed):
    frame = higgs_frame()
    text = csv_of(frame, header=False)
    content = zipped("HIGGS.csv.gz", gzip.compress(text)) if compressed else zipped("HIGGS.csv", text)
    with serving({"/higgs.zip": content}) as server:
        source = replace(HIGGS, classes=counts(frame["label"]), url=f"{server.address}/higgs.zip")
        found = load(source, None, SILENT)
    assert found.table.num_rows == len(frame)
    assert os.listdir(CACHE) == ["higgs.parquet"]


@pytest.mark.parametrize("content", [b"<html>moved</html>", csv_of(default_frame(40))])
def test_a_download_of_something_else_is_refused_and_not_kept(content):
    with serving({"/data.csv": content}) as server:
        source = default_source(default_frame(), f"{server.address}/data.csv")
        with pytest.raises(TableError, match="is not the data set default"):
            load(source, None, SILENT)
    assert os.listdir(CACHE) == []


def test_a_download_that_breaks_off_is_not_kept():
    content = csv_of(default_frame())
    with serving({"/data.csv": content}, cut=len(content) // 2) as server:
        source = default_source(default_frame(), f"{server.address}/data.csv")
        with pytest.raises(TableError, match="broke off"):
            load(source, None, SILENT)
    assert os.listdir(CACHE) == []


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_without_a_network_it_says_what_to_put_where(source):
    with serving({}) as server:
        nowhere = replace(source, url=f"{server.address}/x.zip")
    for data_dir, where in ((None, "a folder that you name with --data-dir"), (Path("."), "put it in .")):
        with pytest.raises(TableError) as caught:
            load(nowhere, data_dir, SILENT)
        sentence = str(caught.value)
        for word in (nowhere.url, "cannot be reached", where, source.whole[0], *source.partial, str(CACHE)):
            assert word in sentence


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_sources_are_public_and_of_the_papers_size(source):
    assert source.url.startswith("https://archive.ics.uci.edu/")
    assert source.n_rows == {"default": 30_000, "drive": 58_509, "HIGGS": 11_000_000}[source.name]
