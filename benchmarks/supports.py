"""Files without training rows: width of their bounds over that with rows, and what supports cost.

Tables as in `useful` with fewer than 5,000 rows, at the penalty of its `--penalty 1se`; rows asked for: up to 200, test
rows first, holes filled in. *M*: directions; none where bounds without supports are as narrow. *Without supports*: the
median if there were none. *Certain*: share of these rows whose class is the same for all fillings, with rows and
without.

Options: `--tables NAME,...`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.penalties import ONE_ERROR, cross_validated
from benchmarks.real_tables import LARGE, SOURCES, Source
from benchmarks.useful import NOT_USED, split
from ipub import BoundedClassifier, BoundedRegressor
from ipub.answers.certainty import is_certain
from ipub.estimators.fitted_state import as_saved
from ipub.model_sets.supports import SupportBounds

MOST_ROWS = 200
TARGETS = ((11, 1.15), (51, 1.5))
"""Up to so many columns, the intercept among them, the median of width over width with rows is to be this."""
COLUMNS = (
    "table",
    "d",
    "M",
    "make s",
    "ms/row",
    "width, median",
    "target",
    "width, most",
    "without supports",
    "certain with rows",
    "without",
)


def run(console: Console, arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks supports")
    parser.add_argument("--tables", default="")
    wanted = parser.parse_args(arguments).tables.split(",")
    lines = Lines(console, "width of bounds without training rows over that with rows", *COLUMNS)
    for source in SOURCES:
        if source.name not in (wanted if wanted != [""] else [source.name]) or source.name in NOT_USED:
            continue
        lines.piece(source.name, partial(_measure, lines, source))


def _measure(lines: Lines, source: Source) -> None:
    X, y, X_test = split(source, 0)
    if len(X) < LARGE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines.add(source.name[:24].ljust(24), *_cells(source, X, y, X_test))


def _cells(source: Source, X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame) -> list[str]:
    kind = BoundedClassifier if source.positive else BoundedRegressor
    model = kind(scale="standard")
    model.set_params(alpha=cross_validated(model, X, y, ONE_ERROR)).fit(X, y)
    start = time.perf_counter()
    free = as_saved(model, rows=False)
    made = time.perf_counter() - start
    table = model.training_.table
    rows = np.vstack([table.filled_rows(X_test), table.filled_rows(X)])[:MOST_ROWS]
    if model.fit_intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    with_rows = model.certificate_.score_bounds(rows)
    start = time.perf_counter()
    without = free.certificate_.score_bounds(rows)
    spent = (time.perf_counter() - start) / len(rows)
    former = model.certificate_.without_training_rows().score_bounds(rows)
    widths = [np.ptp(each, axis=1) / np.ptp(with_rows, axis=1) for each in (without, former)]
    supports, d = free.certificate_.part(SupportBounds), rows.shape[1]
    target = next((most for columns, most in TARGETS if d <= columns), np.inf)
    median = float(np.median(widths[0]))
    certain = ["-", "-"]
    if kind is BoundedClassifier:
        certain = [f"{np.mean(is_certain(each)):.2f}" for each in (with_rows, without)]
    return [
        str(d),
        "-" if supports is None else str(len(supports.directions)),
        f"{made:.2f}",
        f"{1e3 * spent:.2f}",
        f"{median:.3f}{' ' if median <= target else '!'}",
        f"{target:g}",
        f"{widths[0].max():.3f}",
        f"{np.median(widths[1]):.3f}",
        *certain,
    ]
