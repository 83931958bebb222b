"""Intervals by quantiles, `intervals="quantile"`, against one training on the same table, in turn, in one run.

The training is scikit-learn's plain fit as `speed` has it, the fastest of four, on the filled table; beside it our own,
which starts from a sample of the rows. The larger table repeats the rows of the smaller one, with other holes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rich.console import Console

from benchmarks.holed import SETTING, Holed, like_higgs
from benchmarks.lines import Lines
from benchmarks.timing import medians
from ipub.problem.solvers import solve
from ipub.tables.holes import column_ranges
from ipub.tables.interval_matrix import IntervalMatrix

TARGET = 0.5
REPEATS = 5
TIMES = 4


def run(console: Console) -> None:
    title = f"quantile intervals and training; medians of {REPEATS}"
    columns = ("quantiles s", "plain fit s", "ratio", "target", "our training s", "ratio")
    lines = Lines(console, title, "table".ljust(60), *columns)
    table = like_higgs()
    for larger in (False, True):
        table = _repeated(table) if larger else table
        quantiles, training, *fits = medians(
            REPEATS,
            lambda table=table: column_ranges(table.X, "quantile"),
            lambda table=table: solve(table.problem()),
            *table.plain_fits().values(),
        )
        plain, mark = min(fits), "!" if quantiles >= TARGET * min(fits) else " "
        cells = f"{quantiles:.3f}", f"{plain:.3f}", f"{quantiles / plain:.2f}{mark}", f"< {TARGET:g}"
        lines.add(table.size, *cells, f"{training:.3f}", f"{quantiles / training:.2f}")


def _repeated(table: Holed) -> Holed:
    """Return the rows several times, with other holes."""
    X = np.tile(table.filled, (TIMES, 1))
    X.ravel()[np.random.default_rng(1).choice(X.size, round(SETTING.b * X.size), replace=False)] = np.nan
    matrix = IntervalMatrix.from_table(X, table.ranges)
    return replace(table, matrix=matrix, y=np.tile(table.y, TIMES))
