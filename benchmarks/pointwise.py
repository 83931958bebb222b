"""Pointwise bounds over attained bounds, on real data: several retrainings for each row, so few rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import numpy as np
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.tightness import COLUMNS, SETTINGS, Setting, shown, target_cell, timed, width
from ipub.answers.attained import attained_bounds
from ipub.certificates import TrainedModel, certify_pointwise, certify_tight, with_effort
from ipub.problem.solvers import solve

N_TEST = 5
"""The first of the test rows of `benchmarks.tightness`."""


def run(console: Console, options: Sequence[str] = ()) -> None:
    """Measure all settings, or with ``--loss``, ``--data`` and ``--lambda`` those that have these values."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks pointwise")
    parser.add_argument("--loss")
    parser.add_argument("--data")
    parser.add_argument("--lambda", type=float, dest="lam")
    wanted = {name: value for name, value in vars(parser.parse_args(options)).items() if value is not None}
    title = f"pointwise: certified / attained width of the score over the same {N_TEST} test rows"
    measured = ("tight, median", "pointwise, median", "worst row", "target", "s / row", "trainings / row")
    lines = Lines(console, title, *COLUMNS, *measured)
    for settings in SETTINGS.values():
        for setting in settings:
            is_wanted = all(getattr(setting, name) == value for name, value in wanted.items())
            if setting.pointwise_target is not None and is_wanted:
                target = setting.pointwise_target
                lines.piece(" ".join(setting.cells()), partial(_measure, lines, setting, target))


def _measure(lines: Lines, setting: Setting, target: float) -> None:
    problem, X_test = setting.problem()
    X_test = X_test[:N_TEST]
    solution, training = timed(solve, problem)
    certificate = certify_tight(problem, solution)
    attained = width(attained_bounds(problem, solution, X_test).bounds)
    retrained = with_effort(certify_pointwise(problem, solution), setting.effort)
    bounds, spent = timed(retrained.score_bounds, X_test, TrainedModel(problem, solution))
    ratios = width(bounds) / attained
    lines.add(
        *setting.cells(),
        f"{np.median(width(certificate.score_bounds(X_test)) / attained):.3f}",
        shown(float(np.median(ratios)), target),
        f"{ratios.max():.4f}",
        target_cell(target),
        f"{spent / N_TEST:.2f}",
        f"{spent / N_TEST / training:.0f}",
    )
