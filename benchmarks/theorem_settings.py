"""Where theorems are left out: fits on the tables of `useful`, and settings of `tightness`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.penalties import ONE_ERROR, cross_validated
from benchmarks.real_data import with_holes
from benchmarks.real_tables import SOURCES
from benchmarks.tightness import Setting, table
from benchmarks.useful import NOT_USED, split
from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.certificates import CERTIFICATES, TrainedModel
from ipub.estimators.fitted_state import as_saved
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.promises import Draws
from ipub.rows import MemoryRows

TOO_LONG = ("adult",)
POINTWISE_ROWS = 6
"""Test rows of bounds that take seconds for each row."""
N_DRAWS, SHARE, N_WRONG, N_ABSENT = 9, 0.05, 3, 2
WITHOUT_ROWS = "file without rows"
BY_SOURCE = {source.name: source for source in SOURCES if source.name not in (*NOT_USED, *TOO_LONG)}
CLASSES = tuple(name for name, source in BY_SOURCE.items() if source.positive)


class Job(NamedTuple):
    """A fit with its bounds."""

    alpha: float
    bounds: Callable[[], Array]


@dataclass(frozen=True)
class Fit:
    """An estimator on a table of `useful`."""

    source: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""
    n_rows: int | None = None
    """Test rows, at most."""
    keeps_rows: bool = True
    """Whether bounds are those of the estimator, or of its file without training rows."""

    @property
    def name(self) -> str:
        return " ".join(filter(None, [self.source, self.words]))

    @property
    def is_of_classes(self) -> bool:
        return bool(BY_SOURCE[self.source].positive)

    def job(self) -> Job:
        source, (X, y, X_test) = BY_SOURCE[self.source], _table(self.source)
        estimator = (BoundedClassifier if source.positive else BoundedRegressor)(scale="standard")
        of_penalty = {name: value for name, value in self.parameters.items() if name in ("loss", "l1_ratio")}
        alpha = self.parameters.get("alpha") or _alpha(self.source, tuple(of_penalty.items()))
        estimator.set_params(**{**self.parameters, "alpha": alpha})
        rows = X_test.iloc[: self.n_rows]

        def bounds() -> Array:
            fitted = estimator.fit(X, y) if self.keeps_rows else as_saved(estimator.fit(X, y), rows=False)
            return np.asarray(fitted.decision_bounds(rows) if source.positive else fitted.predict_bounds(rows))

        return Job(alpha, bounds)


@dataclass(frozen=True)
class Long:
    """A setting of `tightness`: tens of thousands of rows, holes at random, no intercept."""

    setting: Setting
    certificate: str = "tight"
    keeps_rows: bool = True
    n_rows: int | None = None
    columns: tuple[int, ...] = ()
    """The first rows and some columns alone, where a short table is wanted."""

    @property
    def source(self) -> str:
        return self.setting.data

    @property
    def name(self) -> str:
        words = [self.setting.data, self.setting.loss, f"b={self.setting.share:g}", f"a={self.setting.level:g}"]
        words += [f"{self.n_rows} x {len(self.columns)}"] if self.n_rows else []
        words += [f"kappa={self.setting.kappa:g}"] if self.setting.kappa else []
        words += [self.certificate] if self.certificate != "tight" else []
        return " ".join([*words, *([] if self.keeps_rows else [WITHOUT_ROWS])])

    @property
    def is_of_classes(self) -> bool:
        return True

    def job(self) -> Job:
        problem, X_test = self.setting.problem() if self.n_rows is None else self._cut()
        training, recipe = TrainedModel(problem, solve(problem)), CERTIFICATES[self.certificate]

        def bounds() -> Array:
            certificate = recipe(*training)
            kept = certificate if self.keeps_rows else certificate.without_training_rows()
            return kept.score_bounds(X_test, training)

        return Job(self.setting.lam, bounds)

    def _cut(self) -> tuple[Problem, Array]:
        (X, y, X_test), at = table(self.source), list(self.columns)
        holes = with_holes(X[: self.n_rows, at], self.setting.share, self.setting.level)
        problem = Problem(
            MemoryRows(holes, y[: self.n_rows]), LOSSES[self.setting.loss], ElasticNet(self.setting.lam, 0.0)
        )
        return problem, X_test[: self.setting.n_test, at]


@cache
def _table(name: str) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    return split(BY_SOURCE[name], 0)


@cache
def _alpha(name: str, parameters: tuple[tuple[str, Any], ...]) -> float:
    X, y, _ = _table(name)
    kind = BoundedClassifier if BY_SOURCE[name].positive else BoundedRegressor
    return cross_validated(kind(scale="standard").set_params(**dict(parameters)), X, y, ONE_ERROR)


def _fits(names: Sequence[str], words: str = "", **parameters: Any) -> tuple[Fit, ...]:
    n_rows = POINTWISE_ROWS if parameters.get("certificate") == "pointwise" else None
    return tuple(Fit(name, parameters, words, n_rows) for name in names)


TABLES = _fits(tuple(BY_SOURCE))
STRONG = _fits(tuple(BY_SOURCE), "alpha=1", alpha=1.0)
HINGE = _fits(CLASSES, "hinge", loss="hinge")
ELASTIC = _fits(tuple(BY_SOURCE), "l1_ratio=0.5", l1_ratio=0.5)
HINGE_ELASTIC = _fits(CLASSES, "hinge l1_ratio=0.5", loss="hinge", l1_ratio=0.5)
POINTWISE = _fits(tuple(BY_SOURCE), "pointwise", certificate="pointwise")
HINGE_POINTWISE = _fits(CLASSES, "hinge pointwise", loss="hinge", certificate="pointwise")
FILES = tuple(Fit(name, words=WITHOUT_ROWS, keeps_rows=False) for name in BY_SOURCE)
DRAWN = _fits(CLASSES, f"{N_DRAWS} draws", uncertainty=Draws(n_draws=N_DRAWS, random_state=0))
BUDGETS = _fits(CLASSES, f"budget {SHARE:g}", uncertainty=Budget(share=SHARE))
ABSENT_ROWS = _fits(CLASSES, f"{N_ABSENT} absent rows", uncertainty=Budget(share=0.0, rows=N_ABSENT))
CONDITIONAL = _fits(tuple(BY_SOURCE), "conditional", intervals="conditional")
WRONG_LABELS = _fits(CLASSES, f"{N_WRONG} wrong labels", max_label_errors=N_WRONG)
SPARSE_HOLES = (("default", 0.1), ("higgs_51k", 0.1), ("drive_partial", 0.1), ("default23", 0.01))
LONG = tuple(Long(Setting(data, lam, 0.01, 0.9)) for data, lam in SPARSE_HOLES)
LONG_FILES = tuple(Long(Setting(data, lam, 0.01, 0.9), keeps_rows=False) for data, lam in SPARSE_HOLES)
LONG_POINTWISE = tuple(
    Long(Setting(data, lam, 0.01, 0.9, n_test=POINTWISE_ROWS), "pointwise") for data, lam in SPARSE_HOLES
)
LONG_ELASTIC = tuple(Long(Setting(data, 1.0, 0.01, 0.5, kappa=0.01)) for data, _ in SPARSE_HOLES[:3])
SHORT_AND_NARROW = tuple(
    Long(Setting("default", 0.1, 0.03, 0.9), n_rows=n_rows, columns=(0, 4, 5, 11, 12)) for n_rows in (1000, 2500)
)
LONG_HINGE = tuple(
    Long(Setting(data, 1.0, 0.001, 0.5, loss="hinge", n_test=POINTWISE_ROWS)) for data, _ in SPARSE_HOLES[:3]
)
LONG_HINGE_POINTWISE = tuple(
    Long(Setting(data, 0.1, 0.001, 0.5, loss="hinge", n_test=POINTWISE_ROWS), "pointwise")
    for data in ("default", "drive_partial")
)
