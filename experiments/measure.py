"""What is measured in one setting: lengths of intervals and times, all methods in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from experiments import methods
from experiments.prepare import Prepared
from experiments.rivals import Imputation
from experiments.settings import Setting
from experiments.store import Measured
from ipub.answers.attained import attained_bounds
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix

T = TypeVar("T")

REPEATS = 3
"""How often the methods are timed, in turn; medians are reported."""
MOST_SECONDS = 20.0
"""Seconds after which they are not timed again."""
ATTAINED_SEED = 3
POOLED = 1.96
"""Standard deviations on either side of a pooled prediction: 95 % of a normal distribution."""
IMPUTATION_SEED = 4
DRAWS_AT_ONCE = 5
"""Imputations between two reports of progress."""


def problem_of(table: Prepared, setting: Setting) -> Problem:
    """Return the paper's training problem: logistic loss, L2 penalty, no intercept, missing cells as intervals."""
    return _problem(table.with_holes(setting), table.y, setting.lam)


def _problem(matrix: IntervalMatrix, y: Array, lam: float) -> Problem:
    return Problem(MemoryRows(matrix, y), LOSSES["log_loss"], ElasticNet(lam))


def tested_rows(table: Prepared, n_rows: int) -> Any:
    """Return which test rows are searched for what is attained."""
    drawn = np.random.default_rng(ATTAINED_SEED).permutation(len(table.X_test))[:n_rows]
    return np.sort(drawn)


def measure_bounds(table: Prepared, setting: Setting) -> Measured:
    """Bound the scores of all test rows by the sphere (the paper's IPUB), by interval Newton and by `tight`.

    Interval Newton comes in two forms: in the coordinates of the weights ("columns"), and in the strongest form we
    found, in whitened coordinates ("inewton").

    Each is timed from the table of intervals to the bounds: training included, with a start of its own, and with
    nothing kept from the one before.
    """
    matrix, X = table.with_holes(setting), table.X_test
    notes: dict[str, str] = {}

    def certified(name: str) -> Array:
        problem = _problem(matrix, table.y, setting.lam)
        certificate = CERTIFICATES[name](problem, solve(problem))
        notes[name] = certificate.note
        return certificate.score_bounds(X)

    def newton(name: str, coordinates: Literal["columns", "whitened"]) -> Array:
        problem = _problem(matrix, table.y, setting.lam)
        bounds, notes[name] = methods.newton_bounds(problem, X, coordinates)
        return bounds

    jobs: dict[str, Callable[[], Array]] = {
        "sphere": lambda: certified("sphere"),
        "columns": lambda: newton("columns", "columns"),
        "inewton": lambda: newton("inewton", "whitened"),
        "tight": lambda: certified("tight"),
    }
    bounds, seconds = _timed(jobs)
    return Measured({"seconds": seconds, "notes": notes}, bounds)


def measure_attained(table: Prepared, setting: Setting, n_rows: int, report: Callable[[float], None]) -> Measured:
    """Retrain on fillings that move scores of test rows down and up; `report` is called with the fraction done."""
    problem, rows = problem_of(table, setting), tested_rows(table, n_rows)
    solution = solve(problem)
    bounds, spent = _seconds(lambda: attained_bounds(problem, solution, table.X_test[rows], progress=report).bounds)
    return Measured({"seconds": spent}, {"rows": rows, "bounds": bounds})


def measure_imputation(
    table: Prepared, setting: Setting, n_rows: int, repeats: Sequence[int], report: Callable[[float], None]
) -> Measured:
    """Impute, train and predict the scores of the same test rows as `measure_attained`.

    Single imputation and complete cases report a number, here an interval of no length. Multiple imputation gives a
    prediction for each imputation: reported are their range, and their mean with `POOLED` standard deviations of a
    prediction from one more imputation (Rubin's between-imputation variance, times 1 + 1/T). More imputations are
    added to those made before, and so are their times.
    """
    problem, X = problem_of(table, setting), table.X_test[tested_rows(table, n_rows)]
    arrays: dict[str, Array] = {}
    seconds: dict[str, float] = {}
    for name, job in (("single", methods.imputed_once), ("complete", methods.without_holed_rows)):
        once, seconds[name] = _seconds(partial(job, problem, X))
        arrays[name] = once.range()
    scores, models, spent = np.empty((0, len(X))), np.empty((0, X.shape[1])), 0.0
    for count in sorted(repeats):
        while len(scores) < count:
            n_draws, seed = min(DRAWS_AT_ONCE, count - len(scores)), IMPUTATION_SEED + len(scores)
            more, lasted = _seconds(partial(methods.imputed_again, problem, X, n_draws, seed))
            scores, models = np.concatenate([scores, more.scores]), np.concatenate([models, more.models])
            spent += lasted
            report(len(scores) / max(repeats))
        pooled = Imputation(scores, models)
        mean, spread = pooled.mean(), POOLED * pooled.spread()
        arrays[f"multiple{count}_range"] = pooled.range()
        arrays[f"multiple{count}_pooled"] = np.column_stack([mean - spread, mean + spread])
        seconds[f"multiple{count}"] = spent
    return Measured({"seconds": seconds}, arrays)


def _seconds(job: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = job()
    return result, time.perf_counter() - start


def _timed(jobs: dict[str, Callable[[], Any]]) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Run jobs in turn, several times if that does not take long; return results and seconds."""
    results: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(REPEATS):
        for name, job in jobs.items():
            results[name], spent = _seconds(job)
            seconds[name].append(spent)
        if sum(map(sum, seconds.values())) > MOST_SECONDS:
            break
    return results, seconds
