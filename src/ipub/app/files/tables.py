"""Tables in files: CSV and Parquet in, CSV and Parquet out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shlex
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ipub.app.files.atomic import whole_file
from ipub.app.files.csv_files import NULLS, SEPARATORS, TableWarning, read_csv
from ipub.app.files.csv_files import TableError as TableError
from ipub.app.files.reading import current_reading
from ipub.app.files.standard_input import STANDARD, spooled, standard_output
from ipub.app.near_names import near
from ipub.errors import warn_user
from ipub.numeric.rounding import LARGEST, Array
from ipub.rows.parquet_files import is_number, is_text

INDEX_NAMES = ("", "__index_level_0__", "Unnamed: 0")
"""How pandas writes row numbers into a file; they are no feature."""

MOST_QUOTED = 300
"""Characters of an error of PyArrow, which may be those of a file that is no table, that an error shows."""
LISTED = 12
"""Names that a message lists, at most."""
NO_ROWS = np.zeros(0, dtype=np.intp)


def read_table(path: str | os.PathLike[str], text: Collection[str] = ()) -> pa.Table:
    """Read a table from a file, by its suffix: .csv, .tsv, both also with .gz, or .parquet.

    In CSV the columns `text` are text, whatever their cells look like, the cells of `NULLS` are missing, and spaces
    around a value or a name do not count. What separates cells, a decimal comma and the encoding are found, unless
    `current_reading` says them. The path "-" is standard input, of CSV (also compressed) or Parquet.
    A column of row numbers, as pandas writes it, is left out with a `TableWarning`. A file that is no such table, has
    no rows, or two columns with the same name, raises a `TableError`.
    """
    path = spooled(Path(path))
    if path.is_dir():
        raise TableError(f"{path} is a folder. Name a .csv, .tsv or .parquet file in it.")
    suffix = table_suffix(path)
    path.open("rb").close()
    try:
        table = pq.read_table(path, partitioning=None) if suffix == ".parquet" else read_csv(path, suffix, text)
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
    table = current_reading().applied(table, path)
    if suffix == ".parquet":
        _warn_of_marks(table, path)
    return table


def _warn_of_marks(table: pa.Table, path: Path) -> None:
    """Warn of text in a Parquet file that stands for a missing value in a CSV file: there it is a category."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if is_text(column.type):
            found = pc.filter(column.cast(pa.string()), pc.is_in(column.cast(pa.string()), value_set=pa.array(NULLS)))
            if len(found):
                mark = found[0].as_py()
                warn_user(
                    f"Column {name!r} of {path} holds {mark!r} ({len(found)} times), which stands for a missing value "
                    f"in CSV files: here it is a category. --missing {shlex.quote(mark)} makes it missing.",
                    TableWarning,
                )


def write_pieces(path: str | os.PathLike[str], pieces: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of the same columns, as they come, to .csv, .tsv (or with .gz) or .parquet, whole or not at all.

    To standard output, the path "-", they are written as CSV.
    """
    path = Path(path)
    to_standard_output = str(path) == STANDARD
    suffix = ".csv" if to_standard_output else table_suffix(path)
    with standard_output() if to_standard_output else whole_file(path) as file, ExitStack() as stack:
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
    hold something else, a `TableError` names each of them with its type, and ends with `remedy`, in which ``{drop}``
    stands for the options that leave them out.
    """

    def is_feature(kind: pa.DataType) -> bool:
        return bool(is_number(kind) or is_text(kind) or pa.types.is_null(kind))

    columns = {name: table.column(name) for name in names}
    columns = {name: column if is_text(column.type) else _plain(column) for name, column in columns.items()}
    wrong = {name: str(column.type) for name, column in columns.items() if not is_feature(column.type)}
    if wrong:
        verb = "holds" if len(wrong) == 1 else "hold"
        listed = ", ".join(f"{name!r} (type {kind})" for name, kind in wrong.items())
        drop = " ".join(f"--drop {shlex.quote(name)}" for name in wrong)
        raise TableError(f"{listed} of {path} {verb} neither numbers nor text. {remedy.replace('{drop}', drop)}")
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
    given = _by_column(path, names, "ranges", "a range")
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


def read_reasons(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, str]:
    """Read why values are missing: a TOML file of lines ``age = "not asked before 2010"``, also under ``[reasons]``."""
    given = _by_column(path, names, "reasons", "a reason")
    for name, value in given.items():
        if not isinstance(value, str):
            raise TableError(
                f'{path} must give a text for {name!r}, like {toml_key(name)} = "not asked"; got {value!r}.'
            )
    return given


def _by_column(path: str | os.PathLike[str], names: Sequence[str], part: str, what: str) -> dict[str, Any]:
    """Read a TOML file with a value for some of the columns, or its part with this name."""
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableError(f"{path} is no valid TOML file: {error}.") from None
    if isinstance(given.get(part), dict):
        given = given[part]
    try:
        check_names(list(given), names, "The training table")
    except TableError as error:
        raise TableError(f"{path} gives {what} for a column that is no feature. {error}") from None
    return given


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
    close = [near(name, known) for name in missing]
    hints = [f"{found!r} for {name!r}" for name, found in zip(missing, close, strict=True) if found]
    word = "column" if len(missing) == 1 else "columns"
    if hints and len(missing) == 1:
        advice = f"Did you mean {close[0]!r}?"
    elif hints:
        advice = f"Did you mean {', '.join(hints)}?"
    else:
        advice = f"It has {_listed(known)}."
    raise TableError(f"{where} has no {word} {_listed(missing)}. {advice}")


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
