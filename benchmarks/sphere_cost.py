"""Time of the sphere after training, as a multiple of one gradient pass, for more and more missing cells.

Every row has a hole from the start, so that what grows is the number of cells alone.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.timing import medians
from ipub.certificates import certify_sphere
from ipub.losses import LOSSES, Loss
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import Block, MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix

N_ROWS, N_FEATURES = 20_000, 280
PER_ROW = (2, 20, 60, 200)
REPEATS = 15


def run(console: Console) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, N_FEATURES))
    y = np.where(X @ rng.normal(size=N_FEATURES) + 0.1 * rng.normal(size=N_ROWS) > 0.0, 1.0, -1.0)
    title = f"sphere after training, {N_ROWS:,} x {N_FEATURES}, medians of {REPEATS}"
    growth = f"growth per million cells beyond M = {PER_ROW[0] * N_ROWS:,}"
    lines = Lines(console, title, "missing cells M", "time / gradient pass", growth)
    base = 0.0
    for per_row in (0, *PER_ROW):
        holed = X.copy()
        for row in holed if per_row else ():
            row[rng.choice(N_FEATURES, per_row, replace=False)] = np.nan
        matrix = IntervalMatrix.from_table(holed, np.tile([0.45, 0.55], (N_FEATURES, 1)))
        problem = Problem(MemoryRows(matrix, y), LOSSES["log_loss"], ElasticNet(0.1))
        solution = solve(problem)
        complete = MemoryRows(IntervalMatrix.from_table(X, np.zeros((N_FEATURES, 2))), y)
        gradient, certificate = medians(
            REPEATS,
            lambda rows=complete, w=solution.w: rows.reduce(_gradient_sums, LOSSES["log_loss"], w),
            lambda problem=problem, solution=solution: certify_sphere(problem, solution),
        )
        ratio = certificate / gradient
        if per_row == PER_ROW[0]:
            base = ratio
        million = (per_row - PER_ROW[0]) * N_ROWS / 1e6
        slope = f"{(ratio - base) / million:.2f}" if million > 0.0 else ""
        lines.add(f"{per_row * N_ROWS:,}", f"{ratio:.2f}", slope)


def _gradient_sums(block: Block, loss: Loss, w: Array) -> tuple[Array]:
    return (block.center.T @ (block.weight * loss.derivative(block.y, block.center @ w)),)
