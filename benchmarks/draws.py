"""Draws of the hot deck on tables as people have them: what a draw with its certificate costs, and what it certifies.

Tables, splits and penalties are those of `useful`. *Plain fit*: scikit-learn's LogisticRegression, with the solver that
is faster, on the filled-in table, scaled and one-hot. *Ms a draw*: processor time of one more draw, trained and
certified. *100 rows*: processor time of the bounds of so many test rows, over all draws. *Certain*: share of test rows
whose class is the same under all draws, as certified, and by the draws alone, which proves nothing.

Options: `--split SEED`, `--tables NAME,...`, `--penalty min|1se`, `--draws N`, `--radius R`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial

import numpy as np
from rich.console import Console

from benchmarks.adversaries_draws import fitted, part_of, plain_fit
from benchmarks.lines import Lines
from benchmarks.penalties import ONE_ERROR, add_rule, cross_validated, filled_table
from benchmarks.real_tables import SOURCES, Source
from benchmarks.useful import NOT_USED, filled_in, parts
from ipub import BoundedClassifier
from ipub.answers.certainty import is_certain
from ipub.promises import Draws

MOST_FITS, SMALL = 10.0, 1_000
"""Plain fits that a draw may cost, on tables of fewer rows than the second number."""
MOST_SECONDS = 1.0
"""Of the bounds of 100 rows."""
N_ROWS = 100


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    sources = [each for each in SOURCES if each.positive and each.name not in NOT_USED]
    sources = [each for each in sources if not given.tables or each.name in given.tables]
    title = f"{given.draws} hot-deck draws, radius {given.radius:g}, penalty {given.penalty!r}, processor time"
    columns = ("table", "rows", "columns", "alpha", "ms a draw", "plain fits", "ms of 100 rows", "width", "draws alone")
    lines = Lines(console, title, *columns, "certain", "draws alone")
    totals = np.sum([lines.piece(each.name, partial(_measure, lines, each, given)) for each in sources], axis=0)
    share = f"{totals[0] / totals[1]:.3f}" if totals[1] else "-"
    lines.add("sums, and their ratio", "", "", "", "", "", "", share, "", *(f"{total:.2f}" for total in totals))


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks draws")
    parser.add_argument("--split", type=int, default=0, metavar="SEED", help="which random split of each table")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[], metavar="NAME,...")
    parser.add_argument("--draws", type=int, default=37, metavar="N")
    parser.add_argument("--radius", type=float, default=0.1, metavar="R")
    add_rule(parser, ONE_ERROR)
    return parser.parse_args(options)


def _measure(lines: Lines, source: Source, given: argparse.Namespace) -> list[float]:
    """Measure one table; return the shares of certain predictions, as certified and by the draws alone."""
    X, y, X_test = parts(source, given.split)
    X_test = filled_in(X_test.iloc[:N_ROWS], X)
    alpha = cross_validated(BoundedClassifier(scale="standard"), X, y, given.penalty)
    model, seconds = BoundedClassifier(alpha=alpha, scale="standard"), []
    for count in (2, given.draws):
        start = time.process_time()
        fitted(model, X, y, Draws(n_draws=count, radius=given.radius, random_state=0))
        seconds.append(time.process_time() - start)
    a_draw, filled = (seconds[1] - seconds[0]) / (given.draws - 2), filled_table(model, X, y)
    fits = a_draw / plain_fit(filled[:, :-1], y, alpha)
    start = time.process_time()
    bounds = model.decision_bounds(X_test)
    of_rows = (time.process_time() - start) * N_ROWS / len(X_test)
    plain = part_of(model).plain(np.column_stack([model.training_.table.filled_rows(X_test), np.ones(len(X_test))]))
    certain = np.array([np.mean(is_certain(each)) for each in (bounds, plain)])
    widths = [f"{np.median(np.ptp(each, axis=1)):.3f}" for each in (bounds, plain)]
    cells = [f"{len(y):,}", f"{filled.shape[1]}", f"{alpha:.2g}", f"{1e3 * a_draw:.1f}"]
    cells += [f"{fits:.1f}{'!' if len(y) < SMALL and fits > MOST_FITS else ' '}"]
    cells += [f"{1e3 * of_rows:.0f}{'!' if of_rows > MOST_SECONDS else ' '}", *widths]
    lines.add(source.name[:24].ljust(24), *cells, *(f"{share:.2f}" for share in certain))
    return certain.tolist()
