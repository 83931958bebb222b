"""How many passes over the rows a fit makes: training, and each certificate, with and without an intercept.

On an engine that streams a file or runs on several machines a pass is what costs. A small table, 1 % of the cells
missing; longer tables make fewer, since a sample of the rows suggests where to begin. The last pass of training sums
what `sphere` needs too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console

from benchmarks.lines import Lines
from ipub import IntervalMatrix
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, with_intercept_column
from ipub.rows.slices import SlicedRows

N_ROWS, N_COLUMNS, SHARE, ALPHA = 500, 8, 0.01, 0.1
CERTIFIED = ("sphere", "ball", "tight")


def run(console: Console) -> None:
    title = f"passes over {N_ROWS} rows x {N_COLUMNS} columns, {SHARE:.0%} of the cells missing, alpha {ALPHA:g}"
    lines = Lines(console, title, "loss", "intercept", "training", *CERTIFIED)
    for loss in LOSSES:
        for intercept in (False, True):
            problem = _problem(loss, intercept)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with _counted() as training:
                    solution = solve(problem, beside=CERTIFICATES["sphere"].sum_for_last_pass(problem))
                counts = []
                for name in CERTIFIED:
                    with _counted() as passes:
                        CERTIFICATES[name](problem, solution)
                    counts.append(len(passes))
            lines.add(loss, "yes" if intercept else "no", f"{len(training)}", *map(str, counts))


def _problem(loss: str, intercept: bool) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    y = X[:, 0] + X[:, 1] + rng.normal(size=N_ROWS)
    y = np.where(y > 0.0, 1.0, -1.0) if LOSSES[loss].task == "classification" else y
    X[rng.random(X.shape) < SHARE] = np.nan
    rows = MemoryRows(IntervalMatrix.from_table(X, np.tile([-1.0, 1.0], (N_COLUMNS, 1))), y)
    return Problem(
        with_intercept_column(rows) if intercept else rows, LOSSES[loss], ElasticNet(ALPHA, n_free=int(intercept))
    )


@contextmanager
def _counted() -> Iterator[list[Any]]:
    """Count the passes over tables of the engine in memory."""
    passes: list[Any] = []
    original = SlicedRows.results

    def results(self: SlicedRows, kernel: Any, *args: Any) -> Iterator[Any]:
        passes.append(kernel)
        return original(self, kernel, *args)

    with mock.patch.object(SlicedRows, "results", results):
        yield passes
