"""Tables in files: CSV and Parquet in, CSV and Parquet out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ipub.app.files.atomic import FileError, whole_file
from ipub.errors import IpubWarning, warn_user
from ipub.numeric.rounding import LARGEST, Array
from ipub.rows.parquet_files import is_number, is_text

NULLS = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "Null", "null", "None")
"""What a CSV file may write in a missing cell."""

SEPARATORS = {".csv": ",", ".tsv": "\t"}
INDEX_NAMES = ("", "__index_level_0__", "Unnamed: 0")
"""How pandas writes row numbers into a file; they are no feature."""

SNIFFED_BYTES = 1 << 16
MOST_QUOTED = 300
"""Characters of an error of PyArrow, which may be those of a file that is no table, that an error shows."""
LISTED = 12
"""Names that a message lists, at most."""
SHOWN = 40
"""Characters of a wrong row that an error shows."""
NO_ROWS = np.zeros(0, dtype=np.intp)


class TableError(FileError):
    """A table that cannot be read, or lacks a column; the message names file and column."""


class TableWarning(IpubWarning):
    """Something in a file was left out."""


def read_table(path: str | os.PathLike[str], text: Collection[str] = ()) -> pa.Table:
    """Read a table from a file, by its suffix: .csv, .tsv, both also with .gz, or .parquet.

    In CSV the columns `text` are text, whatever their cells look like, the cells of `NULLS` are missing, and spaces
    around a value or a name do not count. A .csv file whose header has no comma may be separated by semicolons or tabs.
    A column of row numbers, as pandas writes it, is left out with a `TableWarning`. A file that is no such table, has
    no rows, or two columns with the same name, raises a `TableError`.
    """
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder. Name a .csv, .tsv or .parquet file in it.")
    suffix = table_suffix(path)
    path.open("rb").close()
    try:
        table = pq.read_table(path, partitioning=None) if suffix == ".parquet" else _read_csv(path, text)
    except (pa.ArrowException, UnicodeDecodeError, EOFError) as error:
        kind = "a Parquet" if suffix == ".parquet" else "a CSV"
        raise TableError(f"{path} cannot be read as {kind} file: {first_line(error)}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise TableError(f"{path} cannot be read: {first_line(error)}") from error
    table = without_index(table, path)
    refuse_duplicate_names(table, path)
    if table.num_rows == 0:
        raise TableError(f"{path} has no rows below its header.")
    return table


def write_pieces(path: str | os.PathLike[str], pieces: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of the same columns, as they come, to .csv, .tsv (or with .gz) or .parquet, whole or not at all."""
    path = Path(path)
    suffix = table_suffix(path)
    with whole_file(path) as file, ExitStack() as stack:
        goal: Any = file
        writer: Any = None
        if path.suffix.lower() == ".gz":
            goal = stack.enter_context(gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
        for piece in pieces:
            table = pa.table(dict(piece))
            if suffix != ".parquet":
                _write_csv(table, goal, SEPARATORS[suffix], with_header=writer is None)
                writer = goal
                continue
            writer = writer or stack.enter_context(pq.ParquetWriter(goal, table.schema))
            writer.write_table(table)


def check_not_overwritten(output: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """Raise an error if the output is one of the inputs, under any name."""
    goal = Path(output)
    for path in inputs:
        if path is not None and goal.exists() and Path(path).exists() and goal.samefile(path):
            raise TableError(f"{output} is an input as well and would be lost: write elsewhere with -o.")


def features_of(table: pa.Table, names: Sequence[str], path: str | os.PathLike[str], remedy: str) -> pa.Table:
    """Return the named columns as float64 or text, in the order of the names; nulls of numbers are NaN.

    A column of text with a dictionary keeps it: the dictionary declares its levels (see `TableEncoder`). If columns
    hold something else, a `TableError` names each of them with its type, and ends with `remedy`.
    """

    def is_feature(kind: pa.DataType) -> bool:
        return bool(is_number(kind) or is_text(kind) or pa.types.is_null(kind))

    columns = {name: table.column(name) for name in names}
    columns = {name: column if is_text(column.type) else _plain(column) for name, column in columns.items()}
    wrong = [f"{name!r} (type {column.type})" for name, column in columns.items() if not is_feature(column.type)]
    if wrong:
        verb = "holds" if len(wrong) == 1 else "hold"
        raise TableError(f"{', '.join(wrong)} of {path} {verb} neither numbers nor text. {remedy}")
    return pa.table({name: column if is_text(column.type) else _as_floats(column) for name, column in columns.items()})


def numbers_of(features: pa.Table) -> pa.Table:
    """Return the columns of `features_of` that hold numbers."""
    return features.select([name for name in features.column_names if not is_text(features.column(name).type)])


def floats_of(features: pa.Table) -> Array:
    """Return columns of numbers as one array."""
    return np.column_stack([np.zeros((features.num_rows, 0)), *(column.to_numpy() for column in features.columns)])


def holes_of(features: pa.Table) -> NDArray[np.bool_]:
    """Return which cells of `features_of` are missing."""
    return np.column_stack([pc.is_null(column, nan_is_null=True).to_numpy() for column in features.columns])


def values_of(table: pa.Table, name: str, path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return a column without holes as an array of booleans, numbers or strings (a target, say)."""
    column = _plain(table.column(name))
    is_float = pa.types.is_floating(column.type)
    missing = np.flatnonzero(pc.is_null(column, nan_is_null=is_float).to_numpy())
    if len(missing):
        fields = {"column": name, "n_missing": len(missing), "n": len(column), "path": path, "row": int(missing[0])}
        raise TableError(
            "The target {column} is missing in {n_missing} of {n} rows of {path}, the first of them {row}. Only "
            "features may have holes: remove these rows.",
            **fields,
        )
    beyond = np.flatnonzero(np.abs(column.to_numpy()) > LARGEST) if is_float else NO_ROWS
    if len(beyond):
        fields = {"column": name, "value": column[beyond[0]].as_py(), "row": int(beyond[0]), "path": path}
        raise TableError(
            "The target {column} is {value:g} in {row} of {path}, beyond {largest:g}: correct it, or remove the row.",
            **fields,
            largest=LARGEST,
        )
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if not (is_number(column.type) or is_text(column.type)):
        raise TableError(
            f"The target {name!r} of {path} has the type {column.type}. It must hold numbers, booleans or text."
        )
    if is_text(column.type):
        return np.array(column.to_pylist(), dtype=str)
    return np.asarray(column.to_numpy())


def read_ranges(
    path: str | os.PathLike[str], names: Sequence[str], numbers: Sequence[str] | None = None
) -> dict[str, tuple[float, float]]:
    """Read where missing values lie: a TOML file of lines ``age = [0, 120]``, also under ``[ranges]``.

    Of the columns `names`, only `numbers` may have a range; all of them if left out.
    """
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableError(f"{path} is no valid TOML file: {error}.") from None
    if isinstance(given.get("ranges"), dict):
        given = given["ranges"]
    try:
        check_names(list(given), names, "The training table")
    except TableError as error:
        raise TableError(f"{path} gives a range for a column that is no feature. {error}") from None
    for name, value in given.items():
        if numbers is not None and name not in numbers:
            raise TableError(
                "{path} gives a range for column {column}, which holds categories: a missing one is any of its levels. "
                "Leave the line out.",
                path=path,
                column=name,
            )
        if not (isinstance(value, list) and len(value) == 2 and all(type(end) in (int, float) for end in value)):
            raise TableError(
                f"{path} must give two numbers for {name!r}, like {toml_key(name)} = [0, 120]; got {value!r}."
            )
    return {name: (float(low), float(high)) for name, (low, high) in given.items()}


def toml_key(name: str) -> str:
    """Return a name as a key of a TOML file, quoted where it must be."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", r"\u007f")


def check_names(wanted: Sequence[str], known: Sequence[str], where: str) -> None:
    """Raise an error for unknown names that suggests the closest known one."""
    missing = [name for name in wanted if name not in known]
    if not missing:
        return
    close = [_near(name, known) for name in missing]
    hints = [f"{found!r} for {name!r}" for name, found in zip(missing, close, strict=True) if found]
    word = "column" if len(missing) == 1 else "columns"
    if hints and len(missing) == 1:
        advice = f"Did you mean {close[0]!r}?"
    elif hints:
        advice = f"Did you mean {', '.join(hints)}?"
    else:
        advice = f"It has {_listed(known)}."
    raise TableError(f"{where} has no {word} {_listed(missing)}. {advice}")


def _near(name: str, known: Sequence[str]) -> str:
    """Return the known name that a slip of the finger, or two in a long name, makes this one; "" if there is none."""
    edits = {each: _edits(name.casefold(), each.casefold()) for each in known}
    best = min(edits, key=lambda each: edits[each])
    return best if edits[best] <= max(1, len(name) // 5) and edits[best] < max(len(name), len(best)) else ""


def _edits(first: str, second: str) -> int:
    """Return how many letters are left out, added, replaced, or swapped with the next one."""
    before, row = [0] * (len(second) + 1), list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        above, row = row, [i]
        for j, other in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other)))
            if i > 1 and j > 1 and letter == second[j - 2] and other == first[i - 2]:
                row[j] = min(row[j], before[j - 2] + 1)
        before = above
    return row[-1]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:LISTED])
    return f"{shown} and {len(names) - LISTED} more" if len(names) > LISTED else shown


