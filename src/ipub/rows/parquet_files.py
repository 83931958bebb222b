"""Parquet files as one table: which files, which columns, and one type for each column."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ipub.errors import DropColumn, IpubError, IpubWarning, warn_user

SUFFIXES = (".parquet", ".pq")
INDEX = "__index_level_0__"
"""How pandas writes row numbers into a file; they are no feature."""
BATCH_ROWS = 1 << 15
"""Rows that are decoded at a time."""
BUFFER_BYTES = 1 << 20
"""Bytes of a column that are read at a time: a row group of any size takes little memory."""


class ParquetWarning(IpubWarning):
    """Something in a Parquet file was left out."""


@dataclass(frozen=True)
class ParquetFile:
    """One file as it was when it was first opened."""

    path: str
    n_rows: int
    schema: Any
    size: int
    modified: int
    """Bytes, and time of the last change: a file that changes between two passes raises an error."""

    @classmethod
    def open(cls, path: str) -> ParquetFile:
        """Read what the file says of itself."""
        try:
            state = os.stat(path)
            metadata = pq.read_metadata(path)
            return cls(path, metadata.num_rows, metadata.schema.to_arrow_schema(), state.st_size, state.st_mtime_ns)
        except pa.ArrowException as error:
            raise unreadable(path, error) from error

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows, some at a time.

        Raises IpubError if the file has changed since it was opened, or cannot be read.
        """
        self.check_unchanged()
        try:
            with pq.ParquetFile(self.path, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=list(columns), use_threads=True):
                    if batch.num_rows:
                        yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError) as error:
            self.check_unchanged()
            raise unreadable(self.path, error) from error
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed since it was opened."""
        try:
            state = os.stat(self.path)
        except OSError as error:
            raise IpubError(f"{self.path} is no longer there ({error.strerror}): call fit again.") from None
        if (state.st_size, state.st_mtime_ns) != (self.size, self.modified):
            raise IpubError(
                f"{self.path} has changed since it was first read, so sums over it would not belong together: leave it "
                "as it is, and start again."
            )


def unreadable(path: str, error: BaseException) -> IpubError:
    """Return the error for a file that is no whole Parquet file."""
    if path.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".txt")):
        return IpubError(
            f"{path} is a CSV file, and paths are read as Parquet files: read it with pandas.read_csv and give the "
            f"frame, write that as Parquet, or use the command line: ipub fit {path}."
        )
    reason = str(error).strip().split("\n", 1)[0].rstrip(".")
    return IpubError(
        f"{path} cannot be read as a Parquet file: {reason}. If it was cut short, or is still being written, write it "
        "again."
    )


# --- which files -----------------------------------------------------------------------------------


def paths_of(source: Any) -> list[str]:
    """Return the files of a table: a file, a folder of files, several files, or a dataset of PyArrow.

    Files of a folder are in the order of their names; those whose name begins with a dot or an underscore are left out.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return _files_in(path) if path.is_dir() else [str(path)]
    if isinstance(source, pq.ParquetFile):
        raise IpubError("An open ParquetFile cannot be read again from its beginning: give its path.")
    return _files_of(source) if isinstance(source, ds.Dataset) else [str(path) for path in source]


def _files_of(dataset: Any) -> list[str]:
    """Return the files of a dataset that holds nothing beside them."""
    if not isinstance(dataset, ds.FileSystemDataset):
        raise IpubError(f"A {type(dataset).__name__} is no dataset of files: give the path of Parquet files.")
    where, kind = dataset.filesystem.type_name, dataset.format.default_extname
    if where != "local" or kind != "parquet":
        raise IpubError(
            f"The dataset is of {kind} files in a {where} file system: only local Parquet files are streamed."
        )
    if getattr(dataset, "_scan_options", None):
        raise IpubError("The dataset has a filter, which would not be used: write what it selects to Parquet files.")
    files = list(dataset.files)
    extra = set(dataset.schema.names) - set(pq.read_schema(files[0]).names) if files else set()
    if extra:
        raise IpubError(
            "The dataset has the column {column}, which is not in its files but in the names of their folders: write "
            "it into the files.",
            column=sorted(extra)[0],
        )
    return files


