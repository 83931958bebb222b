"""Widths of `tight` in every setting of `useful`, `real_tables` and `tightness`, to compare two versions.

*Width*: median width of the score's bounds over the test rows. With ``--against FILE``, the figures of another version:
the median over the rows of the ratio of both widths, and the largest relative difference of a row's.

Options: `--save FILE` (widths of all rows as JSON), `--against FILE`, `--jobs N` (settings at a time).
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.penalties import BEST, cross_validated
from benchmarks.real_tables import ALPHAS, SOURCES, Source
from benchmarks.tightness import SETTINGS, Setting
from benchmarks.useful import NOT_USED, split
from ipub import BoundedClassifier, BoundedRegressor
from ipub.certificates import CERTIFICATES
from ipub.problem.solvers import solve

SPLIT = 0
Job = Callable[[], np.ndarray]


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    before = None if given.against is None else json.loads(given.against.read_text())
    columns = ("width",) if before is None else ("width", "median ratio", "largest difference")
    lines = Lines(console, "median width of tight", "setting".ljust(60), *columns)
    jobs, figures = _jobs(), {}
    for name, widths in zip(
        jobs, Parallel(given.jobs, return_as="generator")(delayed(job)() for job in jobs.values()), strict=True
    ):
        figures[name] = widths.tolist()
        cells = [f"{np.median(widths):.6g}"]
        if before is not None:
            ratio = widths / np.array(before[name])
            cells += [f"{np.median(ratio):.6f}", f"{np.abs(ratio - 1.0).max():.1e}"]
        lines.add(name.ljust(60), *cells)
        if given.save is not None:
            given.save.write_text(json.dumps(figures))


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks widths")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the widths as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the widths of a file")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="settings at a time")
    return parser.parse_args(options)


def _jobs() -> dict[str, Job]:
    """Return what computes the widths of each setting, by name."""
    jobs: dict[str, Job] = {}
    for source in SOURCES:
        if source.name not in NOT_USED:
            jobs[f"useful {source.name}"] = partial(_of_table, source, None)
        jobs |= {f"real_tables {source.name} {alpha:g}": partial(_of_table, source, alpha) for alpha in ALPHAS}
    for settings in SETTINGS.values():
        jobs |= {f"tightness {' '.join(map(str.strip, each.cells()))}": partial(_of_setting, each) for each in settings}
    return jobs


def _of_table(source: Source, alpha: float | None) -> np.ndarray:
    """Return widths on one table: at a penalty with columns scaled to [0, 1], or as in `useful`."""
    X, y, X_test = split(source, SPLIT)
    kind = BoundedClassifier if source.positive else BoundedRegressor
    scale = "standard" if alpha is None else "minmax"
    alpha = cross_validated(kind(scale=scale), X, y, BEST) if alpha is None else alpha
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        estimator = kind(alpha=alpha, scale=scale).fit(X, y)
    return np.ptp(estimator.decision_bounds(X_test) if source.positive else estimator.predict_bounds(X_test), axis=1)


def _of_setting(setting: Setting) -> np.ndarray:
    problem, X_test = setting.problem()
    return np.ptp(CERTIFICATES["tight"](problem, solve(problem)).score_bounds(X_test), axis=1)
