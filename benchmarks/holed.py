"""Tables with NaN for holes and a range for each column, as a user has them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.real_data import DATA, load, with_holes
from experiments.prepare import higgs_shaped
from experiments.settings import Setting
from experiments.sources import HIGGS, load_local
from ipub import BoundedClassifier
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.rows import MemoryRows
from ipub.tables.holes import IntervalWarning
from ipub.tables.interval_matrix import IntervalMatrix

SETTING = Setting(lam=0.1, b=0.01, a=0.5)
SOLVERS = ("lbfgs", "newton-cholesky")
THREADS = {None: "", 1: ", one thread"}
ROWS_VARIABLE = "BENCH_ROWS"
"""Set to a number, it cuts the large table to so many rows, to try a benchmark out."""


@dataclass(frozen=True, eq=False)
class Holed:
    """A training table with holes, their ranges, and test rows."""

    name: str
    matrix: IntervalMatrix
    ranges: Array
    y: Array
    X_test: Array

    @property
    def X(self) -> Array:
        """The table as a user gives it: NaN are the holes."""
        return np.asarray(self.matrix.table)

    @cached_property
    def filled(self) -> Array:
        """The table as scikit-learn needs it: holes at the middle of their range."""
        return self.matrix.center_rows(slice(0, len(self.y)))

    @property
    def size(self) -> str:
        n, d = self.X.shape
        return f"{self.name}, {n:,} x {d}, {self.matrix.n_uncertain:,} missing cells"

    def problem(self) -> Problem:
        """Return the training problem, with nothing kept from earlier ones."""
        return Problem(MemoryRows(self.matrix, self.y), LOSSES["log_loss"], ElasticNet(SETTING.lam))

    def plain(self, solver: str) -> LogisticRegression:
        """Train scikit-learn's model on the filled table."""
        C = 1.0 / (SETTING.lam * len(self.y))
        return LogisticRegression(C=C, fit_intercept=False, solver=solver).fit(self.filled, self.y)

    def plain_fits(self) -> dict[str, Callable[[], object]]:
        """Return the ways to train it of which the fastest counts: solvers, with BLAS on all threads and on one."""
        self.filled  # noqa: B018 (made before a clock runs)
        return {
            f"{solver}{words}": partial(self._plain, solver, n) for solver in SOLVERS for n, words in THREADS.items()
        }

    def _plain(self, solver: str, threads: int | None) -> None:
        with threadpool_limits(threads, user_api="blas"):
            self.plain(solver)

    def bounded(self, certificate: str) -> BoundedClassifier:
        """Train and certify from the table with holes."""
        clf = BoundedClassifier(alpha=SETTING.lam, fit_intercept=False, certificate=certificate, intervals=self.ranges)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IntervalWarning)  # the middle half of some columns is a single value
            clf.fit(self.X, self.y)
        _ = clf.certificate_
        return clf


def most_rows() -> int | None:
    """Return to how many rows the large table is cut, if it is."""
    rows = os.environ.get(ROWS_VARIABLE)
    return None if rows is None else int(rows)


def like_higgs() -> Holed:
    """Return the table of the size of the paper's HIGGS on which the reproduction runs."""
    most = most_rows()
    prepared = higgs_shaped(load_local(HIGGS, DATA), None if most is None else (most, 11_000))
    ends = [(1.0 - SETTING.a) / 2.0, (1.0 + SETTING.a) / 2.0]
    ranges = np.quantile(prepared.X, ends, axis=0).T
    return Holed("HIGGS-shaped", prepared.with_holes(SETTING), ranges, prepared.y, prepared.X_test)


def default() -> Holed:
    """Return the paper's `default`."""
    X, y, X_test = load("default")
    ends = [(1.0 - SETTING.a) / 2.0, (1.0 + SETTING.a) / 2.0]
    return Holed("default", with_holes(X, SETTING.b, SETTING.a), np.quantile(X, ends, axis=0).T, y, X_test)
