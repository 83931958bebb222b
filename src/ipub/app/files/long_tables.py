"""Tables of any size in files: in memory if they fit, else streamed from Parquet."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from ipub.app.files.long_csv import as_parquet
from ipub.app.files.memory import cells_fit, text_fits
from ipub.app.files.tables import TableError, read_table, table_suffix
from ipub.rows.parquet import ParquetTable
from ipub.rows.parquet_files import ParquetFile, paths_of


@contextmanager
def open_table(path: Path, text: Collection[str] = (), verbose: int = 0) -> Iterator[pa.Table | ParquetTable]:
    """Open a file, or a folder of Parquet files, for as long as the context is open.

    A table that fits into memory (`ipub.app.files.memory` states the rule) is read into it; else it is streamed, a CSV
    file from a Parquet file in a temporary folder.

    Parameters
    ----------
    path : Path
        A .csv, .tsv (both also with .gz) or .parquet file, or a folder of .parquet files.
    text : collection of str
        Columns of a CSV file that are text, whatever their cells look like.
    verbose : int
        Whether progress is shown.
    """
    if path.is_dir() or table_suffix(path) == ".parquet":
        files = [ParquetFile.open(file) for file in paths_of(path)]
        n_cells = sum(file.n_rows * len(file.schema.names) for file in files)
        if not cells_fit(n_cells):
            yield ParquetTable(path, verbose=verbose)
        elif path.is_dir():
            table = ParquetTable(path)
            if table.n_rows == 0:
                raise TableError(f"{path} has no rows.")
            yield table.whole(table.names)
        else:
            yield read_table(path)
    elif text_fits(path):
        yield read_table(path, text)
    else:
        with as_parquet(path, text, verbose) as converted:
            yield ParquetTable(converted, verbose=verbose)
