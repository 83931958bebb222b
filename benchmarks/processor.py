"""Processor time and wall time of certified fits, as multiples of one plain fit, with compiled loops and without.

HIGGS-shaped, as in `speed`. The plain fit is scikit-learn's lbfgs with one BLAS thread. All are timed in turn, in one
run, after one round that is not counted; figures are medians of the ratios of four rounds, and in brackets the least
and the greatest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from unittest import mock

import numpy as np
from rich.console import Console

from benchmarks.holed import Holed, like_higgs
from benchmarks.lines import Lines
from ipub.numeric import rounding
from ipub.rows import ops

ROUNDS = 4
TARGET = 1.0


def run(console: Console) -> None:
    table = like_higgs()
    jobs: dict[str, Callable[[], object]] = {
        "plain fit": table.plain_fits()["lbfgs, one thread"],
        "sphere": partial(table.bounded, "sphere"),
        "tight": partial(table.bounded, "tight"),
        "tight, no compiled loops": partial(_without_loops, table),
    }
    lines = Lines(console, table.size, "what".ljust(24), "processor s", "plain fits", "wall s", "plain fits", "target")
    for job in jobs.values():
        job()
    spent = np.array([[_spent(job) for job in jobs.values()] for _ in range(ROUNDS)])
    ratios = spent / spent[:, :1]
    for k, name in enumerate(jobs):
        cells = []
        for clock in range(2):
            low, middle, high = np.quantile(ratios[:, k, clock], [0.0, 0.5, 1.0])
            cells += [f"{np.median(spent[:, k, clock]):.3f}", f"{middle:.2f} ({low:.2f}-{high:.2f})"]
        lines.add(name, *cells, f"<= {TARGET:g}" if name == "tight" else "-")


def _spent(job: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of the processor, all threads together, and of the clock."""
    processor, wall = time.process_time(), time.perf_counter()
    job()
    return time.process_time() - processor, time.perf_counter() - wall


def _without_loops(table: Holed) -> None:
    """Certify as if the package had been installed without a compiler."""
    with (
        mock.patch.object(ops, "loops", return_value=None),
        mock.patch.object(rounding, "loops", return_value=None),
    ):
        table.bounded("tight")
