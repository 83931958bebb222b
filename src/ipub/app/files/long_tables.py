"""Tables of any size in files: in memory if they fit, else streamed from Parquet, to which CSV is converted once."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from ipub.app.files import tables
from ipub.app.files.atomic import UNFINISHED
from ipub.app.files.csv_files import Dialect, TableError, dialect_of, trimmed
from ipub.app.files.reading import TEXT, current_reading
from ipub.app.files.standard_input import spooled
from ipub.app.files.tables import read_table, table_suffix
from ipub.progress_bars import progress
from ipub.rows.parquet import ParquetTable
from ipub.rows.parquet_files import ParquetFile, paths_of

CELL_BYTES = 32
"""Bytes that a cell of a table takes at most while it is read and fitted in memory."""
TEXT_FACTOR = {False: 6, True: 30}
"""Bytes that a byte of a CSV file takes, and one of a compressed file."""

MEMINFO = Path("/proc/meminfo")
LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)
"""Where Linux says how much memory a container may use, and uses."""


def available_memory() -> int:
    """Return how many bytes of memory can still be used, by this process or its container."""
    found = [_total_memory()]
    if MEMINFO.is_file():
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024 * int(line.split()[1]))
    for limit, usage in LIMITS:
        if limit.is_file() and usage.is_file() and limit.read_text().strip().isdigit():
            found.append(max(0, int(limit.read_text()) - int(usage.read_text())))
    return min(found)


def _total_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def cells_fit(n_cells: int) -> bool:
    """Whether a table of so many cells can be read and fitted in memory."""
    return CELL_BYTES * n_cells <= available_memory()


def text_fits(path: str | os.PathLike[str]) -> bool:
    """Whether the table of a CSV file can be read and fitted in memory."""
    is_compressed = Path(path).suffix.lower() == ".gz"
    return TEXT_FACTOR[is_compressed] * Path(path).stat().st_size <= available_memory()


BLOCK_BYTES = 1 << 22
"""Bytes of text that are read at a time: memory against calls."""
KINDS = (pa.int64(), pa.bool_(), pa.date32(), pa.timestamp("s"), pa.timestamp("ns"), pa.float64(), pa.string())
"""Types of a column in the order in which they are tried, as PyArrow does for a whole file."""


@contextmanager
def as_parquet(path: Path, text: Collection[str] = (), verbose: int = 0) -> Iterator[Path]:
    """Convert a CSV file to Parquet for as long as the context is open.

    The file is read twice: the first time to find the type of each column over all of its rows, so that it is that of
    `read_table`. The columns `text` are text, whatever their cells look like. The temporary folder is removed in any
    case.
    """
    text = {*text, *(name for name, kind in current_reading().types.items() if kind == TEXT)}
    with tempfile.TemporaryDirectory(prefix="ipub-") as folder:
        goal = Path(folder) / "table.parquet"
        UNFINISHED.add(Path(folder))
        try:
            dialect = dialect_of(path, table_suffix(path))
            possible: dict[str, tuple[Any, ...]] = {}
            for batch in _batches(path, dialect, "Finding the types of columns", verbose):
                for name in batch.column_names:
                    before = possible.get(name, (pa.string(),) if name in text else ())
                    possible[name] = _possible_types(batch.column(name), before)
            if not possible:
                raise TableError(f"{path} has no rows below its header.")
            # A column without any value is one of numbers.
            schema = pa.schema([(name, kinds[0] if kinds else pa.float64()) for name, kinds in possible.items()])
            with pq.ParquetWriter(goal, schema) as writer:
                for batch in _batches(path, dialect, f"Converting {path.name} to Parquet", verbose):
                    writer.write_table(
                        pa.table([batch.column(each.name).cast(each.type) for each in schema], schema=schema)
                    )
        except (pa.ArrowInvalid, UnicodeDecodeError, EOFError) as error:
            raise _unreadable(path, error) from error
        except OSError as error:
            if error.errno != errno.ENOSPC and "No space left" not in str(error):
                if error.errno is None:
                    raise _unreadable(path, error) from error
                raise
            raise TableError(
                f"{path} is larger than memory, and there is no space to convert it in {tempfile.gettempdir()}: free "
                "some, or set the environment variable TMPDIR to a folder with about as much space as the file takes."
            ) from error
        try:
            yield goal
        finally:
            UNFINISHED.discard(Path(folder))


def _unreadable(path: Path, error: BaseException) -> TableError:
    """Return the error for a file that is no table, in words that say what to do."""
    reason = tables.first_line(error)
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", reason)
    if ragged:
        row, expected, found = ragged.groups()
        place = "has a row" if row is None else f", line {row}, is a row"
        return TableError(
            f"{path}{'' if row else ' '}{place} of {found} cells where the header has {expected}: correct it. A cell "
            "with a separator in it must be in quotes."
        )
    if "UTF8" in reason or "UTF-8" in reason or isinstance(error, UnicodeDecodeError):
        return TableError(f"{path} is not in the encoding UTF-8: say with --encoding which it has.")
    return TableError(f"{path} cannot be read as a CSV file: {reason}")


def _batches(path: Path, dialect: Dialect, what: str, verbose: int) -> Iterator[pa.Table]:
    """Yield the rows as text, without spaces around values and names; nulls where a cell is missing."""
    reading = current_reading()
    read, parse = dialect.read_options(block_size=BLOCK_BYTES), dialect.parse_options()
    with pa.input_stream(str(path), compression="detect") as stream:
        header = pa_csv.open_csv(stream, read, parse).schema.names
    with progress(what, path.stat().st_size, bool(verbose)) as report, path.open("rb") as file:
        stream = pa.PythonFile(file)
        source = pa.CompressedInputStream(stream, "gzip") if path.suffix.lower() == ".gz" else stream
        reader = pa_csv.open_csv(source, read, parse, dialect.convert_options(dict.fromkeys(header, pa.string())))
        for number, batch in enumerate(reader):
            columns = [dialect.plain_numbers(trimmed(column)) for column in pa.Table.from_batches([batch]).columns]
            table = pa.table(columns, names=[name.strip() for name in header])
            tables.refuse_duplicate_names(table, path)
            table = replace(reading, types={}).applied(table, path)
            report(file.tell())
            if table.num_rows:
                yield tables.without_index(table, path, warns=number == 0 and what.startswith("Finding"))


def _possible_types(column: pa.ChunkedArray, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types that all values have, of these rows and of those before; none if no row has a value."""
    if column.null_count == len(column):
        return before
    possible = []
    for kind in before or KINDS:
        with suppress(pa.ArrowInvalid):
            column.cast(kind)
            possible.append(kind)
    return tuple(possible)


