"""Questions about single predictions: what an explanation, tipping points and a shift grid take, and what they find.

Genuine holes, the penalty of `alpha="1se"`, a fifth of the rows for tests, with their own holes. Seconds are of the
processor. *explain*: seconds for one row, the median of ten and the longest, of a model whose bounds were asked for
before, and the median again, once its proofs are kept. *tipping*: seconds for 100 rows, how many of them can change
(found), and the median of proved over found numbers. *grid*: seconds of 11 x 11 shifts of the two columns of numbers
with most missing values, by up to two standard deviations each way, for the same rows; points that are safe or tip, and
cells that are safe throughout.

Options: `--tables NAME,...`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.lines import Lines
from benchmarks.penalties import ONE_ERROR, cross_validated
from benchmarks.real_tables import SOURCES, Source
from benchmarks.useful import parts
from ipub import BoundedClassifier

TABLES = ("mammographic_masses", "credit_approval")
ROWS, EXPLAINED = 100, 10
POINTS, DEVIATIONS = 11, 2.0
TARGETS = {"explain": 1.0, "tipping": 20.0, "grid": 30.0}
"""Seconds that are not to be exceeded."""
COLUMNS = (
    "table",
    "explain s",
    "longest",
    "again",
    "tipping s",
    "change",
    "proved/found",
    "grid s",
    "safe",
    "tips",
    "cells",
)


def run(console: Console, options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks questions")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=TABLES, metavar="NAME,...")
    given = parser.parse_args(options)
    known = {source.name: source for source in SOURCES if source.positive}
    if unknown := set(given.tables) - set(known):
        raise SystemExit(f"Unknown table(s) {', '.join(sorted(unknown))}; there are {', '.join(known)}.")
    lines = Lines(console, f"questions, logistic regression, penalty 1se, {ROWS} rows", *COLUMNS)
    for name in given.tables:
        lines.piece(name, partial(_measure, lines, known[name]))


def _measure(lines: Lines, source: Source) -> None:
    X, y, X_test = parts(source, 0)
    alpha = cross_validated(BoundedClassifier(scale="standard"), X, y, ONE_ERROR)
    rows = X_test.iloc[:ROWS]
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", UserWarning)

        def fitted() -> Any:
            clf = BoundedClassifier(alpha=alpha, scale="standard").fit(X, y)
            _ = clf.decision_bounds(rows[:1])
            return clf

        clf = fitted()
        first, again = ([_timed(partial(clf.explain, rows.iloc[[k]]))[0] for k in range(EXPLAINED)] for _ in range(2))
        seconds, points = _timed(partial(fitted().tipping_points, rows))
        at_least, at_most = (points.rows[name].to_numpy() for name in ("at_least", "at_most"))
        changes = np.isfinite(at_most) & (at_most > 0)
        ratio = f"{np.median(at_least[changes] / at_most[changes]):.2f}" if changes.any() else "-"
        columns, deltas = _shifts(X)
        grid_seconds, grid = _timed(partial(fitted().shift_grid, rows, columns, deltas))
    cells = [_marked(np.median(first), "explain"), f"{max(first):.2f}", f"{np.median(again):.2f}"]
    cells += [_marked(seconds, "tipping"), f"{changes.sum()}", ratio, _marked(grid_seconds, "grid")]
    cells += [f"{(grid.states == state).sum()}" for state in ("safe", "tips")] + [f"{grid.whole_cell.sum()}"]
    lines.add(source.name[:24].ljust(24), *cells)


def _shifts(X: pd.DataFrame) -> tuple[list[Any], list[list[float]]]:
    numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name]) and X[name].isna().any()]
    columns = sorted(numbers, key=lambda name: -int(X[name].isna().sum()))[:2]
    return columns, [(np.linspace(-DEVIATIONS, DEVIATIONS, POINTS) * X[name].std()).tolist() for name in columns]


def _timed(ask: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = ask()
    return time.process_time() - start, found


def _marked(seconds: float, what: str) -> str:
    return f"{seconds:.2f}{'!' if seconds > TARGETS[what] else ''}"
