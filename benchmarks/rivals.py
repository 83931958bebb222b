"""Other methods and our bounds on the same problems: interval Newton, and imputations, which have no guarantee."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.real_data import DATA
from benchmarks.tightness import COLUMNS, DATA_SETS, N_TEST, RIDGE_TARGETS, Setting, certified, timed, width
from experiments.rivals import complete_cases, interval_newton, multiple_imputation, share_covered, single_imputation
from ipub.answers.attained import attained_bounds
from ipub.certificates import certify_sphere, certify_tight
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix

PAPER = [
    Setting(data, lam, share, level)
    for data in DATA_SETS
    for lam in (0.1, 1.0)
    for share in (0.01, 0.001)
    for level in (0.5, 0.9)
]
"""The settings of the paper's table of computation times."""
BOUNDS: dict[str, Callable[..., Any]] = {
    "sphere": certify_sphere,
    "INewton": interval_newton,
    "in columns": partial(interval_newton, coordinates="columns"),
    "tight": certify_tight,
}
DRAWS = 10
FIT_ROWS = 5_000


def run(console: Console) -> None:
    _ridge(console)
    title = f"certified / attained width of the score, median over {N_TEST} test rows; seconds, rows included"
    lines = Lines(console, title, *COLUMNS, *BOUNDS, "attained width", *(f"s {name}" for name in BOUNDS))
    for setting in PAPER:
        lines.piece(" ".join(setting.cells()), partial(_measure, lines, setting))
    _imputations(console)


def _measure(lines: Lines, setting: Setting) -> None:
    problem, X_test = setting.problem()
    solution = solve(problem)
    attained = width(attained_bounds(problem, solution, X_test).bounds)
    ratios, times = [], []
    for bound in BOUNDS.values():
        certificate, spent = timed(certified, bound, problem, solution, X_test)
        ratios.append(np.median(width(certificate.score_bounds(X_test)) / attained))
        times.append(spent)
    shown = [*(f"{r:.2f}" for r in ratios), f"{np.median(attained):.2e}", *(f"{t:.2f}" for t in times)]
    lines.add(*setting.cells(), *shown)


def _ridge(console: Console) -> None:
    title = "ridge, 402 x 11 with 40 missing cells: mean width over 40 test rows, and share covered by imputations"
    lines = Lines(console, title, "lambda", *BOUNDS, "attained", f"{DRAWS} draws", "covered")
    with np.load(DATA / "ridge_peer_problem.npz") as data:
        X_lower, X_upper, y, X_test = (data[name] for name in ("X_lower", "X_upper", "y", "X_test"))
    for lam in RIDGE_TARGETS:
        rows = MemoryRows(IntervalMatrix.from_bounds(X_lower, X_upper), y)
        problem = Problem(rows, LOSSES["squared_error"], ElasticNet(lam))
        solution = solve(problem)
        attained = attained_bounds(problem, solution, X_test).bounds
        drawn = multiple_imputation(problem, X_test, DRAWS, random_state=0).range()
        means = [width(bound(problem, solution).score_bounds(X_test)).mean() for bound in BOUNDS.values()]
        means += [width(attained).mean(), width(drawn).mean(), share_covered(drawn, attained).share.mean()]
        lines.add(f"{lam:g}", *(f"{mean:.4f}" for mean in means))


def _imputations(console: Console) -> None:
    """Show how much of the attained range the draws cover, and where the predictions of single imputation lie."""
    title = f"imputations, default: share of the attained range covered, mean over {N_TEST} test rows; {DRAWS} draws"
    lines = Lines(console, title, "lambda", "b", "a", "draws", "exceeded", "mean inside", "complete inside", "s draws")
    for setting in PAPER[:8]:
        lines.piece(" ".join(setting.cells()), partial(_cover, lines, setting))


def _cover(lines: Lines, setting: Setting) -> None:
    problem, X_test = setting.problem()
    attained = attained_bounds(problem, solve(problem), X_test).bounds
    draw = partial(multiple_imputation, problem, X_test, DRAWS, fit_rows=FIT_ROWS, random_state=0)
    drawn, spent = timed(draw)
    covered = share_covered(drawn.range(), attained)
    lines.add(
        f"{setting.lam:g}",
        f"{setting.share:g}",
        f"{setting.level:g}",
        f"{covered.share.mean():.2f}",
        f"{covered.exceeded.mean():.2f}",
        *(f"{_inside(f(problem, X_test).mean(), attained):.2f}" for f in (single_imputation, complete_cases)),
        f"{spent:.1f}",
    )


def _inside(scores: Array, attained: Array) -> float:
    """Return the fraction of test rows whose score lies within the attained range."""
    return float(np.mean((attained[:, 0] <= scores) & (scores <= attained[:, 1])))