def table_suffix(path: Path) -> str:
    """Return the suffix that determines the format of a file."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    last = suffixes[-1] if suffixes else ""
    if last == ".gz" and len(suffixes) > 1 and suffixes[0] in SEPARATORS:
        return suffixes[0]
    if last in (*SEPARATORS, ".parquet"):
        return last
    raise TableError(
        f"{path} has the suffix {last!r}; the suffix determines the format: .csv, .tsv, .csv.gz, .tsv.gz or .parquet."
        if last
        else f"{path} has no suffix, which determines the format: .csv, .tsv, .csv.gz, .tsv.gz or .parquet."
    )


def first_line(error: BaseException) -> str:
    """Return the first line of an error, as a sentence."""
    line = str(error).strip().split("\n", 1)[0][:MOST_QUOTED]
    return "".join(letter if letter.isprintable() else "?" for letter in line).rstrip(".") + "."


def csv_options(path: Path) -> dict[str, Any]:
    """Return how a CSV file is parsed; raise an error if it is empty."""
    with pa.input_stream(str(path), compression="detect") as stream:
        content = stream.read(SNIFFED_BYTES)
    if b"\0" in content:
        raise TableError(f"{path} is no text in the encoding UTF-8, perhaps UTF-16: save it as CSV in UTF-8 first.")
    beginning = str(content.decode("utf-8", "replace"))
    if not beginning.strip():
        raise TableError(f"{path} is empty: it needs a line with the names of the columns, and one for each row.")
    suffix, header = table_suffix(path), beginning.split("\n", 1)[0]
    separator = SEPARATORS[suffix]
    if suffix == ".csv" and "," not in header:
        separator = next((mark for mark in (";", "\t") if mark in header), ",")
    return {"delimiter": separator, "newlines_in_values": True}


def convert_options(kinds: Mapping[str, pa.DataType]) -> pa_csv.ConvertOptions:
    """Return how the cells of a CSV file are read, with the types of some columns."""
    return pa_csv.ConvertOptions(null_values=list(NULLS), strings_can_be_null=True, column_types=dict(kinds))


def _read_csv(path: Path, text: Collection[str]) -> pa.Table:
    options = csv_options(path)
    parse, convert = pa_csv.ParseOptions(**options), convert_options(dict.fromkeys(text, pa.string()))
    try:
        table = pa_csv.read_csv(path, parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid:
        _refuse_ragged(path, options)
        raise
    for j, name in enumerate(table.column_names):
        column = table.column(j)
        if pa.types.is_binary(column.type):
            raise pa.ArrowInvalid(f"column {name!r} is not in UTF-8; save the file in that encoding")
        if pa.types.is_string(column.type):
            column = _without_spaces(column, keeps_text=name.strip() in text)
        table = table.set_column(j, name.strip(), column)
    return table


def _refuse_ragged(path: Path, options: dict[str, Any]) -> None:
    """Raise an error that names the first row with too few or too many cells, if there is one."""
    wrong: list[Any] = []

    def remember(row: Any) -> str:
        wrong.append(row)
        return "error"

    # In threads nobody counts the rows, so this is done only where reading has failed.
    parse = pa_csv.ParseOptions(**options, invalid_row_handler=remember)
    with suppress(pa.ArrowInvalid):
        pa_csv.read_csv(path, read_options=pa_csv.ReadOptions(use_threads=False), parse_options=parse)
    if wrong and wrong[0].number is not None:
        raise TableError(
            "{path} has {actual} cells in {row} ({text!r}), and {expected} columns: give each row as many cells as the "
            "header has, and put a text that holds {separator!r} in quotes.",
            path=path,
            actual=wrong[0].actual_columns,
            row=wrong[0].number - 2,
            text=wrong[0].text[:SHOWN],
            expected=wrong[0].expected_columns,
            separator=options["delimiter"],
        )


def _without_spaces(column: pa.ChunkedArray, keeps_text: bool) -> pa.ChunkedArray:
    """Take spaces off the values of a text column; nulls may come to light, and numbers unless it keeps its text."""
    found = trimmed(column)
    if found.equals(column):
        return column
    for number in () if keeps_text else (pa.int64(), pa.float64()):
        with suppress(pa.ArrowInvalid):
            return found.cast(number)
    return found


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Take spaces off the values of a text column; what stands for a missing value then becomes null."""
    found = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(found, value_set=pa.array(NULLS)), pa.scalar(None, pa.string()), found)


