"""A table larger than memory, streamed from Parquet files: resident memory and time, against the same fit in memory.

The table has the size of the paper's HIGGS, 28 columns of which 1 % of the cells are missing, in files of a million
rows; it is made in pieces. Each fit (`tight`, with quantile intervals) and the bounds of 11,000 rows run in a process
of their own; resident memory is the highest of the whole process. "reading" is a pass that only decodes all columns.
The target for the time is twice that in memory, and one reading for each pass. ``--rows N`` makes a smaller table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.fresh import resident
from benchmarks.holed import ROWS_VARIABLE
from benchmarks.lines import Lines
from ipub import BoundedClassifier
from ipub.rows.parquet import ParquetTable

N_ROWS, N_COLUMNS, SHARE = 11_000_000, 28, 0.01
N_TEST = 11_000
FILE_ROWS, GROUP_ROWS = 1_000_000, 250_000
MOST_RESIDENT = 1.5
"""Target, in GiB."""
TARGET = "target"


def run(console: Console, options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks parquet")
    parser.add_argument("--rows", type=int, default=int(os.environ.get(ROWS_VARIABLE, N_ROWS)))
    parser.add_argument("--float32", action="store_true", help="store numbers as float32")
    given = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as folder:
        size = _write(Path(folder), given.rows, np.float32 if given.float32 else np.float64)
        kind = "float32" if given.float32 else "float64"
        title = f"{given.rows:,} x {N_COLUMNS} of {kind}, {SHARE:.0%} missing, {size / 2**20:,.0f} MiB of Parquet"
        lines = Lines(
            console, title, "what      ", "s", "target", "GiB resident", "target", "passes", "s of 11,000 bounds"
        )
        reading = _measure("reading", folder)
        lines.add("reading", f"{reading['seconds']:.2f}", "", f"{reading['peak'] / 2**30:.2f}", "", "1", "")
        memory = _measure("memory", folder)
        lines.add("in memory", *_cells(memory, None, None))
        streamed = _measure("streamed", folder)
        allowed = 2.0 * memory["seconds"] + streamed["passes"] * reading["seconds"]
        lines.add("streamed", *_cells(streamed, allowed, MOST_RESIDENT))
        difference = np.abs(np.subtract(streamed["bounds"], memory["bounds"]))
        worst = float((difference / np.maximum(1.0, np.abs(memory["bounds"]))).max())
        console.print(f"greatest difference of bounds, relative to max(|score|, 1): {worst:.1e}")


def _cells(found: dict[str, Any], seconds: float | None, resident: float | None) -> list[str]:
    peak = found["peak"] / 2**30
    return [
        f"{found['seconds']:.2f}{'!' if seconds is not None and found['seconds'] > seconds else ''}",
        "" if seconds is None else f"<= {seconds:.1f}",
        f"{peak:.2f}{'!' if resident is not None and peak > resident else ''}",
        "" if resident is None else f"<= {resident:g}",
        str(found["passes"] or ""),
        f"{found['bounding']:.2f}",
    ]


def _write(folder: Path, n_rows: int, kind: Any) -> int:
    """Write the table in pieces; return its size in bytes."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=N_COLUMNS) / np.sqrt(N_COLUMNS)
    size = 0
    for k, start in enumerate(range(0, n_rows, FILE_ROWS)):
        X, y = _rows(rng, w, min(FILE_ROWS, n_rows - start))
        columns = {f"x{j}": pa.array(X[:, j].astype(kind), from_pandas=True) for j in range(N_COLUMNS)}
        path = folder / f"part-{k:05}.parquet"
        pq.write_table(pa.table({**columns, TARGET: y}), path, row_group_size=GROUP_ROWS)
        size += path.stat().st_size
    np.save(folder / "test.npy", rng.normal(size=(N_TEST, N_COLUMNS)))
    return size


def _rows(rng: np.random.Generator, w: Any, n: int) -> tuple[Any, Any]:
    X = rng.normal(size=(n, N_COLUMNS))
    y = (X @ w + rng.logistic(size=n) > 0.0).astype(np.int8)
    X[rng.random(X.shape) < SHARE] = np.nan
    return X, y


def _measure(what: str, folder: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.parquet", what, folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _count(frame: Any) -> int:
    return int(frame.num_rows)


def main() -> None:
    what, folder = sys.argv[1:]
    table, passes = ParquetTable(folder), 0
    names = [f"x{j}" for j in range(N_COLUMNS)]
    found: dict[str, Any] = {}
    if what == "reading":
        start = time.perf_counter()
        sum(table.map(_count))
    else:
        test = pa.table(dict(zip(names, np.load(Path(folder) / "test.npy").T, strict=True)))
        X: Any = table
        y: Any = TARGET
        if what == "memory":
            whole = table.whole(table.names)
            y = whole[TARGET].to_numpy()
            X = np.empty((len(y), N_COLUMNS))
            for j, name in enumerate(names):
                X[:, j] = whole[name].to_numpy()
            del whole
            test = np.load(Path(folder) / "test.npy")
        table.passes = 0
        clf = BoundedClassifier(alpha=0.1, certificate="tight")
        start = time.perf_counter()
        clf.fit(X, y)
        found["seconds"] = time.perf_counter() - start
        passes = table.passes
        start = time.perf_counter()
        found["bounds"] = clf.decision_bounds(test).tolist()
    ended = time.perf_counter() - start
    found = {"seconds": ended, "bounding": ended, "passes": passes, "peak": resident("VmHWM"), **found}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
