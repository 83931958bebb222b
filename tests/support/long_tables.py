"""Long tables for tests: frames that are mapped one after the other, and Parquet files in pieces."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ipub.rows import slices
from ipub.rows.long_table import LongTable, own_part
from ipub.training.reading import sources


class FrameTable(LongTable):
    """Frames as pieces; everything goes through a pickle, as if functions ran in another process."""

    def __init__(self, frames: Sequence[pd.DataFrame]) -> None:
        self.pieces = list(frames)
        self.names = tuple(self.pieces[0].columns)
        self.lengths = tuple(map(len, self.pieces))
        self.read: list[tuple[str, ...]] = []

    def map(self, function: Callable[..., Any], *args: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
        names = tuple(self.names if columns is None else columns)
        self.read.append(names)
        for number, piece in enumerate(self.pieces):
            sent, own = pickle.loads(pickle.dumps((function, own_part(args, number))))
            yield pickle.loads(pickle.dumps(sent(piece[list(names)], *own)))


def cut(frame: pd.DataFrame, n_pieces: int) -> list[pd.DataFrame]:
    """Cut a frame into pieces."""
    return [frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), n_pieces)]


def write_files(folder: Path, frame: pd.DataFrame, n_files: int, group_rows: int) -> Path:
    """Write a frame to several Parquet files with row groups of so many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, piece in enumerate(cut(frame, n_files)):
        table = pa.Table.from_pandas(piece, preserve_index=False)
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=group_rows)
    return folder


def stream_everything(monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    """Let no table be small enough to be read into memory, and cut all tables into blocks of so many rows."""
    monkeypatch.setattr(sources, "KEPT_CELLS", 0)
    monkeypatch.setattr(slices, "BLOCK_ROWS", block_rows)
