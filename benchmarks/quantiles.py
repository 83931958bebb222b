"""Intervals by quantiles, `intervals="quantile"`, against one training on the same table, in turn, in one run.

The larger table repeats the rows of the smaller one, with other holes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rich.console import Console

from benchmarks.holed import SETTING, Holed, like_higgs
from benchmarks.lines import Lines
from benchmarks.timing import medians
from ipub.data.holes import column_ranges
from ipub.data.intervals import IntervalMatrix
from ipub.solvers import solve

TARGET = 0.5
REPEATS = 5
TIMES = 4


def run(console: Console) -> None:
    title = f"quantile intervals and training; medians of {REPEATS}"
    lines = Lines(console, title, "table".ljust(60), "quantiles s", "training s", "ratio", "target")
    table = like_higgs()
    for larger in (False, True):
        table = _repeated(table) if larger else table
        quantiles, training = medians(
            REPEATS,
            lambda table=table: column_ranges(table.X, "quantile"),
            lambda table=table: solve(table.problem()),
        )
        ratio = quantiles / training
        mark = "!" if ratio >= TARGET else " "
        lines.add(table.size, f"{quantiles:.3f}", f"{training:.3f}", f"{ratio:.2f}{mark}", f"< {TARGET:g}")


def _repeated(table: Holed) -> Holed:
    """Return the rows several times, with other holes."""
    X = np.tile(table.filled, (TIMES, 1))
    X.ravel()[np.random.default_rng(1).choice(X.size, round(SETTING.b * X.size), replace=False)] = np.nan
    matrix = IntervalMatrix.from_table(X, table.ranges)
    return replace(table, matrix=matrix, y=np.tile(table.y, TIMES))