def without_index(table: pa.Table, path: Path, warns: bool = True) -> pa.Table:
    """Leave out a column of row numbers, with a warning."""
    found = [j for j, name in enumerate(table.column_names) if name in INDEX_NAMES]
    if not found or len(found) == table.num_columns:
        return table
    if warns:
        warn_user(f"{path} has a column without a name (row numbers written by pandas?): left out.", TableWarning)
    return table.select([j for j in range(table.num_columns) if j not in found])


def refuse_duplicate_names(table: pa.Table, path: Path) -> None:
    """Raise an error if two columns have the same name."""
    names = table.column_names
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise TableError(f"{path} has more than one column named {_listed(doubled)}: rename them.")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionary encoding, in one piece."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _as_floats(column: pa.ChunkedArray) -> Array:
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    floats: Array = column.cast(pa.float64(), safe=False).to_numpy()
    return floats


def _write_csv(table: pa.Table, file: Any, separator: str, with_header: bool) -> None:
    if with_header:
        header = io.StringIO()
        csv.writer(header, delimiter=separator, lineterminator="\n").writerow(table.column_names)
        file.write(header.getvalue().encode())
    options = pa_csv.WriteOptions(include_header=False, delimiter=separator, quoting_style="needed")
    pa_csv.write_csv(table, file, options)