@contextmanager
def open_table(path: Path, text: Collection[str] = (), verbose: int = 0) -> Iterator[pa.Table | ParquetTable]:
    """Open a file, or a folder of Parquet files, for as long as the context is open.

    A table that fits into memory (`cells_fit` and `text_fits` state the rule) is read into it; else it is streamed, a
    CSV file from a Parquet file in a temporary folder. Suffixes and `text` are as for `read_table`.
    """
    path = spooled(path)
    if path.is_dir() or table_suffix(path) == ".parquet":
        files = [ParquetFile.open(file) for file in paths_of(path)]
        n_cells = sum(file.n_rows * len(file.schema.names) for file in files)
        if not cells_fit(n_cells):
            if current_reading().changes_values:
                raise TableError(
                    f"{path} is larger than memory, and other types or marks of missing values are for tables that "
                    "fit: write it with the types and nulls that are meant."
                )
            yield ParquetTable(path, verbose=verbose)
        elif path.is_dir():
            table = ParquetTable(path)
            if table.n_rows == 0:
                raise TableError(f"{path} has no rows.")
            yield current_reading().applied(table.whole(table.names), path)
        else:
            yield read_table(path)
    elif text_fits(path):
        yield read_table(path, text)
    else:
        with as_parquet(path, text, verbose) as converted:
            yield ParquetTable(converted, verbose=verbose)
