"""Time and peak memory of `fit` as rows n, features d and missing cells M are doubled, each twice, the others kept.

Every fit runs in a process of its own. Memory is the growth of the resident memory during `fit`, at its peak; the table
itself is there before. "x" is the ratio to the line before: 2 is linear. Columns are those of a Gaussian copula, scaled
to [0, 1], the range of a hole is the middle half of its column; lambda 0.1, no intercept. Medians.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

from benchmarks.fresh import Fit, fit_in_fresh_process, on_disk
from benchmarks.lines import Lines
from experiments.synthetic import Copula
from ipub.numeric.rounding import Array

BASE = {"n": 100_000, "d": 28, "M": 28_000}
DOUBLINGS = (1, 2, 4)
CERTIFICATES = ("sphere", "tight")
REPEATS = 3


def run(console: Console) -> None:
    for what in BASE:
        title = f"{what} doubled: seconds and peak growth of memory in fit; medians of {REPEATS}"
        measured = (f"{certificate} {unit}" for certificate in CERTIFICATES for unit in ("s", "x", "MiB", "x"))
        lines = Lines(console, title, *BASE, "table MiB", *measured)
        before: list[Fit] = []
        for factor in DOUBLINGS:
            size = BASE | {what: factor * BASE[what]}
            fits = _fits(**size)
            cells = [f"{size[name]:,}" for name in size] + [f"{fits[0].table / 2**20:.1f}"]
            for k, fit in enumerate(fits):
                ratios = ("", "")
                if before:
                    ratios = f"{fit.seconds / before[k].seconds:.2f}", f"{fit.peak / max(1, before[k].peak):.2f}"
                cells += [f"{fit.seconds:.2f}", ratios[0], f"{fit.peak / 2**20:.1f}", ratios[1]]
            lines.add(*cells)
            before = fits


def _fits(n: int, d: int, M: int) -> list[Fit]:
    X, y, ranges = _table(n, d, M)
    with on_disk(X, y, ranges) as folder:
        runs = [[fit_in_fresh_process(folder, certificate) for certificate in CERTIFICATES] for _ in range(REPEATS)]
    return [
        Fit(
            float(np.median([fit.seconds for fit in fits])),
            fits[0].table,
            int(np.median([fit.peak for fit in fits])),
            int(np.median([fit.kept for fit in fits])),
        )
        for fits in zip(*runs, strict=True)
    ]


def _table(n: int, d: int, M: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    X, y = Copula.standard(d).draw(n, rng)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    ranges = np.quantile(X, [0.25, 0.75], axis=0).T
    X.ravel()[rng.choice(X.size, M, replace=False)] = np.nan
    return X, y, ranges
