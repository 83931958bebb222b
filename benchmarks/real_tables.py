"""Tables with genuine holes, as they are: how many predictions are certain, and how near the bounds are.

Test rows keep their own holes. A prediction is certain if every filling gives the same class: by the bounds of the
sphere, by the tight ones, and, as far as the search finds them, by the fillings that were tried.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.real_data import DATA
from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix, Intervals
from ipub.answers.attained import attained_bounds
from ipub.answers.certainty import is_certain
from ipub.certificates import certify_tight
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, engine_of, with_intercept_column

ALPHAS = (1.0, 0.1)
LEVEL = 0.9
MOST_TEST_ROWS = 40
LARGE = 5_000
"""From so many training rows on, the attained range is searched for fewer test rows."""
FEW_TEST_ROWS = 8
VIOLATED = 1e-6
"""An attained score outside the certified bounds by more than this is a violation (retraining is not exact)."""


@dataclass(frozen=True)
class Source:
    """A table, its target, what is positive (nothing in regression), and columns that are no features."""

    name: str
    target: str
    positive: tuple[Any, ...] = ()
    not_features: tuple[str, ...] = ()

    def load(self) -> tuple[pd.DataFrame, np.ndarray]:
        frame = pd.read_parquet(DATA / f"{self.name}.parquet").drop(columns=list(self.not_features))
        frame = frame[frame[self.target].notna()]
        y = frame.pop(self.target)
        frame = frame.loc[:, frame.notna().any()]
        return frame, y.isin(self.positive).to_numpy() if self.positive else y.to_numpy(dtype=float)


SOURCES = (
    Source("mammographic_masses", "severity", (1,)),
    Source("breast_cancer_wisconsin", "class", (4,), ("id",)),
    Source("credit_approval", "class", ("+",)),
    Source("credit_scoring", "Status", ("bad",)),
    Source("pima_diabetes", "outcome", (1,)),
    Source("hepatitis", "class", (1,)),
    Source("heart_disease_4sites", "num", (1, 2, 3, 4)),
    Source("chronic_kidney_disease", "class", ("ckd",)),
    Source(
        "horse_colic", "surgical_lesion", (1,), ("hospital_number", "lesion_site_1", "lesion_site_2", "lesion_site_3")
    ),
    Source("cervical_cancer", "Biopsy", (1,), ("Hinselmann", "Schiller", "Citology")),
    Source("hcc_survival", "1_survives_0_dies", (1,)),
    Source("pbc_cirrhosis", "status", (2,), ("id", "time")),
    Source("polish_bankruptcy_5year", "class", (1,)),
    Source("atlas_higgs_10k", "signal", (1,), ("EventId", "Weight")),
    Source("adult", "income", (">50K",), ("split", "fnlwgt")),
    Source("auto_mpg", "mpg", not_features=("car_name",)),
    Source("penguins", "body_mass_g"),
    Source(
        "communities_crime",
        "ViolentCrimesPerPop",
        not_features=("state", "county", "community", "communityname", "fold"),
    ),
)


def run(console: Console) -> None:
    title = (
        f"genuine holes, minmax scaled, intercept, intervals of {LEVEL:g} of a column: shares of certain predictions"
    )
    columns = ("table", "rows", "columns", "holes", "choices", "alpha", "sphere", "tight", "attained")
    lines = Lines(console, title, *columns, "tight/attained", "violations", "test rows")
    for source in SOURCES:
        for alpha in ALPHAS:
            lines.piece(f"{source.name} {alpha:g}", partial(_show, lines, source, alpha))
    _choices_and_boxes(console)


def _show(lines: Lines, source: Source, alpha: float) -> None:
    lines.add(source.name[:24].ljust(24), *_measure(source, alpha))


def _split(source: Source) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    frame, y = source.load()
    order = np.random.default_rng(0).permutation(len(frame))
    n_test = min(MOST_TEST_ROWS, len(frame) // 5)
    return frame.iloc[order[n_test:]], y[order[n_test:]], frame.iloc[order[:n_test]]


def _fit(source: Source, certificate: str, alpha: float, X: pd.DataFrame, y: np.ndarray) -> Any:
    model = BoundedClassifier if source.positive else BoundedRegressor
    y = y if source.positive else (y - y.mean()) / y.std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        estimator = model(alpha=alpha, certificate=certificate, scale="minmax", intervals=Intervals(level=LEVEL))
        return estimator.fit(X, y)


def _scores(estimator: Any, X: pd.DataFrame) -> np.ndarray:
    return estimator.decision_bounds(X) if isinstance(estimator, BoundedClassifier) else estimator.predict_bounds(X)


def _measure(source: Source, alpha: float) -> list[str]:
    X, y, X_test = _split(source)
    bounds = {name: _fit(source, name, alpha, X, y) for name in ("sphere", "tight")}
    estimator = bounds["tight"]
    tested = X_test.iloc[: FEW_TEST_ROWS if len(X) > LARGE else len(X_test)]
    certified = _scores(estimator, tested)
    attained = np.asarray(estimator.attained_bounds(tested))
    shares = [*(_certain(_scores(each, tested)) for each in bounds.values()), _certain(attained)]
    shown = [f"{share:.2f}" if source.positive else "-" for share in shares]
    slack = VIOLATED * (1.0 + np.abs(certified))
    outside = (attained[:, 0] < certified[:, 0] - slack[:, 0]) | (attained[:, 1] > certified[:, 1] + slack[:, 1])
    width = attained[:, 1] - attained[:, 0]
    ratio = np.median((certified[:, 1] - certified[:, 0])[width > 0.0] / width[width > 0.0])
    holes, choices = int(X.isna().to_numpy().sum()), _n_choices(estimator)
    sizes = [f"{len(X):,}", f"{estimator.coef_bounds_.shape[-2]}", f"{holes - choices:,}", f"{choices:,}"]
    return [*sizes, f"{alpha:g}", *shown, f"{ratio:.2f}", f"{int(outside.sum())}", f"{len(tested)}"]


def _certain(bounds: np.ndarray) -> float:
    return float(np.mean(is_certain(bounds)))


def _n_choices(estimator: Any) -> int:
    encoder = estimator.encoder_
    if encoder is None:
        return 0
    rows = estimator.training_.models[0].problem.rows
    engine = engine_of(rows)
    return len(engine.matrix.missing_categories) if isinstance(engine, MemoryRows) else 0


CATEGORIES = (
    (Source("credit_approval", "class", ("+",)), 1.0),
    (Source("credit_approval", "class", ("+",)), 0.1),
    (Source("credit_scoring", "Status", ("bad",)), 0.1),
    (Source("adult", "income", (">50K",), ("split", "fnlwgt")), 1.0),
    (Source("adult", "income", (">50K",), ("split", "fnlwgt")), 0.1),
    (Source("adult", "income", (">50K",), ("split", "fnlwgt", "workclass", "occupation")), 0.1),
)
MOST_ROWS = 20_000


def _choices_and_boxes(console: Console) -> None:
    """Missing categories as a choice among levels, and as boxes: certified over attained width of the same table."""
    title = "missing categories as choices among levels, and as boxes: certified / attained width, median of 8 rows"
    lines = Lines(console, title, "table", "rows", "columns", "choices", "alpha", "choices", "boxes", "boxes/choices")
    for source, alpha in CATEGORIES:
        named = f"{source.name} {alpha:g} without {' '.join(source.not_features)}"
        lines.piece(named, partial(_compare_boxes, lines, source, alpha))


def _compare_boxes(lines: Lines, source: Source, alpha: float) -> None:
    X, y, X_test = _split(source)
    X, y, X_test = X.iloc[:MOST_ROWS], y[:MOST_ROWS], X_test.dropna().iloc[:FEW_TEST_ROWS]
    estimator = _fit(source, "tight", alpha, X, y)
    problem, solution = estimator.training_.models[0]
    table = estimator.encoder_.encode(X)
    boxes = estimator.scaling_.intervals(IntervalMatrix.from_table(table, estimator.hole_ranges_))
    boxed = replace(problem, rows=with_intercept_column(MemoryRows(boxes, problem.rows.labels().y)))
    rows = estimator.scaling_.rows(estimator.encoder_.encode(X_test))
    rows = np.column_stack([rows, np.ones(len(rows))])
    attained = attained_bounds(problem, solution, rows).bounds
    ratios = []
    for certificate in (estimator.certificate_, certify_tight(boxed, solve(boxed))):
        ends = certificate.score_bounds(rows)
        ratios.append(np.median((ends[:, 1] - ends[:, 0]) / (attained[:, 1] - attained[:, 0])))
    name = source.name + (" (one of 3)" if "workclass" in source.not_features else "")
    cells = [f"{len(X):,}", f"{table.shape[1]}", f"{_n_choices(estimator):,}", f"{alpha:g}"]
    lines.add(name.ljust(24), *cells, *(f"{ratio:.2f}" for ratio in ratios), f"{ratios[1] / ratios[0]:.1f}")
