"""The training table of a command: all of it in memory or, if it is too large, streamed, with a sample of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ipub.app.files import tables
from ipub.app.files.long_tables import open_table
from ipub.app.files.tables import TableError
from ipub.app.screen import err, note
from ipub.rows.parquet import ParquetTable
from ipub.rows.slices import drawn_places
from ipub.tables.interval_matrix import Indices

SAMPLED_ROWS = 20_000
"""Rows of a streamed table that the summary is drawn from: accuracy against time."""
MOST_VALUES = 1000
"""Different targets that are counted: more are numbers."""
REMEDY = "Turn them into numbers or text (dates into days since a fixed one, say), or leave them out with {drop}."


class TrainingTable(NamedTuple):
    """What `fit` trains on, and what is said of it."""

    X: pa.Table
    """The features: of all rows, or of a sample of them."""
    y: NDArray[Any]
    """The target of these rows."""
    source: Any
    """What the estimators take as X: the features, or a table that is streamed."""
    target: Any
    """What they take as y: the targets, or the name of their column."""
    values: NDArray[Any]
    """All targets, or the different ones."""
    n_rows: int
    holes: dict[str, int]
    """Number of missing cells of each column."""
    n_holed: int
    """Number of rows with missing cells."""

    @property
    def is_streamed(self) -> bool:
        """Whether the table is read again in every pass."""
        return isinstance(self.source, ParquetTable)


@contextmanager
def open_training_table(path: Path, target: str, drop: Sequence[str]) -> Iterator[TrainingTable]:
    """Open the table of `fit` for as long as the context is open."""
    verbose = int(err.is_terminal)
    with open_table(path, verbose=verbose) as table:
        known = table.column_names if isinstance(table, pa.Table) else table.names
        names = feature_names(known, path, target, drop)
        if isinstance(table, pa.Table):
            yield in_memory(table, names, path, target)
        else:
            note(f"{path} is larger than memory allows: it is streamed, some rows at a time.")
            picked = ParquetTable([file.path for file in table.files], [*names, target], verbose)
            yield _streamed(picked, names, target, path)


def feature_names(known: Sequence[str], path: Path, target: str, drop: Sequence[str]) -> list[str]:
    """Return the columns to learn from; raise an error if a name is wrong, or none is left."""
    tables.check_names([target, *drop], list(known), str(path))
    if target in drop:
        raise TableError(f"--drop leaves out the target {target!r}: name another column to leave out.")
    names = [name for name in known if name not in {target, *drop}]
    if not names:
        raise TableError(f"{path} has no column left to learn from beside the target {target!r}.")
    return names


def in_memory(table: pa.Table, names: Sequence[str], path: Path, target: str) -> TrainingTable:
    """Return a table that is in memory."""
    y = tables.values_of(table, target, path)
    X = tables.features_of(table, names, path, REMEDY)
    holes = tables.holes_of(X)
    counts = dict(zip(X.column_names, holes.sum(axis=0).tolist(), strict=True))
    return TrainingTable(X, y, X, y, y, len(y), counts, int(holes.any(axis=1).sum()))


class _Look(NamedTuple):
    """What a first look at a piece finds."""

    holes: NDArray[Any]
    n_holed: int
    values: NDArray[Any]
    sample: pa.Table


def _look(frame: pa.Table, names: Sequence[str], target: str, path: Path, rows: Indices) -> _Look:
    X = tables.features_of(frame, names, path, REMEDY)
    holes = tables.holes_of(X)
    values = np.unique(tables.values_of(frame, target, path))[:MOST_VALUES]
    return _Look(holes.sum(axis=0), int(holes.any(axis=1).sum()), values, frame.take(rows))


def _streamed(table: ParquetTable, names: Sequence[str], target: str, path: Path) -> TrainingTable:
    """Look at a table once, and return it with a sample of its rows."""
    places = drawn_places(table.n_rows, min(table.n_rows, SAMPLED_ROWS))
    found = list(table.map(_look, names, target, path, table.own_rows(places)))
    sample = in_memory(pa.concat_tables(each.sample for each in found), names, path, target)
    values = np.unique(np.concatenate([each.values for each in found]))
    holes = dict(zip(names, sum(each.holes for each in found).tolist(), strict=True))
    return sample._replace(
        source=table,
        target=target,
        values=np.repeat(values, 2) if len(values) == 1 else values,
        n_rows=table.n_rows,
        holes=holes,
        n_holed=sum(each.n_holed for each in found),
    )
