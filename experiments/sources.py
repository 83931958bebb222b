"""The three data sets of the paper: what they hold, where they are found, and how they are read."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.console import Console

from experiments.downloads import CACHE_VARIABLE, DownloadError, cache_folder, download
from ipub.app.files.atomic import whole_file
from ipub.app.files.tables import TableError
from ipub.numeric.rounding import Array

HEADER_LINES = 5
"""How many lines without numbers a text file may begin with."""


@dataclass(frozen=True)
class Source:
    """A data set: its files, what they must hold, and how columns become features and labels.

    Attributes
    ----------
    name : str
        As in the paper.
    words : str
        What it is called in the UCI Machine Learning Repository.
    url : str
        Its public address: a text file, or a zip archive of one.
    size : str
        Of the download, in words.
    columns : tuple of str
        Columns in the order of the original; a text file may have others before them (row numbers).
    label : str
        The column that holds the class.
    classes : mapping
        Number of rows of each class in the whole set.
    encode : callable
        From columns to features and labels -1/+1.
    choice : str
        What the paper leaves open and was chosen here, in a sentence.
    whole : tuple of str
        Names of files that hold the whole set.
    partial : mapping
        Names of files that hold a part, with the number of rows of each class.
    number : type
        Type in which values are kept.
    """

    name: str
    words: str
    url: str
    size: str
    columns: tuple[str, ...]
    label: str
    classes: Mapping[int, int]
    encode: Callable[[Mapping[str, Array]], tuple[Array, Array]]
    choice: str
    whole: tuple[str, ...]
    partial: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    number: type[np.floating] = np.float64

    @property
    def n_rows(self) -> int:
        """Rows of the whole set."""
        return sum(self.classes.values())


@dataclass(frozen=True)
class Found:
    """A data set, or part of one, as it was found."""

    source: Source
    table: pa.Table
    file: str
    """Name of the file."""

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows there are."""
        return bool(self.table.num_rows == self.source.n_rows)

    def rows(self, numbers: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return features and labels -1/+1 of the given rows."""
        rows = self.table.take(numbers)
        return self.source.encode({name: rows[name].to_numpy().astype(float) for name in rows.column_names})


def load(source: Source, data_dir: Path | None, console: Console) -> Found:
    """Return a data set from a folder of the user's, from the cache, or from the network; in this order.

    Parameters
    ----------
    source : Source
    data_dir : Path or None
        Searched for a file with the whole set, and then for one with a part.
    console : Console
        Where the progress of a download is shown.

    Raises
    ------
    TableError
        If a file does not hold what it should, or there is none and no network; the message says what to put where.
    """
    found = load_local(source, data_dir)
    return found if found is not None else _fetched(source, data_dir, console)


def load_local(source: Source, data_dir: Path | None) -> Found | None:
    """Return a data set from a folder of the user's or from the cache; None if it is in neither."""
    if data_dir is not None:
        if not data_dir.is_dir():
            raise TableError(f"The folder {data_dir} does not exist (--data-dir).")
        for name in (*source.whole, *source.partial):
            if (data_dir / name).is_file():
                return read(source, data_dir / name, source.partial.get(name, source.classes))
    cached = _cached(source)
    return read(source, cached, source.classes) if cached.is_file() else None


def read(source: Source, path: Path, classes: Mapping[int, int]) -> Found:
    """Read a file and check that it has the columns and, in each class, the rows that it should have."""
    try:
        is_parquet = path.suffix == ".parquet"
        table = _read_parquet(source, path) if is_parquet else _read_text(source, path)
        values = {name: table[name].to_numpy() for name in source.columns}
    except (pa.ArrowException, zipfile.BadZipFile, EOFError, gzip.BadGzipFile, ValueError) as error:
        raise TableError(f"{path} is not the data set {source.name}: {str(error).splitlines()[0]}.") from error
    labels, counts = np.unique(values[source.label], return_counts=True)
    seen = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    if seen != dict(classes):
        raise TableError(
            f"{path} is not the data set {source.name}: {_in_words(seen)} rows of each {source.label}, "
            f"instead of {_in_words(classes)}."
        )
    holed = [name for name, column in values.items() if np.isnan(column).any()]
    if holed:
        raise TableError(f"{path} is not the data set {source.name}: {', '.join(holed)} have missing cells.")
    return Found(source, table, path.name)


def _in_words(classes: Mapping[int, int]) -> str:
    shown = [f"{label:g}: {count:,}" for label, count in list(classes.items())[:12]]
    return "{" + ", ".join(shown) + (", ..." if len(classes) > len(shown) else "") + "}"


def _cached(source: Source) -> Path:
    return cache_folder() / f"{source.name.lower()}.parquet"


def _fetched(source: Source, data_dir: Path | None, console: Console) -> Found:
    """Download a data set, check it, and keep it in the cache as Parquet."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    raw = folder / f"{source.name.lower()}{Path(source.url).suffix}"
    try:
        download(source.url, raw, console)
        with console.status(f"Reading {raw.name}"):
            found = read(source, raw, source.classes)
            with whole_file(_cached(source)) as file:
                pq.write_table(found.table, file, compression="zstd")
    except DownloadError as error:
        where = str(data_dir) if data_dir is not None else "a folder that you name with --data-dir"
        part = f", or a part of it as {' or '.join(source.partial)}" if source.partial else ""
        raise TableError(
            f"The data set {source.name} is not here, and {error} Get it where there is a network ({source.size} from "
            f"{source.url}) and put it in {where} as {' or '.join(source.whole)}{part}. Downloads are kept in {folder} "
            f"(${CACHE_VARIABLE} moves them)."
        ) from error
    finally:
        raw.unlink(missing_ok=True)
    return Found(source, found.table, source.url.rsplit("/", 1)[-1])


def _read_parquet(source: Source, path: Path) -> pa.Table:
    kind = pa.from_numpy_dtype(source.number)
    table = pq.read_table(path, columns=list(source.columns), partitioning=None)
    missing = [name for name in source.columns if name not in table.column_names]
    if missing:
        raise ValueError(f"it has no column {missing[0]!r}")
    return pa.table({name: table[name].cast(kind, safe=False) for name in source.columns})


def _read_text(source: Source, path: Path) -> pa.Table:
    """Read numbers separated by commas or spaces, possibly compressed, below any header."""
    with _opened(path) as file:
        lines = [file.readline().decode("utf-8", "replace").strip() for _ in range(HEADER_LINES + 1)]
    first = next((k for k, line in enumerate(lines) if _starts_with_a_number(line)), None)
    if first is None:
        raise ValueError("it does not begin with numbers below a short header")
    separator = "," if "," in lines[first] else " "
    n_before = len(lines[first].split(separator)) - len(source.columns)
    if n_before < 0:
        raise ValueError(f"its rows have fewer than {len(source.columns)} numbers")
    names = [f"before {k}" for k in range(n_before)] + list(source.columns)
    kind = pa.from_numpy_dtype(source.number)
    with _opened(path) as file:
        return pa_csv.read_csv(
            file,
            read_options=pa_csv.ReadOptions(column_names=names, skip_rows=first),
            parse_options=pa_csv.ParseOptions(delimiter=separator),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(source.columns, kind), include_columns=list(source.columns)
            ),
        )


def _starts_with_a_number(line: str) -> bool:
    try:
        float(line.replace(",", " ").split()[0])
    except (ValueError, IndexError):
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a text file, one compressed by gzip, or the greatest file of a zip archive, which may be either."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            member = max(archive.infolist(), key=lambda info: info.file_size)
            with archive.open(member) as file:
                if member.filename.endswith(".gz"):
                    with gzip.open(file) as text:
                        yield text
                else:
                    yield file
    elif path.suffix == ".gz":
        with gzip.open(path) as text:
            yield text
    else:
        with path.open("rb") as file:
            yield file


def _signs(is_positive: NDArray[np.bool_]) -> Array:
    return np.where(is_positive, 1.0, -1.0)


def _encode_default(columns: Mapping[str, Array]) -> tuple[Array, Array]:
    """20 numeric features, SEX, EDUCATION one-hot (0, 5 and 6 merged into 4), MARRIAGE one-hot (0 merged into 3)."""
    education = np.where(np.isin(columns["EDUCATION"], [0, 5, 6]), 4, columns["EDUCATION"])
    marriage = np.where(columns["MARRIAGE"] == 0, 3, columns["MARRIAGE"])
    numbers = [value for name, value in columns.items() if name not in ("EDUCATION", "MARRIAGE", "default")]
    one_hot = [education == k for k in (1, 2, 3, 4)] + [marriage == k for k in (1, 2, 3)]
    return np.column_stack([*numbers, *one_hot]).astype(float), _signs(columns["default"] > 0)


def _encode_drive(columns: Mapping[str, Array]) -> tuple[Array, Array]:
    """48 features; class 1 against the rest."""
    features = [value for name, value in columns.items() if name != "class"]
    return np.column_stack(features), _signs(columns["class"] == 1)


def _encode_higgs(columns: Mapping[str, Array]) -> tuple[Array, Array]:
    """28 features; signal against background."""
    features = [value for name, value in columns.items() if name != "label"]
    return np.column_stack(features), _signs(columns["label"] > 0)


DEFAULT = Source(
    name="default",
    words="default of credit card clients",
    url="https://archive.ics.uci.edu/static/public/350/data.csv",
    size="3 MB",
    columns=(
        *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
        *(f"PAY_{k}" for k in (0, 2, 3, 4, 5, 6)),
        *(f"BILL_AMT{k}" for k in range(1, 7)),
        *(f"PAY_AMT{k}" for k in range(1, 7)),
        "default",
    ),
    label="default",
    classes={0: 23_364, 1: 6_636},
    encode=_encode_default,
    choice=(
        "The paper counts 28 features and does not list them: taken are 20 numeric columns, SEX, EDUCATION as 4 "
        "one-hot columns (the codes 0, 5 and 6 merged into 4) and MARRIAGE as 3 (0 merged into 3)."
    ),
    whole=("default.parquet", "default.csv", "default of credit card clients.csv", "data.csv"),
)

DRIVE = Source(
    name="drive",
    words="Sensorless Drive Diagnosis",
    url="https://archive.ics.uci.edu/static/public/325/dataset+for+sensorless+drive+diagnosis.zip",
    size="some 10 MB",
    columns=(*(f"f{k:02d}" for k in range(1, 49)), "class"),
    label="class",
    classes=dict.fromkeys(range(1, 12), 5_319),
    encode=_encode_drive,
    choice="The set has 11 classes and the paper does not say which two it takes: taken is class 1 against the rest.",
    whole=("drive.parquet", "Sensorless_drive_diagnosis.txt", "dataset+for+sensorless+drive+diagnosis.zip"),
    partial={"drive_partial.parquet": {1: 5_319, 2: 612, **dict.fromkeys(range(3, 12), 200)}},
)

HIGGS = Source(
    name="HIGGS",
    words="HIGGS",
    url="https://archive.ics.uci.edu/static/public/280/higgs.zip",
    size="2.6 GB",
    columns=(
        *("label", "lepton_pT", "lepton_eta", "lepton_phi", "missing_energy_magnitude", "missing_energy_phi"),
        *(f"jet_{k}_{what}" for k in range(1, 5) for what in ("pt", "eta", "phi", "b_tag")),
        *("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb"),
    ),
    label="label",
    classes={0: 5_170_877, 1: 5_829_123},
    encode=_encode_higgs,
    choice="Signal (label 1) against background, all 28 features.",
    whole=("higgs.parquet", "HIGGS.csv.gz", "HIGGS.csv", "higgs.zip"),
    partial={"higgs_51k.parquet": {0: 24_099, 1: 27_137}},
    number=np.float32,
)

SOURCES = {source.name: source for source in (DEFAULT, DRIVE, HIGGS)}
