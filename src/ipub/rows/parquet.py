"""Parquet files larger than memory, streamed with PyArrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ipub.errors import IpubError
from ipub.numeric.parallel import streamed_in_threads
from ipub.progress_bars import progress
from ipub.rows.long_table import LongTable, own_part
from ipub.rows.parquet_files import ParquetFile, as_types, common_types, paths_of
from ipub.rows.slices import block_slices


class ParquetTable(LongTable):
    """A file or a folder of Parquet files, of any size.

    Each pass decodes the columns that it needs, some thousand rows at a time, while others are being computed with; no
    more than a few blocks are in memory. Blocks go across the boundaries of row groups and files, and are those of
    `MemoryRows`, so that a table has the same bounds however it is stored. A file that changes between two passes
    raises an error.

    Parameters
    ----------
    source : path, list of paths or pyarrow.dataset.Dataset
        A file, a folder (all files in it whose name ends with ``.parquet``, in the order of their names), or several
        files.
    columns : sequence of str, optional
        The columns to read, target and weights among them; all if left out.
    verbose : int
        Whether the progress of each pass is shown.

    Attributes
    ----------
    passes : int
        How many passes over the table there have been.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from ipub import BoundedClassifier
    >>> from ipub.rows.parquet import ParquetTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"age": [31.0, None, 54.0, 40.0], "ill": [0, 0, 1, 1]}), folder + "/a.parquet")
    ...     table = ParquetTable(folder)
    ...     clf = BoundedClassifier().fit(table, "ill")
    >>> table.n_rows, clf.n_features_in_
    (4, 1)
    """

    is_local = True

    def __init__(self, source: Any, columns: Sequence[str] | None = None, verbose: int = 0) -> None:
        self.files = [ParquetFile.open(path) for path in paths_of(source)]
        if not self.files:
            raise IpubError("No Parquet file was given.")
        self.types = common_types(self.files, columns)
        self.names = tuple(self.types)
        self.verbose, self.passes = verbose, 0
        n_rows = sum(file.n_rows for file in self.files)
        # One column is the target: the others are as many as the features, if none is text.
        self._slices = block_slices(n_rows, max(1, len(self.names) - 1)) if n_rows else []
        self.lengths = tuple(rows.stop - rows.start for rows in self._slices)

    def map(self, function: Callable[..., Any], *args: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
        self.passes += 1

        def apply(piece: tuple[int, pa.Table]) -> Any:
            number, frame = piece
            try:
                return function(frame, *own_part(args, number))
            except IpubError as error:
                raise self.placed(error, number) from None

        with progress(f"Pass {self.passes} over the table", self.n_rows, bool(self.verbose)) as report:
            for number, result in enumerate(streamed_in_threads(apply, enumerate(self.frames(columns)))):
                report(self._slices[number].stop)
                yield result

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        wanted = self.names if columns is None else list(columns)
        for name in wanted:
            if isinstance(self.types[name], IpubError):
                raise self.types[name]
        return self._frames(wanted)

    def _frames(self, wanted: Sequence[str]) -> Iterator[pa.Table]:
        waiting: list[pa.Table] = []
        n_waiting, number = 0, 0
        for file in self.files:
            for batch in file.batches(wanted) if file.n_rows else ():
                part = as_types(batch.select(wanted), self.types)
                waiting.append(part)
                n_waiting += part.num_rows
                while number < len(self.lengths) and n_waiting >= self.lengths[number]:
                    joined = pa.concat_tables(waiting)
                    yield joined.slice(0, self.lengths[number])
                    waiting = [joined.slice(self.lengths[number])]
                    n_waiting -= self.lengths[number]
                    number += 1
        if number < len(self.lengths) or n_waiting:
            raise IpubError(f"The files do not have the {self.n_rows:,} rows that they declare: write them again.")

    def whole(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of the whole table as they are, those among them that cannot be used too."""
        frames = list(self._frames(columns))
        return pa.concat_tables(frames) if frames else pa.table({name: [] for name in columns})

    def placed(self, error: IpubError, number: int) -> IpubError:
        """Return the error of a piece with the row counted from the first row of its file, which is named."""
        if error.row is None:
            return error
        row = error.row + self._slices[number].start
        starts = np.cumsum([0, *(file.n_rows for file in self.files)])
        k = int(np.searchsorted(starts, row, side="right")) - 1
        fields = {**error.message.fields, "row": int(row - starts[k]), "path": self.files[k].path}
        return type(error)("{path}: " + error.message.template, **fields)