def _paths_in(folder: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield what is in a folder and its sub-folders, also those that are links, each once."""
    if folder.resolve() in seen:
        return
    seen.add(folder.resolve())
    for path in folder.iterdir():
        if path.is_dir():
            yield from _paths_in(path, seen)
        else:
            yield path


def _files_in(folder: Path) -> list[str]:
    found = []
    for path in sorted(_paths_in(folder, set())):
        inside = path.relative_to(folder).parts
        if any(part.startswith((".", "_")) for part in inside) or path.suffix.lower() not in SUFFIXES:
            continue
        named = next((part for part in inside[:-1] if "=" in part), None)
        if named is not None:
            raise IpubError(
                f"The folder {folder} has a column in the names of its folders ({named}), which is not read: write it "
                "into the files, or name one of the folders."
            )
        if not path.exists():
            raise IpubError(f"{path} is a link to a file that is not there: remove it, or bring the file back.")
        found.append(str(path))
    if not found:
        raise IpubError(f"The folder {folder} has no file whose name ends with .parquet.")
    return found


# --- one type for each column ----------------------------------------------------------------------


def common_types(files: Sequence[ParquetFile], columns: Sequence[str] | None) -> dict[str, Any]:
    """Return the names of the columns, and the type in which each of them is read from every file.

    Integers of different types are read as int64, or as uint64 if none has a sign; other numbers as float64, text of
    different types with dictionaries. A column that cannot be used has the error in place of its type: it is raised if
    the column is read.

    Raises IpubError if a file lacks a column or has another one; the message names file and column.
    """
    filled = [file for file in files if file.n_rows] or list(files[:1])
    first = filled[0]
    names = list(columns) if columns is not None else _names(first)
    for file in filled:
        _check_names(file, first, names, picked=columns is not None)
    types: dict[str, Any] = {}
    for name in names:
        try:
            types[name] = _common_type(name, filled)
        except IpubError as error:
            types[name] = error
    return types


def _names(file: ParquetFile) -> list[str]:
    names = list(file.schema.names)
    if INDEX in names and len(names) > 1:
        warn_user(f"{file.path} has row numbers written by pandas ({INDEX}): left out.", ParquetWarning)
        names.remove(INDEX)
    return names


def _check_names(file: ParquetFile, first: ParquetFile, names: Sequence[str], picked: bool) -> None:
    doubled = sorted({name for name in names if file.schema.names.count(name) > 1})
    if doubled:
        raise IpubError(
            "{path} has more than one column named {column}: rename them.", path=file.path, column=doubled[0]
        )
    missing = [name for name in names if name not in file.schema.names]
    if missing and (picked or file is first):
        listed = ", ".join(map(repr, file.schema.names[:12]))
        raise IpubError(
            "{path} has no column {column}. It has {listed}.", path=file.path, column=missing[0], listed=listed
        )
    extra = [] if picked else [name for name in file.schema.names if name not in names and name != INDEX]
    for column, verb in ((missing, "has no column"), (extra, "has a column")):
        if column:
            raise IpubError(
                "{path} {verb} {column}, unlike {first}: all files of a table must have the same columns. Correct the "
                "files, or name those that you want to read.",
                path=file.path,
                verb=verb,
                column=column[0],
                first=first.path,
            )


def _common_type(name: str, files: Sequence[ParquetFile]) -> Any:
    kinds = {file.path: file.schema.field(name).type for file in files}
    observed = {path: kind for path, kind in kinds.items() if not pa.types.is_null(kind)}
    if not observed:
        return pa.float64()
    for path, kind in observed.items():
        if not (is_number(kind) or is_text(kind)):
            raise IpubError(
                "Column {column} of {path} has the type {kind}, and holds neither numbers nor text: turn it into one "
                "of these, or {remedy}.",
                column=name,
                path=path,
                kind=kind,
                remedy=DropColumn(name),
            )
    numbers = [path for path, kind in observed.items() if is_number(kind)]
    texts = [path for path in observed if path not in numbers]
    if numbers and texts:
        raise IpubError(
            "Column {column} holds numbers in {first} and text in {second}: make it all numbers or all text.",
            column=name,
            first=numbers[0],
            second=texts[0],
        )
    different = list(dict.fromkeys(_read_type(kind) for kind in observed.values()))
    if len(different) == 1:
        return different[0]
    if not numbers:
        return pa.dictionary(pa.int32(), pa.string())
    return _common_integer(different) or pa.float64()


def _common_integer(kinds: Sequence[Any]) -> Any:
    """Return the integers that hold those of several types exactly; None if there are none, or others among them."""
    if not all(map(pa.types.is_integer, kinds)):
        return None
    if all(map(pa.types.is_unsigned_integer, kinds)):
        return pa.uint64()
    return None if pa.uint64() in kinds else pa.int64()


def is_number(kind: Any) -> bool:
    """Whether a type is one of numbers or booleans, coded or not."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_integer(plain)
        or pa.types.is_floating(plain)
        or pa.types.is_decimal(plain)
        or pa.types.is_boolean(plain)
    )


def is_text(kind: Any) -> bool:
    """Whether a type is one of text, coded or not."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_string_view = getattr(pa.types, "is_string_view", lambda _: False)  # not in every version
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or is_string_view(plain))


def _read_type(kind: Any) -> Any:
    """Return the type in which a column of one file is read: codes of numbers are these numbers."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), pa.string()) if is_text(kind) else _read_type(kind.value_type)
    if is_text(kind):
        return pa.string()
    return pa.float64() if pa.types.is_decimal(kind) or pa.types.is_float16(kind) else kind


def as_types(table: pa.Table, types: dict[str, Any]) -> pa.Table:
    """Return the columns of a table in these types; those that cannot be used as they are."""
    arrays = []
    for name in table.column_names:
        column, kind = table.column(name), types[name]
        if not isinstance(kind, IpubError) and column.type != kind:
            column = _cast(column, kind)
        arrays.append(column)
    return pa.table(arrays, names=table.column_names)


def _cast(column: pa.ChunkedArray, kind: Any) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
        column = column.cast(column.type.value_type)
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        return column.cast(kind.value_type).dictionary_encode()
    if pa.types.is_boolean(column.type) and pa.types.is_floating(kind):
        column = column.cast(pa.int8())
    return column.cast(kind, safe=False)
