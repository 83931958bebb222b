"""A promise that few missing values differ from the filled-in ones: what is certified of what is certain.

The classification tables of `useful`, with its split and its preparation. The penalty is that of `alpha="1se"`. Test
rows are the first complete ones; of a table that has none, the first ones, filled in. *Changed*: how many missing
values may differ; where none may, all is certain, and the sums leave it out. *Certain*: share of test rows whose class
is the same for all tables within the budget, as certified, and as far as retraining within it found no table that
changes it. *Width*: median of certified over attained width. *Outside*: rows that attain a score not within their
certified bounds. Times are of the processor, all threads together, with one BLAS thread, of one fit; *plain fits*: over
the median of nine trainings of scikit-learn's `LogisticRegression` with the same penalty. A tiny fit before all others
loads the compiled loops.

Options: `--shares SHARE,...`, `--rows N`, `--tables NAME,...`, `--penalty min|1se`, `--alpha ALPHA` (a penalty in place
of the one that cross-validation picks), `--split SEED`.
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
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.lines import Lines
from benchmarks.penalties import ONE_ERROR, add_rule, cross_validated, filled_table
from benchmarks.real_tables import SOURCES, Source
from benchmarks.timing import medians
from benchmarks.useful import NOT_USED, Figures, figures_of, filled_in, is_outside, parts
from ipub import BoundedClassifier, Budget

SHARES = (0.01, 0.05)
TEST_ROWS = 16
PLAIN_FITS = 9
COLUMNS = (
    "table",
    "alpha",
    "share",
    "changed",
    "certified",
    "attained",
    "width",
    "outside",
    "rows",
    "fit s",
    "plain fits",
)


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    known = {source.name: source for source in SOURCES if source.positive and source.name not in NOT_USED}
    unknown = set(given.tables) - set(known)
    if unknown:
        raise SystemExit(f"Unknown table(s) {', '.join(sorted(unknown))}; there are {', '.join(known)}.")
    names = [name for name in known if not given.tables or name in given.tables]
    penalty = given.penalty if given.alpha is None else "as given"
    title = f"budgets, logistic regression, certificate tight, penalty {penalty}, split {given.split}"
    lines = Lines(console, title, *COLUMNS)
    figures: list[Figures] = []
    BoundedClassifier(uncertainty=Budget(share=1.0)).fit([[0.0, np.nan], [1.0, 0.0], [0.0, 1.0]], [True, False, True])
    for name in sorted(names, key=lambda name: name == "adult"):
        figures += [Figures(*each) for each in lines.piece(name, partial(_measure, lines, known[name], given))]
    certified, attained = sum(each.certified for each in figures), sum(each.attained for each in figures)
    share = f"{certified / attained:.3f}" if attained else "-"
    ratios = [each.ratio for each in figures if not np.isnan(each.ratio)]
    ratio = f"{np.median(ratios):.2f}" if ratios else "-"
    lines.add("sums; median width", "", "", "", f"{certified:.2f}", f"{attained:.2f}", ratio, "", "", "", "")
    lines.add("certified / attained", "", "", "", share, *[""] * 6)


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks budgets")
    parser.add_argument("--shares", type=_numbers, default=SHARES, metavar="SHARE,...", help="of the missing values")
    parser.add_argument("--rows", type=int, default=TEST_ROWS, metavar="N", help="test rows of each table, at most")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[], metavar="NAME,...")
    parser.add_argument("--split", type=int, default=0, metavar="SEED", help="which random split of each table")
    add_rule(parser, ONE_ERROR)
    parser.add_argument("--alpha", type=float, help="the penalty, in place of the one that cross-validation picks")
    return parser.parse_args(options)


def _numbers(text: str) -> list[float]:
    return [float(each) for each in text.split(",")]


def _measure(lines: Lines, source: Source, given: argparse.Namespace) -> list[Figures]:
    X, y, X_test = parts(source, given.split)
    rows = _test_rows(X, X_test, given.rows)
    alpha = given.alpha
    if alpha is None:
        alpha = cross_validated(BoundedClassifier(scale="standard"), X, y, given.penalty)
    found = []
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = plain_seconds(X, y, alpha)
        for share in given.shares:
            estimator = BoundedClassifier(
                alpha=alpha, scale="standard", certificate="tight", uncertainty=Budget(share=share)
            )
            start = time.process_time()
            estimator.fit(X, y)
            spent = time.process_time() - start
            certified, attained = (
                np.asarray(bounds(rows)) for bounds in (estimator.decision_bounds, estimator.attained_bounds)
            )
            figures = figures_of(certified, attained, True)
            changed = Budget(share=share).count(int(X.isna().to_numpy().sum()))
            found += [figures] if changed else []
            cells = [f"{alpha:.3g}", f"{share:g}", f"{changed:,}", *(_shown(each) for each in figures)]
            cells += [f"{int(is_outside(certified, attained).sum())}", f"{len(rows)}"]
            lines.add(source.name[:24].ljust(24), *cells, f"{spent:.2f}", f"{spent / plain:,.0f}")
    return found


def _shown(figure: float) -> str:
    return "-" if np.isnan(figure) else f"{figure:.2f}"


def _test_rows(X: pd.DataFrame, X_test: pd.DataFrame, most: int) -> pd.DataFrame:
    complete = X_test.dropna()
    return (complete if len(complete) else filled_in(X_test, X)).iloc[:most]


def plain_seconds(X: pd.DataFrame, y: np.ndarray, alpha: float) -> float:
    """Return the seconds of the processor that a training of scikit-learn takes."""
    table, C = filled_table(BoundedClassifier(scale="standard"), X, y), 1.0 / (alpha * len(y))

    def train() -> None:
        LogisticRegression(C=C).fit(table, y)

    train()
    (seconds,) = medians(PLAIN_FITS, train, clock=time.process_time)
    return seconds
