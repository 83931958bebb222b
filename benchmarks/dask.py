"""A Dask cluster of two workers on this machine against the memory engine: time, graph runs, bytes to the client.

28 columns of which 1 % of the cells are missing, 50 chunks of rows. The cluster has two processes of one thread each;
the memory engine uses two threads. Both fit `tight` in the same run and bound 11,000 rows. Chunks are made by tasks,
and are on the workers before the clock starts. ``--rows N`` makes a smaller table, ``--losses`` names others.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from rich.console import Console

from benchmarks.holed import ROWS_VARIABLE
from benchmarks.lines import Lines
from ipub import BoundedClassifier, BoundedRegressor
from ipub.rows import engine_of

N_ROWS, N_COLUMNS, N_CHUNKS, SHARE, N_TEST = 2_000_000, 28, 50, 0.01, 11_000
LOSSES = ("log_loss", "hinge", "squared_error")


def run(console: Console, options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks dask")
    parser.add_argument("--rows", type=int, default=int(os.environ.get(ROWS_VARIABLE, N_ROWS)))
    parser.add_argument("--losses", nargs="+", default=LOSSES)
    given = parser.parse_args(options)
    length = -(-given.rows // N_CHUNKS)
    title = f"{length * N_CHUNKS:,} x {N_COLUMNS}, {SHARE:.0%} missing, {N_CHUNKS} chunks, two workers"
    columns = (
        "loss         ",
        "s in memory",
        "s on the cluster",
        "graph runs",
        "MiB to the client",
        "s of 11,000 bounds",
    )
    lines = Lines(console, title, *columns, "difference")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        X, scores = (client.persist(_collection(length, what)) for what in ("rows", "scores"))
        table, targets = X.compute(), scores.compute()
        test = np.random.default_rng(1).normal(size=(N_TEST, N_COLUMNS))
        _fitted(BoundedClassifier(), X.blocks[0], scores.blocks[0] > 0.0)  # workers import what they need
        for loss in given.losses:
            is_regression = loss in ("squared_error", "huber")
            model = BoundedRegressor if is_regression else BoundedClassifier
            y, in_memory = (each if is_regression else each > 0.0 for each in (scores, targets))
            memory, seconds = _fitted(model(loss), table, in_memory)
            on_cluster, seconds_there = _fitted(model(loss), X, y)
            runs: Any = engine_of(on_cluster.training_.models[0].problem.rows).table.runs  # type: ignore[attr-defined]
            expected = _bounds(memory, test)
            start = time.perf_counter()
            found = _bounds(on_cluster, test)
            bounding = time.perf_counter() - start
            worst = float((np.abs(found - expected) / np.maximum(1.0, np.abs(expected))).max())
            lines.add(
                loss,
                f"{seconds:.1f}",
                f"{seconds_there:.1f}",
                str(runs.count),
                f"{runs.bytes_received / 2**20:.1f}",
                f"{bounding:.2f}",
                f"{worst:.0e}",
            )


def _fitted(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - start


def _bounds(model: Any, X: Any) -> Any:
    return model.predict_bounds(X) if isinstance(model, BoundedRegressor) else model.decision_bounds(X)


def _collection(length: int, what: str) -> Any:
    numbers = da.arange(N_CHUNKS, chunks=1)
    lengths = (length,) * N_CHUNKS
    if what == "rows":
        return da.map_blocks(_chunk, numbers[:, None], length, what, dtype=float, chunks=(lengths, (N_COLUMNS,)))
    return da.map_blocks(_chunk, numbers, length, what, dtype=float, chunks=(lengths,))


def _chunk(number: Any, length: int, what: str) -> Any:
    rng = np.random.default_rng(int(number.flat[0]))
    w = np.random.default_rng(0).normal(size=N_COLUMNS) / np.sqrt(N_COLUMNS)
    X = rng.normal(size=(length, N_COLUMNS))
    scores = X @ w + rng.logistic(size=length)
    X[rng.random(X.shape) < SHARE] = np.nan
    return X if what == "rows" else scores
