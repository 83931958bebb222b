"""Small real tables: what a certified fit costs, in plain fits, and how wide its bounds are.

Genuine holes, words as categories, columns scaled to mean 0 and standard deviation 1, an intercept, default intervals,
certificate `tight`. The split is that of `useful`. Times are of the processor, all threads together, with one BLAS
thread: medians of repeats that take all jobs in turn, after one that is not counted. *Plain fit*: scikit-learn's
`LogisticRegression` with the same penalty, on the filled, scaled and one-hot table, at its default tolerance. *Width*:
median width of the score's bounds over the test rows that are complete. *200 rows*: bounds of so many test rows, taken
again from the first if there are fewer, right after the fit. *Over attained*: median, over the first complete test
rows, of the width over what retraining attains. *Status*: median time of `predict_status` for one complete test row.

Options: `--repeats N`, `--tables NAME,...`, `--attained`, `--status`, `--budget SHARE` (fits that let so large a share
of the missing values differ from the filled-in ones), `--save FILE` (figures as JSON) and `--against FILE` (prints
figures as ratios to those of a file).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.lines import Lines
from benchmarks.penalties import filled_table
from benchmarks.real_tables import SOURCES
from benchmarks.timing import medians
from benchmarks.useful import parts
from ipub import BoundedClassifier, Budget

FITS = (
    ("mammographic_masses", 0.1),
    ("mammographic_masses", 0.01),
    ("mammographic_masses", 0.03),
    ("breast_cancer_wisconsin", 0.003),
    ("hepatitis", 1.0),
    ("credit_approval", 0.03),
    ("pima_diabetes", 0.1),
    ("pima_diabetes", 1.0),
)
FITS_WITH_BUDGET = (("mammographic_masses", 0.03), ("credit_approval", 0.03), ("pima_diabetes", 0.03))
SPLIT = 0
REPEATS = 5
BOUNDED_ROWS = 200
ATTAINED_ROWS = 16
"""Complete test rows whose attained width is searched for: each takes many trainings."""
STATUS_ROWS = 10

Figures = dict[str, float]
"""Of one fit: times in ms, widths, and ratios, by the titles of the columns."""
SIZES = ("rows", "columns", "holes")
RATIOS = ("plain ms", "fit ms", "plain fits", "width", "over attained", "200 rows ms", "status ms")
"""What is compared with an earlier run."""
DECIMALS = {**dict.fromkeys(SIZES, 0), "plain fits": 1, "width": 4, "over attained": 3}


class Measured:
    """One table at one penalty: the jobs that are timed, and the estimator that the last fit gave."""

    def __init__(self, name: str, alpha: float, share: float | None) -> None:
        (source,) = (each for each in SOURCES if each.name == name)
        self.X, self.y, self.X_test = parts(source, SPLIT)
        self.complete = self.X_test.dropna()
        uncertainty = "worst" if share is None else Budget(share=share)
        self.estimator = BoundedClassifier(alpha=alpha, scale="standard", certificate="tight", uncertainty=uncertainty)
        self._filled = filled_table(BoundedClassifier(scale="standard"), self.X, self.y)
        self._C = 1.0 / (alpha * len(self.y))
        self._bounded = self.X_test.iloc[np.arange(BOUNDED_ROWS) % len(self.X_test)]

    @property
    def sizes(self) -> Figures:
        return dict(zip(SIZES, (*self._filled.shape, float(self.X.isna().to_numpy().sum())), strict=True))

    def plain(self) -> None:
        LogisticRegression(C=self._C).fit(self._filled, self.y)

    def fit(self) -> None:
        _ = self.estimator.fit(self.X, self.y).certificate_

    def bounds(self) -> None:
        self.estimator.decision_bounds(self._bounded)

    def width(self) -> float:
        return float(np.median(_widths(self.estimator.decision_bounds, self.complete)))

    def over_attained(self) -> float:
        rows = self.complete.iloc[:ATTAINED_ROWS]
        widths = _widths(self.estimator.decision_bounds, rows)
        attained = _widths(self.estimator.attained_bounds, rows)
        return float(np.median(widths / attained))

    def status(self) -> float:
        """Return the median seconds of a row."""
        rows = (self.complete.iloc[k : k + 1] for k in range(min(STATUS_ROWS, len(self.complete))))
        jobs = [partial(self.estimator.predict_status, row) for row in rows]
        return float(np.median(medians(1, *jobs, clock=time.process_time)))


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    fits = [each for each in _fits(given) if not given.tables or each[0] in given.tables]
    unknown = set(given.tables) - {name for name, _ in fits}
    if unknown:
        raise SystemExit(f"Unknown table(s) {', '.join(sorted(unknown))}.")
    before = None if given.against is None else json.loads(given.against.read_text())
    columns = [*SIZES, "plain ms", "fit ms", "plain fits", "width"]
    columns += ["over attained"] if given.attained else []
    columns += ["200 rows ms"]
    columns += ["status ms"] if given.status else []
    promise = "any filling" if given.budget is None else f"{given.budget:g} of the missing values differ"
    lines = Lines(console, f"small tables, {promise}, median of {given.repeats}", "table", "alpha", *columns)
    figures: dict[str, Figures] = {}
    for name, alpha in fits:
        fit = f"{name} {alpha:g}"
        figures[fit] = lines.piece(fit, partial(_show, lines, columns, name, alpha, given))
        if given.save is not None:
            given.save.write_text(json.dumps(figures, indent=1))
    if before is not None:
        _compare(console, figures, before, [each for each in columns if each in RATIOS])


def _show(lines: Lines, columns: Sequence[str], name: str, alpha: float, given: argparse.Namespace) -> Figures:
    measured = _measure(Measured(name, alpha, given.budget), given)
    lines.add(name.ljust(24), f"{alpha:g}", *(f"{measured[each]:,.{DECIMALS.get(each, 2)}f}" for each in columns))
    return measured


def _fits(given: argparse.Namespace) -> Sequence[tuple[str, float]]:
    return FITS if given.budget is None else FITS_WITH_BUDGET


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks small")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help="runs of which the median counts")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[], metavar="NAME,...")
    parser.add_argument("--attained", action="store_true", help="widths over what retraining attains")
    parser.add_argument("--status", action="store_true", help="time of predict_status for a row")
    parser.add_argument("--budget", type=float, metavar="SHARE", help="fits with Budget(share=SHARE)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="print ratios to the figures of a file")
    return parser.parse_args(options)


def _measure(table: Measured, given: argparse.Namespace) -> Figures:
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        jobs = (table.plain, table.fit, table.bounds)
        for job in jobs:
            job()
        plain, fit, bounds = medians(given.repeats, *jobs, clock=time.process_time)
        figures = {**table.sizes, "plain ms": 1e3 * plain, "fit ms": 1e3 * fit, "plain fits": fit / plain}
        figures |= {"width": table.width(), "200 rows ms": 1e3 * bounds}
        if given.attained:
            figures["over attained"] = table.over_attained()
        if given.status:
            figures["status ms"] = 1e3 * table.status()
    return figures


def _compare(console: Console, figures: dict[str, Figures], before: dict[str, Figures], columns: Sequence[str]) -> None:
    """Print what both runs measured, as ratios of this one to the earlier one."""
    lines = Lines(console, "small tables: this run over the earlier one", "table", "alpha", *columns)
    for key in (each for each in figures if each in before):
        name, alpha = key.rsplit(" ", 1)
        now, then = figures[key], before[key]
        ratios = (f"{now[each] / then[each]:.3f}" if then.get(each) else "-" for each in columns)
        lines.add(name.ljust(24), alpha, *ratios)


def _widths(bounds: Callable[[pd.DataFrame], object], rows: pd.DataFrame) -> np.ndarray:
    return np.ptp(np.asarray(bounds(rows)), axis=1)
