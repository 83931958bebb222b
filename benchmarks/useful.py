"""Tables as people have them, at the penalty that cross-validation picks: what is certified of what is certain.

Genuine holes, words as categories, columns scaled to mean 0 and standard deviation 1, an intercept, default intervals.
The penalty is that of `alpha="min"`, of least held-out loss; with `--penalty 1se` that of `alpha="1se"`. A random fifth
of the rows is for tests; their own holes are filled in, so that the training table alone is uncertain. *Certain*: share
of test rows whose class is the same for all fillings, as certified, and as far as retraining found no filling that
changes it. *Width*: median of certified over attained width. *Outside*: attained scores that are not within the
certified bounds. *Inside*: share of the attained ends that values inside intervals, not at their ends, made better.

Options: `--split SEED`, `--tables NAME,...`, `--certificate NAME`, `--intervals NAME`, `--penalty min|1se`,
`--test-rows N`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.penalties import BEST, add_rule, cross_validated
from benchmarks.real_tables import LARGE, SOURCES, VIOLATED, Source
from ipub import BoundedClassifier, BoundedRegressor
from ipub.answers.attained import search_fillings
from ipub.answers.certainty import is_certain
from ipub.numeric.rounding import Array

NOT_USED = ("atlas_higgs_10k",)
"""Its holes are quantities that do not exist, not values that nobody knows."""
MOST_TEST_ROWS = 40
FEW_TEST_ROWS = 8
"""Test rows of tables with `LARGE` rows or more: each is retrained for many times."""
COLUMNS = (
    "table",
    "holes/rows",
    "alpha",
    "certified",
    "attained",
    "width",
    "outside",
    "inside",
    "fit s",
    "ms/row",
    "rows",
)


class Figures(NamedTuple):
    """What one table gives."""

    certified: float
    attained: float
    ratio: float


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    unknown = set(given.tables) - {source.name for source in SOURCES}
    if unknown:
        raise SystemExit(f"Unknown table(s) {', '.join(sorted(unknown))}.")
    named = given.tables or [source.name for source in SOURCES if source.name not in NOT_USED]
    sources = sorted((each for each in SOURCES if each.name in named), key=lambda each: each.name == "adult")
    for is_classes, words in ((True, "logistic regression"), (False, "ridge regression")):
        tables = [source for source in sources if bool(source.positive) == is_classes]
        if tables:
            title = (
                f"useful, {words}, certificate {given.certificate}, {given.intervals} intervals, split {given.split}, "
                f"penalty {given.penalty}"
            )
            _print(Lines(console, title, *COLUMNS), tables, given)


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks useful")
    parser.add_argument("--split", type=int, default=0, metavar="SEED", help="which random split of each table")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[], metavar="NAME,...")
    parser.add_argument("--certificate", default="tight", metavar="NAME")
    parser.add_argument("--intervals", default="quantile", metavar="NAME", help="quantile, observed or conditional")
    add_rule(parser, BEST)
    parser.add_argument("--test-rows", type=int, metavar="N", help="test rows of each table, at most")
    return parser.parse_args(options)


def _print(lines: Lines, sources: Sequence[Source], given: argparse.Namespace) -> None:
    figures = [Figures(*lines.piece(source.name, partial(_measure, lines, source, given))) for source in sources]
    certified, attained = (sum(each) for each in zip(*((each[0], each[1]) for each in figures), strict=True))
    ratio = f"{np.median([each.ratio for each in figures]):.2f}"
    empty = [""] * 5
    if sources[0].positive:
        lines.add("sums; median width", "", "", f"{certified:.2f}", f"{attained:.2f}", ratio, *empty)
        share = f"{certified / attained:.3f}" if attained else "-"
        lines.add("certified / attained", "", "", share, "", "", *empty)
    else:
        lines.add("median width", "", "", "", "", ratio, *empty)


def _measure(lines: Lines, source: Source, given: argparse.Namespace) -> Figures:
    X, y, X_test = split(source, given.split, given.test_rows)
    kind = BoundedClassifier if source.positive else BoundedRegressor
    alpha = cross_validated(kind(scale="standard"), X, y, given.penalty)
    estimator = kind(alpha=alpha, certificate=given.certificate, intervals=given.intervals, scale="standard")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        _ = estimator.fit(X, y).certificate_
    fitted = time.perf_counter()
    certified = estimator.decision_bounds(X_test) if source.positive else estimator.predict_bounds(X_test)
    bounded = time.perf_counter()
    training = estimator.training_
    found = search_fillings(training, training.table.uncertain_rows(X_test))
    attained = found.bounds
    figures = figures_of(certified, attained, bool(source.positive))
    outside = is_outside(certified, attained)
    shares = [f"{each:.2f}" if source.positive else "-" for each in figures[:2]]
    cells = [f"{int(X.isna().to_numpy().sum())}/{len(X)}", f"{alpha:.2g}", *shares, f"{figures.ratio:.2f}"]
    cells += [f"{int(outside.sum())}", f"{found.inside.mean():.2f}"]
    cells += [f"{fitted - start:.2f}", f"{1e3 * (bounded - fitted) / len(X_test):.1f}"]
    lines.add(source.name[:24].ljust(24), *cells, f"{len(X_test)}")
    return figures


def split(source: Source, seed: int, test_rows: int | None = None) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Return training rows, labels or standardised targets, and test rows without holes, of a random split."""
    X, y, X_test = parts(source, seed)
    most = test_rows or (FEW_TEST_ROWS if len(X) >= LARGE else MOST_TEST_ROWS)
    return X, y if source.positive else (y - y.mean()) / y.std(), filled_in(X_test.iloc[:most], X)


def parts(source: Source, seed: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Return training rows, labels or targets, and all test rows as they are, of a random split."""
    frame, y = source.load()
    order, n_test = np.random.default_rng(seed).permutation(len(frame)), len(frame) // 5
    X = frame.iloc[order[n_test:]]
    X = X.loc[:, X.notna().any()]
    return X, y[order[n_test:]], frame[X.columns].iloc[order[:n_test]]


def test_labels(source: Source, seed: int) -> np.ndarray:
    """Return the labels of the test rows of `parts`."""
    frame, y = source.load()
    return y[np.random.default_rng(seed).permutation(len(frame))[: len(frame) // 5]]


def filled_in(X_test: pd.DataFrame, X: pd.DataFrame) -> pd.DataFrame:
    """Fill the holes of test rows with the median or the most frequent level of the training rows."""
    usual = {name: X[name].median() if pd.api.types.is_numeric_dtype(X[name]) else X[name].mode()[0] for name in X}
    return X_test.fillna(usual)


def is_outside(certified: Array, attained: Array) -> np.ndarray:
    """Return which rows attain a score that is not within their certified bounds."""
    slack = VIOLATED * (1.0 + np.abs(attained))
    return (attained[:, 0] < (certified - slack)[:, 0]) | (attained[:, 1] > (certified + slack)[:, 1])


def figures_of(certified: Array, attained: Array, is_classes: bool) -> Figures:
    """Return the shares of certain rows (of classes) and the median of certified over attained width."""
    widths, found = np.ptp(certified, axis=1), np.ptp(attained, axis=1)
    ratio = float(np.median(widths[found > 0.0] / found[found > 0.0])) if (found > 0.0).any() else np.nan
    if not is_classes:
        return Figures(np.nan, np.nan, ratio)
    return Figures(float(is_certain(certified).mean()), float(is_certain(attained).mean()), ratio)
