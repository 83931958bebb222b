"""Certified width over attained width, for each certificate, on real data.

Widths and times of a line come from one run: the same problem, the same solution, the same test rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.real_data import DATA, load, with_holes
from ipub import BoundedClassifier
from ipub.answers.attained import attained_bounds
from ipub.certificates import EFFORT, Certificate, certify_ball, certify_sphere, certify_tight
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.rows import MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix

N_TEST = 20
HINGE_EFFORT = 10.0
INFORMATION = np.inf
"""Target of a setting that is shown for information."""


@dataclass(frozen=True)
class Setting:
    """A data set, a model, how many cells are missing and how wide their intervals are."""

    data: str
    lam: float
    share: float
    level: float
    target: float = INFORMATION
    """Target of the ratio of `tight`."""
    pointwise_target: float | None = None
    """Target of the ratio of pointwise bounds; None where there are none."""
    effort: float = EFFORT
    """Seconds for each row that pointwise bounds may spend on ruling out scores."""
    loss: str = "log_loss"
    kappa: float = 0.0
    n_test: int = N_TEST
    """Test rows; fewer where the search for what is attained trains for each row alone."""

    def problem(self) -> tuple[Problem, Array]:
        """Return the training problem and the test rows."""
        X, y, X_test = table(self.data)
        rows = MemoryRows(with_holes(X, self.share, self.level), y)
        return Problem(rows, LOSSES[self.loss], ElasticNet(self.lam, self.kappa)), X_test[: self.n_test]

    def cells(self) -> tuple[str, ...]:
        """Return what identifies the setting in a line."""
        return (
            self.data.ljust(LONGEST_NAME),
            self.loss.rjust(LONGEST_LOSS),
            f"{self.lam:.3g}",
            f"{self.kappa:g}",
            f"{self.share:g}",
            f"{self.level:g}",
        )


COLUMNS = ("data", "loss", "lambda", "kappa", "b", "a")
table = cache(load)
LONGEST_NAME = len("drive_partial")
LONGEST_LOSS = max(map(len, LOSSES))
DATA_SETS = ("default", "higgs_51k", "drive_partial")
N_TRAIN = 27_000
"""Training rows of `default`."""

SETTINGS: dict[str, list[Setting]] = {
    "few holes": [
        Setting(data, lam, share, level, 1.10, 1.005)
        for data in DATA_SETS
        for lam in (0.1, 1.0)
        for share in (0.001, 0.01)
        for level in (0.5, 0.9)
    ],
    "one cell in twenty": [
        Setting(data, lam, 0.05, 0.5, 1.45 if data == "default" else 1.25, 1.01)
        for data in DATA_SETS
        for lam in (0.1, 1.0)
    ],
    "little penalty": [
        *(Setting("default23", 0.01, share, level, 1.5, 1.15) for share in (0.001, 0.01) for level in (0.5, 0.9)),
        Setting("default23", 1.0 / N_TRAIN, 0.001, 0.5, 1.5, 1.05),
        Setting("default", 1.0 / N_TRAIN, 0.001, 0.5, INFORMATION, INFORMATION),
    ],
    "elastic net": [Setting(data, 1.0, share, 0.5, 1.05, kappa=0.01) for data in DATA_SETS for share in (0.001, 0.01)],
    "other losses": [
        Setting("default", 0.1, 0.01, 0.5, loss=loss)
        for loss in ("squared_hinge", "smoothed_hinge", "squared_error", "huber")
    ],
    "hinge": [
        *(
            Setting(data, 1.0, 0.001, 0.5, 1.10, target, HINGE_EFFORT, loss="hinge", n_test=6)
            for data, target in (("default", 1.5), ("higgs_51k", 1.1), ("drive_partial", 2.0))
        ),
        *(
            Setting(data, 0.1, 0.001, 0.5, INFORMATION, target, loss="hinge", n_test=6)
            for data, target in (("default", 5.0), ("drive_partial", 8.0))
        ),
        *(Setting(data, 1.0, 0.01, 0.5, 1.10, loss="hinge", n_test=6) for data in DATA_SETS),
    ],
}
RIDGE_TARGETS = {0.01: 0.30, 0.1: 0.095, 1.0: 0.0180}


def run(console: Console) -> None:
    _ridge(console)
    _intercept(console)
    for name, settings in SETTINGS.items():
        n_test = settings[0].n_test
        title = f"{name}: certified / attained width of the score, median over {n_test} test rows; times / one training"
        certificates = ("sphere", "ball", "tight", "grouped")
        times = ("t sphere", "t ball", "t tight", "t attained")
        lines = Lines(console, title, *COLUMNS, *certificates, "target", "attained width", *times)
        for setting in settings:
            lines.piece(" ".join(setting.cells()), partial(_measure, lines, setting))


def shown(ratio: float, target: float) -> str:
    """Show a ratio, with a mark if it misses its target."""
    return f"{ratio:.3f}" + ("!" if ratio > target else " ")


def target_cell(target: float | None) -> str:
    return "-" if target in (None, INFORMATION) else f"{target:g}"


def timed(job: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = job(*args)
    return result, time.perf_counter() - start


def width(bounds: Array) -> Array:
    return np.asarray(np.ptp(bounds, axis=1))


def _measure(lines: Lines, setting: Setting) -> None:
    problem, X_test = setting.problem()
    solution, training = timed(solve, problem)
    attained, search = timed(lambda: width(attained_bounds(problem, solution, X_test).bounds))
    ratios, times = [], []
    for certify in (certify_sphere, certify_ball, certify_tight):
        certificate, spent = timed(certified, certify, problem, solution, X_test)
        ratios.append(float(np.median(width(certificate.score_bounds(X_test)) / attained)))
        times.append(spent)
    ratios.append(float(np.median(width(certificate.without_training_rows().score_bounds(X_test)) / attained)))
    lines.add(
        *setting.cells(),
        *(f"{ratio:.2f}" for ratio in ratios[:2]),
        shown(ratios[2], setting.target),
        f"{ratios[3]:.3f}",
        target_cell(setting.target),
        f"{np.median(attained):.3e}",
        *(f"{spent / training:.1f}" for spent in (*times, search)),
    )


def certified(
    certify: Callable[[Problem, Solution], Certificate], problem: Problem, solution: Solution, X: Array
) -> Certificate:
    """Certify and bound the test rows, which is what is timed."""
    certificate = certify(problem, solution)
    certificate.score_bounds(X)
    return certificate


def _ridge(console: Console) -> None:
    """Compare with other methods on one small problem; its objective has no factor 1/2 in the loss."""
    title = "ridge, 402 x 11 with 40 missing cells: mean width over 40 test rows"
    lines = Lines(console, title, "lambda", "tight", "grouped", "target", "attained")
    with np.load(DATA / "ridge_peer_problem.npz") as data:
        X_lower, X_upper, y, X_test = (data[name] for name in ("X_lower", "X_upper", "y", "X_test"))
    for lam, target in RIDGE_TARGETS.items():
        rows = MemoryRows(IntervalMatrix.from_bounds(X_lower, X_upper), y)
        problem = Problem(rows, LOSSES["squared_error"], ElasticNet(lam))
        solution = solve(problem)
        certificate = certify_tight(problem, solution)
        means = [width(form.score_bounds(X_test)).mean() for form in (certificate, certificate.without_training_rows())]
        attained = width(attained_bounds(problem, solution, X_test).bounds).mean()
        mark = "!" if means[0] > target else " "
        lines.add(f"{lam:g}", f"{means[0]:.5f}{mark}", f"{means[1]:.5f}", f"{target:g}", f"{attained:.5f}")


def _intercept(console: Console) -> None:
    """Measure what a user gets by default: an intercept."""
    title = f"with an intercept, default, logistic: certified / attained width, median over {N_TEST} test rows"
    lines = Lines(console, title, "lambda", "b", "a", "sphere", "ball", "tight", "attained width")
    X, y, X_test = table("default")
    for lam in (0.1, 1.0):
        for level in (0.5, 0.9):
            matrix = with_holes(X, 0.01, level)
            found = {}
            for certificate in ("sphere", "ball", "tight"):
                clf = BoundedClassifier(alpha=lam, fit_intercept=True, certificate=certificate).fit(matrix, y)
                found[certificate] = width(clf.decision_bounds(X_test[:N_TEST]))
            attained = width(clf.attained_bounds(X_test[:N_TEST]))
            ratios = (f"{np.median(widths / attained):.3f}" for widths in found.values())
            lines.add(f"{lam:g}", "0.01", f"{level:g}", *ratios, f"{np.median(attained):.3e}")
